//! Plugins in the manner of Claude Code and Agent Plugins: where they are looked for, which of
//! them count, and what else of the program reads their parts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::mcp::config::{ConfigProblem, Grants, ProblemKind, Scope, Server, Source};
use async_trait::async_trait;
use contract::hook::Hook;
use contract::policy::Mode;
use contract::sandbox::Network;
use contract::tool::Tool;
use plugins::claude::{self, AgentFile, ClaudeHooks, Declared, Loaded, ProjectFiles, Settings};
use plugins::commands::Command;
use plugins::discovery::Trust;
use plugins::hooks::Pretended;
use plugins::offer::Contributions;
use plugins::plugin::Plugin;
use plugins::problem::Problem as Fault;
use plugins::state::State;
use serde_json::{Map, Value, json};

use super::{Dialect, Listed, Named};
use crate::assemble;
use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::assembly::Assembly;
use crate::assemble::hooks::{self, HookAgents, Models, plugin_data};
use crate::assemble::plugin_set;
use crate::assemble::run_context::RunContext;
use crate::exit::Problem;
use crate::output;

const NAME: &str = "claude";

/// The plugins of this run, with what a trusted project brings in `.claude`.
#[derive(Default)]
pub(crate) struct ClaudeSet {
    /// Those that count, sorted by name; the project comes last.
    pub(crate) loaded: Vec<Loaded>,
    /// Those that do not.
    idle: Vec<Plugin>,
    /// Those that cannot be loaded, each with what is wrong with it.
    rejected: Vec<(Plugin, Fault)>,
    /// The names of those that say of themselves that they are off.
    sleeping: BTreeSet<String>,
    /// What cannot be used.
    pub(crate) problems: Vec<Fault>,
}

impl ClaudeSet {
    /// Finds and loads them. Reads files and starts nothing.
    pub(crate) fn discover(assembly: &Assembly) -> Self {
        let mut set = Self::default();
        if assembly.global.safe {
            return set;
        }
        let mut found = set.found(assembly);
        let plugins = found.values_mut().map(|(plugin, _)| plugin);
        set.problems.extend(plugin_set::configure(assembly, NAME, plugins));
        let state = plugin_set::state(assembly);
        for (name, (mut plugin, declared)) in found {
            let is_off = declared.as_ref().is_some_and(|it| !it.is_on);
            if is_off {
                set.sleeping.insert(name.clone());
            }
            if is_off && !is_switched_on(assembly, &state, &name) {
                plugin.enabled = false;
            }
            match declared.filter(|_| plugin.is_active()) {
                Some(declared) => {
                    set.loaded.push(claude::load(
                        plugin,
                        declared,
                        &plugin_data(assembly),
                        assembly.place(),
                    ));
                }
                None => set.idle.push(plugin),
            }
        }
        let guards = set.stale_guards(assembly);
        set.loaded.extend(of_project(assembly).or(guards));
        set.problems
            .extend(set.loaded.iter_mut().flat_map(|one| std::mem::take(&mut one.problems)));
        set
    }

    /// The plugins by name, with what those say of themselves that may be read. Of two with one
    /// name the later counts.
    fn found(&mut self, assembly: &Assembly) -> BTreeMap<String, (Plugin, Option<Declared>)> {
        let mut found: BTreeMap<String, (Plugin, Option<Declared>)> = BTreeMap::new();
        for (directory, place) in plugin_set::directories(assembly) {
            let (candidates, problems) = claude::find(&directory, place, assembly.directories());
            self.problems.extend(problems);
            for mut plugin in candidates {
                let declared = match plugin_set::trust(assembly, &plugin.root, place) {
                    Trust::Given => match claude::read(&plugin.root) {
                        Ok(declared) => declared,
                        Err(problem) => {
                            plugin.enabled = false;
                            self.rejected.push((plugin, problem.clone()));
                            self.problems.push(problem);
                            continue;
                        }
                    },
                    Trust::Missing => {
                        plugin.trusted = false;
                        found.entry(plugin.name().to_owned()).or_insert((plugin, None));
                        continue;
                    }
                    Trust::Refused { what, hint } => {
                        self.problems.push(Fault::new(&plugin.root, what, hint));
                        plugin.trusted = false;
                        found.entry(plugin.name().to_owned()).or_insert((plugin, None));
                        continue;
                    }
                };
                plugin.manifest = declared.manifest.clone();
                if let Some(other) = assembly.plugins().get(plugin.name()) {
                    let name = plugin.name();
                    let what = format!("the plugin in {} is called `{name}`", other.root.display());
                    let hint = "give one of them another name to have both";
                    self.problems.push(Fault::new(&plugin.root, what, hint));
                    continue;
                }
                found.insert(plugin.name().to_owned(), (plugin, Some(declared)));
            }
        }
        found
    }

