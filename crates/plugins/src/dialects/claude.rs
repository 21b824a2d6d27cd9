//! Plugins for Claude Code, and the `.claude` directory of a trusted project.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::Hook;
use contract::policy::Mode;
use serde_json::Value;

use super::{Dialect, Named, api, plugins};
use crate::claude::{
    self, ClaudeHooks, ClaudeSet, Declared, HookServices, Loaded, ProjectFiles, Settings,
};
use crate::discovery::Trust;
use crate::env::PluginEnv;
use crate::hooks::{Ask, Pretended};
use crate::open_plugins::{Listed, OpenPlugins};
use crate::plugin::{Plugin, PluginState, ReportLine};
use crate::problem::Problem;
use crate::state::State;

const NAME: &str = "claude";

pub(super) struct ClaudeDialect;

#[async_trait]
impl Dialect for ClaudeDialect {
    fn named(&self, env: &PluginEnv<'_>) -> Vec<Named> {
        let set = set(env);
        let active = set.loaded.iter().filter_map(|one| one.plugin.as_ref());
        let idle = set.idle.iter().map(|plugin| Named {
            sleeps: set.sleeping.contains(plugin.name()),
            ..Named::plugin(plugin, NAME)
        });
        let rejected = set.rejected.iter().map(|(plugin, problem)| Named {
            state: PluginState::Rejected,
            description: problem.what.clone(),
            ..Named::plugin(plugin, NAME)
        });
        active.map(|plugin| Named::plugin(plugin, NAME)).chain(idle).chain(rejected).collect()
    }

    fn loaded<'a>(&self, env: &PluginEnv<'a>) -> &'a [Loaded] {
        &set(env).loaded
    }

    async fn open(&self, env: &PluginEnv<'_>) -> Option<Arc<dyn OpenPlugins>> {
        let set = set(env);
        if set.loaded.is_empty() && set.idle.is_empty() && set.rejected.is_empty() {
            return None;
        }
        let has_hooks = set.loaded.iter().any(|one| one.handler_count() > 0);
        let hooks = if has_hooks { Some(hooks(env)?) } else { None };
        Some(Arc::new(OpenClaude { hooks, listing: listing(env, set) }))
    }
}

/// The plugins, found on first use; their problems are told then.
fn set<'a>(env: &PluginEnv<'a>) -> &'a ClaudeSet {
    env.cache.claude.get_or_init(|| {
        let set = if env.is_safe { ClaudeSet::default() } else { discover(env) };
        env.report_all(&set.problems);
        set
    })
}

fn discover(env: &PluginEnv<'_>) -> ClaudeSet {
    let mut set = ClaudeSet::default();
    let mut found = found(env, &mut set);
    let switches = env.switches();
    let all = found.values_mut().map(|(plugin, _)| plugin);
    set.problems.extend(env.configure(NAME, &switches, all));
    for (name, (mut plugin, declared)) in found {
        if declared.as_ref().is_some_and(|it| !it.is_on) {
            plugin.enabled &= is_switched_on(env, &switches, &name);
            set.sleeping.insert(name);
        }
        match declared.filter(|_| plugin.is_active()) {
            Some(declared) => {
                let data = env.plugin_data();
                set.loaded.push(claude::load(plugin, declared, &data, env.workspace()));
            }
            None => set.idle.push(plugin),
        }
    }
    let of_project = of_project(env).or_else(|| changed_guards(env, &set.idle));
    set.loaded.extend(of_project);
    set.problems.extend(set.loaded.iter_mut().flat_map(|one| std::mem::take(&mut one.problems)));
    set
}

/// The plugins by name, with the manifests that may be read. Of two with one name the later wins.
fn found(env: &PluginEnv<'_>, set: &mut ClaudeSet) -> BTreeMap<String, (Plugin, Option<Declared>)> {
    let mut found: BTreeMap<String, (Plugin, Option<Declared>)> = BTreeMap::new();
    for (directory, place) in env.plugin_directories() {
        let (candidates, problems) = claude::find(&directory, place, env.directories());
        set.problems.extend(problems);
        for mut plugin in candidates {
            let trust = env.program.trust(&plugin.root, place);
            if trust != Trust::Given {
                if let Trust::Refused { what, hint } = trust {
                    set.problems.push(Problem::new(&plugin.root, what, hint));
                }
                plugin.trusted = false;
                found.entry(plugin.name().to_owned()).or_insert((plugin, None));
                continue;
            }
            let declared = match claude::read(&plugin.root) {
                Ok(declared) => declared,
                Err(problem) => {
                    plugin.enabled = false;
                    set.rejected.push((plugin, problem.clone()));
                    set.problems.push(problem);
                    continue;
                }
            };
            plugin.manifest = declared.manifest.clone();
            if let Some(other) = plugins(env).get(plugin.name()) {
                let name = plugin.name();
                let what = format!("the plugin in {} is called `{name}`", other.root.display());
                let hint = "give one of them another name to have both";
                set.problems.push(Problem::new(&plugin.root, what, hint));
                continue;
            }
            found.insert(plugin.name().to_owned(), (plugin, Some(declared)));
        }
    }
    found
}

