//! Plugins written for LMAO: every `tool.py` of a directory, served by one confined worker, so that
//! what their modules share stays shared, and by a second one that may write where some of them say
//! that they change something. Those that were granted something of their own get workers of their
//! own.
//!
//! Which tools a mode offers, and whether a target lies in the workspace, is decided here and not
//! in the worker.

mod facts;
mod files;
mod guards;
mod hook;
mod sharing;
mod target;
mod tool;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::{Hook, Moment};
use contract::python::{PythonOffer, PythonTool};
use contract::tool::Tool;
use serde_json::{Value, json};

use crate::hooks::moment::ListenerHook;
use crate::open_plugins::{Listed, OpenPlugins};
use crate::plugin::{Dialect, Manifest, Place, Plugin, PluginSettings, ReportLine};
use crate::problem::{Problem, shown};
use crate::python::Python;
use facts::Facts;
pub use files::{Candidate, find};
use guards::Guards;
use hook::LmaoHook;
use tool::LmaoTool;

#[derive(Clone, Debug)]
pub struct Conditions {
    pub workspace: PathBuf,
    pub home: Option<PathBuf>,
    /// True if the user has approved of everything beforehand.
    pub approves_all: bool,
    pub is_headless: bool,
    /// True if plugins may write to the log for people.
    pub is_verbose: bool,
    /// A directory of ours, for what is kept between runs.
    pub state: PathBuf,
}

#[derive(Clone, Debug)]
pub struct Directory {
    pub path: PathBuf,
    pub place: Place,
    /// The active plugins in it: each with its directory as root and its file as its only tool.
    pub members: Vec<Plugin>,
}

/// A plugin of one directory, before the user's settings are known.
pub fn member(candidate: &Candidate, place: Place) -> Plugin {
    Plugin {
        manifest: Manifest {
            name: candidate.name.clone(),
            version: String::from("0.0.0"),
            tools: vec![candidate.file.display().to_string()],
            dialect: Dialect::Lmao,
            ..Manifest::default()
        },
        root: candidate.directory.clone(),
        place,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    }
}

pub struct Lmao {
    python: Python,
    conditions: Arc<Conditions>,
    groups: Vec<Group>,
    /// All plugins, those that are off or not trusted included.
    all: Vec<Plugin>,
}

struct Group {
    /// As the files find themselves that change something.
    plugin: Plugin,
    /// As all others do.
    looking: Plugin,
    changing: BTreeSet<String>,
    members: Vec<Plugin>,
    offer: PythonOffer,
    problems: Vec<Problem>,
    facts: Facts,
    roots: Vec<PathBuf>,
}

impl Lmao {
    /// Learns what the plugins of some directories offer: from the cache, or by running them.
    pub async fn open(
        python: Python,
        mut directories: Vec<Directory>,
        conditions: Conditions,
    ) -> Self {
        let all = directories.iter().flat_map(|directory| directory.members.clone()).collect();
        let mut groups = Vec::new();
        for directory in &mut directories {
            directory.members.retain(Plugin::is_active);
            groups.extend(split(directory, &conditions));
        }
        let plugins: Vec<_> = groups.iter().map(|(plugin, _)| python.plugin(plugin)).collect();
        python.host().retain(Dialect::Lmao.as_str(), &plugins);
        let offers = python.host().describe(&plugins).await;
        let guards = Guards::new(&conditions.state);
        let groups = groups.into_iter().zip(offers).map(|((plugin, members), mut offer)| {
            let mut facts = Facts::read(&offer.rest);
            let faults = std::mem::take(&mut offer.faults).into_iter();
            let mut problems: Vec<Problem> = faults.map(Problem::from).collect();
            problems.extend(guards.hold(&plugin.manifest.tools, &mut facts).err());
            let roots = roots(&plugin.settings, &conditions);
            let looking = plugin.clone();
            let changing = sharing::changing(&facts);
            let plugin = equipped(plugin, &facts);
            Group { plugin, looking, changing, members, offer, problems, facts, roots }
        });
        let groups = groups.collect();
        Self { python, conditions: Arc::new(conditions), groups, all }
    }

    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.groups.iter().flat_map(|group| &group.problems)
    }

    fn tools_of(&self, group: &Group) -> Vec<Arc<dyn Tool>> {
        let each = group.offer.tools.iter().filter_map(|tool| {
            let facts = group.facts.tools.get(&tool.key)?;
            let serving = group.serving(&facts.file);
            let owner = group.owner(&facts.file).unwrap_or(serving);
            let mut tool = PythonTool::clone(tool);
            owner.name().clone_into(&mut tool.spec.source);
            let python = self.python.host().tool(self.python.owned(serving, owner), tool);
            let tool = facts.visible_to_agent.then(|| LmaoTool {
                specs: tool::specs(&python.spec(), facts),
                python,
                facts: facts.clone(),
                host: Arc::clone(self.python.host()),
                conditions: Arc::clone(&self.conditions),
                roots: group.roots.clone(),
            })?;
            Some(Arc::new(tool) as Arc<dyn Tool>)
        });
        each.collect()
    }

    fn report(&self, file: &Path) -> Vec<ReportLine> {
        let mut lines = Vec::new();
        for group in &self.groups {
            for (key, facts) in &group.facts.tools {
                let known = group.offer.tools.iter().find(|tool| &tool.key == key);
                if let Some(tool) = known.filter(|_| Path::new(&facts.file) == file) {
                    let line = format!("tool `{}`: {}", tool.spec.name, facts.summary());
                    lines.push(ReportLine::Note(line));
                }
            }
            let own = group.problems.iter().filter(|problem| problem.path == file);
            let ignored = |problem: &Problem| format!("ignored: {}", problem.what);
            lines.extend(own.map(ignored).map(ReportLine::Ignored));
            if group.members.iter().any(|member| is_file_of(member, file)) {
                lines.extend(group.facts.summary());
            }
        }
        lines
    }
}

