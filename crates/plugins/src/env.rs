//! The surroundings of plugins: settings, directories, and the services of the program. Runs nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use contract::hook::Hook;
use contract::policy::Mode;
use contract::tool::Tool;
use serde_json::{Map, Value};

use crate::chibi::{Agents, Console, Listener};
use crate::claude::{ClaudeSet, Expansions};
use crate::directories::Directories;
use crate::discovery::Trust;
use crate::entry_points;
use crate::hooks::HookHost;
use crate::manifest;
use crate::plugin::{Permissions, Place, Plugin, PluginSettings};
use crate::plugin_set::PluginSet;
use crate::problem::Problem;
use crate::python::Python;
use crate::state::State;

#[derive(Clone, Copy)]
pub struct PluginEnv<'a> {
    /// True with `--safe`: no plugin is used.
    pub is_safe: bool,
    pub cwd: &'a Path,
    pub home: Option<&'a Path>,
    pub variables: &'a BTreeMap<String, String>,
    /// The user's own directory.
    pub config_dir: Option<&'a Path>,
    pub temp: &'a Path,
    /// The project's root, if there is a project.
    pub root: Option<&'a Path>,
    pub settings: UserSettings<'a>,
    pub cache: &'a PluginCache,
    pub program: &'a dyn Program,
}

/// The settings and flags for all plugins.
#[derive(Clone, Copy)]
pub struct UserSettings<'a> {
    /// The directories that were named for this run.
    pub named_directories: &'a [PathBuf],
    pub search_paths: &'a [PathBuf],
    pub python: Option<&'a Path>,
    pub enabled: &'a BTreeMap<String, bool>,
    pub role_file: Option<&'a Path>,
    /// The HTTP interfaces, and the private hosts that they may reach.
    pub api: &'a Map<String, Value>,
    pub is_verbose: bool,
    pub approves_all: bool,
    /// True if nobody can be asked.
    pub is_headless: bool,
}

/// The settings of one plugin, as the user wrote them.
#[derive(Clone, Copy)]
pub struct PluginEntry<'a> {
    pub enabled: Option<bool>,
    pub timeout: Option<u64>,
    pub sandbox: &'a Value,
    /// All other keys.
    pub own: &'a Map<String, Value>,
}

pub trait Program: Sync {
    /// The listings of plugins' directories.
    fn directories(&self) -> &Arc<Directories>;
    /// Returns how far the files in `root`, a canonical path, may be used.
    fn trust(&self, root: &Path, place: Place) -> Trust;
    /// The files in `.claude` of a trusted project, with the bytes that the user trusts.
    fn trusted_files(&self) -> Vec<(&Path, &[u8])>;
    /// The hook files of a project that changed since it was trusted, as they were then.
    fn changed_hooks(&self) -> Vec<(&Path, &[u8])>;
    fn entry(&self, name: &str) -> Option<PluginEntry<'_>>;
    /// The file or variable that sets a key of the configuration; empty if none does.
    fn origin(&self, key: &[&str]) -> String;
    /// The files of credentials for kinds of providers.
    fn credentials(&self) -> Vec<(&str, &str)>;
    /// Returns true if the user trusts a directory of the project.
    fn is_trusted(&self, directory: &Path) -> bool;
    fn warn(&self, text: &str);
    /// Warns about a fault of a file.
    fn report(&self, problem: &Problem);
    fn hint(&self, text: &str);
    fn mode(&self) -> Mode;
    /// The hook that applies the `permissions` and `approval` of an entry to calls of its tools. An
    /// error says what makes no sense.
    fn call_rules(&self, entry: &Value, tools: &[Arc<dyn Tool>]) -> Result<Arc<dyn Hook>, String>;
    /// The agents that the model can hand work to.
    fn agents(&self) -> Agents;
    /// The faults of MCP servers that a plugin describes, by name.
    fn server_faults(
        &self,
        plugin: &Plugin,
        servers: &Map<String, Value>,
    ) -> BTreeMap<String, String>;
    /// The Python of plugins: the configured one, or the `python3` that a shell would start. An error
    /// says what is found instead.
    fn interpreter(&self) -> Result<PathBuf, &'static str>;
    /// The directories of packages of an interpreter, which is not run.
    fn sites(&self, python: &Path) -> Vec<PathBuf>;
    /// The means to run processes. None if there are none; the program knows why.
    fn runtime(&self) -> Option<Runtime>;
}

