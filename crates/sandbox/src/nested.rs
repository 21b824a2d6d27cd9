//! Protected names deeper in a writable root: repositories within the repository, settings of
//! editors and assistants in folders; at its top those for which nothing is mounted. Sockets, too, since
//! one walk finds both. The search is bounded, so that it stays cheap in any tree; submodules are known
//! without a search. Only looks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::protected::{OTHERS, protected};

use crate::git_pointers::git_pointers;
use crate::gitlinks;
use crate::guard::is_exhausted;
use crate::harmless::{is_harmless, is_harmless_directory};
use crate::protected::is_bare_repository;

/// How far is looked before a command, and after it: by then it may have made very much.
const DEPTH: [usize; 2] = [5, 64];
const ENTRIES: [usize; 2] = [3000, 300_000];
/// Clocks of file systems may be a little behind.
const LAG: Duration = Duration::from_millis(20);
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
    pub(crate) is_cut: bool,
    /// When this was found.
    since: Option<SystemTime>,
    pub(crate) home: Option<PathBuf>,
}

/// When the look is taken.
#[derive(Clone, Copy)]
enum Moment {
    Before = 0,
    After = 1,
}

/// Looks beneath `root`, where a command is going to run for a user with this home.
pub(crate) fn look(root: &Path, home: Option<&Path>) -> Nested {
    look_at(root, home, Moment::Before)
}

