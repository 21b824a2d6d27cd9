//! The plugins of this run: where they are looked for, which of them count, and what the user's
//! configuration says of each. Reads files and runs nothing.

pub(crate) mod names;
mod reach;
pub(crate) mod requested_access;
mod settings;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use plugins::directories::Directories;
use plugins::discovery::{self, Found, Known, Places, Trust};
use plugins::entry_points::{self, Surroundings};
use plugins::index::Index;
use plugins::offer::{Contributions, Offer};
use plugins::plugin::{Place, Plugin};
use plugins::problem::Problem;
use plugins::state::State;
use serde_json::Value;

use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;

pub(crate) use settings::{is_off, off_switch, state_file};

/// The word for plugins of our own.
pub(crate) const OWN: &str = "brynhild";

/// The plugins that were found.
#[derive(Debug, Default)]
pub(crate) struct PluginSet {
    /// Each name once, sorted; those that are off or not trusted included.
    pub(crate) plugins: Vec<Plugin>,
    /// What was left out, or is doubtful.
    pub(crate) problems: Vec<Problem>,
    /// What authors should put right although it was understood.
    pub(crate) notes: Vec<Problem>,
    offers: OnceLock<Vec<Offer>>,
    directories: Option<Arc<Directories>>,
}

impl PluginSet {
    /// Finds them.
    pub(crate) fn discover(assembly: &Assembly) -> Self {
        if assembly.global.safe {
            return Self::default();
        }
        let config_dir = assembly.loaded.config_dir.as_deref();
        let mut index = Index::load(config_dir.map(|dir| dir.join("cache/plugins.json")));
        let is_trusted = |root: &Path, place: Place| reach::trust(assembly, root, place);
        let known = Known { directories: assembly.directories(), index: &mut index };
        let Found { mut plugins, mut problems, notes } =
            discovery::discover(&places(assembly), known, &is_trusted);
        packages(assembly, &mut index, &mut plugins, &mut problems);
        problems.extend(missing_python(assembly));
        index.save();
        assembly.directories().save();
        let state = match config_dir.map(|dir| State::read(&state_file(dir))) {
            Some(Ok(state)) => state,
            Some(Err(problem)) => {
                problems.push(problem);
                State::default()
            }
            None => State::default(),
        };
        for plugin in &mut plugins {
            settings::apply(assembly, plugin, (&state, OWN), &mut problems);
        }
        plugins.sort_unstable_by(|one, other| one.name().cmp(other.name()));
        let directories = Some(Arc::clone(assembly.directories()));
        Self { plugins, problems, notes, offers: OnceLock::new(), directories }
    }

    /// Problems for which a plugin, or a directory of them, is left out; the others are doubts about
    /// plugins that work.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &Problem> {
        let is_of_one = |problem: &Problem| {
            self.plugins.iter().any(|plugin| problem.path.starts_with(&plugin.root))
        };
        self.problems.iter().filter(move |it| it.path.is_absolute() && !is_of_one(it))
    }

    /// Those that count, sorted by name.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Plugin> {
        self.plugins.iter().filter(|plugin| plugin.is_active())
    }

    /// The plugin of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Plugin> {
        let found = self.plugins.binary_search_by(|plugin| plugin.name().cmp(name));
        found.ok().map(|index| &self.plugins[index])
    }

    /// Takes what installed packages offer. Counts once, before anything asks for contributions.
    pub(crate) fn learn(&self, offers: Vec<Offer>) {
        // A second answer says nothing that the first did not.
        let _ = self.offers.set(offers);
    }

    /// What installed packages offer, as far as it was learned.
    pub(crate) fn offers(&self) -> &[Offer] {
        self.offers.get().map_or(&[], Vec::as_slice)
    }

    /// What plugins contribute, weakest first.
    pub(crate) fn contributions(&self) -> Contributions<'_> {
        let mut plugins: Vec<&Plugin> = self.active().collect();
        plugins.sort_by_key(|plugin| plugin.place);
        let is_active = |offer: &&Offer| self.get(&offer.plugin).is_some_and(Plugin::is_active);
        let offers = self.offers().iter().filter(is_active).collect();
        let directories = self.directories.as_deref();
        Contributions { plugins, offers, directories, ..Contributions::default() }
    }

    /// A plugin as `plugin list --json` shows it, with what its package says of itself.
    pub(crate) fn shown(&self, plugin: &Plugin) -> Value {
        let mut shown = plugin.to_json();
        let offer = self.offers().iter().find(|offer| offer.plugin == plugin.name());
        let manifest = offer.and_then(|offer| offer.manifest.as_ref());
        for key in ["version", "description", "author", "license"] {
            let said = manifest.and_then(|manifest| manifest.get(key)).and_then(Value::as_str);
            if let Some(said) = said.filter(|said| !said.is_empty()) {
                shown[key] = said.into();
            }
        }
        shown
    }
}

/// Whether what lies in `root`, a path without links, may be used.
pub(crate) fn trust(assembly: &Assembly, root: &Path, place: Place) -> Trust {
    reach::trust(assembly, root, place)
}

/// Puts the user's settings into plugins of another system. Returns what is wrong with those.
pub(crate) fn configure<'a>(
    run: &RunContext,
    system: &str,
    plugins: impl Iterator<Item = &'a mut Plugin>,
) -> Vec<Problem> {
    let state = state(run);
    let mut problems = Vec::new();
    for plugin in plugins {
        settings::apply(run, plugin, (&state, system), &mut problems);
    }
    problems
}

