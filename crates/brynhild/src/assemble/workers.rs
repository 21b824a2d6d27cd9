//! The Python plugins of this run: what they offer, and the workers behind it. Nothing of a plugin
//! runs where its description is known from an earlier run.

use std::path::PathBuf;
use std::sync::Arc;

use contract::provider::Provider;
use contract::python::{PythonHost as _, SharedPlugin};
use contract::secret::Secret;
use contract::tool::Tool;
use files::surroundings::Surroundings;
use plugins::offer::Offer;
use plugins::plugin::Plugin;
use plugins::problem::Problem as Fault;
use plugins::python::{self, Python};
use python_host::{Described, Host, Missing, ProviderDescription, ProviderSettings, Settings};
use serde_json::Map;

use crate::assemble;
use crate::assemble::plugin_set::names::Names;
use crate::assemble::world::World;
use crate::exit::Problem;
use crate::output;

/// The adapter of plugins of our own.
const ADAPTER: &str = "brynhild";

/// The host of Python plugins, and what it is told of each of them.
#[derive(Clone)]
pub(crate) struct HostedPython {
    pub(crate) host: Host,
    pub(crate) python: Python,
}

impl HostedPython {
    /// A host that serves the plugins of `world`.
    pub(crate) fn new(world: &World, host: Host) -> Result<Self, Problem> {
        let settings = python::Settings {
            data: world.cache_dir()?.join("plugin-data"),
            is_confined: !world.is_unconfined(),
            surroundings: surroundings(world),
            directories: Arc::clone(world.directories()),
        };
        Ok(Self { python: Python::new(Arc::new(host.clone()), settings), host })
    }

    /// The Python of those plugins that bring some.
    pub(crate) fn plugins<'a>(
        &self,
        plugins: impl IntoIterator<Item = &'a Plugin>,
    ) -> Vec<SharedPlugin> {
        let with_python = plugins.into_iter().filter(|plugin| plugin.has_python());
        with_python.map(|plugin| self.python.plugin(plugin)).collect()
    }
}

/// What Python plugins offer.
pub(crate) struct Workers {
    python: HostedPython,
    described: Vec<Described>,
}

impl Workers {
    /// Asks the active plugins of `world` what they offer. `missing` says what happens with those
    /// whose dependencies are not installed yet.
    pub(crate) async fn ask(world: &World, missing: Missing) -> Result<Self, Problem> {
        let python = world.python()?.clone();
        let plugins = python.plugins(world.plugins().active());
        python.host.retain(ADAPTER, &plugins);
        let described = python.host.describe(&plugins, missing).await;
        take_in(world, &described);
        Ok(Self { python, described })
    }

    /// The tools of all plugins, as far as they are not switched off.
    pub(crate) fn tools(&self, world: &World) -> Vec<Arc<dyn Tool>> {
        let disabled = &world.config().tools.disabled;
        let is_on = |tool: &Arc<dyn Tool>| !disabled.get(&tool.spec().name).is_some_and(|it| *it);
        let each = self.described.iter().filter_map(|one| {
            let plugin = world.plugins().get(&one.offer.plugin);
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

    /// Runs them.
    pub(crate) fn host(&self) -> &Host {
        &self.python.host
    }

    /// Opens a provider of a plugin. Nothing runs before it is asked.
    pub(crate) fn open(
        &self,
        world: &World,
        plugin: &str,
        settings: ProviderSettings,
    ) -> Option<Arc<dyn Provider>> {
        let plugin = self.python.python.plugin(world.plugins().get(plugin)?);
        Some(self.python.host.provider(&plugin, settings))
    }
}

/// Whether an installed package may contribute something.
pub(crate) fn has_packages(world: &World) -> bool {
    world.plugins().active().any(|plugin| plugin.package.is_some())
}

/// Asks installed packages what they contribute besides tools and providers, for commands that
/// only look. What cannot be asked is told, and stops nothing.
pub(crate) async fn learn(world: &World) {
    if world.known_workers().is_some() {
        return;
    }
    let python = match settings(world).and_then(|it| HostedPython::new(world, Host::new(it))) {
        Ok(python) => python,
        Err(problem) => {
            let what = problem.message();
            output::warning(&format!("what installed packages contribute is not known: {what}"));
            return;
        }
    };
    let packages = world.plugins().active().filter(|plugin| plugin.package.is_some());
    let described = python.host.describe(&python.plugins(packages), Missing::Report).await;
    take_in(world, &described);
    python.host.shutdown().await;
}

/// Tells what is wrong with plugins, and lets everything else count.
fn take_in(world: &World, described: &[Described]) {
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
                output::warning(&format!("plugin {name}: what it offers makes no sense: {error}"));
            }
        }
    }
    learn_names(world, &offers);
    world.plugins().learn(offers);
    world.directories().save();
}

/// Keeps what packages call themselves, where that is not what their entry points are called.
fn learn_names(world: &World, offers: &[Offer]) {
    let said = |offer: &'_ Offer| Some((offer.plugin.clone(), offer.name()?.to_owned()));
    let said: Vec<(String, String)> =
        offers.iter().filter_map(said).filter(|(plugin, name)| plugin != name).collect();
    if said.is_empty() {
        return;
    }
    let packages = said.iter().filter_map(|(plugin, name)| {
        let package = world.plugins().get(plugin)?.package.as_ref()?;
        Some((package, name.as_str()))
    });
    Names::load(world).learn(packages);
}

/// The host of all plugins; none of their workers runs yet.
pub(crate) fn host(world: &World) -> Result<HostedPython, Problem> {
    HostedPython::new(world, Host::new(settings(world)?))
}

/// A host that says nothing about its progress.
pub(crate) fn quiet_host(world: &World) -> Result<HostedPython, Problem> {
    let settings = Settings { on_progress: Arc::new(|_, _| {}), ..settings(world)? };
    HostedPython::new(world, Host::new(settings))
}

/// The directory of the host, for what is kept between runs.
pub(crate) fn state(world: &World) -> Result<PathBuf, Problem> {
    Ok(world.cache_dir()?.join("cache/python-host"))
}

/// What the processes of plugins find around them.
pub(crate) fn surroundings(world: &World) -> Surroundings {
    Surroundings {
        workspace: world.place().to_owned(),
        cwd: world.environment.cwd.clone(),
        env: crate::assemble::child_environment::child_environment(world),
        variables: world.environment.variables.clone(),
        home: world.environment.home.clone(),
    }
}

fn settings(world: &World) -> Result<Settings, Problem> {
    let on_output = |plugin: &str, line: &str| output::plugin(plugin, line);
    let on_progress = |plugin: &str, what: &str| output::plugin(plugin, what);
    let surroundings = surroundings(world);
    Ok(Settings {
        state: state(world)?,
        sandbox: assemble::sandbox(world)?,
        environment: python::environment_hash(&surroundings),
        surroundings,
        mode: world.mode(),
        python: world.config().plugins.python.clone(),
        config: world.loaded.without_secrets(),
        on_output: Arc::new(on_output),
        on_progress: Arc::new(on_progress),
    })
}

/// What a provider of a plugin is made with.
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
