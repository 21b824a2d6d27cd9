//! Guard hooks of a project that changed since the user trusted it: until the user decides, they do
//! not run, and the calls that they guarded are refused.

use std::path::Path;
use std::sync::Arc;

use contract::hook::{Hook, Moment};
use plugins::hooks::{ProjectFile, Settings, Sources};
use trust::project::Stale;

use crate::assembly::Assembly;

/// Loads the guards from the hook files as they were trusted. The check in `settings` refuses them.
pub(super) fn load(
    assembly: &Assembly,
    stale: &Stale,
    settings: impl Fn() -> Settings,
) -> Vec<Arc<dyn Hook>> {
    let is_off = |path: &Path| {
        let mut plugins = assembly.plugins().plugins.iter();
        plugins.any(|plugin| !plugin.enabled && path.starts_with(&plugin.root))
    };
    let mut guards: Vec<Arc<dyn Hook>> = Vec::new();
    for (path, bytes) in stale.hook_files("hooks.yaml") {
        if is_off(path) {
            continue;
        }
        let project = Some(ProjectFile { path: path.to_owned(), bytes: bytes.to_owned() });
        let sources = Sources { global: None, project, plugins: &[], offers: Vec::new() };
        let loaded = plugins::hooks::load(sources, settings());
        guards.extend(loaded.hooks.into_iter().filter(|hook| hook.wants(Moment::BeforeTool)));
    }
    guards.extend(stale.plugin_guards());
    guards
}
