//! The Python plugins of this run: what they offer, and the workers behind it. Nothing of a plugin
//! runs where its description is known from an earlier run.

use std::path::PathBuf;
use std::sync::Arc;

use contract::provider::Provider;
use contract::python::{PythonHost as _, SharedPlugin};
use contract::secret::Secret;
use contract::tool::Tool;
use files::surroundings::Surroundings;
use plugins::learned;
use plugins::offer::Offer;
use plugins::plugin::Plugin;
use plugins::problem::Problem as Fault;
use plugins::python::{self, Python};
use python_host::{
    Described, Host, Missing, ProviderDescription, ProviderSettings, Settings, Tracebacks,
};
use serde_json::Map;

use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;

const ADAPTER: &str = "brynhild";

/// The host of Python plugins, and what it is told of each of them.
#[derive(Clone)]
pub struct HostedPython {
    pub host: Host,
    pub python: Python,
}

impl HostedPython {
    /// A host that serves the plugins of `assembly`.
    pub(crate) fn new(assembly: &Assembly, host: Host) -> Result<Self, Problem> {
        let settings = python::Settings {
            data: assembly.cache_dir()?.join(setup::user_files::PLUGIN_DATA),
            is_confined: !assembly.is_unconfined(),
            surroundings: surroundings(assembly),
            directories: Arc::clone(assembly.directories()),
            sites: assembly.plugin_env().sites().to_vec(),
        };
        Ok(Self { python: Python::new(Arc::new(host.clone()), settings), host })
    }

    /// The Python of those plugins that bring some.
    pub fn plugins<'a>(&self, plugins: impl IntoIterator<Item = &'a Plugin>) -> Vec<SharedPlugin> {
        let with_python = plugins.into_iter().filter(|plugin| plugin.has_python());
        with_python.map(|plugin| self.python.plugin(plugin)).collect()
    }
}

/// The Python plugins of a run, with what they offer.
pub struct Workers {
    python: HostedPython,
    described: Vec<Described>,
}

impl Workers {
    /// Asks the active plugins of `assembly` what they offer. `missing` says what happens with those
    /// whose dependencies are not installed yet.
    pub(crate) async fn ask(assembly: &Assembly, missing: Missing) -> Result<Self, Problem> {
        let python = assembly.python()?.clone();
        let plugins = python.plugins(assembly.plugins().active());
        python.host.retain(ADAPTER, &plugins);
        // A package may bring hooks, without which nothing begins.
        let may_be_late = assembly.services.has_late_tools.get().is_some();
        let described = if may_be_late && !has_packages(assembly) {
            python.host.describe_soon(&plugins, missing).await
        } else {
            python.host.describe(&plugins, missing).await
        };
        take_in(assembly, &described);
        Ok(Self { python, described })
    }

    /// The tools of all plugins, as far as they are not switched off.
    pub(crate) fn tools(&self, assembly: &Assembly) -> Vec<Arc<dyn Tool>> {
        let disabled = &assembly.config().tools.disabled;
        let is_on = |tool: &Arc<dyn Tool>| !disabled.get(&tool.spec().name).is_some_and(|it| *it);
        let each = self.described.iter().filter_map(|one| {
            let plugin = assembly.plugins().get(&one.offer.plugin);
            plugin.map(|it| self.python.host.tools(&self.python.python.plugin(it), &one.offer))
        });
        each.flatten().filter(is_on).collect()
    }

    /// The providers of all plugins, each with its plugin's name.
    pub(crate) fn providers(&self) -> impl Iterator<Item = (&str, &ProviderDescription)> {
        self.described.iter().flat_map(|one| {
            one.providers.iter().map(move |provider| (one.offer.plugin.as_str(), provider))
        })
    }

    pub(crate) fn host(&self) -> &Host {
        &self.python.host
    }

    /// Opens a provider of a plugin. Nothing runs before it is asked.
    pub(crate) fn open(
        &self,
        assembly: &Assembly,
        plugin: &str,
        settings: ProviderSettings,
    ) -> Option<Arc<dyn Provider>> {
        let plugin = self.python.python.plugin(assembly.plugins().get(plugin)?);
        Some(self.python.host.provider(&plugin, settings))
    }
}

/// Returns true if an installed package may contribute something.
pub fn has_packages(assembly: &Assembly) -> bool {
    assembly.plugins().active().any(|plugin| plugin.package.is_some())
}

/// Asks installed packages what they contribute besides tools and providers, for commands that
/// only look. What cannot be asked is told, and stops nothing.
pub async fn learn(assembly: &Assembly) {
    if assembly.known_workers().is_some() {
        return;
    }
    let python = match settings(assembly).and_then(|it| HostedPython::new(assembly, Host::new(it)))
    {
        Ok(python) => python,
        Err(problem) => {
            let what = problem.message();
            output::warning(&format!(
                "cannot read the contributions of installed packages: {what}"
            ));
            return;
        }
    };
    let packages = assembly.plugins().active().filter(|plugin| plugin.package.is_some());
    let described = python.host.describe(&python.plugins(packages), Missing::Report).await;
    take_in(assembly, &described);
    python.host.shutdown().await;
}

