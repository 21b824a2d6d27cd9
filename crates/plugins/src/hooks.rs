//! Hooks: commands, scripts and questions to a model that run at fixed moments of a conversation
//! and of a plugin's life.
//!
//! Loading reads files and starts nothing. Processes are started confined, by where a hook comes
//! from. What cannot be used costs one [`Problem`] and nothing else.

mod answer;
mod context;
mod definition;
mod event;
pub(crate) mod failure;
pub(crate) mod host;
mod ledger;
mod lifecycle;
mod matching;
mod merge;
pub(crate) mod moment;
mod origin;
pub(crate) mod pattern;
mod prompt;
pub(crate) mod rehearsal;
#[cfg(test)]
pub(crate) mod tests;
mod yaml_hook;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::files::foreign::{self, Boundary, Refusal};
use contract::hook::Hook;
use contract::policy::Mode;
use contract::python::PythonHost;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::plugin::Plugin;
use crate::problem::Problem;
use definition::{Action, Broken};
use ledger::Meter;
use moment::ListenerHook;
use yaml_hook::YamlHook;

pub use event::Event;
pub use host::{Ask, HookHost, Notice, REPLY_TOKENS, Reported};
pub use ledger::Ledger;
pub use lifecycle::Lifecycle;
pub(crate) use origin::relocated;
pub use rehearsal::{Pretended, Tried};

const FILE_LIMIT: usize = 1 << 20;

pub struct Sources<'a> {
    pub global: Option<PathBuf>,
    pub project: Option<ProjectFile>,
    /// All plugins; those that are not active bring nothing.
    pub plugins: &'a [Plugin],
    pub offers: Vec<Offered>,
}

/// A file of a project with the very bytes that the user trusts.
#[derive(Clone, Debug)]
pub struct ProjectFile {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

/// Hooks that an entry point of a plugin defines.
#[derive(Clone, Debug)]
pub struct Offered {
    pub plugin: String,
    pub name: String,
    pub config: Value,
}

/// The dependencies of the hooks of `hooks.yaml`.
pub struct Settings {
    pub host: HookHost,
    /// How much freedom processes have, until [`Ledger::set_mode`] says otherwise.
    pub mode: Mode,
    /// The user's own directory, in whose `hooks` scripts of the user's hooks lie.
    pub config_dir: Option<PathBuf>,
    /// Knows the Python that `python3` stands for, so that no script looks for it each time.
    pub python: Option<Arc<dyn PythonHost>>,
    pub ask: Option<Arc<dyn Ask>>,
    /// The memory of hooks, shared with later loads.
    pub ledger: Arc<Ledger>,
}

/// The hooks, and the problems of their files.
pub struct Loaded {
    /// Those of conversations, in the order in which they are asked.
    pub hooks: Vec<Arc<dyn Hook>>,
    pub lifecycle: Lifecycle,
    pub problems: Vec<Problem>,
    pub listing: Vec<Listed>,
    /// Every file that was read: a load holds until one of them changes.
    pub files: Vec<PathBuf>,
    all: Vec<Arc<YamlHook>>,
}

impl Loaded {
    /// Runs the hooks of an event on something that did not happen.
    pub async fn rehearse(&self, event: Event, what: Pretended<'_>) -> Tried {
        rehearsal::rehearse(&self.all, event, what).await
    }
}

/// A hook as `hooks list` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    pub event: Event,
    pub name: String,
    /// `command`, `script` or `prompt`; `broken` for what blocks because it is not a path.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub enabled: bool,
    #[serde(serialize_with = "seconds")]
    pub timeout: Duration,
    /// `global`, `project`, or the plugin.
    pub source: String,
    pub file: PathBuf,
    pub line: usize,
    pub subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    if duration.subsec_nanos() == 0 {
        serializer.serialize_u64(duration.as_secs())
    } else {
        serializer.serialize_f64(duration.as_secs_f64())
    }
}

/// Finds all hooks.
pub fn load(sources: Sources<'_>, settings: Settings) -> Loaded {
    let merged = merge::merge(sources);
    let listing = merged.hooks.iter().map(merge::FoundHook::listed).collect();
    let settings = Arc::new(settings);
    let all: Vec<Arc<YamlHook>> = merged
        .hooks
        .into_iter()
        .enumerate()
        .filter(|(_, found)| found.definition.enabled)
        .map(|(position, found)| {
            let settings = Arc::clone(&settings);
            Arc::new(YamlHook::new(found.definition, found.origin, settings, position))
        })
        .collect();
    let (of_plugins, of_conversations): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|hook| hook.definition.event.is_lifecycle());
    let counts = |hook: &Arc<YamlHook>| {
        matches!(hook.definition.event, Event::PostToolUse | Event::SessionEnd)
    };
    let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
    if of_conversations.iter().any(counts) {
        hooks.push(ListenerHook::shared(Meter(Arc::clone(&settings.ledger))));
    }
    let listening = of_conversations.into_iter().map(|hook| ListenerHook(hook));
    hooks.extend(listening.map(|hook| Arc::new(hook) as Arc<dyn Hook>));
    let lifecycle = Lifecycle::new(of_plugins, settings);
    Loaded { hooks, lifecycle, problems: merged.problems, listing, files: merged.files, all }
}

/// Counts the hooks of a file and lists its faults. Relative scripts are beside it or in `workspace`.
pub fn validate(
    path: &Path,
    workspace: &Path,
    home: Option<&Path>,
) -> Result<(usize, Vec<Problem>), Problem> {
    // Where a plugin's own file lies it is the plugin's.
    let is_of_plugin = path.with_file_name("plugin.yaml").is_file();
    let broken = if is_of_plugin { Broken::IsLeftOut } else { Broken::Blocks };
    let unreadable = |problem: Problem| match broken {
        Broken::Blocks => definition::unreadable(problem).problems.remove(0),
        Broken::IsLeftOut => problem,
    };
    match foreign::read(path, Boundary::Anywhere, FILE_LIMIT) {
        Ok(file) if file.truncated => Err(unreadable(merge::too_large(path))),
        Ok(file) => {
            let mut file = definition::read(path, &file.text, broken);
            file.definitions.retain(|hook| !matches!(hook.action, Action::Refuse(_)));
            let places = [path.parent().unwrap_or(path), workspace];
            for hook in &file.definitions {
                if hook.enabled
                    && let Action::Script(script) = &hook.action
                    && let Err(what) = origin::find_script(script, places, home)
                {
                    let what = format!("hook '{}': {what}", hook.name);
                    file.problems.push(Problem::new(
                        path,
                        what,
                        "correct the path, or add the file",
                    ));
                }
            }
            Ok((file.definitions.len(), file.problems))
        }
        Err(Refusal::Missing) => Err(Problem::unreadable(path, Refusal::Missing)),
        Err(refusal) => Err(unreadable(Problem::unreadable(path, refusal))),
    }
}
