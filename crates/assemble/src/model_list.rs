//! The models of the chosen provider, completed from the registry.

use config::settings::{Binding, RegisteredModel};
use contract::provider::Model;

use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::model_cache;
use crate::output;
use crate::provider_choice::{self, Candidate, Choice};

/// The provider's models, completed from the registry; without a provider, the registry's.
pub async fn offered(assembly: &Assembly) -> Result<Vec<Model>, Problem> {
    let is_chosen =
        assembly.global.provider.is_some() || assembly.is_configured(&["providers", "default"]);
    let choice = match provider_choice::choose(assembly).await {
        Err(_) if !is_chosen => {
            let what = "no provider is set up, so these are the models";
            output::hint(&format!("{what} that the configuration knows"));
            return Ok(assembly.config().models.registry.values().map(known).collect());
        }
        chosen => chosen?,
    };
    completed(assembly, &choice).await
}

/// The models of each provider that has its key, or answers on this machine.
pub async fn of_all_providers(
    assembly: &Assembly,
) -> Result<Vec<(String, Result<Vec<Model>, Problem>)>, Problem> {
    provider_choice::ask_plugins(assembly).await?;
    let candidates = provider_choice::candidates(assembly).into_iter();
    let usable = candidates.filter(|it| it.key.is_usable() && !it.is_script());
    let lists = usable.map(|candidate| async {
        let name = candidate.name.clone();
        Some((name, of_provider(assembly, candidate).await?))
    });
    Ok(futures::future::join_all(lists).await.into_iter().flatten().collect())
}

/// The models of a provider; none if it is a local server that does not answer.
pub async fn of_provider(
    assembly: &Assembly,
    candidate: Candidate,
) -> Option<Result<Vec<Model>, Problem>> {
    let is_server = candidate.vendor().local && !candidate.is_script();
    if is_server && !provider_choice::is_answering(&candidate).await {
        return None;
    }
    Some(completed(assembly, &Choice::new(candidate, "")).await)
}

async fn completed(assembly: &Assembly, choice: &Choice) -> Result<Vec<Model>, Problem> {
    let mut models = listed(assembly, choice).await?;
    for model in &mut models {
        let found = crate::answering_model::registered(assembly, &model.id, &choice.candidate);
        let Some((registered, binding)) = found else { continue };
        let size = registered.descriptor.as_ref().and_then(|it| it.context_size);
        model.context = model.context.or(binding.max_context).or(size);
        if let (Some((input, output)), None) = (binding.prices(), model.input_price) {
            (model.input_price, model.output_price) = (Some(input), Some(output));
        }
    }
    Ok(models)
}

/// The models of a provider, from the cache if it is recent.
pub async fn listed(assembly: &Assembly, choice: &Choice) -> Result<Vec<Model>, Problem> {
    let candidate = &choice.candidate;
    if let Some(models) = model_cache::kept(assembly, candidate) {
        return Ok(models);
    }
    let model = crate::answering_model::model(assembly, choice)?;
    let provider = candidate.connect(assembly, &model, None)?;
    let models = provider.models().await;
    let models = models
        .map_err(|error| Problem { hint: error.hint.clone(), ..Problem::failed(error.message) })?;
    model_cache::keeper(assembly, candidate)(&models);
    Ok(models)
}

pub(crate) fn known(registered: &RegisteredModel) -> Model {
    let descriptor = registered.descriptor.as_ref();
    let prices = registered.bindings.values().find_map(Binding::prices);
    Model {
        id: registered.canonical_id.clone(),
        context: descriptor.and_then(|it| it.context_size),
        input_price: prices.map(|(input, _)| input),
        output_price: prices.map(|(_, output)| output),
        ..Model::default()
    }
}
