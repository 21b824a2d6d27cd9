//! Plugins for Claude Code, and Agent Plugins 1.0.0: directories of commands, agents,
//! skills, hooks and servers.
//!
//! Finding and loading read files and start nothing; handlers of hooks are started through the
//! sandbox that they are given. What cannot be used is told in a report, and costs nothing else.

mod agent_file;
mod claude_event;
mod command;
mod decision;
pub(crate) mod document;
mod event;
mod expansion;
mod handlers;
mod hook;
mod input;
mod load;
mod manifest;
mod permission_rule;
mod portable;
mod rehearsal;
mod remote;
mod run;
mod servers;
mod services;
pub mod shell;
mod skill;
mod transcript;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::files::foreign;
use contract::hook::Hook;
use contract::policy::Mode;
use contract::skill::Skill;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::commands::Command;
use crate::directories::{Directories, Kind};
use crate::hooks::Ask;
use crate::hooks::host::Owner;
use crate::hooks::moment::ListenerHook;
use crate::plugin::{Place, Plugin, PluginSettings, ReportLine};
use crate::problem::Problem;
use hook::{Handlers, Shared};

pub use agent_file::{AgentFile, agent_of, agents_in};
pub use expansion::{Expanded, Expansions};
pub use hook::Settings;
pub use load::{ProjectFiles, guards, load, project};
pub use manifest::{Declared, Form, read};
pub use portable::unquoted;
pub use services::{HookServices, McpCall, SERVICE_SESSION};

const ENTRIES: usize = 10_000;
/// Bytes of a command by which it is told whose it is.
const LOOKED_AT: usize = 64 << 10;

/// A plugin or a project's directory, with its parts that are files.
#[derive(Default)]
pub struct Loaded {
    /// The plugin; none for the project.
    pub plugin: Option<Plugin>,
    pub commands: Vec<Command>,
    pub agents: Vec<AgentFile>,
    pub skills: Vec<Skill>,
    pub servers: Map<String, Value>,
    /// The files of the plugin in which they stand, by their names.
    pub server_files: BTreeMap<String, String>,
    pub report: Vec<ReportLine>,
    pub problems: Vec<Problem>,
    handlers: Vec<handlers::Handler>,
    values: values::Values,
}

