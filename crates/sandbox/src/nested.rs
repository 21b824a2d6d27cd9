//! Protected names deeper in a writable root: repositories within the repository, settings of
//! editors and assistants in folders; at its top those for which nothing is mounted. Sockets, too, since
//! one walk finds both. The search is bounded, so that it stays cheap in any tree; submodules are known
//! without a search. Only looks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use contract::protected::{OTHERS, protected};

use crate::git_pointers::git_pointers;
use crate::gitlinks;
use crate::harmless::{is_harmless, is_harmless_directory};
use crate::protected::is_bare_repository;

const DEPTH: usize = 5;
const ENTRIES: usize = 3000;
/// Folders that hold what tools have fetched or made, where no one works.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];
/// What makes a folder a repository for git, together or with another folder behind it.
const BARE: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// What was found beneath a root.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    /// Protected names below the top; of a link where it leads.
    pub(crate) names: BTreeMap<PathBuf, Option<PathBuf>>,
    /// Folders that git takes for repositories by what is in them.
    bare: BTreeSet<PathBuf>,
    /// The `.git` of every submodule, there or not.
    pub(crate) links: BTreeSet<PathBuf>,
    /// What the repository's settings lead to, there or not.
    pub(crate) pointers: BTreeSet<PathBuf>,
    /// Sockets on the way.
    pub(crate) sockets: Vec<PathBuf>,
    /// Whether there was more than is looked at.
    is_cut: bool,
}

/// Looks beneath `root`.
pub(crate) fn look(root: &Path) -> Nested {
    let links = gitlinks::find(root).into_iter().map(|folder| folder.join(".git")).collect();
    let pointers = git_pointers(root).into_iter().collect();
    let mut found = Nested { links, pointers, ..Nested::default() };
    for path in found.links.union(&found.pointers).cloned().collect::<Vec<_>>() {
        found.note(path);
    }
    let (mut level, mut seen) = (vec![root.to_owned()], 0);
    for depth in 0..DEPTH {
        let mut below = Vec::new();
        for folder in level {
            let mut parts = 0;
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > ENTRIES {
                    found.is_cut = true;
                    return found;
                }
                let name = entry.file_name();
                parts += usize::from(BARE.iter().any(|part| name == *part));
                if is_protected(&name, depth) {
                    found.note(entry.path());
                    continue;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_socket() => found.sockets.push(entry.path()),
                    Ok(kind) if kind.is_dir() && !SKIPPED.iter().any(|skip| name == *skip) => {
                        below.push(entry.path());
                    }
                    _ => {}
                }
            }
            if depth > 0 && parts > 1 && is_bare_repository(&folder) {
                found.bare.insert(folder);
            }
        }
        level = below;
    }
    found
}

impl Nested {
    fn note(&mut self, path: PathBuf) {
        if let Ok(found) = fs::symlink_metadata(&path) {
            let target = if found.is_symlink() { fs::read_link(&path).ok() } else { None };
            self.names.insert(path, target);
        }
    }

    /// What a confined process has put beneath `root` since this was found, and the host could obey.
    pub(crate) fn planted(&self, root: &Path) -> Vec<PathBuf> {
        let later = look(root);
        let mut planted = Vec::new();
        for (path, target) in &later.names {
            let is_known = self.names.get(path) == Some(target);
            if is_known || (path.ends_with(".git") && is_harmless(root, path)) {
                continue;
            }
            // Of what was not looked at before nothing is known, but where git leads to.
            if !self.is_cut || self.links.contains(path) || self.pointers.contains(path) {
                planted.push(path.clone());
            }
        }
        let bare = later.bare.difference(&self.bare).filter(|_| !self.is_cut);
        let bare = bare.filter(|folder| !is_harmless_directory(folder, 0));
        planted.extend(bare.map(|folder| folder.join("HEAD")));
        planted
    }
}

/// Whether nothing else keeps this name at this depth.
fn is_protected(name: &OsStr, depth: usize) -> bool {
    // Few names begin so, and the look at a name is not free.
    let may_be =
        name.as_bytes().first().is_some_and(|first| b".cCgGoO".contains(first) || *first > 127);
    let found = name.to_str().filter(|_| may_be).and_then(protected);
    found.is_some_and(|found| depth > 0 || OTHERS.contains(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn what_is_planted_is_found_and_what_git_makes_is_not() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path();
        write(root, "old/.vscode/settings.json", "{}");
        write(root, "old/.git/config", "[core]\nbare = false\n");
        let before = look(root);
        assert_eq!(before.names.len(), 2);
        write(root, "old/.git/index", "x");
        write(root, "made/.git/config", "[core]\nbare = false\n");
        write(root, "node_modules/x/.vscode/settings.json", "{}");
        for name in &BARE[..3] {
            write(root, &format!("bare/{name}"), "");
        }
        assert_eq!(before.planted(root), Vec::<PathBuf>::new());
        write(root, "bare/config", "[core]\nfsmonitor = x\n");
        write(root, "evil/.git/config", "[core]\nfsmonitor = x\n");
        write(root, "a/b/.mcp.json", "{}");
        write(root, "other/HEAD", "");
        write(root, "other/commondir", "../a");
        let names = ["a/b/.mcp.json", "evil/.git", "bare/HEAD", "other/HEAD"];
        assert_eq!(before.planted(root), names.map(|name| root.join(name)));
    }

    #[test]
    fn a_link_that_leads_elsewhere_afterwards_is_planted() {
        let base = tempfile::tempdir().unwrap();
        let link = base.path().join("a/.vscode");
        fs::create_dir(base.path().join("a")).unwrap();
        std::os::unix::fs::symlink("../.vscode", &link).unwrap();
        let before = look(base.path());
        assert!(before.planted(base.path()).is_empty());
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("evil", &link).unwrap();
        assert_eq!(before.planted(base.path()), [link]);
    }
}
