//! The provider that answers: from a flag, the configuration, else the first key or local server
//! found.

use std::sync::Arc;

use config::redact;
use config::settings::Instance;
use contract::provider::Provider;
use contract::secret::Secret;
use plugins::plugin::Plugin;
use plugins::profiles::ModelProfile;
use providers::catalog::{Vendor, Wire};
pub use providers::key::Key;
use providers::key::KeySettings;
use python_host::{Described, Missing, ProviderDescription};

use crate::assembly::Assembly;
use crate::assembly::workers::{self, Workers};
use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;
use crate::{raw_request_log, session_choice};

/// A provider that could be asked.
#[derive(Clone)]
pub struct Candidate {
    pub name: String,
    backing: Backing,
    pub(crate) base_url: Option<String>,
    pub key: Key,
    /// Its configuration; none for a built-in one.
    pub instance: Option<Instance>,
}

#[derive(Clone)]
enum Backing {
    Server(&'static Vendor),
    Plugin(Arc<PluginProvider>),
}

struct PluginProvider {
    plugin: String,
    description: ProviderDescription,
    vendor: Vendor,
}

impl PluginProvider {
    fn new(plugin: &str, description: &ProviderDescription) -> Self {
        let name = &description.name;
        let about = description.doc.clone().unwrap_or_default();
        let vendor = Vendor::of_plugin(name, about, description.model.clone());
        Self { plugin: plugin.to_owned(), description: description.clone(), vendor }
    }
}

/// The chosen provider, and why it was chosen.
pub struct Choice {
    pub candidate: Candidate,
    /// The model that answered in the session that is continued.
    pub(crate) model: Option<String>,
    pub reason: String,
}

impl Choice {
    /// A choice of a provider with its default model.
    pub fn new(candidate: Candidate, reason: impl Into<String>) -> Self {
        Self { candidate, model: None, reason: reason.into() }
    }
}

/// All providers, the configured ones first.
pub fn candidates(assembly: &Assembly) -> Vec<Candidate> {
    let instances = &assembly.config().providers.instances;
    let mut candidates = Vec::new();
    for (name, instance) in instances.iter().filter(|(_, instance)| instance.enabled) {
        let backing = backing(assembly, &instance.kind);
        candidates.extend(backing.map(|it| candidate(assembly, name, it, Some(instance))));
    }
    for vendor in providers::catalog::catalog() {
        if !instances.contains_key(&vendor.name) {
            candidates.push(candidate(assembly, &vendor.name, Backing::Server(vendor), None));
        }
    }
    for offered in offered(assembly) {
        let name = offered.description.name.clone();
        if candidates.iter().any(|candidate| candidate.name == name) {
            let plugin = &offered.plugin;
            let root = assembly.plugins().get(plugin).map(|plugin| plugin.root.as_path());
            let file = root.map(|root| root.join(&offered.description.key));
            let file = file.filter(|file| file.is_file());
            let place = file.map_or_else(String::new, |file| format!(" ({})", file.display()));
            output::warning(&format!(
                "provider '{name}' of plugin {plugin}{place} is ignored: the name is taken (rename \
                 it with `PROVIDER_NAME` in its class)"
            ));
            continue;
        }
        let backing = Backing::Plugin(Arc::new(offered));
        candidates.push(candidate(assembly, &name, backing, None));
    }
    candidates
}

/// A provider type: a built-in vendor, or a plugin's provider.
fn backing(assembly: &Assembly, name: &str) -> Option<Backing> {
    if let Some(vendor) = providers::catalog::vendor(name) {
        return Some(Backing::Server(vendor));
    }
    let offered = offered(assembly).find(|it| it.description.name == name)?;
    Some(Backing::Plugin(Arc::new(offered)))
}

fn offered(assembly: &Assembly) -> impl Iterator<Item = PluginProvider> {
    let each = assembly.known_workers().into_iter().flat_map(Workers::providers);
    each.map(|(plugin, description)| PluginProvider::new(plugin, description))
}

fn has_providers(plugin: &Plugin) -> bool {
    let mut package = plugin.package.iter().flat_map(|package| &package.entry_points);
    !plugin.manifest.providers.is_empty()
        || package.any(|point| point.group == "brynhild.providers")
}

/// Returns true if a plugin that was not asked yet may have the provider `name`, or the type of
/// that instance. Runs nothing.
pub(crate) fn may_come(assembly: &Assembly, name: &str) -> bool {
    let plugins: Vec<&Plugin> =
        assembly.plugins().active().filter(|plugin| has_providers(plugin)).collect();
    if plugins.is_empty() || assembly.known_workers().is_some() {
        return false;
    }
    let instance = assembly.config().providers.instances.get(name).filter(|it| it.enabled);
    let kind = instance.map_or(name, |instance| &instance.kind);
    let brings = |described: Option<Described>| {
        described.is_none_or(|it| it.providers.iter().any(|provider| provider.name == kind))
    };
    assembly.python().is_ok_and(|python| {
        let known = python.host.described(&python.plugins(plugins));
        known.into_iter().any(brings)
    })
}

/// Asks plugins for their providers, if any plugin has some.
pub async fn ask_plugins(assembly: &Assembly) -> Result<(), Problem> {
    if has_plugins(assembly) {
        assembly.workers(Missing::Install).await?;
    }
    Ok(())
}

/// The provider that would answer, as far as that is known without asking a server.
pub fn expected(assembly: &Assembly) -> Option<Candidate> {
    let providers = &assembly.config().providers;
    let configured = assembly.is_configured(&["providers", "default"]);
    let name = assembly.global.provider.as_ref().or(configured.then_some(&providers.default));
    let is_wanted = |it: &Candidate| name.map_or(it.reason().is_some(), |name| it.name == *name);
    candidates(assembly).into_iter().find(is_wanted)
}

/// Chooses. Asks local servers only if nothing else was found.
pub async fn choose(assembly: &Assembly) -> Result<Choice, Problem> {
    ask_plugins(assembly).await?;
    if let Some(name) = &assembly.global.provider {
        return Ok(Choice::new(named(assembly, name)?, "`--provider` names it"));
    }
    if let Some(choice) = continued(assembly) {
        return Ok(choice);
    }
    let default = &assembly.config().providers.default;
    if assembly.is_configured(&["providers", "default"]) {
        let origin = assembly.loaded.origin(&["providers", "default"]);
        let place = origin.map(|origin| format!(" in {origin}")).unwrap_or_default();
        let reason = format!("`providers.default`{place} names it");
        let candidate = named(assembly, default).map_err(|problem| {
            if problem.hint.is_some() { problem } else { problem.hint(&*reason) }
        })?;
        return Ok(Choice::new(candidate, reason));
    }
    warn_of_unknown_types(assembly);
    let candidates = candidates(assembly);
    for candidate in &candidates {
        if let Some(reason) = candidate.reason() {
            return Ok(Choice::new(candidate.clone(), reason));
        }
    }
    let is_server = |it: &&Candidate| it.vendor().local && !it.is_script();
    let local: Vec<&Candidate> = candidates.iter().filter(is_server).collect();
    let answering = futures::future::join_all(local.iter().map(|c| is_answering(c))).await;
    let found = local.iter().zip(answering).find(|(_, answers)| *answers);
    let (candidate, _) = found.ok_or_else(nothing_found)?;
    let reason = format!("a server answers at {}", candidate.shown_address());
    Ok(Choice::new((*candidate).clone(), reason))
}

/// The provider and the model of the session that is continued, if they can be used.
pub(crate) fn continued(assembly: &Assembly) -> Option<Choice> {
    let (provider, model) = session_choice::last_model(assembly)?;
    let found = candidates(assembly).into_iter().find(|candidate| candidate.name == provider);
    let Some(candidate) = found.filter(|candidate| candidate.key.is_usable()) else {
        assembly.warn_once(&format!("this session used {provider}/{model}, which is not set up"));
        return None;
    };
    // Its model is a file that was named for one run.
    if candidate.is_script() {
        return None;
    }
    let reason = "the session that is continued used it".to_owned();
    Some(Choice { candidate, model: Some(model), reason })
}

/// Returns true if something answers at the address of a provider.
pub async fn is_answering(candidate: &Candidate) -> bool {
    providers::is_answering(candidate.vendor(), &candidate.address()).await
}

impl Candidate {
    pub(crate) fn keys(&self) -> Vec<Secret<String>> {
        let headers = self.instance.iter().flat_map(|instance| &instance.headers);
        let headers = headers.filter(|(name, _)| redact::is_secret(name)).map(|(_, value)| {
            // In `Bearer key` the last word is the key.
            let key = value.rsplit_once(' ').map_or(value.as_str(), |(_, key)| key);
            Secret::new(key.to_owned())
        });
        self.key.value().cloned().into_iter().chain(headers).collect()
    }