#[async_trait]
impl OpenPlugins for Lmao {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.groups.iter().flat_map(|group| self.tools_of(group)).collect()
    }

    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        let with_hooks = self.groups.iter().filter(|group| !group.facts.moments.is_empty());
        let hook = |group: &Group| {
            let plugin = self.python.plugin(&group.plugin);
            let place = shown(&group.plugin.root);
            let host = Arc::clone(self.python.host());
            ListenerHook::shared(LmaoHook::new(&place, plugin, host, &group.facts))
        };
        with_hooks.map(hook).collect()
    }

    /// The project's plugin directories whose hooks are asked before every call, with that point.
    fn project_guards(&self) -> Vec<(String, String)> {
        let guards = self.groups.iter().filter(|group| {
            let is_guard = group.facts.moments.contains(&Moment::BeforeTool);
            is_guard && group.plugin.place == Place::Project
        });
        guards.map(|group| (shown(&group.plugin.root), "pre_tool".to_owned())).collect()
    }

    fn listing(&self) -> Vec<Listed> {
        let listed = self.all.iter().map(|plugin| {
            let mut report = Vec::new();
            if !plugin.trusted {
                report.push(ReportLine::Ignored("ignored: it is not trusted".to_owned()));
            }
            for file in &plugin.manifest.tools {
                report.extend(self.report(Path::new(file)));
            }
            Listed::of(plugin, Dialect::Lmao.as_str(), report)
        });
        listed.collect()
    }

    async fn shutdown(&self) {
        self.python.host().shutdown().await;
    }
}

impl Group {
    fn serving(&self, file: &str) -> &Plugin {
        if self.changing.contains(file) { &self.plugin } else { &self.looking }
    }

    fn owner(&self, file: &str) -> Option<&Plugin> {
        self.members.iter().find(|member| is_file_of(member, Path::new(file)))
    }
}

fn is_file_of(member: &Plugin, file: &Path) -> bool {
    member.manifest.tools.iter().any(|own| Path::new(own) == file)
}

/// The workers that a directory needs: one for all plugins with the same grants and time.
fn split(directory: &Directory, conditions: &Conditions) -> Vec<(Plugin, Vec<Plugin>)> {
    let mut groups: Vec<(Plugin, Vec<Plugin>)> = Vec::new();
    for member in &directory.members {
        let is_same = |group: &&mut (Plugin, Vec<Plugin>)| {
            let first = &group.1[0].settings;
            first.grants == member.settings.grants && first.timeout == member.settings.timeout
        };
        if let Some((_, members)) = groups.iter_mut().find(is_same) {
            members.push(member.clone());
        } else {
            let settings = member.settings.clone();
            let name = worker_name(directory, member);
            let manifest = Manifest { name, tools: Vec::new(), ..member.manifest.clone() };
            let plugin =
                Plugin { manifest, root: directory.path.clone(), settings, ..member.clone() };
            groups.push((plugin, vec![member.clone()]));
        }
    }
    for (plugin, members) in &mut groups {
        plugin.manifest.tools =
            members.iter().flat_map(|member| member.manifest.tools.clone()).collect();
        plugin.settings.own = own(&plugin.settings, conditions);
        // A directory behind a link lies elsewhere and has to be seen as well.
        let elsewhere = members.iter().map(|member| &member.root);
        let elsewhere = elsewhere.filter(|root| !root.starts_with(&directory.path));
        plugin.settings.grants.read.extend(elsewhere.cloned());
    }
    groups
}

/// A worker's plugin as those of its files find it that change something: what a user approves of
/// goes into the workspace, as with the tools that are built in.
fn equipped(mut plugin: Plugin, facts: &Facts) -> Plugin {
    if facts.tools.values().any(|tool| tool.is_destructive) {
        plugin.settings.grants.write.push(PathBuf::from("."));
    }
    plugin
}

/// The name of a worker and of its data: the plugin's own if it was granted something.
fn worker_name(directory: &Directory, member: &Plugin) -> String {
    if member.settings.grants != PluginSettings::default().grants
        || member.settings.timeout.is_some()
    {
        return member.name().to_owned();
    }
    match directory.place {
        Place::Global => String::from("lmao"),
        Place::Configured
        | Place::Environment
        | Place::Project
        | Place::EntryPoint
        | Place::Flag => {
            let path = directory.path.as_os_str().as_encoded_bytes();
            format!("lmao-{}", &crate::hash::short_hash(path)[..8])
        }
    }
}

fn own(settings: &PluginSettings, conditions: &Conditions) -> serde_json::Map<String, Value> {
    let workspace = &conditions.workspace;
    let mut skills = vec![workspace.join("skills"), workspace.join(".brynhild/skills")];
    skills.extend(conditions.home.iter().map(|home| home.join(".config/agents/skills")));
    let told = json!({
        "roots": texts(&roots(settings, conditions)),
        "skill_roots": texts(&skills),
        "debug": conditions.is_verbose,
    });
    match told {
        Value::Object(told) => told,
        _ => serde_json::Map::new(),
    }
}

fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// The directories that a plugin was granted, in which its targets may lie.
fn roots(settings: &PluginSettings, conditions: &Conditions) -> Vec<PathBuf> {
    let granted = settings.grants.read.iter().chain(&settings.grants.write);
    let resolve = |path: &PathBuf| match (path.strip_prefix("~"), &conditions.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => conditions.workspace.join(path),
    };
    granted.filter_map(|path| resolve(path).canonicalize().ok()).collect()
}

#[cfg(test)]
mod tests;