/// What the user has switched. What is wrong with the file is told where the plugins of our own
/// are found.
pub(crate) fn state(run: &RunContext) -> State {
    let file = run.loaded.config_dir.as_deref().map(state_file);
    file.and_then(|file| State::read(&file).ok()).unwrap_or_default()
}

/// Whether a plugin is an installed package without a directory of its own.
pub(crate) fn is_among_others(plugin: &Plugin) -> bool {
    let name = plugin.root.file_name().unwrap_or_default().to_string_lossy();
    plugin.package.is_some() && name.ends_with("-packages")
}

/// The directories and the word for where each comes from, in the order in which they count.
pub(crate) fn search_paths(assembly: &Assembly) -> Vec<(PathBuf, &'static str)> {
    let places = places(assembly);
    let mut paths = Vec::new();
    paths.extend(places.global.map(|path| (path, "global")));
    paths.extend(places.configured.into_iter().map(|path| (path, "config")));
    paths.extend(places.environment.into_iter().map(|path| (path, "env")));
    paths.extend(places.project.map(|path| (path, "project")));
    paths.extend(sites(assembly).iter().map(|path| (path.clone(), "entry_points")));
    paths.extend(places.flag.into_iter().map(|path| (path, "flag")));
    paths
}

/// The directories of plugins with what they are, as far as they are directories of files.
pub(crate) fn directories(assembly: &Assembly) -> Vec<(PathBuf, Place)> {
    let place = |(directory, word): (PathBuf, &str)| {
        let place = match word {
            "global" => Place::Global,
            "config" => Place::Configured,
            "env" => Place::Environment,
            "project" => Place::Project,
            "flag" => Place::Flag,
            _ => return None,
        };
        Some((directory, place))
    };
    search_paths(assembly).into_iter().filter_map(place).collect()
}

fn places(run: &RunContext) -> Places {
    let cwd = &run.environment.cwd;
    let named = run.environment.variable("BRYNHILD_PLUGIN_PATH").unwrap_or_default();
    let environment = std::env::split_paths(named)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| cwd.join(home_relative(run, &path)));
    let project = run.root().ok().filter(|_| run.has_project());
    let project = project.map(|root| root.join(".brynhild/plugins"));
    Places {
        global: run.loaded.config_dir.as_ref().map(|dir| dir.join("plugins")),
        configured: run.config().plugins.search_paths.iter().map(|path| cwd.join(path)).collect(),
        environment: environment.collect(),
        project: project.filter(|directory| directory.is_dir()),
        flag: run.global.plugin_dir.iter().map(|path| cwd.join(path)).collect(),
    }
}

/// A path with `~` replaced, which a shell leaves alone in quotes and in the middle of a list.
pub(crate) fn home_relative(run: &RunContext, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), &run.environment.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}

/// The directories of packages of the interpreter that is used for plugins.
pub(crate) fn sites(assembly: &Assembly) -> &[PathBuf] {
    assembly.sites(|| find_sites(assembly))
}

fn find_sites(run: &RunContext) -> Vec<PathBuf> {
    let off = run.environment.variable("BRYNHILD_DISABLE_ENTRY_POINT_PLUGINS");
    if off.is_some_and(|off| ["1", "true", "yes"].contains(&off.to_lowercase().as_str())) {
        return Vec::new();
    }
    let variable = |name: &str| run.environment.variable(name).unwrap_or_default();
    let surroundings = Surroundings {
        path: variable("PATH"),
        python_path: variable("PYTHONPATH"),
        home: run.environment.home.as_deref(),
    };
    let configured = run.config().plugins.python.as_deref();
    let python = entry_points::interpreter(configured, surroundings);
    let python = python.filter(|python| entry_points::looks_like_python(python));
    python.map(|python| entry_points::sites(&python, surroundings)).unwrap_or_default()
}

/// What is wrong with the interpreter that the configuration names, where there is none.
fn missing_python(run: &RunContext) -> Option<Problem> {
    let python = run.config().plugins.python.as_deref()?;
    let name = |name: &str| run.environment.variable(name).unwrap_or_default();
    let surroundings = Surroundings { path: name("PATH"), python_path: "", home: None };
    let what = match entry_points::interpreter(Some(python), surroundings) {
        Some(program) if entry_points::looks_like_python(&program) => return None,
        Some(_) => "no Python",
        None => "no program",
    };
    let what = format!(
        "`plugins.python` names {what}, so plugins that are installed packages are left out"
    );
    Some(Problem::new(python, what, "name a Python from 3.9 on, or take the setting out"))
}

/// Adds the plugins that are installed packages. They win over directories, other than those that were
/// named for this run.
fn packages(
    assembly: &Assembly,
    index: &mut Index,
    plugins: &mut Vec<Plugin>,
    problems: &mut Vec<Problem>,
) {
    let installed = entry_points::packages(sites(assembly), index);
    if installed.is_empty() {
        return;
    }
    let names = names::Names::load(assembly);
    for installed in installed {
        let is_taken = |name: &str| plugins.iter().any(|plugin| plugin.name() == name);
        let mut package = entry_points::plugin(installed, is_taken);
        if let Some(name) = package.package.as_ref().and_then(|package| names.get(package)) {
            name.clone_into(&mut package.manifest.name);
        }
        if let Some(problem) = reach::fault_of_package(assembly, &package) {
            problems.push(problem);
            package.trusted = false;
        }
        let same = plugins.iter().position(|plugin| plugin.name() == package.name());
        match same.map(|index| (index, &plugins[index])) {
            Some((_, other)) if other.place == Place::Flag || !package.trusted => {}
            Some((index, _)) => plugins[index] = package,
            None => plugins.push(package),
        }
    }
}
