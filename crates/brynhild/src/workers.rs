//! The Python plugins of this run: what they offer, and the workers behind it. Nothing of a plugin
//! runs where its description is known from an earlier run.

use std::sync::Arc;

use contract::provider::Provider;
use contract::secret::Secret;
use contract::tool::Tool;
use files::surroundings::Surroundings;
use plugins::offer::Offer;
use plugins::plugin::Plugin;
use plugins::python::{
    Described, HostSettings, Hosts, Missing, ProviderDescription, ProviderSettings,
};
use serde_json::Map;

use crate::assemble;
use crate::exit::Problem;
use crate::output;
use crate::plugin_set::names::Names;
use crate::world::World;

/// What Python plugins offer.
pub(crate) struct Workers {
    hosts: Hosts,
    described: Vec<Described>,
}

impl Workers {
    /// Asks the active plugins of `world` what they offer. `missing` says what happens with those
    /// whose dependencies are not installed yet.
    pub(crate) async fn ask(world: &World, missing: Missing) -> Result<Self, Problem> {
        Ok(Self::of(world, world.hosts()?.clone(), missing).await)
    }

    /// The same with workers that are there already.
    pub(crate) async fn of(world: &World, hosts: Hosts, missing: Missing) -> Self {
        let plugins: Vec<&Plugin> = world.plugins().active().collect();
        hosts.set_active(&plugins);
        let described = hosts.describe_seen(&plugins, missing, world.directories()).await;
        take_in(world, &described);
        Self { hosts, described }
    }

    /// The tools of all plugins, as far as they are not switched off.
    pub(crate) fn tools(&self, world: &World) -> Vec<Arc<dyn Tool>> {
        let plugin = |one: &Described| world.plugins().get(&one.plugin);
        let each = self.described.iter().filter_map(|one| Some((plugin(one)?, one)));
        let disabled = &world.config().tools.disabled;
        let is_on = |tool: &Arc<dyn Tool>| !disabled.get(&tool.spec().name).is_some_and(|it| *it);
        each.flat_map(|(plugin, one)| self.hosts.tools(plugin, one)).filter(is_on).collect()
    }

    /// The providers of all plugins, each with its plugin's name.
    pub(crate) fn providers(&self) -> impl Iterator<Item = (&str, &ProviderDescription)> {
        self.described.iter().flat_map(|one| {
            one.providers.iter().map(move |provider| (one.plugin.as_str(), provider))
        })
    }

    /// The workers themselves.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Opens a provider of a plugin. Nothing runs before it is asked.
    pub(crate) fn open(
        &self,
        world: &World,
        plugin: &str,
        settings: ProviderSettings,
    ) -> Option<Arc<dyn Provider>> {
        Some(self.hosts.provider(world.plugins().get(plugin)?, settings))
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
    let hosts = match settings(world) {
        Ok(settings) => Hosts::new(settings),
        Err(problem) => {
            let what = problem.message();
            output::warning(&format!("what installed packages contribute is not known: {what}"));
            return;
        }
    };
    let packages: Vec<&Plugin> =
        world.plugins().active().filter(|plugin| plugin.package.is_some()).collect();
    let described = hosts.describe_seen(&packages, Missing::Report, world.directories()).await;
    take_in(world, &described);
    hosts.shutdown().await;
}

/// Tells what is wrong with plugins, and lets everything else count.
fn take_in(world: &World, described: &[Described]) {
    let mut offers = Vec::new();
    for one in described {
        let name = &one.plugin;
        for problem in &one.problems {
            output::warning(&format!("{problem} ({})", problem.hint));
        }
        if one.needs_install {
            output::warning(&format!("plugin {name}: its dependencies are not installed yet"));
            output::hint("they are when one of its tools is first called");
        }
        if one.offer.as_object().is_some_and(Map::is_empty) {
            continue;
        }
        match Offer::read(name, one.offer.clone()) {
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

/// The workers of all plugins; none of them runs yet.
pub(crate) fn hosts(world: &World) -> Result<Hosts, Problem> {
    Ok(Hosts::new(settings(world)?))
}

/// The same without a word about their progress.
pub(crate) fn quiet_hosts(world: &World) -> Result<Hosts, Problem> {
    Ok(Hosts::new(HostSettings { on_progress: Arc::new(|_, _| {}), ..settings(world)? }))
}

/// What the processes of plugins find around them.
pub(crate) fn surroundings(world: &World) -> Surroundings {
    Surroundings {
        workspace: world.place().to_owned(),
        cwd: world.environment.cwd.clone(),
        env: crate::child_environment::child_environment(world),
        variables: world.environment.variables.clone(),
        home: world.environment.home.clone(),
    }
}

fn settings(world: &World) -> Result<HostSettings, Problem> {
    let directory = world.cache_dir()?;
    let on_output = |plugin: &str, line: &str| output::plugin(plugin, line);
    let on_progress = |plugin: &str, what: &str| output::plugin(plugin, what);
    Ok(HostSettings {
        state: directory.join("cache/python-host"),
        data: directory.join("plugin-data"),
        sandbox: assemble::sandbox(world)?,
        is_confined: !world.is_unconfined(),
        surroundings: surroundings(world),
        mode: world.mode(),
        python: world.config().plugins.python.clone(),
        config: world.loaded.without_secrets(),
        model: None,
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
