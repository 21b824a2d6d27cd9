//! Brynhild's own plugins: directories with `plugin.yaml`, and installed packages.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::discovery::{self, FoundPlugins};
use crate::entry_points;
use crate::env::{PluginEnv, state_file};
use crate::index::Index;
use crate::learned::{name_key, package_names};
use crate::plugin::{Place, Plugin};
use crate::plugin_set::{OWN, PluginSet};
use crate::problem::Problem;
use crate::state::State;

/// Brynhild's own plugins, found on first use; their problems are told then.
pub fn plugins<'a>(env: &PluginEnv<'a>) -> &'a PluginSet {
    env.cache.plugins.get_or_init(|| {
        let set = discover(env);
        env.report_all(&set.problems);
        set
    })
}

fn discover(env: &PluginEnv<'_>) -> PluginSet {
    if env.is_safe {
        return PluginSet::default();
    }
    let mut index = Index::load(env.config_dir.map(|dir| dir.join("cache/plugins.json")));
    let is_trusted = |root: &Path, place: Place| env.program.trust(root, place);
    let places = env.plugin_directories();
    let FoundPlugins { mut plugins, mut problems, notes } =
        discovery::discover(&places, (env.directories(), &mut index), &is_trusted);
    packages(env, &mut index, &mut plugins, &mut problems);
    problems.extend(missing_python(env));
    index.save();
    env.directories().save();
    let state = match env.config_dir.map(|dir| State::read(&state_file(dir))) {
        Some(Ok(state)) => state,
        Some(Err(problem)) => {
            problems.push(problem);
            State::default()
        }
        None => State::default(),
    };
    problems.extend(env.configure(OWN, &state, &mut plugins));
    plugins.sort_unstable_by(|one, other| one.name().cmp(other.name()));
    let directories = Some(Arc::clone(env.directories()));
    PluginSet { plugins, problems, notes, offers: OnceLock::new(), directories }
}

fn missing_python(env: &PluginEnv<'_>) -> Option<Problem> {
    let python = env.settings.python?;
    let what = env.program.interpreter().err()?;
    let what = format!(
        "`plugins.python` names {what}, so plugins that are installed packages are left out"
    );
    Some(Problem::new(python, what, "name a Python from 3.9 on, or take the setting out"))
}

/// Adds installed packages. They win over directories, except those that were named for this run.
fn packages(
    env: &PluginEnv<'_>,
    index: &mut Index,
    plugins: &mut Vec<Plugin>,
    problems: &mut Vec<Problem>,
) {
    let installed = entry_points::packages(env.sites(), index);
    if installed.is_empty() {
        return;
    }
    let names = package_names(env.config_dir);
    for installed in installed {
        let is_taken = |name: &str| plugins.iter().any(|plugin| plugin.name() == name);
        let mut package = entry_points::plugin(installed, is_taken);
        let key = package.package.as_ref().and_then(name_key);
        if let Some(name) = key.and_then(|key| names.get(&key)) {
            name.clone_into(&mut package.manifest.name);
        }
        if let Some(problem) = fault_of_package(env, &package) {
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

/// The problem of a package in the project, unless the user has named its interpreter.
fn fault_of_package(env: &PluginEnv<'_>, plugin: &Plugin) -> Option<Problem> {
    let workspace = env.root?;
    let prefix = env.settings.python.and_then(Path::parent).and_then(Path::parent);
    let is_named = prefix.is_some_and(|prefix| plugin.root.starts_with(prefix));
    if !plugin.root.starts_with(workspace) || is_named {
        return None;
    }
    let what = format!(
        "the package of the plugin `{}` is in the project, so it is not used",
        plugin.name()
    );
    let hint = "name the interpreter in `plugins.python` of your own configuration to use it";
    Some(Problem::new(&plugin.root, what, hint))
}
