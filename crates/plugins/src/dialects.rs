//! The plugin systems. Each finds its plugins, and offers them as tools and hooks like any other.

pub mod api;
pub mod chibi;
pub mod claude;
pub mod initrunner;
mod lmao;
mod own;

use std::sync::Arc;

use async_trait::async_trait;

pub use crate::claude::Loaded;
use crate::env::PluginEnv;
use crate::open_plugins::{Listed, OpenPlugins};
use crate::plugin::{Plugin, PluginState};
use crate::plugin_set::OWN;
pub use own::plugins;

/// The plugin systems beside Brynhild's own.
const DIALECTS: [&dyn Dialect; 5] = [
    &api::ApiDialect,
    &chibi::Chibi,
    &claude::ClaudeDialect,
    &initrunner::InitRunner,
    &lmao::LmaoDialect,
];

/// Directories of agents and of skills in a user's home that programs share.
pub const USER_AGENTS: &[&str] = &[".claude/agents"];
pub const USER_SKILLS: &[&str] = &[".agents/skills", ".claude/skills"];
/// The same of skills in a project, and all paths of it that bring extensions.
pub const PROJECT_SKILLS: &[&str] = &[".claude/skills", ".agents/skills"];
pub const PROJECT_PATHS: &[&str] = &[".agents/skills", ".claude"];

const UNTRUSTED: &str = "it is not trusted (`brynhild trust` shows it and asks)";

/// A plugin system.
#[async_trait]
trait Dialect: Send + Sync {
    /// The plugins that can be switched on and off. Runs none.
    fn named(&self, env: &PluginEnv<'_>) -> Vec<Named>;
    /// Loads the plugins; none if there are none. Runs those that no cache describes.
    async fn open(&self, _env: &PluginEnv<'_>) -> Option<Arc<dyn OpenPlugins>> {
        None
    }
    /// The active plugins with parts that are files; those of a trusted project come last.
    fn loaded<'a>(&self, _env: &PluginEnv<'a>) -> &'a [Loaded] {
        &[]
    }
    /// Plugins that lists show although nothing of them is opened.
    fn unopened(&self, _env: &PluginEnv<'_>) -> Vec<Listed> {
        Vec::new()
    }
    /// Returns true if its plugins lie in the directories of plugins.
    fn is_in_directories(&self) -> bool {
        true
    }
}

/// A plugin that can be switched on and off by its name. Nothing of it has run.
#[derive(Clone, Debug, Default)]
pub struct Named {
    pub name: String,
    pub system: &'static str,
    pub version: String,
    pub description: String,
    pub state: PluginState,
    /// True if it is off by itself, until the user switches it on.
    pub sleeps: bool,
    /// The reason beside the user's switches that keeps it off.
    pub held_off: Option<String>,
}

impl Named {
    fn plugin(plugin: &Plugin, system: &'static str) -> Self {
        Self {
            name: plugin.name().to_owned(),
            system,
            version: plugin.manifest.version.clone(),
            description: plugin.manifest.description.clone(),
            state: plugin.state(),
            sleeps: false,
            held_off: (!plugin.trusted).then(|| String::from(UNTRUSTED)),
        }
    }

    fn switched(system: &'static str, name: String, is_off: bool) -> Self {
        let state = PluginState::of(true, !is_off);
        Self { name, system, state, ..Self::default() }
    }
}

/// All plugins that can be switched on and off; Brynhild's own first. Runs nothing.
pub fn named(env: &PluginEnv<'_>) -> Vec<Named> {
    let own = plugins(env).plugins.iter();
    let mut named: Vec<Named> = own.map(|it| Named::plugin(it, OWN)).collect();
    if !env.is_safe {
        named.extend(DIALECTS.iter().flat_map(|dialect| dialect.named(env)));
    }
    named
}

/// The number of active plugins of all systems, as far as directories tell.
pub fn active(env: &PluginEnv<'_>) -> usize {
    let own = plugins(env).active().count();
    if env.is_safe {
        return own;
    }
    let others = DIALECTS.iter().filter(|it| it.is_in_directories());
    own + others.flat_map(|it| it.named(env)).filter(|it| it.state == PluginState::Enabled).count()
}

/// Loads the plugins of all systems but Brynhild's own. Runs those that no cache describes.
pub async fn open(env: &PluginEnv<'_>) -> Vec<Arc<dyn OpenPlugins>> {
    let mut opened = Vec::new();
    if !env.is_safe {
        for dialect in DIALECTS {
            opened.extend(dialect.open(env).await);
        }
    }
    env.directories().save();
    opened
}

/// The commands, agents, skills and servers of the active plugins of all systems but Brynhild's own,
/// and of a trusted project. The first call finds them, and reports broken ones.
pub fn loaded<'a>(env: &PluginEnv<'a>) -> Vec<&'a Loaded> {
    DIALECTS.iter().flat_map(|dialect| dialect.loaded(env)).collect()
}

/// The plugins that lists show although nothing of them is opened.
pub fn unopened(env: &PluginEnv<'_>) -> Vec<Listed> {
    if env.is_safe {
        return Vec::new();
    }
    DIALECTS.iter().flat_map(|dialect| dialect.unopened(env)).collect()
}