    /// Handlers of a project that changed since it was trusted. They refuse the calls that they
    /// guarded.
    fn stale_guards(&self, run: &RunContext) -> Option<Loaded> {
        let root = run.root().ok().filter(|_| run.has_project())?;
        let is_off = |path: &Path| {
            self.idle.iter().any(|plugin| !plugin.enabled && path.starts_with(&plugin.root))
        };
        let mut files = run.trust.stale()?.hook_files(".json");
        files.retain(|(path, _)| !is_off(path));
        let guards = claude::guards(&ProjectFiles { root, files });
        (guards.handler_count() > 0).then_some(guards)
    }

    /// All of them.
    pub(super) fn named(&self) -> impl Iterator<Item = Named> {
        let active = self.loaded.iter().filter_map(|one| one.plugin.as_ref());
        let idle = self.idle.iter().map(|plugin| Named {
            sleeps: self.sleeping.contains(plugin.name()),
            ..Named::plugin(plugin, NAME)
        });
        let rejected = self.rejected.iter().map(|(plugin, problem)| Named {
            state: "rejected",
            description: problem.what.clone(),
            ..Named::plugin(plugin, NAME)
        });
        active.map(|plugin| Named::plugin(plugin, NAME)).chain(idle).chain(rejected)
    }

    /// What people can type.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.loaded.iter().flat_map(|one| &one.commands)
    }

    /// What others can hand work to.
    pub(crate) fn agents(&self) -> impl Iterator<Item = &AgentFile> {
        self.loaded.iter().flat_map(|one| &one.agents)
    }

    /// Adds skills to those that other plugins contribute.
    pub(crate) fn contribute<'a>(&'a self, contributions: &mut Contributions<'a>) {
        contributions.skills.extend(self.loaded.iter().flat_map(|one| &one.skills));
    }

    /// The directories of skills, whose files the model may read and run.
    pub(crate) fn skill_directories(&self) -> impl Iterator<Item = PathBuf> {
        let skills = self.loaded.iter().flat_map(|one| &one.skills);
        skills.filter_map(|skill| skill.directory.clone())
    }

    /// Whether any plugin describes a server.
    pub(crate) fn has_servers(&self) -> bool {
        self.loaded.iter().any(|one| !one.servers.is_empty())
    }

    /// The documents that describe their servers.
    pub(crate) fn sources(&self) -> Vec<Source> {
        let plugins = self.loaded.iter().filter_map(|one| Some((one, one.plugin.as_ref()?)));
        plugins.filter(|(one, _)| !one.servers.is_empty()).map(source).collect()
    }

    /// Gives a server of a plugin what the plugin has: its directory, its data, its grants.
    pub(crate) fn equip(&self, run: &RunContext, server: &mut Server) {
        let Scope::Plugin(name) = &server.scope else { return };
        let plugins = self.loaded.iter().filter_map(|one| one.plugin.as_ref());
        let Some(plugin) = plugins.into_iter().find(|plugin| plugin.name() == name) else { return };
        let data = plugin_data(run).join(name);
        if let Err(error) = std::fs::create_dir_all(&data) {
            output::warning(&format!("cannot make {}: {error}", data.display()));
        }
        let granted = &plugin.settings.grants;
        let grants: &mut Grants = &mut server.grants;
        if grants.network == Network::None {
            grants.network = granted.network.granted(name);
        }
        grants.read.push(plugin.root.clone());
        grants.read.extend(granted.read.iter().cloned());
        grants.write.push(data);
        grants.write.extend(granted.write.iter().cloned());
        grants.env.extend(granted.env.iter().cloned());
    }
}

/// The document that describes the servers of a plugin.
fn source((one, plugin): (&Loaded, &Plugin)) -> Source {
    let full = |(name, entry): (&String, &Value)| (full_name(plugin.name(), name), entry.clone());
    let servers: Map<String, Value> = one.servers.iter().map(full).collect();
    Source {
        origin: plugin.root.display().to_string(),
        scope: Scope::Plugin(plugin.name().to_owned()),
        document: json!({"mcpServers": servers}),
    }
}

/// The name by which everybody else knows a server of a plugin.
fn full_name(plugin: &str, server: &str) -> String {
    format!("plugin:{plugin}:{server}")
}

/// What becomes of the servers of a plugin, line by line.
fn server_lines(run: &RunContext, one: &Loaded, plugin: &Plugin) -> Vec<String> {
    if one.servers.is_empty() {
        return Vec::new();
    }
    let source = source((one, plugin));
    let found = ::mcp::config::read(&[source], &crate::assemble::mcp::variables(run));
    let line = |(name, file): (&String, &String)| {
        let full = full_name(plugin.name(), name);
        if found.servers.iter().any(|server| server.name == full) {
            return format!("loaded MCP server {name} ({file})");
        }
        let is_why = |problem: &&ConfigProblem| {
            problem.server.as_deref() == Some(&full) && problem.kind != ProblemKind::Ignored
        };
        let why = found.problems.iter().find(is_why).map(|problem| problem.reason.as_str());
        format!("ignored MCP server {name}: {}", why.unwrap_or("it makes no sense"))
    };
    one.server_files.iter().map(line).collect()
}