fn look_at(root: &Path, home: Option<&Path>, moment: Moment) -> Nested {
    let (deepest, most) = (DEPTH[moment as usize], ENTRIES[moment as usize]);
    let links = gitlinks::find(root).into_iter().map(|folder| folder.join(".git")).collect();
    let pointers = git_pointers(root, home).into_iter().collect();
    let since = SystemTime::now().checked_sub(LAG);
    let home = home.map(Path::to_owned);
    let mut found = Nested { links, pointers, since, home, ..Nested::default() };
    for path in found.links.union(&found.pointers).cloned().collect::<Vec<_>>() {
        found.note(path);
    }
    let (mut level, mut seen) = (vec![root.to_owned()], 0);
    for depth in 0..deepest {
        let mut below = Vec::new();
        for folder in level {
            let mut parts = 0;
            let entries = fs::read_dir(&folder);
            found.is_cut |= entries.as_ref().is_err_and(is_exhausted);
            for entry in entries.into_iter().flatten().flatten() {
                seen += 1;
                if seen > most {
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
    found.is_cut |= !level.is_empty();
    found
}

impl Nested {
    fn note(&mut self, path: PathBuf) {
        if let Ok(found) = fs::symlink_metadata(&path) {
            let target = if found.is_symlink() { fs::read_link(&path).ok() } else { None };
            self.names.insert(path, target);
        }
    }

    /// What a confined process has put beneath `root` since this was found, and the host could obey;
    /// and whether there was too much to find it all.
    pub(crate) fn planted(&self, root: &Path) -> (Vec<PathBuf>, bool) {
        let later = look_at(root, self.home.as_deref(), Moment::After);
        let mut planted = Vec::new();
        for (path, target) in &later.names {
            let is_known = self.names.get(path) == Some(target);
            if is_known || (path.ends_with(".git") && is_harmless(root, path)) {
                continue;
            }
            // Of what was not looked at before, only what has changed since was put there.
            let is_near = self.links.contains(path) || self.pointers.contains(path);
            if !self.is_cut || is_near || self.has_changed(path) {
                planted.push(path.clone());
            }
        }
        let bare = later.bare.difference(&self.bare);
        let bare = bare.filter(|folder| !self.is_cut || self.has_changed(folder));
        let bare = bare.filter(|folder| !is_harmless_directory(folder, 0));
        planted.extend(bare.map(|folder| folder.join("HEAD")));
        (planted, later.is_cut)
    }

    /// Whether something that the host obeys has changed since. No process can set these times back.
    fn has_changed(&self, path: &Path) -> bool {
        let Some(since) = self.since.and_then(|since| since.duration_since(UNIX_EPOCH).ok()) else {
            return true;
        };
        let is_later = |path: &Path| {
            fs::symlink_metadata(path).is_ok_and(|found| {
                let time = (found.ctime(), found.ctime_nsec());
                time >= (since.as_secs().cast_signed(), i64::from(since.subsec_nanos()))
            })
        };
        let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        let is_repository = path.ends_with(".git") || is_bare_repository(path);
        if !is_directory || !is_repository {
            return is_later(path);
        }
        let parts = ["config", "config.worktree", "commondir", "hooks"].map(|name| path.join(name));
        let hooks = fs::read_dir(path.join("hooks")).into_iter().flatten().flatten();
        let hooks = hooks.map(|entry| entry.path());
        // Git itself writes into the directory whenever it works; a new one comes with its folder.
        let is_moved_here = || {
            path.parent().is_some_and(is_later) && is_later(path) && !is_later(&path.join("index"))
        };
        parts.into_iter().chain(hooks).any(|part| is_later(&part)) || is_moved_here()
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
        let before = look(root, None);
        assert_eq!(before.names.len(), 2);
        write(root, "old/.git/index", "x");
        write(root, "made/.git/config", "[core]\nbare = false\n");
        write(root, "node_modules/x/.vscode/settings.json", "{}");
        for name in &BARE[..3] {
            write(root, &format!("bare/{name}"), "");
        }
        assert_eq!(before.planted(root).0, Vec::<PathBuf>::new());
        write(root, "bare/config", "[core]\nfsmonitor = x\n");
        write(root, "evil/.git/config", "[core]\nfsmonitor = x\n");
        write(root, "a/b/.mcp.json", "{}");
        write(root, "other/HEAD", "");
        write(root, "other/commondir", "../a");
        let names = ["a/b/.mcp.json", "evil/.git", "bare/HEAD", "other/HEAD"];
        assert_eq!(before.planted(root).0, names.map(|name| root.join(name)));
    }

    #[test]
    fn a_link_that_leads_elsewhere_afterwards_is_planted() {
        let base = tempfile::tempdir().unwrap();
        let link = base.path().join("a/.vscode");
        fs::create_dir(base.path().join("a")).unwrap();
        std::os::unix::fs::symlink("../.vscode", &link).unwrap();
        let before = look(base.path(), None);
        assert!(before.planted(base.path()).0.is_empty());
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("evil", &link).unwrap();
        assert_eq!(before.planted(base.path()).0, [link]);
    }

    #[test]
    fn very_many_files_and_folders_hide_nothing() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path();
        write(root, "z/old/.git/config", "[core]\nfsmonitor = user\n");
        let deep = "1/2/3/4/5/6/7/8";
        let before = look(root, None);
        for number in 0..2 * ENTRIES[0] {
            write(root, &format!("0/{number}"), "");
        }
        write(root, "zz/.git/config", "[core]\nfsmonitor = x\n");
        write(root, &format!("{deep}/.git/config"), "[core]\nfsmonitor = x\n");
        let wanted = [&format!("{deep}/.git"), "zz/.git"].map(|name| root.join(name));
        assert_eq!(before.planted(root), (wanted.to_vec(), false));
    }

    #[test]
    fn in_a_very_large_tree_what_was_there_stays_and_what_is_changed_goes() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path();
        for number in 0..2 * ENTRIES[0] {
            write(root, &format!("0/{number}"), "");
        }
        for name in ["z/one", "z/two", "z/three"] {
            write(root, &format!("{name}/.git/config"), "[core]\nfsmonitor = user\n");
        }
        std::thread::sleep(2 * LAG);
        let before = look(root, None);
        assert!(before.is_cut);
        write(root, "z/one/.git/config", "[core]\nfsmonitor = x\n");
        write(root, "z/two/.git/index", "x");
        write(root, "z/two/made", "x");
        write(root, "z/four/.mcp.json", "x");
        let wanted = ["z/four/.mcp.json", "z/one/.git"].map(|name| root.join(name));
        assert_eq!(before.planted(root), (wanted.to_vec(), false));
    }
}
