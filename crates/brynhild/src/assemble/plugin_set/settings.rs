//! What the user's configuration says of a plugin: whether it is on, its time, its grants.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plugins::manifest;
use plugins::plugin::{Place, Plugin, PluginSettings};
use plugins::problem::Problem;
use plugins::state::State;

use crate::assemble::run_context::RunContext;

/// The file that `plugin enable` and `plugin disable` write.
pub(crate) fn state_file(config_dir: &Path) -> PathBuf {
    config_dir.join("plugins.yaml")
}

/// The place in the configuration that switches a plugin off, if one does.
pub(crate) fn off_switch(run: &RunContext, name: &str) -> Option<String> {
    let plugins = &run.config().plugins;
    let place = if plugins.enabled.get(name) == Some(&false) {
        ["plugins", "enabled", name]
    } else if plugins.each.get(name).is_some_and(|entry| entry.enabled == Some(false)) {
        ["plugins", name, "enabled"]
    } else {
        return None;
    };
    let origin = run.loaded.origin(&place).map(ToString::to_string).unwrap_or_default();
    Some(format!("`{}` ({origin})", place.join(".")))
}

/// Whether the user has switched something of a system off. Off wins wherever it is said.
pub(crate) fn is_off(run: &RunContext, state: &State, system: &str, name: &str) -> bool {
    state.is_off(system, name) || off_switch(run, name).is_some()
}

/// Puts the user's settings into a plugin of a system.
pub(super) fn apply(
    run: &RunContext,
    plugin: &mut Plugin,
    (state, system): (&State, &str),
    problems: &mut Vec<Problem>,
) {
    let name = plugin.name().to_owned();
    plugin.enabled = !is_off(run, state, system, &name);
    let credentials = credentials(run, plugin);
    let Some(entry) = run.config().plugins.each.get(&name) else {
        plugin.settings.grants.read.extend(credentials);
        return;
    };
    let (grants, faults) = manifest::wishes(&entry.sandbox);
    for fault in faults {
        let path = run.loaded.origin(&["plugins", &name, "sandbox"]);
        let path = path.map(ToString::to_string).unwrap_or_default();
        let what = format!("in the grants of the plugin `{name}`: {fault}");
        let hint = "`docs/plugins.md` shows how a plugin is granted something";
        problems.push(Problem::new(Path::new(&path), what, hint));
    }
    plugin.settings = PluginSettings {
        timeout: entry.timeout.map(Duration::from_secs),
        grants,
        own: entry.own.clone(),
    };
    plugin.settings.grants.read.extend(credentials);
}

/// The files of credentials that the user names for providers of this plugin, as far as its files
/// say which it brings.
fn credentials(run: &RunContext, plugin: &Plugin) -> Vec<PathBuf> {
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
    let instances = run.config().providers.instances.values();
    let named = instances.filter_map(|it| Some((it.kind.as_str(), it.credentials_path.as_ref()?)));
    // What a project brings must not have them by the name alone.
    let named = named.filter(|(kind, _)| plugin.place != Place::Project && brings(kind));
    named.map(|(_, path)| PathBuf::from(path)).collect()
}
