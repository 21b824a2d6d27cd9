//! Plugins for chibi: executables that describe themselves with `--schema`, take JSON
//! on standard input and answer on standard output, one process for each call.
//!
//! Finding only reads. A plugin is run to describe itself where nothing is kept of it from an
//! earlier run, and always confined by what the user grants it.

mod answer;
mod call;
mod executable;
mod find;
mod gate;
mod hook;
mod payload;
mod point;
mod printed;
mod run;
mod schema;
mod schema_cache;
mod tool;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ::files::surroundings::Surroundings;
use async_trait::async_trait;
use contract::hook::{Hook, Moment};
use contract::policy::Mode;
use contract::sandbox::{ChannelEnds, Sandbox};
use contract::tool::Tool;
use futures::stream::{self, StreamExt as _};

use crate::directories::Directories;
use crate::hooks::moment::ListenerHook;
use crate::open_plugins::{Listed, OpenPlugins};
use crate::plugin::{Place, ReportLine};
use crate::problem::Problem;
use executable::Executable;
pub use find::{Candidate, Search, find};
use hook::PointHook;
use point::{POINTS, Point, Support};
pub use printed::Listener;
use schema::Schema;
use schema_cache::SchemaCache;
use tool::ChibiTool;

pub(crate) const NAME: &str = "chibi";

/// Plugins that describe themselves at the same time.
const AT_ONCE: usize = 8;

pub struct Settings {
    pub schema_cache: PathBuf,
    pub data: PathBuf,
    pub sandbox: Arc<dyn Sandbox>,
    pub surroundings: Surroundings,
    pub home: PathBuf,
    pub is_verbose: bool,
    pub is_confined: bool,
    pub on_output: Listener,
    pub console: Option<Console>,
}

/// Opens the user's terminal for the plugin of this name.
pub type Console = Arc<dyn Fn(&str) -> std::io::Result<ChannelEnds> + Send + Sync>;

/// An agent that work is handed to, as hooks are told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    pub instructions: Option<String>,
    pub model: Option<String>,
}

/// Finds an agent by the name that the model gives; no name means the usual one.
pub type Agents = Arc<dyn Fn(Option<&str>) -> Option<Agent> + Send + Sync>;

pub(crate) struct Host {
    pub(crate) settings: Settings,
    mode: Mutex<Mode>,
    told: Mutex<HashSet<String>>,
    agents: OnceLock<Agents>,
}

impl Host {
    pub(crate) fn mode(&self) -> Mode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn agent(&self, name: Option<&str>) -> Option<Agent> {
        self.agents.get().and_then(|find| find(name))
    }

    pub(crate) fn tell_once(&self, plugin: &str, words: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(format!("{plugin}: {words}")) {
            (self.settings.on_output)(plugin, words);
        }
    }
}

/// The plugins, described.
pub struct Plugins {
    pub problems: Vec<Problem>,
    host: Arc<Host>,
    executables: Vec<(Arc<Executable>, Schema)>,
}

impl Plugins {
    /// Describes plugins: from the cache, else by running them, several at once.
    pub async fn open(
        candidates: Vec<Candidate>,
        settings: Settings,
        mode: Mode,
        directories: &Directories,
    ) -> Self {
        let cache = SchemaCache::read(&settings.schema_cache);
        let host = Arc::new(Host {
            settings,
            mode: Mutex::new(mode),
            told: Mutex::default(),
            agents: OnceLock::new(),
        });
        let describe = |candidate: Candidate| {
            let executable = Arc::new(Executable::new(candidate, Arc::clone(&host)));
            let cache = &cache;
            async move {
                let schema = if executable.is_active() {
                    schema_cache::describe(cache, &executable, directories).await
                } else {
                    Schema::default()
                };
                (executable, schema)
            }
        };
        let asked = stream::iter(candidates.into_iter().map(describe)).buffered(AT_ONCE);
        let executables: Vec<(Arc<Executable>, Schema)> = asked.collect().await;
        cache.save(&host.settings.schema_cache);
        let problems = executables.iter().flat_map(|(_, schema)| schema.problems.clone()).collect();
        Self { problems, host, executables }
    }

    pub fn hears_of_agents(&self) -> bool {
        let tools = self.executables.iter().flat_map(|(_, schema)| &schema.tools);
        tools.flat_map(|tool| &tool.hooks).any(|name| name.ends_with("_spawn_agent"))
    }

    /// Says which agents there are. Counts once.
    pub fn learn_agents(&self, agents: Agents) {
        // A second answer says nothing that the first did not.
        let _ = self.host.agents.set(agents);
    }
}

#[async_trait]
impl OpenPlugins for Plugins {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let each = self.executables.iter().flat_map(|(executable, schema)| {
            schema.tools.iter().map(|tool| ChibiTool::new(tool.clone(), Arc::clone(executable)))
        });
        each.map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
    }

    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        let count = self.executables.iter().map(|(_, schema)| schema.tools.len()).sum();
        let made = POINTS.iter().filter_map(|point| {
            let mut listeners = Vec::new();
            for (executable, schema) in &self.executables {
                let wanting = schema.tools.iter().filter(|tool| tool.hooks.contains(&point.name));
                listeners.extend(wanting.map(|_| Arc::clone(executable)));
            }
            let is_asked = !listeners.is_empty() && point.moment().is_some();
            is_asked.then(|| PointHook::new(point, listeners, Arc::clone(&self.host), count))
        });
        made.map(ListenerHook::shared).collect()
    }

    fn project_guards(&self) -> Vec<(String, String)> {
        let is_guard = |name: &str| {
            let mut points = POINTS.iter();
            let guards = |point: &Point| point.moment() == Some(Moment::BeforeTool);
            points.any(|point| point.name == name && guards(point) && name != "pre_vfs_write")
        };
        let mut guards = Vec::new();
        for (executable, schema) in &self.executables {
            let hooks = schema.tools.iter().flat_map(|tool| &tool.hooks);
            let is_project = executable.plugin.place == Place::Project;
            let points = hooks.filter(|name| is_project && is_guard(name));
            guards.extend(points.map(|it| (executable.plugin.name().to_owned(), (*it).to_owned())));
        }
        guards
    }

    fn listing(&self) -> Vec<Listed> {
        let listed = self.executables.iter().map(|(executable, schema)| Listed {
            path: executable.path.display().to_string(),
            ..Listed::of(&executable.plugin, NAME, report(schema))
        });
        listed.collect()
    }

    fn set_mode(&self, mode: Mode) {
        *self.host.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }
}

fn report(schema: &Schema) -> Vec<ReportLine> {
    let mut lines = Vec::new();
    for tool in &schema.tools {
        lines.push(format!("tool {}", tool.name));
        for name in &tool.hooks {
            let Some(point) = POINTS.iter().find(|point| point.name == *name) else { continue };
            lines.push(match point.support {
                Support::Decides(..) => format!("hook {name}"),
                Support::Notified(_, lost) => {
                    format!("hook {name}: its answer has no effect: {lost}")
                }
                Support::Unsupported(why) => format!("hook {name}: no counterpart: {why}"),
            });
        }
    }
    let problem = |problem: &Problem| format!("{} ({})", problem.what, problem.hint);
    let problems = schema.problems.iter().map(problem).map(ReportLine::Ignored);
    lines.into_iter().map(ReportLine::Note).chain(problems).collect()
}

#[cfg(test)]
mod tests;