    /// The entry of the catalog.
    pub fn vendor(&self) -> &Vendor {
        match &self.backing {
            Backing::Server(vendor) => vendor,
            Backing::Plugin(offered) => &offered.vendor,
        }
    }

    /// The environment variable that can hold its key.
    pub fn key_variable(&self) -> Option<String> {
        let own = self.instance.as_ref().and_then(|instance| instance.api_key_env.clone());
        own.or_else(|| self.vendor().key_env.clone())
    }

    /// Returns true if a plugin brings it.
    pub fn is_plugin(&self) -> bool {
        matches!(self.backing, Backing::Plugin(_))
    }

    pub(crate) fn address(&self) -> String {
        self.base_url.clone().or_else(|| self.vendor().base_url.clone()).unwrap_or_default()
    }

    /// Its address without a login.
    pub fn shown_address(&self) -> String {
        let address = self.address();
        redact::without_login(&address).unwrap_or(address)
    }

    /// Returns true if it answers without a server.
    pub fn is_script(&self) -> bool {
        self.vendor().wire == Wire::Script
    }

    /// The reason for choosing it without asking further; none if it is not ready.
    fn reason(&self) -> Option<String> {
        self.key.reason(self.instance.is_some())
    }

    /// Connects without sending anything. A plugin's provider can look the model's profile up.
    pub(crate) fn connect(
        &self,
        assembly: &Assembly,
        model: &str,
        profile: Option<&ModelProfile>,
    ) -> Result<Arc<dyn Provider>, Problem> {
        if self.is_script() {
            let scenario = providers::script::open(model, &assembly.environment.cwd)
                .map_err(|error| Problem::misuse(error.to_string()))?;
            return Ok(Arc::new(providers::script::Script::new(scenario)));
        }
        let api_key = self.key.used(self.vendor(), &self.name);
        let api_key = api_key.map_err(|(text, hint)| Problem { hint, ..Problem::misuse(text) })?;
        let instance = self.instance.as_ref();
        let vendor = match &self.backing {
            Backing::Server(vendor) => vendor,
            Backing::Plugin(offered) => {
                let mut settings =
                    workers::provider_settings(&offered.description, instance, model, api_key);
                settings.profile = profile.and_then(ModelProfile::unapplied);
                let workers = assembly.known_workers();
                let opened = workers.and_then(|it| it.open(assembly, &offered.plugin, settings));
                return opened.ok_or_else(|| {
                    Problem::misuse(format!("plugin {} is not there any more", offered.plugin))
                });
            }
        };
        let mut settings = providers::Instance::of(vendor);
        settings.name.clone_from(&self.name);
        settings.base_url.clone_from(&self.base_url);
        settings.api_key = api_key;
        if let Some(instance) = instance {
            settings.headers.clone_from(&instance.headers);
            let api = instance.extra.get("api").and_then(serde_json::Value::as_str);
            settings.api = api.and_then(providers::Api::parse).unwrap_or_default();
            if instance.api_key_env.is_some() {
                settings.key_env.clone_from(&instance.api_key_env);
            }
        }
        settings.witness = raw_request_log::witness(assembly, (&vendor.name, model), &self.keys());
        providers::connect(settings)
            .map_err(|error| Problem { hint: error.hint.clone(), ..Problem::misuse(error.message) })
    }
}

/// Returns true if a plugin may bring a provider.
pub fn has_plugins(assembly: &Assembly) -> bool {
    assembly.plugins().active().any(has_providers)
}

/// The provider with a name.
pub fn named(assembly: &Assembly, name: &str) -> Result<Candidate, Problem> {
    let candidates = candidates(assembly);
    if let Some(candidate) = candidates.iter().find(|candidate| candidate.name == name) {
        return Ok(candidate.clone());
    }
    let instance = assembly.config().providers.instances.get(name);
    if let Some(instance) = instance {
        if instance.enabled {
            let what = format!("provider '{name}' has the unknown type '{}'", instance.kind);
            return Err(Problem::misuse(what).hint(known_types(assembly)));
        }
        let what = format!("provider '{name}' is switched off in the configuration");
        return Err(Problem::misuse(what));
    }
    let mut names: Vec<&str> = candidates.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    Err(Problem::misuse(format!("Unknown provider '{name}'. Available: {}", names.join(", "))))
}

fn known_types(assembly: &Assembly) -> String {
    let plugins = offered(assembly).map(|offered| offered.description.name);
    let types = providers::catalog::catalog().iter().map(|vendor| vendor.name.clone());
    format!("the types are {}", types.chain(plugins).collect::<Vec<_>>().join(", "))
}

fn warn_of_unknown_types(assembly: &Assembly) {
    for (name, instance) in &assembly.config().providers.instances {
        if instance.enabled && backing(assembly, &instance.kind).is_none() {
            output::warning(&format!(
                "provider '{name}' is ignored, its type '{}' is unknown: {}",
                instance.kind,
                known_types(assembly)
            ));
        }
    }
}

fn candidate(
    run: &RunContext,
    name: &str,
    backing: Backing,
    instance: Option<&Instance>,
) -> Candidate {
    let mut base_url = instance.and_then(|instance| instance.base_url.clone());
    let is_ollama = matches!(&backing, Backing::Server(vendor) if vendor.wire == Wire::Ollama);
    if is_ollama && base_url.is_none() {
        let mut names = ["BRYNHILD_OLLAMA_HOST", "OLLAMA_HOST"].into_iter();
        base_url = names.find_map(|name| run.environment.variable(name)).map(str::to_owned);
    }
    let settings = KeySettings {
        credentials_file: instance.and_then(|it| it.credentials_path.as_deref()),
        variable: instance.and_then(|it| it.api_key_env.as_deref()),
        has_own_address: instance.is_some_and(|it| it.base_url.is_some()),
    };
    let key = match &backing {
        // It reads its credentials file itself.
        Backing::Plugin(offered) => {
            let settings = KeySettings { credentials_file: None, ..settings };
            Key::find(&offered.vendor, settings, |variable| known_key(run, variable))
        }
        Backing::Server(vendor) => Key::find(vendor, settings, |variable| {
            known_key(run, variable).or_else(|| configured_key(run, variable))
        }),
    };
    Candidate { name: name.to_owned(), backing, base_url, key, instance: instance.cloned() }
}

/// The key of a variable: from the environment, a `.env` file, or the stored keys.
fn known_key(run: &RunContext, variable: &str) -> Option<(String, Secret<String>)> {
    let set = run.environment.variable(variable).map(|value| Secret::new(value.to_owned()));
    let set = set.or_else(|| run.loaded.env_file_variables.get(variable).cloned());
    let stored = || Some(("the key store".to_owned(), run.stored_keys.get(variable)?.clone()));
    set.map(|value| (variable.to_owned(), value)).or_else(stored)
}

/// The key that the configuration itself has for a variable.
fn configured_key(run: &RunContext, variable: &str) -> Option<(String, Secret<String>)> {
    let key = run.config().openrouter_api_key.clone();
    let key = key.filter(|_| variable == "OPENROUTER_API_KEY")?;
    Some(("`openrouter_api_key` of the configuration".to_owned(), key))
}

fn nothing_found() -> Problem {
    Problem::misuse("no model is set up: no API key was found, and no local server answers").hint(
        "`brynhild login` sets one up, or set a variable such as ANTHROPIC_API_KEY; `brynhild api \
         providers` lists all, `brynhild demo` needs none",
    )
}
