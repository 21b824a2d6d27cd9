//! Whether a plugin's bytes may be used. Those in the person's own folders, or named by the person
//! and lying outside the project, may; those of a project only as far as the person trusted them.

use std::path::Path;

use plugins::discovery::Trust;
use plugins::plugin::{Place, Plugin};
use plugins::problem::Problem;

use crate::trust;
use crate::world::World;

/// Whether what lies in `root`, a path without links, may be used.
pub(super) fn trust(world: &World, root: &Path, place: Place) -> Trust {
    let Ok(workspace) = world.root() else {
        return Trust::Given;
    };
    if place == Place::Project
        || (root.starts_with(workspace) && root.starts_with(workspace.join(".brynhild/plugins")))
    {
        return of_project(world, workspace, root);
    }
    if place == Place::Global || !root.starts_with(workspace) {
        return Trust::Given;
    }
    let own = world.loaded.config_dir.as_deref().and_then(|dir| dir.canonicalize().ok());
    if own.is_some_and(|own| root.starts_with(own)) {
        return Trust::Given;
    }
    match trust::folder_standing(
        (root, trust::Of::Plugin),
        world.loaded.config_dir.as_deref(),
        world.guard(),
    ) {
        Ok(true) => Trust::Given,
        Ok(false) => Trust::Refused {
            what: String::from(
                "this plugin lies in the project and is not trusted, or changed since; nothing of \
                 it is used",
            ),
            hint: format!("`brynhild trust --plugin-dir {}` shows it and asks", root.display()),
        },
        Err(what) => Trust::Refused {
            what,
            hint: String::from("keep the plugin in a folder of its own outside the project"),
        },
    }
}

/// The project's own: trusted with the project, as far as no link leads out of what was trusted.
fn of_project(world: &World, workspace: &Path, root: &Path) -> Trust {
    let folder = workspace.join(".brynhild/plugins");
    let config_dir = world.loaded.config_dir.as_deref();
    // Some systems have one process for all of the folder.
    if !world.trust.is_trusted_for(&[root, &folder], config_dir, world.guard()) {
        return Trust::Missing;
    }
    let leaks = |path: &Path| match path.canonicalize() {
        Ok(target) => !target.starts_with(&folder),
        Err(_) => false,
    };
    let refused = |what: String| Trust::Refused {
        what,
        hint: String::from("put a copy in the place of the link"),
    };
    if !root.starts_with(&folder) {
        let what = "this link leads out of what you trusted, so nothing of it is used";
        return refused(what.to_owned());
    }
    let links = world.trust.links().map(|link| workspace.join(link));
    let mut own = links.filter(|link| link.starts_with(root));
    match own.find(|link| leaks(link)) {
        Some(link) => refused(format!(
            "{} leads out of what you trusted, so nothing of this plugin is used",
            link.display()
        )),
        None => Trust::Given,
    }
}

/// Why an installed package may not be used, if it may not: it lies in the project, and the person
/// has not named that interpreter.
pub(super) fn fault_of_package(world: &World, plugin: &Plugin) -> Option<Problem> {
    let workspace = world.root().ok()?;
    let python = world.config().plugins.python.as_deref();
    let prefix = python.and_then(Path::parent).and_then(Path::parent);
    let is_named = prefix.is_some_and(|prefix| plugin.root.starts_with(prefix));
    if !plugin.root.starts_with(workspace) || is_named {
        return None;
    }
    let what = format!(
        "the package of the plugin `{}` lies in the project, so nothing of it is used",
        plugin.name()
    );
    let hint = "name the interpreter in `plugins.python` of your own configuration to use it";
    Some(Problem::new(&plugin.root, what, hint))
}