/// What a project brings, where the user trusts it.
fn of_project(run: &RunContext) -> Option<Loaded> {
    let root = run.root().ok().filter(|_| run.has_project())?;
    let files = run.trust.trusted()?.beneath(&root.join(".claude"));
    (!files.is_empty()).then(|| claude::project(&ProjectFiles { root, files }))
}

/// Whether the user switches a plugin on that is off by itself.
fn is_switched_on(run: &RunContext, state: &State, name: &str) -> bool {
    let plugins = &run.config().plugins;
    let entry = plugins.each.get(name).and_then(|entry| entry.enabled);
    let is_configured = plugins.enabled.get(name) == Some(&true) || entry == Some(true);
    is_configured || state.is_on(NAME, name)
}

/// The plugins of a conversation.
struct Claude {
    stage: Option<ClaudeHooks>,
    listing: Vec<Listed>,
}

/// Makes their hooks ready. None where there are none of them.
pub(super) fn open(assembly: &Assembly) -> Result<Option<Arc<dyn Dialect>>, Problem> {
    let set = assembly.claude();
    if set.loaded.is_empty() && set.idle.is_empty() && set.rejected.is_empty() {
        return Ok(None);
    }
    let has_hooks = set.loaded.iter().any(|one| one.handler_count() > 0);
    let stage =
        if has_hooks { Some(ClaudeHooks::new(&set.loaded, settings(assembly)?)) } else { None };
    Ok(Some(Arc::new(Claude { stage, listing: listing(assembly, set) })))
}

/// What each hook of an event says of something that did not happen; none where there is no such
/// event.
pub(crate) async fn rehearsed(
    assembly: &Assembly,
    what: Pretended<'_>,
) -> Result<Option<Vec<Value>>, Problem> {
    let stage = ClaudeHooks::new(&assembly.claude().loaded, settings(assembly)?);
    Ok(stage.rehearse(what).await)
}

fn listing(run: &RunContext, set: &ClaudeSet) -> Vec<Listed> {
    let of = |plugin: &Plugin, report: Vec<String>| Listed {
        name: plugin.name().to_owned(),
        dialect: NAME,
        path: plugin.root.display().to_string(),
        enabled: plugin.is_active(),
        trusted: Some(plugin.trusted),
        version: plugin.manifest.version.clone(),
        description: plugin.manifest.description.clone(),
        report,
        ..Listed::default()
    };
    let active = set.loaded.iter().filter_map(|one| {
        let plugin = one.plugin.as_ref()?;
        let mut report = one.report.clone();
        report.extend(server_lines(run, one, plugin));
        Some(of(plugin, report))
    });
    let idle = set.idle.iter().map(|plugin| {
        let why = if plugin.trusted {
            "nothing is loaded: it is switched off"
        } else {
            "nothing is loaded: it lies in a project that you have not trusted"
        };
        of(plugin, vec![why.to_owned()])
    });
    let rejected = set.rejected.iter().map(|(plugin, problem)| {
        of(plugin, vec![format!("nothing is loaded: {} ({})", problem.what, problem.hint)])
    });
    let mut listing: Vec<Listed> = active.chain(idle).chain(rejected).collect();
    listing.sort_by(|one, other| one.name.cmp(&other.name));
    listing
}

fn settings(assembly: &Assembly) -> Result<Settings, Problem> {
    let is_resumed = assembly.global.resume.is_some() || assembly.global.continue_last;
    Ok(Settings {
        host: hooks::host(
            assembly,
            assembly.place(),
            assemble::confinement::sandbox(assembly)?,
            Arc::new(|text| output::warning(&text)),
        ),
        transcripts: assembly.state_dir()?.join("transcripts"),
        source: if is_resumed { "resume" } else { "startup" },
        expansions: Arc::clone(assembly.expansions()),
        mode: assembly.mode(),
        requests: super::api::settings(assembly),
    })
}

#[async_trait]
impl Dialect for Claude {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.stage.as_ref().map(ClaudeHooks::hooks).unwrap_or_default()
    }

    fn listing(&self) -> Vec<Listed> {
        self.listing.clone()
    }

    fn set_model(&self, answering: &AnsweringModel) {
        if let Some(stage) = &self.stage {
            stage.set_ask(Arc::new(Models::new(answering)));
        }
    }

    fn load_hook_agents(
        &self,
        make: &dyn Fn() -> Result<HookAgents, Problem>,
    ) -> Result<(), Problem> {
        if let Some(stage) = self.stage.as_ref().filter(|stage| stage.needs_services()) {
            stage.set_services(Arc::new(make()?));
        }
        Ok(())
    }

    fn set_mode(&self, mode: Mode) {
        if let Some(stage) = &self.stage {
            stage.set_mode(mode);
        }
    }

    async fn shutdown(&self) {
        if let Some(stage) = &self.stage {
            stage.end();
        }
    }
}