/// Handlers of a project that changed since it was trusted. They refuse the calls that they guarded.
fn changed_guards(env: &PluginEnv<'_>, idle: &[Plugin]) -> Option<Loaded> {
    let root = env.project()?;
    let is_off =
        |path: &Path| idle.iter().any(|plugin| !plugin.enabled && path.starts_with(&plugin.root));
    let mut files = env.program.changed_hooks();
    files.retain(|(path, _)| !is_off(path));
    let guards = claude::guards(&ProjectFiles { root, files });
    (guards.handler_count() > 0).then_some(guards)
}

fn of_project(env: &PluginEnv<'_>) -> Option<Loaded> {
    let root = env.project()?;
    let files = env.program.trusted_files();
    (!files.is_empty()).then(|| claude::project(&ProjectFiles { root, files }))
}

fn is_switched_on(env: &PluginEnv<'_>, switches: &State, name: &str) -> bool {
    let entry = env.program.entry(name).and_then(|entry| entry.enabled);
    let is_configured = env.settings.enabled.get(name) == Some(&true) || entry == Some(true);
    is_configured || switches.is_on(NAME, name)
}

/// The answer of each hook of an event to something that did not happen; none if there is no such
/// event, or the program has no means to run hooks.
pub async fn rehearsed(env: &PluginEnv<'_>, what: Pretended<'_>) -> Option<Vec<Value>> {
    hooks(env)?.rehearse(what).await
}

fn hooks(env: &PluginEnv<'_>) -> Option<ClaudeHooks> {
    let runtime = env.program.runtime()?;
    let settings = Settings {
        host: runtime.hooks,
        transcripts: runtime.state_dir.join("transcripts"),
        source: runtime.source,
        expansions: runtime.expansions,
        mode: env.program.mode(),
        requests: api::settings(env),
    };
    Some(ClaudeHooks::new(&set(env).loaded, settings))
}

fn listing(env: &PluginEnv<'_>, set: &ClaudeSet) -> Vec<Listed> {
    let of = |plugin: &Plugin, report: Vec<ReportLine>| Listed {
        version: plugin.manifest.version.clone(),
        description: plugin.manifest.description.clone(),
        ..Listed::of(plugin, NAME, report)
    };
    let active = set.loaded.iter().filter_map(|one| {
        let plugin = one.plugin.as_ref()?;
        let mut report = one.report.clone();
        report.extend(server_lines(env, one, plugin));
        Some(of(plugin, report))
    });
    let idle = set.idle.iter().map(|plugin| {
        let why = if plugin.trusted {
            "not loaded: it is disabled"
        } else {
            "nothing is loaded: it is in a project that you have not trusted"
        };
        of(plugin, vec![ReportLine::Note(why.to_owned())])
    });
    let rejected = set.rejected.iter().map(|(plugin, problem)| {
        let why = format!("nothing is loaded: {} ({})", problem.what, problem.hint);
        of(plugin, vec![ReportLine::Note(why)])
    });
    let mut listing: Vec<Listed> = active.chain(idle).chain(rejected).collect();
    listing.sort_by(|one, other| one.name.cmp(&other.name));
    listing
}

fn server_lines(env: &PluginEnv<'_>, one: &Loaded, plugin: &Plugin) -> Vec<ReportLine> {
    if one.servers.is_empty() {
        return Vec::new();
    }
    let faults = env.program.server_faults(plugin, &one.servers);
    let line = |(name, file): (&String, &String)| match faults.get(name) {
        Some(why) => ReportLine::Ignored(format!("ignored MCP server {name}: {why}")),
        None => ReportLine::Note(format!("loaded MCP server {name} ({file})")),
    };
    one.server_files.iter().map(line).collect()
}

struct OpenClaude {
    hooks: Option<ClaudeHooks>,
    listing: Vec<Listed>,
}

#[async_trait]
impl OpenPlugins for OpenClaude {
    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.hooks.as_ref().map(ClaudeHooks::hooks).unwrap_or_default()
    }

    fn listing(&self) -> Vec<Listed> {
        self.listing.clone()
    }

    fn set_mode(&self, mode: Mode) {
        self.hooks.iter().for_each(|hooks| hooks.set_mode(mode));
    }

    fn set_ask(&self, ask: &Arc<dyn Ask>) {
        self.hooks.iter().for_each(|hooks| hooks.set_ask(Arc::clone(ask)));
    }

    fn needs_services(&self) -> bool {
        self.hooks.as_ref().is_some_and(ClaudeHooks::needs_services)
    }

    fn set_services(&self, services: Arc<dyn HookServices>) {
        if let Some(hooks) = &self.hooks {
            hooks.set_services(services);
        }
    }

    async fn shutdown(&self) {
        self.hooks.iter().for_each(ClaudeHooks::end);
    }
}