/// Tells what is wrong with plugins, and lets everything else count.
fn take_in(assembly: &Assembly, described: &[Described]) {
    let mut offers = Vec::new();
    for one in described {
        let name = &one.offer.plugin;
        for fault in &one.offer.faults {
            output::warning(&format!("{} ({})", Fault::from(fault.clone()), fault.hint));
        }
        if one.needs_install {
            output::warning(&format!("plugin {name}: its dependencies are not installed yet"));
            output::hint("they are when one of its tools is first called");
        }
        if one.offer.rest.as_object().is_some_and(Map::is_empty) {
            continue;
        }
        match Offer::read(name, one.offer.rest.clone()) {
            Ok(offer) => offers.push(offer),
            Err(error) => {
                output::warning(&format!("plugin {name}: its description is invalid: {error}"));
            }
        }
    }
    learn_names(assembly, &offers);
    assembly.plugins().learn(offers);
    assembly.directories().save();
}

/// Keeps what packages call themselves, where that is not what their entry points are called.
fn learn_names(assembly: &Assembly, offers: &[Offer]) {
    let said = |offer: &'_ Offer| Some((offer.plugin.clone(), offer.name()?.to_owned()));
    let said: Vec<(String, String)> =
        offers.iter().filter_map(said).filter(|(plugin, name)| plugin != name).collect();
    if said.is_empty() {
        return;
    }
    let packages = said.iter().filter_map(|(plugin, name)| {
        let package = assembly.plugins().get(plugin)?.package.as_ref()?;
        Some((package, name.as_str()))
    });
    learned::learn_names(assembly.loaded.config_dir.as_deref(), packages);
}

/// The host of all plugins; none of their workers runs yet.
pub(crate) fn host(assembly: &Assembly) -> Result<HostedPython, Problem> {
    HostedPython::new(assembly, Host::new(settings(assembly)?))
}

/// A host that says nothing about its progress.
pub fn quiet_host(assembly: &Assembly) -> Result<HostedPython, Problem> {
    let settings = Settings { on_progress: Arc::new(|_, _| {}), ..settings(assembly)? };
    HostedPython::new(assembly, Host::new(settings))
}

pub(crate) fn state(run: &RunContext) -> Result<PathBuf, Problem> {
    Ok(run.cache_dir()?.join("cache/python-host"))
}

/// The directories and variables that executables of plugins get.
pub fn surroundings(assembly: &Assembly) -> Surroundings {
    Surroundings {
        workspace: assembly.place().to_owned(),
        cwd: assembly.environment.cwd.clone(),
        env: assembly.child_environment(),
        variables: assembly.environment.variables.clone(),
        home: assembly.environment.home.clone(),
    }
}

fn settings(assembly: &Assembly) -> Result<Settings, Problem> {
    let on_output = |plugin: &str, line: &str| output::plugin(plugin, line);
    let on_progress = |plugin: &str, what: &str| output::plugin(plugin, what);
    let surroundings = surroundings(assembly);
    Ok(Settings {
        state: state(assembly)?,
        sandbox: assembly.sandbox()?,
        environment: python::environment_hash(&surroundings),
        surroundings,
        mode: assembly.mode(),
        python: assembly.config().plugins.python.clone(),
        config: assembly.loaded.without_secrets(),
        on_output: Arc::new(on_output),
        on_progress: Arc::new(on_progress),
        tracebacks: if assembly.global.verbose || assembly.config().behavior.verbose {
            Tracebacks::Whole
        } else {
            Tracebacks::Author
        },
    })
}

pub(crate) fn provider_settings(
    description: &ProviderDescription,
    instance: Option<&config::settings::Instance>,
    model: &str,
    api_key: Option<Secret<String>>,
) -> ProviderSettings {
    let mut kwargs = serde_json::Map::new();
    if let Some(instance) = instance {
        kwargs.clone_from(&instance.extra);
        kwargs.insert("cache_ttl".to_owned(), instance.cache_ttl.into());
        let mut set = |key: &str, value: &Option<String>| {
            if let Some(value) = value {
                kwargs.insert(key.to_owned(), value.clone().into());
            }
        };
        set("base_url", &instance.base_url);
        set("default_model", &instance.default_model);
        set("credentials_path", &instance.credentials_path);
    }
    ProviderSettings {
        key: description.key.clone(),
        name: description.name.clone(),
        kwargs,
        model: model.to_owned(),
        api_key,
        profile: None,
    }
}
