//! Plugins for chibi: executables that describe themselves with `--schema`, take JSON
//! on standard input and answer on standard output, one process for each call.
//!
//! Finding only reads. A plugin is run to describe itself where nothing is kept of it from an
//! earlier run, and always confined by what the user grants it.

mod answer;
mod call;
mod find;
mod gate;
mod hook;
mod kept;
mod member;
mod payload;
mod point;
mod printed;
mod run;
mod schema;
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
pub use find::{Candidate, Search, find};
use hook::PointHook;
use kept::Kept;
use member::Member;
use point::{POINTS, Point, Standing};
pub use printed::Listener;
use schema::Schema;
use tool::ChibiTool;

pub(crate) const NAME: &str = "chibi";

/// Plugins that describe themselves at the same time.
const AT_ONCE: usize = 8;

pub struct Settings {
    pub kept: PathBuf,
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
    members: Vec<(Arc<Member>, Schema)>,
}

impl Plugins {
    /// Describes plugins: from what is kept, else by running them, several at once.
    pub async fn open(
        candidates: Vec<Candidate>,
        settings: Settings,
        mode: Mode,
        directories: &Directories,
    ) -> Self {
        let kept = Kept::read(&settings.kept);
        let host = Arc::new(Host {
            settings,
            mode: Mutex::new(mode),
            told: Mutex::default(),
            agents: OnceLock::new(),
        });
        let describe = |candidate: Candidate| {
            let member = Arc::new(Member::new(candidate, Arc::clone(&host)));
            let kept = &kept;
            async move {
                let schema = if member.is_active() {
                    kept::describe(kept, &member, directories).await
                } else {
                    Schema::default()
                };
                (member, schema)
            }
        };
        let asked = stream::iter(candidates.into_iter().map(describe)).buffered(AT_ONCE);
        let members: Vec<(Arc<Member>, Schema)> = asked.collect().await;
        kept.save(&host.settings.kept);
        let problems = members.iter().flat_map(|(_, schema)| schema.problems.clone()).collect();
        Self { problems, host, members }
    }

    pub fn hears_of_agents(&self) -> bool {
        let tools = self.members.iter().flat_map(|(_, schema)| &schema.tools);
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
        let each = self.members.iter().flat_map(|(member, schema)| {
            schema.tools.iter().map(|tool| ChibiTool::new(tool.clone(), Arc::clone(member)))
        });
        each.map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
    }

    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        let count = self.members.iter().map(|(_, schema)| schema.tools.len()).sum();
        let made = POINTS.iter().filter_map(|point| {
            let mut listeners = Vec::new();
            for (member, schema) in &self.members {
                let wanting = schema.tools.iter().filter(|tool| tool.hooks.contains(&point.name));
                listeners.extend(wanting.map(|_| Arc::clone(member)));
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
        for (member, schema) in &self.members {
            let hooks = schema.tools.iter().flat_map(|tool| &tool.hooks);
            let is_project = member.plugin.place == Place::Project;
            let points = hooks.filter(|name| is_project && is_guard(name));
            guards.extend(points.map(|it| (member.plugin.name().to_owned(), (*it).to_owned())));
        }
        guards
    }

    fn listing(&self) -> Vec<Listed> {
        let listed = self.members.iter().map(|(member, schema)| Listed {
            path: member.executable.display().to_string(),
            ..Listed::of(&member.plugin, NAME, report(schema))
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
            lines.push(match point.standing {
                Standing::Asked(..) => format!("hook {name}"),
                Standing::Told(_, lost) => format!("hook {name}: its answer has no effect: {lost}"),
                Standing::Absent(why) => format!("hook {name}: no counterpart: {why}"),
            });
        }
    }
    let problem = |problem: &Problem| format!("{} ({})", problem.what, problem.hint);
    let problems = schema.problems.iter().map(problem).map(ReportLine::Ignored);
    lines.into_iter().map(ReportLine::Note).chain(problems).collect()
}

#[cfg(test)]
mod tests;
