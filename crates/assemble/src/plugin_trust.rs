//! Decides which plugins may be used. Plugins of a project need the user's trust; plugins in the user's
//! own directories, and those that the user names, do not.

use std::path::Path;

use plugins::discovery::Trust;
use plugins::plugin::Place;

use crate::assembly::Assembly;
use crate::run_context::RunContext;

/// Returns how far the plugins in `root`, a path without symlinks, may be used.
pub(crate) fn trust(assembly: &Assembly, root: &Path, place: Place) -> Trust {
    let workspace = match assembly.root() {
        Ok(workspace) if place != Place::Flag && root.starts_with(workspace) => workspace,
        // Naming a directory on the command line trusts it for that run.
        _ if place != Place::Project => return Trust::Given,
        Ok(workspace) => workspace,
        Err(_) => return Trust::Given,
    };
    if place == Place::Project || root.starts_with(workspace.join(".brynhild/plugins")) {
        return of_project(assembly, workspace, root);
    }
    let own = assembly.loaded.config_dir.as_deref().and_then(|dir| dir.canonicalize().ok());
    if place == Place::Global
        || own.is_some_and(|own| root.starts_with(own))
        || is_named(assembly, root)
    {
        return Trust::Given;
    }
    Trust::Refused {
        what: String::from("this plugin is in the project, so it is ignored"),
        hint: String::from(
            "name its directory with `--plugin-dir`, or by an absolute path in your configuration",
        ),
    }
}

/// Returns true if the user's settings name a directory by an absolute path. A relative path is in
/// whatever project the user is in.
fn is_named(run: &RunContext, root: &Path) -> bool {
    let variable = run.environment.variable("BRYNHILD_PLUGIN_PATH").unwrap_or_default();
    let named = run.config().plugins.search_paths.iter().cloned();
    let mut named = named.chain(std::env::split_paths(variable)).filter(|path| path.is_absolute());
    named.any(|path| path.canonicalize().is_ok_and(|path| root.starts_with(path)))
}

/// Plugins of the project are trusted with it, unless a symlink leads out of the trusted files.
fn of_project(assembly: &Assembly, workspace: &Path, root: &Path) -> Trust {
    let directory = workspace.join(".brynhild/plugins");
    // Some dialects have one process for the whole directory.
    if !assembly.trusted_roots().admit(&assembly.trust, &[root, &directory]) {
        return Trust::Missing;
    }
    let leaks = |path: &Path| match path.canonicalize() {
        Ok(target) => !target.starts_with(&directory),
        Err(_) => false,
    };
    let refused = |what: String| Trust::Refused {
        what,
        hint: String::from("replace the symlink with a copy"),
    };
    if !root.starts_with(&directory) {
        let what = "this symlink points outside the directory you trusted, so it is not used";
        return refused(what.to_owned());
    }
    let links = assembly.trust.links().map(|link| workspace.join(link));
    let mut own = links.filter(|link| link.starts_with(root));
    match own.find(|link| leaks(link)) {
        Some(link) => refused(format!(
            "{} points outside the directory you trusted, so this plugin is not used",
            link.display()
        )),
        None => Trust::Given,
    }
}
