//! The program as plugins see it: the user's settings, trust, and the means to run processes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use approvals::role_guard::{Guard, RoleGuards};
use args::OutputFormat;
use contract::hook::Hook;
use contract::policy::Mode;
use contract::tool::Tool;
use initrunner::role;
use line_ui::status_line::StatusLinePause;
use plugins::chibi::{Agent, Agents, Console};
use plugins::dialects::{self, Named};
use plugins::directories::Directories;
use plugins::discovery::Trust;
use plugins::env::{PluginEntry, PluginEnv, Program, Runtime, UserSettings};
use plugins::hooks::Pretended;
use plugins::open_plugins::OpenPlugins;
use plugins::plugin::{Place, Plugin};
use plugins::problem::Problem as Fault;
use python_host::sites;
use serde_json::{Map, Value};
use subagents::PLAIN;
use tui::console::Pause;

use crate::agent_list::{AgentList, Kind};
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;
use crate::{hooks, mcp, plugin_trust};

impl Assembly {
    /// The directories, settings and checks that plugins are found with.
    pub fn plugin_env(&self) -> PluginEnv<'_> {
        let (plugins, terminal) = (&self.config().plugins, self.environment.terminal);
        let is_asked = terminal.stdin && terminal.stderr;
        PluginEnv {
            is_safe: self.global.safe,
            cwd: &self.environment.cwd,
            home: self.environment.home.as_deref(),
            variables: &self.environment.variables,
            config_dir: self.loaded.config_dir.as_deref(),
            temp: &self.environment.temp,
            root: self.root().ok(),
            settings: UserSettings {
                named_directories: &self.global.plugin_dir,
                search_paths: &plugins.search_paths,
                python: plugins.python.as_deref(),
                enabled: &plugins.enabled,
                role_file: self.global.role_file.as_deref(),
                api: &self.config().api,
                is_verbose: self.config().behavior.verbose,
                approves_all: self.global.yes,
                is_headless: !is_asked && self.format() != OutputFormat::StreamJson,
            },
            cache: self.plugin_cache(),
            program: self,
        }
    }

    /// All plugins and servers that can be switched on and off. Runs nothing.
    pub fn named_plugins(&self) -> Vec<Named> {
        let mut named = dialects::named(&self.plugin_env());
        if !self.global.safe {
            named.extend(mcp::named(self));
        }
        named
    }

    /// Fails if the program had no means to run processes when plugins asked for them.
    pub(crate) fn check_runtime(&self) -> Result<(), Problem> {
        self.plugin_failure().take().map_or(Ok(()), Err)
    }

    fn make_runtime(&self) -> Result<Runtime, Problem> {
        let is_resumed = self.global.resume.is_some() || self.global.continue_last;
        let notice = Arc::new(|text: String| output::warning(&text));
        Ok(Runtime {
            hooks: hooks::host(self, self.place(), self.sandbox()?, notice),
            python: self.python()?.python.clone(),
            cache_dir: self.cache_dir()?,
            state_dir: self.state_dir()?,
            on_output: Arc::new(output::plugin),
            console: console(self),
            source: if is_resumed { "resume" } else { "startup" },
            expansions: Arc::clone(self.expansions()),
        })
    }
}

impl Program for Assembly {
    fn directories(&self) -> &Arc<Directories> {
        Self::directories(self)
    }

    fn trust(&self, root: &Path, place: Place) -> Trust {
        plugin_trust::trust(self, root, place)
    }

    fn trusted_files(&self) -> Vec<(&Path, &[u8])> {
        let files = self.trust.trusted().zip(self.root().ok());
        files.map(|(trusted, root)| trusted.beneath(&root.join(".claude"))).unwrap_or_default()
    }

    fn changed_hooks(&self) -> Vec<(&Path, &[u8])> {
        self.trust.stale().map(|stale| stale.hook_files(".json")).unwrap_or_default()
    }