/// The means to run processes of plugins.
pub struct Runtime {
    pub hooks: HookHost,
    pub python: Python,
    pub cache_dir: PathBuf,
    pub state_dir: PathBuf,
    pub on_output: Listener,
    pub console: Option<Console>,
    /// How the session begins: `startup` or `resume`.
    pub source: &'static str,
    pub expansions: Arc<Expansions>,
}

/// The plugins, found on first use.
#[derive(Default)]
pub struct PluginCache {
    pub(crate) plugins: OnceLock<PluginSet>,
    pub(crate) claude: OnceLock<ClaudeSet>,
    sites: OnceLock<Vec<PathBuf>>,
}

impl<'a> PluginEnv<'a> {
    pub fn variable(&self, name: &str) -> Option<&'a str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The project's root, if the files of the project count.
    pub fn project(&self) -> Option<&'a Path> {
        self.root.filter(|_| !self.is_safe)
    }

    /// The project's root, or the working directory.
    pub fn workspace(&self) -> &'a Path {
        self.root.unwrap_or(self.cwd)
    }

    /// The directory that holds one for each plugin's data.
    pub fn plugin_data(&self) -> PathBuf {
        self.config_dir.unwrap_or(self.temp).join("plugin-data")
    }

    /// The listings of plugins' directories.
    pub fn directories(&self) -> &'a Arc<Directories> {
        self.program.directories()
    }

    pub fn report(&self, problem: &Problem) {
        self.program.report(problem);
    }

    pub(crate) fn report_all<'p>(&self, problems: impl IntoIterator<Item = &'p Problem>) {
        for problem in problems {
            self.report(problem);
        }
    }

    /// The user's switches. The problem of a broken file is told with Brynhild's own plugins.
    pub fn switches(&self) -> State {
        let file = self.config_dir.map(state_file);
        file.and_then(|file| State::read(&file).ok()).unwrap_or_default()
    }

    /// Returns true if the user has switched a plugin of a system off. Off wins wherever it is said.
    pub fn is_off(&self, switches: &State, system: &str, name: &str) -> bool {
        switches.is_off(system, name) || self.off_switch(name).is_some()
    }

    /// The place in the configuration that switches a plugin off, if one does.
    pub fn off_switch(&self, name: &str) -> Option<String> {
        let place = if self.settings.enabled.get(name) == Some(&false) {
            ["plugins", "enabled", name]
        } else if self.program.entry(name).is_some_and(|entry| entry.enabled == Some(false)) {
            ["plugins", name, "enabled"]
        } else {
            return None;
        };
        Some(format!("`{}` ({})", place.join("."), self.program.origin(&place)))
    }

    /// Puts the user's settings into plugins of a system. Returns the problems of the settings.
    pub fn configure<'p>(
        &self,
        system: &str,
        switches: &State,
        plugins: impl IntoIterator<Item = &'p mut Plugin>,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        for plugin in plugins {
            plugin.enabled = !self.is_off(switches, system, plugin.name());
            let credentials = self.credentials(plugin);
            let name = plugin.name().to_owned();
            if let Some(entry) = self.program.entry(&name) {
                let (grants, faults) = manifest::permissions(entry.sandbox);
                let problem = |fault: &String| self.grant_problem(&name, fault);
                problems.extend(faults.iter().map(problem));
                let timeout = entry.timeout.map(Duration::from_secs);
                plugin.settings = PluginSettings { timeout, grants, own: entry.own.clone() };
            }
            plugin.settings.grants.read.extend(credentials);
        }
        problems
    }

    fn grant_problem(&self, name: &str, fault: &str) -> Problem {
        let path = self.program.origin(&["plugins", name, "sandbox"]);
        let what = format!("in the grants of the plugin `{name}`: {fault}");
        let hint = "`docs/reference/manifest.md` shows how a plugin is granted something";
        Problem::new(Path::new(&path), what, hint)
    }

    /// The credentials that the user names for the providers of a plugin, as far as its files name
    /// these. A project's plugin must not get them by a name alone.
    fn credentials(&self, plugin: &Plugin) -> Vec<PathBuf> {
        let brings = |kind: &str| {
            let points = plugin.package.iter().flat_map(|package| &package.entry_points);
            let mut points = points.filter(|point| point.group == "brynhild.providers");
            let declared = &plugin.manifest.providers;
            let is_declared = declared.iter().any(|it| it.trim_end_matches(".py") == kind);
            let file = || plugin.root.join("providers").join(format!("{kind}.py"));
            is_declared
                || points.any(|it| it.name == kind)
                || (!declared.is_empty() && file().is_file())
        };
        let named = self.program.credentials().into_iter();
        let named = named.filter(|(kind, _)| plugin.place != Place::Project && brings(kind));
        named.map(|(_, path)| PathBuf::from(path)).collect()
    }

    /// The message and the hint about grants that a plugin asks for and the configuration is silent on.
    pub fn undecided_request(&self, plugin: &Plugin) -> Option<(String, String)> {
        let asked = &plugin.manifest.sandbox;
        let name = plugin.name();
        let is_decided = self.program.entry(name).is_some_and(|it| !it.sandbox.is_null());
        if *asked == Permissions::default() || is_decided {
            return None;
        }
        let kinds = asked.kinds().join(", ");
        let what = format!("plugin {name} asks for more than it is granted (sandbox: {kinds})");
        let hint = format!(
            "`brynhild plugin grant {name}` shows and grants it, `brynhild plugin grant {name} \
             --none` refuses it for good"
        );
        Some((what, hint))
    }

    /// The directories of plugins, in the order in which they count.
    pub fn plugin_directories(&self) -> Vec<(PathBuf, Place)> {
        let named = self.variable("BRYNHILD_PLUGIN_PATH").unwrap_or_default();
        let named = std::env::split_paths(named).filter(|path| !path.as_os_str().is_empty());
        let named = named.map(|path| (home_relative(self.home, &path), Place::Environment));
        let project = self.project().map(|root| root.join(".brynhild/plugins"));
        let project = project.filter(|directory| directory.is_dir());
        let of = |paths: &'a [PathBuf], place| paths.iter().map(move |it| (it.clone(), place));
        let global = self.config_dir.map(|dir| (dir.join("plugins"), Place::Global));
        let directories = global
            .into_iter()
            .chain(of(self.settings.search_paths, Place::Configured))
            .chain(named)
            .chain(project.map(|directory| (directory, Place::Project)))
            .chain(of(self.settings.named_directories, Place::Flag));
        directories.map(|(path, place)| (self.cwd.join(path), place)).collect()
    }

    /// The directories of packages of the interpreter that is used for plugins.
    pub fn sites(&self) -> &'a [PathBuf] {
        self.cache.sites.get_or_init(|| self.find_sites())
    }

    fn find_sites(&self) -> Vec<PathBuf> {
        let off = self.variable("BRYNHILD_DISABLE_ENTRY_POINT_PLUGINS");
        if off.is_some_and(|off| ["1", "true", "yes"].contains(&off.to_lowercase().as_str())) {
            return Vec::new();
        }
        let named = std::env::split_paths(self.variable("PYTHONPATH").unwrap_or_default());
        let mut sites: Vec<PathBuf> = named.filter(|directory| directory.is_absolute()).collect();
        sites.extend(self.program.interpreter().into_iter().flat_map(|it| self.program.sites(&it)));
        sites.extend(self.config_dir.into_iter().flat_map(entry_points::installed_sites));
        sites
    }
}

/// The file that `plugin enable` and `plugin disable` write.
pub fn state_file(config_dir: &Path) -> PathBuf {
    config_dir.join("plugins.yaml")
}

/// A path with `~` replaced, which a shell leaves alone in quotes and in the middle of a list.
pub fn home_relative(home: Option<&Path>, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}
