//! The provider and the model that answer.

pub(crate) mod fallback_models;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent::settings::{ModelFacts, Prices};
use config::settings::{Binding, RegisteredModel};
use contract::provider::{Delivery, Model, Provider, ReasoningFormat};
use contract::secret::Secret;
use plugins::profiles::ModelProfile;
use providers::learning::{Learning, When};
use providers::listed;
use providers::single::{self, Question};

use crate::assembly::Assembly;
use crate::chosen_role::ChosenRole;
use crate::exit::Problem;
use crate::output;
use crate::provider_choice::{Candidate, Choice};
use crate::run_context::RunContext;
use crate::{model_cache, model_names, provider_choice};

/// A model with the provider that it is asked through.
pub struct AnsweringModel {
    pub choice: Choice,
    pub provider: Arc<dyn Provider>,
    pub model: String,
    pub(crate) profile: ModelProfile,
    pub known: ModelFacts,
}

impl AnsweringModel {
    pub(crate) fn keys(&self) -> Vec<Secret<String>> {
        self.choice.candidate.keys()
    }

    /// Asks one question without tools. Returns the text of the answer.
    pub async fn ask(&self, question: &str, max_tokens: u64) -> Result<String, Problem> {
        let asked = Question {
            model: self.model.clone(),
            text: question,
            max_tokens: self.profile.min_max_tokens.unwrap_or(max_tokens).max(max_tokens),
            reasoning_format: ReasoningFormat::Auto,
            delivery: Delivery::Streamed,
        };
        let answer = single::ask(self.provider.as_ref(), asked)
            .await
            .map_err(|error| Problem { hint: error.hint, ..Problem::failed(error.message) })?;
        Ok(answer.text.trim().to_owned())
    }
}

/// Chooses the provider and the model, and connects to them.
pub async fn answering(assembly: &Assembly) -> Result<AnsweringModel, Problem> {
    let choice = provider_choice::choose(assembly).await?;
    let mut model = model(assembly, &choice)?;
    let candidate = &choice.candidate;
    if assembly.global.model.is_some() {
        check_listed(assembly, &model, candidate)?;
    }
    let mut fitting = profile(assembly, &model, &candidate.vendor().name)?;
    let mut provider = candidate.connect(assembly, &model, Some(&fitting))?;
    if !is_named(assembly, &choice)
        && candidate.vendor().local
        && !candidate.is_script()
        && let Some(loaded) = listed::loaded_instead(provider.as_ref(), &model).await
    {
        fitting = profile(assembly, &loaded, &candidate.vendor().name)?;
        provider = candidate.connect(assembly, &loaded, Some(&fitting))?;
        model = loaded;
    }
    let known = known(assembly, &model, &choice, Arc::default());
    let provider = learning(assembly, &choice, provider, &known);
    let mut answering = AnsweringModel { choice, provider, model, profile: fitting, known };
    answering.provider = fallback_models::behind(assembly, &answering);
    Ok(answering)
}

/// The provider with another model; none if each of its models is another program.
pub(crate) fn with_model(
    assembly: &Assembly,
    answering: &AnsweringModel,
    named: &str,
) -> Option<AnsweringModel> {
    let candidate = &answering.choice.candidate;
    if candidate.is_script() {
        return None;
    }
    let choice = Choice::new(candidate.clone(), &*answering.choice.reason);
    let model = model_names::spelled(assembly, named, &choice);
    // A profile that was named by a flag was found when the first model was chosen.
    let profile = profile(assembly, &model, &candidate.vendor().name).ok()?;
    let known = known(assembly, &model, &choice, Arc::clone(&answering.known.offered));
    let provider = Arc::clone(&answering.provider);
    Some(AnsweringModel { choice, provider, model, profile, known })
}

/// The provider and the model that `/model` names: `PROVIDER/MODEL`, unless the current provider has
/// a model of that name, else a model of the current one.
pub fn switched(assembly: &Assembly, current: &Candidate, named: &str) -> (String, String) {
    let listed = model_cache::last(assembly, current).unwrap_or_default();
    let candidates = provider_choice::candidates(assembly);
    let is_known = |word: &str| candidates.iter().any(|it| it.name == word);
    let (provider, model) = listed::parts(named, is_known);
    let mut usable = candidates.iter().filter(|candidate| candidate.key.is_usable());
    match provider.filter(|_| listed.iter().all(|model| model.id != named)) {
        Some(provider) if usable.any(|it| it.name == provider) => {
            (provider.to_owned(), model.to_owned())
        }
        _ => (current.name.clone(), named.to_owned()),
    }
}

/// Refuses a model that a fresh list of the provider does not have but something similar, and warns
/// of any other that it does not have.
fn check_listed(run: &RunContext, model: &str, candidate: &Candidate) -> Result<(), Problem> {
    let Some(models) = model_cache::kept(run, candidate) else { return Ok(()) };
    let Err(near) = listed::find(&models, model) else { return Ok(()) };
    let what = format!("{} has no model `{model}`", candidate.name);
    if near.is_empty() {
        output::warning(&format!("{what} in its list (`brynhild models list`)"));
        return Ok(());
    }
    let near = near.join("`, `");
    let hint = format!("did you mean `{near}`? `brynhild models list` lists all");
    Err(Problem::misuse(what).hint(hint))
}

