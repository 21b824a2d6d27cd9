//! The models that answer if the chosen one fails: `models.fallback`, or `model.fallback` of a role.

use std::sync::Arc;

use contract::provider::Provider;
use providers::fallback::{Fallback, FallbackCondition, FallbackModel};
use providers::listed;

use crate::answering_model::{self, AnsweringModel};
use crate::assembly::Assembly;
use crate::model_names;
use crate::output;
use crate::provider_choice::{self, Choice, Key};
use crate::run_context::RunContext;

/// Requests to a model before the next one answers.
pub(crate) const ATTEMPTS: u32 = 3;

pub(crate) fn names(run: &RunContext) -> &[String] {
    let of_role = run.role.as_ref().map(|chosen| chosen.role.model.fallback.as_slice());
    of_role.filter(|names| !names.is_empty()).unwrap_or(&run.config().models.fallback)
}

/// The provider of the answering model, with its fallback models behind it. One that cannot answer
/// is left out with a warning.
pub(crate) fn behind(assembly: &Assembly, answering: &AnsweringModel) -> Arc<dyn Provider> {
    let named = names(assembly).iter();
    let others: Vec<FallbackModel> = named
        .filter_map(|name| {
            let found = find(assembly, &answering.choice, name);
            found.map_err(|why| output::warning(&why)).ok()
        })
        .collect();
    if others.is_empty() {
        return Arc::clone(&answering.provider);
    }
    let usual = FallbackModel {
        provider: Arc::clone(&answering.provider),
        model: answering.model.clone(),
        label: format!("{}/{}", answering.choice.candidate.name, answering.model),
        // The conversation knows its prices.
        cost: Arc::new(|_| None),
    };
    let role = assembly.role.as_ref();
    let condition = role.map(|chosen| chosen.role.model.fallback_on.clone()).unwrap_or_default();
    Arc::new(Fallback::new(usual, others, FallbackCondition(condition)))
}

fn find(assembly: &Assembly, chosen: &Choice, name: &str) -> Result<FallbackModel, String> {
    let unresolved = |why: &str| format!("Could not resolve fallback model '{name}'. {why}");
    let alias = assembly.role.as_ref().and_then(|_| model_names::initrunner_alias(assembly, name));
    let candidates = provider_choice::candidates(assembly);
    let is_known = |word: &str| candidates.iter().any(|it| it.name == word);
    let (provider, model) = listed::parts(alias.as_deref().unwrap_or(name), is_known);
    let candidate = match provider {
        Some(provider) => candidates.iter().find(|candidate| candidate.name == provider),
        None => Some(&chosen.candidate),
    };
    let candidate = candidate.ok_or_else(|| {
        unresolved("Write `provider/model`; `brynhild api providers` lists the providers")
    })?;
    if let Key::Missing { variable } = &candidate.key {
        return Err(unresolved(&format!("{variable} is not set")));
    }
    let choice = Choice::new(candidate.clone(), "");
    let model = model_names::spelled(assembly, model, &choice);
    let profile = answering_model::profile(assembly, &model, &candidate.vendor().name).ok();
    let provider = candidate
        .connect(assembly, &model, profile.as_ref())
        .map_err(|problem| unresolved(&problem.error.to_string()))?;
    let facts = answering_model::known(assembly, &model, &choice, Arc::default());
    let (label, priced) = (format!("{}/{model}", candidate.name), model.clone());
    let cost = move |usage: &_| facts.prices_of(&priced).map(|prices| prices.of(usage));
    Ok(FallbackModel { provider, model, label, cost: Arc::new(cost) })
}