/// The plugins of one run, and the parts of a trusted project.
#[derive(Default)]
pub struct ClaudeSet {
    /// The active ones, sorted by name; the project comes last.
    pub loaded: Vec<Loaded>,
    pub(crate) idle: Vec<Plugin>,
    pub(crate) rejected: Vec<(Plugin, Problem)>,
    pub(crate) sleeping: BTreeSet<String>,
    pub(crate) problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedHandler {
    /// The plugin system.
    #[serde(skip)]
    pub system: &'static str,
    /// The event, by the name that it has in its own system.
    pub event: &'static str,
    pub matcher: String,
    pub subject: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

impl Loaded {
    pub fn name(&self) -> Option<&str> {
        self.plugin.as_ref().map(Plugin::name)
    }

    /// The MCP servers that the plugin describes.
    pub fn described_servers(&self) -> Option<(&Plugin, &Map<String, Value>)> {
        Some((self.plugin.as_ref()?, &self.servers)).filter(|(_, it)| !it.is_empty())
    }

    /// The directory of the plugin, or the file of the project.
    pub fn place(&self) -> String {
        let root = self.plugin.as_ref().map(|plugin| plugin.root.display().to_string());
        root.unwrap_or_else(|| ".claude/settings.json".to_owned())
    }

    pub fn handlers(&self) -> impl Iterator<Item = ListedHandler> {
        self.handlers.iter().map(|handler| ListedHandler {
            system: "claude",
            event: handler.event.name(),
            matcher: handler.matcher.text().to_owned(),
            subject: handler.program.shown(),
            description: handler.about.clone(),
        })
    }

    pub fn servers_asked(&self) -> impl Iterator<Item = &str> {
        self.handlers.iter().filter_map(|handler| match &handler.program {
            handlers::Program::Tool { server, .. } => Some(server.as_str()),
            _ => None,
        })
    }

    pub fn handler_count(&self) -> usize {
        self.handlers.len()
    }
}

/// The plugins in a directory: itself, or those in it. Looks at names alone.
pub fn find(
    directory: &Path,
    place: Place,
    directories: &Directories,
) -> (Vec<Plugin>, Vec<Problem>) {
    let Ok(directory) = directory.canonicalize() else {
        // Whoever looks for plugins of our own tells of a directory that is missing.
        return (Vec::new(), Vec::new());
    };
    let is_named = !matches!(place, Place::Global | Place::Project);
    if is_named && is_directory(&directory, directories) {
        let plugins = if is_own_text(&directory, directories) && place == Place::Flag {
            Vec::new()
        } else {
            vec![unread(directory, place)]
        };
        return (plugins, Vec::new());
    }
    let listing = match directories.listing(&directory) {
        Ok(listing) => listing,
        Err(error) => {
            return (Vec::new(), vec![Problem::unreadable(&directory, error)]);
        }
    };
    let entries = listing.entries.iter().take(ENTRIES);
    let entries = entries.filter(|entry| matches!(entry.kind, Kind::Directory | Kind::Link));
    let roots = entries.filter_map(|entry| directories.resolved(&directory.join(&entry.name)).ok());
    let roots = roots.filter(|root| is_directory(root, directories));
    (roots.map(|root| unread(root, place)).collect(), Vec::new())
}

/// Returns true if a directory, or one in it, is for this dialect and not for Brynhild's own.
pub(crate) fn claims(directory: &Path, directories: &Directories) -> bool {
    if is_directory(directory, directories) {
        return !is_own_text(directory, directories);
    }
    has(directory, directories, |entry| is_directory(entry, directories))
}

fn is_directory(root: &Path, directories: &Directories) -> bool {
    if directories.has_any(root, &[crate::manifest::FILE, "tool.py"]) {
        return false;
    }
    let is_markdown = |entry: &Path| is_markdown(entry, directories);
    is_marked(root, directories)
        || directories.is_file(&root.join("SKILL.md"))
        || has(&root.join("commands"), directories, |entry| {
            is_markdown(entry) || has(entry, directories, is_markdown)
        })
        || has(&root.join("skills"), directories, |entry| {
            directories.is_file(&entry.join("SKILL.md"))
        })
}

/// Returns true if a directory has a mark of these plugins.
fn is_marked(root: &Path, directories: &Directories) -> bool {
    let files = [manifest::FILE, portable::FILE, "hooks/hooks.json", ".mcp.json"];
    files.iter().any(|file| directories.has(&root.join(file)))
        || has(&root.join("agents"), directories, |entry| is_markdown(entry, directories))
}

/// Returns true if a directory without a manifest holds text that Brynhild's own dialect reads.
fn is_own_text(root: &Path, directories: &Directories) -> bool {
    if is_marked(root, directories) || directories.is_file(&root.join("SKILL.md")) {
        return false;
    }
    let commands = root.join("commands");
    let text = |file: &Path| {
        let text =
            foreign::read(file, foreign::Boundary::Anywhere, LOOKED_AT).map(|text| text.text);
        text.unwrap_or_default()
    };
    let names_itself = |file: &Path| text(file).lines().any(|line| line.starts_with("name:"));
    let has_their_blanks = |file: &Path| {
        let text = text(file);
        text.contains("$ARGUMENTS") && !text.contains("{{")
    };
    let is_command =
        |entry: &Path| is_markdown(entry, directories) || directories.is_directory(entry);
    directories.is_directory(&root.join("profiles"))
        || !has(&commands, directories, is_command)
        || (has(&commands, directories, names_itself)
            && !has(&commands, directories, has_their_blanks))
}

fn has(directory: &Path, directories: &Directories, fits: impl Fn(&Path) -> bool) -> bool {
    let (entries, _) = directories.entries(directory, ENTRIES).unwrap_or_default();
    entries.iter().any(|entry| fits(entry))
}

fn is_markdown(path: &Path, directories: &Directories) -> bool {
    path.extension().is_some_and(|extension| extension == "md") && directories.is_file(path)
}

fn unread(root: PathBuf, place: Place) -> Plugin {
    let manifest =
        crate::plugin::Manifest { name: manifest::directory_name(&root), ..Default::default() };
    Plugin {
        manifest,
        root,
        place,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    }
}

pub struct ClaudeHooks {
    shared: Arc<Shared>,
    hooks: Vec<Arc<dyn Hook>>,
    owners: Vec<Arc<Handlers>>,
    needs_services: bool,
}

impl ClaudeHooks {
    /// Those of these plugins and of the project. Starts nothing.
    pub fn new<'a>(loaded: impl IntoIterator<Item = &'a Loaded>, settings: Settings) -> Self {
        let shared = Arc::new(Shared::new(settings));
        let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
        let mut owners = Vec::new();
        let mut needs_services = false;
        for one in loaded.into_iter().filter(|one| !one.handlers.is_empty()) {
            if hooks.is_empty() {
                hooks.push(Arc::new(ListenerHook(Arc::clone(&shared.transcripts) as _)));
            }
            needs_services |= one.handlers.iter().any(|handler| handler.program.needs_services());
            let title = match one.name() {
                Some(name) => format!("plugin {name}"),
                None => "the project's .claude/settings.json".to_owned(),
            };
            let owner = Arc::new(Handlers {
                title,
                owner: one.plugin.clone().map_or(Owner::Project, |it| Owner::Plugin(Arc::new(it))),
                values: one.values.clone(),
                list: one.handlers.clone(),
                shared: Arc::clone(&shared),
                halt: Arc::default(),
            });
            hooks.push(Arc::new(ListenerHook(Arc::clone(&owner) as _)));
            owners.push(owner);
        }
        Self { shared, hooks, owners, needs_services }
    }

    pub fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.hooks.clone()
    }

    pub fn set_ask(&self, ask: Arc<dyn Ask>) {
        // The first one stays: a conversation has one provider.
        let _ = self.shared.ask.set(ask);
    }

    pub fn needs_services(&self) -> bool {
        self.needs_services
    }

    pub fn set_services(&self, services: Arc<dyn HookServices>) {
        // The first stay: a change of what plugins bring makes another stage.
        let _ = self.shared.services.set(services);
    }

    pub fn set_mode(&self, mode: Mode) {
        self.shared.set_mode(mode);
    }

    pub fn end(&self) {
        self.shared.end();
    }
}

#[cfg(test)]
mod tests;