    fn entry(&self, name: &str) -> Option<PluginEntry<'_>> {
        self.config().plugins.each.get(name).map(|entry| PluginEntry {
            enabled: entry.enabled,
            timeout: entry.timeout,
            sandbox: &entry.sandbox,
            own: &entry.own,
        })
    }

    fn origin(&self, key: &[&str]) -> String {
        self.loaded.origin(key).map(ToString::to_string).unwrap_or_default()
    }

    fn credentials(&self) -> Vec<(&str, &str)> {
        let instances = self.config().providers.instances.values();
        instances.filter_map(|it| Some((&*it.kind, it.credentials_path.as_deref()?))).collect()
    }

    fn is_trusted(&self, directory: &Path) -> bool {
        self.trusted_roots().admit(&self.trust, &[directory])
    }

    fn warn(&self, text: &str) {
        output::warning(text);
    }

    fn report(&self, problem: &Fault) {
        self.report_plugin(problem);
    }

    fn hint(&self, text: &str) {
        output::hint(text);
    }

    fn mode(&self) -> Mode {
        RunContext::mode(self)
    }

    fn call_rules(&self, entry: &Value, tools: &[Arc<dyn Tool>]) -> Result<Arc<dyn Hook>, String> {
        let guard = Guard::read(entry)?;
        let guard = if self.auto_approves() { guard.approved() } else { guard };
        let mut guards = RoleGuards::default();
        for tool in tools {
            guards.add(&tool.spec(), &guard);
        }
        Ok(Arc::new(guards))
    }

    fn agents(&self) -> Agents {
        let list = AgentList::find(self);
        let models = &self.config().models;
        let configured = self.is_configured(&["models", "default"]).then(|| models.default.clone());
        let usual = self.global.model.clone().or(configured);
        Arc::new(move |name| {
            let (instructions, model) = match &list.get(name.unwrap_or(PLAIN))?.kind {
                Kind::Plain => (None, None),
                Kind::File(file) => (Some(file.body.clone()), file.model.clone()),
                Kind::Role(file) => {
                    let role = role::read(file).role?;
                    (Some(role.prompt), role.model.name)
                }
            };
            Some(Agent { instructions, model: model.or_else(|| usual.clone()) })
        })
    }

    fn server_faults(
        &self,
        plugin: &Plugin,
        servers: &Map<String, Value>,
    ) -> BTreeMap<String, String> {
        mcp::plugin_servers::faults(self, plugin, servers)
    }

    fn interpreter(&self) -> Result<PathBuf, &'static str> {
        let path = self.environment.variables.get("PATH").map_or("", String::as_str);
        sites::interpreter(self.config().plugins.python.as_deref(), path)
    }

    fn sites(&self, python: &Path) -> Vec<PathBuf> {
        sites::of_interpreter(python, self.environment.home.as_deref())
    }

    fn runtime(&self) -> Option<Runtime> {
        match self.make_runtime() {
            Ok(runtime) => Some(runtime),
            Err(problem) => {
                self.plugin_failure().get_or_insert(problem);
                None
            }
        }
    }
}

/// The terminal, if a user sits at it and reads it.
fn console(run: &RunContext) -> Option<Console> {
    let pause: Pause = || Box::new(StatusLinePause::new());
    let open = move |plugin: &str| tui::console::open(format!("plugin {plugin} asks"), pause);
    run.has_reader().then(|| Arc::new(open) as Console)
}

/// Loads the plugins of other systems. Runs those that no cache describes.
pub async fn open(assembly: &Assembly) -> Result<Vec<Arc<dyn OpenPlugins>>, Problem> {
    let opened = dialects::open(&assembly.plugin_env()).await;
    assembly.check_runtime().map(|()| opened)
}

/// The answer of each hook of Claude Code to something that did not happen; none if there is no such
/// event.
pub async fn rehearsed(
    assembly: &Assembly,
    what: Pretended<'_>,
) -> Result<Option<Vec<Value>>, Problem> {
    let tried = dialects::claude::rehearsed(&assembly.plugin_env(), what).await;
    assembly.check_runtime().map(|()| tried)
}

/// Tells of every active plugin that asks for grants on which the configuration is silent.
pub(crate) fn tell_requested_access(assembly: &Assembly) {
    for plugin in assembly.plugins().active() {
        if let Some((what, hint)) = assembly.plugin_env().undecided_request(plugin) {
            output::warning(&what);
            output::hint(&hint);
        }
    }
}
