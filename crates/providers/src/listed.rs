//! Names of models, and the list of a provider.

use contract::provider::{Model, Provider};
use contract::text::closest;

/// The provider and the model in `provider/model` or `provider:model`; no provider if the first word
/// is none.
pub fn parts(name: &str, is_provider: impl Fn(&str) -> bool) -> (Option<&str>, &str) {
    let mut split = name.split_once('/').into_iter().chain(name.split_once(':'));
    match split.find(|(provider, _)| is_provider(provider)) {
        Some((provider, model)) => (Some(provider), model),
        None => (None, name),
    }
}

/// Looks for a model in a list, which may have dated names of it, and leave variants out, such as
/// `:online`. An empty list has every model.
///
/// # Errors
///
/// Similar names, if it has no such model.
pub fn find<'a>(models: &'a [Model], name: &str) -> Result<(), Vec<&'a str>> {
    let ids = || models.iter().map(|listed| listed.id.as_str());
    let base = name.split_once(':').map_or(name, |(base, _)| base);
    let is_known = |id: &str| id == name || id == base || id.starts_with(&format!("{name}-"));
    if models.is_empty() || ids().any(is_known) {
        return Ok(());
    }
    let similar = ids().filter(|id| id.contains(name)).take(3);
    Err(closest(name, ids()).into_iter().chain(similar).collect())
}

/// The first model that a server has, if it lacks the one of a name. If it cannot be asked, the
/// request fails later.
pub async fn loaded_instead(provider: &dyn Provider, name: &str) -> Option<String> {
    let models = provider.models().await.ok()?;
    let is_usual = |id: &str| id == name || id.strip_suffix(":latest") == Some(name);
    if models.iter().any(|it| is_usual(&it.id)) {
        return None;
    }
    let can_talk = |id: &str| !id.to_lowercase().contains("embed");
    models.into_iter().map(|it| it.id).find(|id| can_talk(id))
}
