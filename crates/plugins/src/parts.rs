//! Checks the parts of a plugin's directory, for its author. Runs nothing.

use std::path::{Path, PathBuf};

use crate::manifest::Validation;
use crate::offer::Contributions;
use crate::plugin::{Place, Plugin, PluginSettings};
use crate::{commands, hooks, profiles, rules, skills};

/// Adds the faults of the parts of the plugin in `root` to those of its manifest. Returns the plugin;
/// none without a manifest.
pub fn check(
    validation: &mut Validation,
    root: &Path,
    (workspace, home): (&Path, Option<&Path>),
) -> Option<Plugin> {
    let plugin = Plugin {
        manifest: validation.manifest.clone()?,
        root: root.to_owned(),
        place: Place::Flag,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    };
    let contributions = Contributions { plugins: vec![&plugin], ..Contributions::default() };
    let faults = &mut validation.errors;
    faults.extend(commands::discover(&commands::Places::default(), &contributions).problems);
    faults.extend(skills::discover(&skills::Places::default(), &contributions).problems);
    faults.extend(profiles::load(&[], &contributions).1);
    let nowhere = rules::Places { global: None, root: PathBuf::new(), cwd: PathBuf::new() };
    faults.extend(rules::load(&nowhere, &contributions).problems);
    let file = root.join("hooks.yaml");
    if plugin.manifest.hooks && file.exists() {
        match hooks::validate(&file, workspace, home) {
            Ok((_, problems)) => faults.extend(problems),
            Err(problem) => faults.push(problem),
        }
    }
    Some(plugin)
}
