//! Plugins of other systems. Each dialect finds its own in the directories of plugins, and offers them
//! as tools and hooks like any other.

pub(crate) mod api;
pub(crate) mod chibi;
pub(crate) mod claude;
pub(crate) mod initrunner;
mod lmao;

use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::Hook;
use contract::policy::Mode;
use contract::tool::Tool;
use plugins::plugin::Plugin;
use serde::Serialize;
use tools::tool_search;

use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::assembly::Assembly;
use crate::assemble::hooks::HookAgents;
use crate::assemble::plugin_set;
use crate::exit::Problem;

/// The plugins of one system.
#[async_trait]
pub(crate) trait Dialect: Send + Sync {
    /// Their tools.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;
    /// Their hooks, in the order in which they are asked.
    fn hooks(&self) -> Vec<Arc<dyn Hook>>;
    /// The project's plugins that are asked before calls, each with the point at which it is asked.
    fn project_guards(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// What was found, for people.
    fn listing(&self) -> Vec<Listed>;
    /// Has what runs for them do no more than the mode lets it.
    fn set_mode(&self, _mode: Mode) {}
    /// Names the model that answers what their hooks ask.
    fn set_model(&self, _mind: &AnsweringModel) {}
    /// Loads the agents that their hooks need, if any hook needs one.
    fn load_hook_agents(
        &self,
        _make: &dyn Fn() -> Result<HookAgents, Problem>,
    ) -> Result<(), Problem> {
        Ok(())
    }
    /// Ends everything that runs for them. Takes seconds at most.
    async fn shutdown(&self);
}

/// What keeps a plugin off that is not trusted.
const UNTRUSTED: &str = "it is not trusted (`brynhild trust` shows it and asks)";

/// A plugin of another system, as lists show it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Listed {
    /// Its name.
    pub(crate) name: String,
    /// The system.
    pub(crate) dialect: &'static str,
    /// Where it lies.
    pub(crate) path: String,
    /// Whether it counts.
    pub(crate) enabled: bool,
    /// Whether its bytes may be used, where that is a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trusted: Option<bool>,
    /// Its version, where it says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) version: String,
    /// What it is for, where it says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    /// The reason why it could not be started, if that was tried.
    #[serde(skip)]
    pub(crate) failure: Option<String>,
    /// What was loaded, and what was ignored and why, line by line.
    pub(crate) report: Vec<String>,
    /// The tools that it brings under a source of another name.
    #[serde(skip)]
    pub(crate) tools: Vec<String>,
    /// About how many tokens of a request its tools take, where they are all offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_tokens: Option<usize>,
}

impl Listed {
    /// The same with what its tools take; those are its own whose source it is, or that it lists.
    pub(crate) fn weighed(mut self, tools: &[Arc<dyn Tool>]) -> Self {
        let specs = tools.iter().map(|tool| tool.spec());
        let own = specs.filter(|it| it.source == self.name || self.tools.contains(&it.name));
        let tokens: usize = own.map(|spec| tool_search::tokens(&spec)).sum();
        self.tool_tokens = (tokens > 0).then_some(tokens);
        self
    }

    /// How it stands, in one word.
    pub(crate) fn state(&self) -> &'static str {
        match (self.trusted, self.enabled) {
            (Some(false), _) => "untrusted",
            (_, true) => "enabled",
            (_, false) => "disabled",
        }
    }
}

/// Something that can be switched on and off by its name. Nothing of it has run.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// Its name.
    pub(crate) name: String,
    /// The system that it belongs to.
    pub(crate) system: &'static str,
    /// Its version, where it says.
    pub(crate) version: String,
    /// What it is for, where it says.
    pub(crate) description: String,
    /// How it stands: `enabled`, `disabled`, `untrusted` or `rejected`.
    pub(crate) state: &'static str,
    /// Whether it is off by itself, until the user switches it on.
    pub(crate) sleeps: bool,
    /// What keeps it off beside the user's switches, where something does.
    pub(crate) held_off: Option<String>,
}

impl Named {
    fn plugin(plugin: &Plugin, system: &'static str) -> Self {
        Self {
            name: plugin.name().to_owned(),
            system,
            version: plugin.manifest.version.clone(),
            description: plugin.manifest.description.clone(),
            state: state(plugin),
            sleeps: false,
            held_off: (!plugin.trusted).then(|| String::from(UNTRUSTED)),
        }
    }
}

/// How a plugin stands, in one word.
pub(crate) fn state(plugin: &Plugin) -> &'static str {
    match (plugin.trusted, plugin.enabled) {
        (false, _) => "untrusted",
        (true, true) => "enabled",
        (true, false) => "disabled",
    }
}

/// Everything that can be switched on and off, of every system; our own plugins first. Runs nothing
/// and tells nothing.
pub(crate) fn named(assembly: &Assembly) -> Vec<Named> {
    let own = assembly.plugins().plugins.iter();
    let mut named: Vec<Named> = own.map(|it| Named::plugin(it, plugin_set::OWN)).collect();
    if assembly.global.safe {
        return named;
    }
    named.extend(api::named(assembly));
    named.extend(chibi::named(assembly));
    named.extend(assembly.claude().named());
    named.extend(initrunner::named(assembly));
    named.extend(lmao::named(assembly));
    named.extend(crate::assemble::mcp::named(assembly));
    named
}

/// How many plugins of all systems are at work, as far as directories tell.
pub(crate) fn active(assembly: &Assembly) -> usize {
    let own = assembly.plugins().active().count();
    if assembly.global.safe {
        return own;
    }
    let others = chibi::named(assembly)
        .into_iter()
        .chain(assembly.claude().named())
        .chain(lmao::named(assembly));
    own + others.filter(|it| it.state == "enabled").count()
}

/// Finds the plugins of all dialects. Runs those of which nothing is known from earlier runs.
pub(crate) async fn open(assembly: &Assembly) -> Result<Vec<Arc<dyn Dialect>>, Problem> {
    let mut found = Vec::new();
    found.extend(api::open(assembly));
    found.extend(chibi::open(assembly).await?);
    found.extend(claude::open(assembly)?);
    found.extend(lmao::open(assembly).await?);
    assembly.directories().save();
    Ok(found)
}
