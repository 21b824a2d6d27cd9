//! What a switch would put into the working tree for programs to obey, which the tools that write files
//! are refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use contract::broker::BrokerError;
use contract::text::normalize;

use super::git::Git;
use super::tree::Entry;
use crate::discovery::real;
use crate::harmless::is_harmless_directory;
use crate::led;
use crate::nested::{self, Links, OBEYED};
use crate::protected::is_bare_repository;
use crate::{git_pointers, version_files};

/// Refuses `entries` whose files lie in `made`, if programs would obey one of them.
pub(super) fn refuse(git: &Git, made: &Path, entries: &[Entry]) -> Result<(), BrokerError> {
    let names = entries.iter().filter(|entry| entry.is_file()).map(|entry| entry.name.as_path());
    let names: BTreeSet<&Path> = names.collect();
    let refused = |name: &Path, why: &str| {
        let name = name.display();
        Err(BrokerError::Refused(format!("{name} differs there, and {why}; use git itself")))
    };
    let links = nested::obeyed_links(&git.root);
    if let Some(name) = entries.iter().find_map(|entry| led_to(git, &links, &entry.name)) {
        return refused(name, "a link with a protected name leads there");
    }
    if let Some(name) = version(git, made, &names, &links) {
        return refused(&name, "it names a path from which programs of yours would be run");
    }
    let folders: BTreeSet<&Path> = names.iter().flat_map(|it| it.ancestors().skip(1)).collect();
    if let Some(folder) = folders.iter().find(|it| is_planted(&git.root.join(it), &made.join(it))) {
        return refused(folder, "it would be a repository that decides what git runs");
    }
    let paths: BTreeSet<PathBuf> = names.iter().map(|name| git.root.join(name)).collect();
    let links = names.iter().filter(|name| made.join(name).is_symlink());
    let links: Vec<PathBuf> = links.map(|name| git.root.join(name)).collect();
    match git_pointers::named(&git.root, Some(&git.user), &paths, &links) {
        Some(path) => {
            let name = path.strip_prefix(&git.root).unwrap_or(path);
            refused(name, "settings or hooks of git make it run this")
        }
        None => Ok(()),
    }
}

/// The name, if what a link with a protected name leads to is it, lies in it or holds it, or if it is a link on
/// the way there.
fn led_to<'a>(git: &Git, links: &Links, name: &'a Path) -> Option<&'a Path> {
    let path = git.root.join(name);
    let is_led = |link: &PathBuf| {
        let Some((end, way)) = led::way(link) else { return false };
        // A folder that holds the link is not what the name is for.
        let is_there = path.starts_with(&end) && !link.starts_with(&end);
        is_there || way.iter().chain([&end]).any(|place| place.starts_with(&path))
    };
    links.protected.iter().any(is_led).then_some(name)
}

/// The first of `names` by which a file that chooses a version would name a path: it is that file, or what a
/// link of such a name leads to or through.
fn version(git: &Git, made: &Path, names: &BTreeSet<&Path>, links: &Links) -> Option<PathBuf> {
    let is_version = |name: &&&Path| name.file_name().is_some_and(version_files::is_name);
    let new = names.iter().filter(is_version).map(|name| name.to_path_buf());
    let new = new.map(|name| (leads_to(git, made, &name), name));
    let changed = |place: &Path| {
        let below = place.strip_prefix(&git.root).ok()?;
        below.ancestors().find_map(|above| names.get(above).copied())
    };
    let old = links.versions.iter().filter_map(|link| Some((link, led::way(link)?)));
    let old = old.flat_map(|(link, (end, way))| {
        let places = way.into_iter().chain([end]).filter(|place| changed(place).is_some());
        places.map(|place| (place, link.clone()))
    });
    new.chain(old).find_map(|(place, version): (PathBuf, PathBuf)| {
        let changed = changed(&place);
        let name = changed.or_else(|| names.get(version.as_path()).copied())?;
        let file = changed.map_or_else(|| place.clone(), |name| made.join(name));
        let is_harmless = version_files::is_harmless_as(version.file_name()?, &file);
        (file.is_symlink() || !is_harmless).then(|| name.to_owned())
    })
}

/// Where a name will lead that is new: to itself, unless it is a link.
fn leads_to(git: &Git, made: &Path, name: &Path) -> PathBuf {
    let place = git.root.join(name);
    match (fs::read_link(made.join(name)), place.parent()) {
        (Ok(target), Some(folder)) => real(&normalize(&folder.join(target))),
        _ => place,
    }
}

/// Whether a folder becomes a repository that runs something, or decides otherwise what it runs, by what
/// was `made` for it.
fn is_planted(folder: &Path, made: &Path) -> bool {
    let is_in = |folder: &Path, name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    let has = |name: &str| is_in(folder, name) || is_in(made, name);
    let is_repository = has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
    let has_obeyed = |folder: &Path| OBEYED.iter().any(|name| is_in(folder, name));
    if !is_repository {
        return false;
    }
    if is_bare_repository(folder) {
        return has_obeyed(made);
    }
    has_obeyed(folder) || !is_harmless_directory(made, 0)
}