/// Returns true if the user chose the model.
fn is_named(run: &RunContext, choice: &Choice) -> bool {
    let instance = choice.candidate.instance.as_ref();
    run.global.model.is_some()
        || choice.model.is_some()
        || instance.is_some_and(|instance| instance.default_model.is_some())
        || run.is_configured(&["models", "default"])
}

/// The name of the model that a provider is asked for.
pub fn model(assembly: &Assembly, choice: &Choice) -> Result<String, Problem> {
    let models = &assembly.config().models;
    let candidate = &choice.candidate;
    let instance = candidate.instance.as_ref();
    let configured = assembly.is_configured(&["models", "default"]).then(|| models.default.clone());
    let named = [
        assembly.global.model.clone(),
        choice.model.clone(),
        instance.and_then(|instance| instance.default_model.clone()),
        configured,
        candidate.vendor().default_model.clone(),
        Some(models.default.clone()).filter(|model| !model.is_empty()),
    ];
    let named = named.into_iter().flatten().next().ok_or_else(|| {
        Problem::misuse(format!("no model is named for {}", candidate.name))
            .hint("pass `--model`, or set `default_model` of the instance")
    })?;
    Ok(if candidate.is_script() { named } else { model_names::spelled(assembly, &named, choice) })
}

/// A model's data: from the registry, else from the provider's list, which also goes into
/// `offered`.
pub(crate) fn known(
    run: &RunContext,
    model: &str,
    choice: &Choice,
    offered: Arc<OnceLock<Vec<Model>>>,
) -> ModelFacts {
    if offered.get().is_none()
        && let Some(models) = model_cache::last(run, &choice.candidate)
    {
        let _ = offered.set(models);
    }
    let registered = registered(run, model, &choice.candidate);
    let context_window = registered.and_then(|(registered, binding)| {
        let described = || registered.descriptor.as_ref()?.context_size;
        binding.max_context.or_else(described)
    });
    let prices = registered.and_then(|(_, binding)| prices(binding));
    ModelFacts { context_window, prices, offered, is_free: is_free(run, &choice.candidate) }
}

pub(crate) fn prices(binding: &Binding) -> Option<Prices> {
    let (input, output) = binding.prices()?;
    let [cache_read, cache_write] = ["cache_read", "cache_write"].map(|it| binding.price(it));
    Some(Prices { input, output, cache_read, cache_write })
}

fn is_free(run: &RunContext, candidate: &Candidate) -> bool {
    (candidate.vendor().local || candidate.is_script()) && fallback_models::names(run).is_empty()
}

/// The provider; it is also asked for its models if the model's size or price is unknown.
fn learning(
    run: &RunContext,
    choice: &Choice,
    provider: Arc<dyn Provider>,
    known: &ModelFacts,
) -> Arc<dyn Provider> {
    let of_role = run.role.as_ref().and_then(ChosenRole::cost_limit);
    let is_limited = cost_limit(run, choice).or(of_role).is_some();
    let when = match (is_limited, run.global.show_cost) {
        _ if known.is_free || known.prices.is_some() => When::GoingOn,
        (true, _) => When::First,
        (false, true) => When::Beside,
        (false, false) => When::GoingOn,
    };
    let is_known = known.context_window.is_some() && when == When::GoingOn;
    if choice.candidate.is_script() || known.offered.get().is_some() || is_known {
        return provider;
    }
    let keep = model_cache::keeper(run, &choice.candidate);
    Arc::new(Learning::new(provider, Arc::clone(&known.offered), keep, when))
}

/// The cost limit of the run; none if the provider is free.
pub(crate) fn cost_limit(run: &RunContext, choice: &Choice) -> Option<f64> {
    run.global.max_cost.filter(|_| !is_free(run, &choice.candidate))
}

/// The registry's entry for a model by the provider's name for it.
pub(crate) fn registered<'a>(
    run: &'a RunContext,
    model: &str,
    candidate: &Candidate,
) -> Option<(&'a RegisteredModel, &'a Binding)> {
    run.config().models.registry.values().find_map(|registered| {
        let binding = registered.binding([&candidate.name, &candidate.vendor().name])?;
        binding.is_called(model, &registered.canonical_id).then_some((registered, binding))
    })
}

/// The profile that was named, or the one that matches the model.
pub(crate) fn profile(
    assembly: &Assembly,
    model: &str,
    provider: &str,
) -> Result<ModelProfile, Problem> {
    let profiles = profiles(assembly);
    let Some(name) = &assembly.global.profile else {
        return Ok(plugins::profiles::resolve(&profiles, model, provider).clone());
    };
    plugins::profiles::find(&profiles, name).cloned().ok_or_else(|| {
        let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        Problem::misuse(format!("Profile not found: {name}"))
            .hint(format!("there are {}", names.join(", ")))
    })
}

/// The model profiles of the user and of plugins. Warns about unreadable ones.
pub fn profiles(assembly: &Assembly) -> Vec<ModelProfile> {
    let own = assembly.loaded.config_dir.iter().map(|dir| dir.join(setup::user_files::PROFILES));
    let directories: Vec<PathBuf> = own.collect();
    let contributions = assembly.plugins().contributions();
    let (profiles, problems) = plugins::profiles::load(&directories, &contributions);
    output::problems(&problems);
    profiles
}
