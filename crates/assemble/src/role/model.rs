//! The model that a role names for itself.

use std::collections::BTreeMap;

use config::settings::Instance;
use initrunner::role::{ModelSettings, Role};

use super::reach;
use crate::assembly::Assembly;
use crate::model_names;
use crate::output;
use crate::provider_choice::{self, Key};

/// The name of a provider that a role describes itself.
pub(super) const OWN_PROVIDER: &str = "role";

/// Has the model of a role answer, unless a flag names another.
pub(super) fn choose(assembly: &mut Assembly, role: &Role) {
    let mut settings = role.model.clone();
    if settings.provider.is_none()
        && let Some(full) =
            settings.name.as_deref().and_then(|name| model_names::initrunner_alias(assembly, name))
    {
        let ModelSettings { provider, name, .. } = ModelSettings::from_text(&full);
        (settings.provider, settings.name) = (provider, name);
    }
    if assembly.typed.is_none() {
        assembly.typed = Some((assembly.global.provider.clone(), assembly.global.model.clone()));
    }
    let address = assembly.global.provider.is_none().then(|| reach::address(assembly, role));
    if let Some(address) = address.flatten() {
        let instance = Instance {
            kind: String::from("openai"),
            enabled: true,
            base_url: Some(address),
            cache_ttl: 3600,
            default_model: settings.name.clone(),
            api_key_env: settings.api_key_env.clone(),
            credentials_path: None,
            headers: BTreeMap::new(),
            extra: serde_json::Map::new(),
        };
        assembly.loaded.config.providers.instances.insert(OWN_PROVIDER.to_owned(), instance);
        assembly.global.provider = Some(OWN_PROVIDER.to_owned());
        return;
    }
    let Some(provider) = &settings.provider else {
        assembly.global.model = assembly.global.model.take().or_else(|| settings.name.clone());
        return;
    };
    if assembly.global.provider.as_ref().is_some_and(|named| named != provider) {
        return;
    }
    let candidates = provider_choice::candidates(assembly);
    let candidate = candidates.iter().find(|candidate| candidate.name == *provider);
    let can_answer =
        candidate.is_some_and(|it| !matches!(it.key, Key::Missing { .. } | Key::Broken { .. }));
    let may_come = || candidate.is_none() && provider_choice::may_come(assembly, provider);
    if !can_answer && assembly.global.provider.is_none() && !may_come() {
        let why = if candidate.is_some() { "has no key" } else { "is not known here" };
        output::warning(&format!(
            "the role's provider {provider} {why}; the default model is used"
        ));
        return;
    }
    assembly.global.provider = Some(provider.clone());
    assembly.global.model = assembly.global.model.take().or_else(|| settings.name.clone());
}
