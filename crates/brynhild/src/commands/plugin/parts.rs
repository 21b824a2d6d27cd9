//! Checks the parts of a plugin's directory, for its author. Its Python runs in its sandbox, unless
//! the directory belongs to a project that is not trusted.

use std::path::{Path, PathBuf};

use plugins::discovery::Trust;
use plugins::manifest::Validation;
use plugins::offer::Contributions;
use plugins::plugin::{Manifest, Place, Plugin, PluginSettings};
use plugins::{commands, hooks, profiles, rules, skills};
use python_host::Missing;

use crate::assemble::assembly::Assembly;
use crate::assemble::workers;
use crate::exit::Problem;

/// Adds the faults of the parts of the plugin in `root` to those of its manifest.
pub(super) async fn check(
    assembly: &Assembly,
    root: &Path,
    validation: &mut Validation,
) -> Result<(), Problem> {
    let Some(manifest) = validation.manifest.clone() else { return Ok(()) };
    let plugin = plugin(manifest, root);
    let contributions = Contributions { plugins: vec![&plugin], ..Contributions::default() };
    let faults = &mut validation.errors;
    faults.extend(commands::discover(&commands::Places::default(), &contributions).problems);
    faults.extend(skills::discover(&skills::Places::default(), &contributions).problems);
    faults.extend(profiles::load(&[], &contributions).1);
    let nowhere = rules::Places { global: None, root: PathBuf::new(), cwd: PathBuf::new() };
    faults.extend(rules::load(&nowhere, &contributions).problems);
    let file = root.join("hooks.yaml");
    if plugin.manifest.hooks && file.exists() {
        match hooks::validate(&file, assembly.place(), assembly.environment.home.as_deref()) {
            Ok((_, problems)) => faults.extend(problems),
            Err(problem) => faults.push(problem),
        }
    }
    if assembly.plugin_env().program.trust(root, Place::Flag) == Trust::Given {
        let python = workers::quiet_host(assembly)?;
        for described in python.host.describe(&python.plugins([&plugin]), Missing::Report).await {
            let offer = described.offer;
            let offers_nothing = offer.tools.is_empty() && described.providers.is_empty();
            let faults =
                if offers_nothing { &mut validation.errors } else { &mut validation.warnings };
            faults.extend(offer.faults.into_iter().map(Into::into));
            validation.warnings.extend(described.notes.into_iter().map(Into::into));
        }
        python.host.shutdown().await;
    }
    Ok(())
}

fn plugin(manifest: Manifest, root: &Path) -> Plugin {
    Plugin {
        manifest,
        root: root.to_owned(),
        place: Place::Flag,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    }
}
