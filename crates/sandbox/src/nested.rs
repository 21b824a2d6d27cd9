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

use crate::discovery::{common, git_directory};
use crate::git_pointers::Pointers;
use crate::gitlinks;
use crate::guard::is_exhausted;
use crate::harmless::{is_harmless, is_harmless_directory};
use crate::other_repositories;
use crate::protected::{is_bare_repository, is_empty_folder};

/// How far is looked before a command, and after it: by then it may have made very much.
const DEPTH: [usize; 2] = [5, 64];
const ENTRIES: [usize; 2] = [3000, 300_000];
/// So many entries of what was not looked at before are compared with the time.
const HELD: usize = 1000;
/// Clocks of file systems may be a little behind.
const LAG: Duration = Duration::from_millis(20);
/// Folders that hold what tools have fetched or made, where no one works.
pub(crate) const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];
/// What git obeys in a repository, whatever lies there.
const OBEYED: [&str; 5] = ["config", "config.worktree", "commondir", "hooks", "modules"];
/// What makes a folder a repository for git, together or with another folder behind it.
const BARE: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// What was found beneath a root.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    /// Protected names below the top; of a link where it leads.
    pub(crate) names: BTreeMap<PathBuf, Option<PathBuf>>,
    /// Folders that git takes for repositories by what is in them, or because a `.git` leads there.
    bare: BTreeSet<PathBuf>,
    /// What git obeys in these; of a link where it leads.
    pub(crate) parts: BTreeMap<PathBuf, Option<PathBuf>>,
    /// The `.git` of every submodule, there or not.
    pub(crate) links: BTreeSet<PathBuf>,
    /// What the settings of the repository, and of those within it, lead to, there or not.
    pub(crate) pointers: BTreeSet<PathBuf>,
    /// What the settings of repositories within it lead to, there or not.
    pub(crate) further: BTreeSet<PathBuf>,
    /// Where the files of those repositories are.
    trees: BTreeSet<PathBuf>,
    /// Sockets on the way.
    pub(crate) sockets: Vec<PathBuf>,
    /// Whether settings or hooks name more than is looked at.
    pub(crate) is_unclear: bool,
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
    let mut found = look_at(root, home, Moment::Before);
    found.trees = found.repositories(root);
    found.follow_settings(root, &found.trees.clone());
    found
}

/// The folders beneath `root` that have repositories of their own, as far as a short search finds them.
pub(crate) fn trees(root: &Path) -> BTreeSet<PathBuf> {
    look_at(root, None, Moment::Before).repositories(root)
}

fn look_at(root: &Path, home: Option<&Path>, moment: Moment) -> Nested {
    let (deepest, most) = (DEPTH[moment as usize], ENTRIES[moment as usize]);
    let links = gitlinks::find(root).into_iter().map(|folder| folder.join(".git")).collect();
    let pointers = Pointers::of(root, root, home);
    let (is_unclear, pointers) = (pointers.is_cut, pointers.paths.into_iter().collect());
    let since = SystemTime::now().checked_sub(LAG);
    let home = home.map(Path::to_owned);
    let mut found = Nested { links, pointers, is_unclear, since, home, ..Nested::default() };
    for path in found.links.union(&found.pointers).cloned().collect::<Vec<_>>() {
        found.note(path);
    }
    let (mut level, mut seen, mut aside) = (vec![root.to_owned()], 0, BTreeSet::new());
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
                    found.follow(root);
                    return found;
                }
                let name = entry.file_name();
                parts += usize::from(BARE.iter().any(|part| name == *part));
                if is_protected(&folder, &name, depth) {
                    found.note(entry.path());
                    continue;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_symlink() => {
                        let place = leads_aside(root, &entry.path());
                        below.extend(place.filter(|place| aside.insert(place.clone())));
                    }
                    Ok(kind) if kind.is_socket() => found.sockets.push(entry.path()),
                    Ok(kind) if kind.is_dir() && !SKIPPED.iter().any(|skip| name == *skip) => {
                        below.push(entry.path());
                    }
                    _ => {}
                }
            }
            if parts > 1 && is_bare_repository(&folder) {
                found.bare.insert(folder);
            }
        }
        level = below;
    }
    found.is_cut |= !level.is_empty();
    found.follow(root);
    found
}

/// The folder that a link leads to, where no walk from `root` comes to it.
fn leads_aside(root: &Path, link: &Path) -> Option<PathBuf> {
    // Most links lead to files, which costs less to find out.
    let place =
        fs::metadata(link).ok().filter(fs::Metadata::is_dir).and(fs::canonicalize(link).ok())?;
    let below = place.strip_prefix(root).ok()?;
    let is_skipped = below.iter().any(|part| SKIPPED.iter().any(|skip| part == *skip));
    (is_skipped && !below.starts_with(".git")).then_some(place)
}

impl Nested {
    fn note(&mut self, path: PathBuf) {
        // Nobody obeys an empty folder, and those that another sandbox holds are such.
        if let Some(target) = target(&path).filter(|_| !is_empty_folder(&path)) {
            self.names.insert(path, target);
        }
    }

    /// Adds the repositories beneath `root` that a `.git` leads to, and what git obeys in all of them.
    fn follow(&mut self, root: &Path) {
        let own = root.join(".git");
        let files = self.names.keys().filter(|path| path.ends_with(".git") && path.is_file());
        let led = files.filter_map(|path| git_directory(path.parent()?));
        let led: Vec<PathBuf> =
            led.flat_map(|git| [common(&git).ok(), Some(git)]).flatten().collect();
        let is_within = |git: &PathBuf| git.starts_with(root) && !git.starts_with(&own);
        self.bare.extend(led.into_iter().filter(is_within));
        let stores = self.names.keys().filter_map(|path| other_repositories::git_directory(path));
        self.bare.extend(stores.collect::<Vec<_>>());
        let parts = self.bare.iter().flat_map(|git| OBEYED.map(|part| git.join(part)));
        let others = self.names.keys().filter_map(|path| other_repositories::obeyed(path));
        for part in parts.chain(others.flatten()).collect::<Vec<_>>() {
            if let Some(target) = target(&part) {
                self.parts.insert(part, target);
            }
        }
    }

    /// The folders that have repositories of their own, and those that are such.
    fn repositories(&self, root: &Path) -> BTreeSet<PathBuf> {
        let names = self.names.keys().chain(&self.links);
        let git = names.filter(|path| path.ends_with(".git")).filter_map(|path| path.parent());
        let bare = self.bare.iter().map(PathBuf::as_path);
        git.chain(bare).filter(|tree| *tree != root).map(Path::to_owned).collect()
    }

    /// Adds what the settings of these repositories within the repository lead to.
    fn follow_settings(&mut self, root: &Path, trees: &BTreeSet<PathBuf>) {
        for tree in trees {
            let led = Pointers::of(root, tree, self.home.as_deref());
            self.is_unclear |= led.is_cut;
            for path in led.paths {
                if !self.pointers.contains(&path) {
                    self.note(path.clone());
                    self.further.insert(path);
                }
            }
        }
    }

    /// What a confined process has put beneath `root` since this was found, and the host could obey;
    /// and whether there was too much to find it all.
    pub(crate) fn planted(&self, root: &Path) -> (Vec<PathBuf>, bool) {
        let mut later = look_at(root, self.home.as_deref(), Moment::After);
        // One that the command has made itself names nothing, or goes as a whole.
        let was_there = |tree: &PathBuf| {
            let is_old = || self.is_cut && !self.has_changed(&tree.join(".git"));
            self.trees.contains(tree) || is_old()
        };
        let trees = later.repositories(root).into_iter().filter(was_there).collect();
        later.follow_settings(root, &trees);
        for path in self.pointers.union(&self.further) {
            later.note(path.clone());
        }
        let mut planted = Vec::new();
        for (path, target) in &later.names {
            let is_known = self.names.get(path) == Some(target);
            let is_plain = || other_repositories::is_harmless(path);
            if is_known || is_plain() || (path.ends_with(".git") && is_harmless(root, path)) {
                continue;
            }
            // Of what was not looked at before, only what has changed since was put there.
            let known = [&self.links, &self.pointers, &self.further];
            let is_near = known.iter().any(|known| known.contains(path));
            if !self.is_cut || is_near || self.has_changed(path) {
                planted.push(path.clone());
            }
        }
        let is_new = |part: &&PathBuf| self.parts.get(*part) != later.parts.get(*part);
        let is_old = |part: &&PathBuf| {
            let mut above = part.ancestors().skip(1);
            above.any(|it| self.bare.contains(it) || self.names.contains_key(it))
        };
        planted.extend(later.parts.keys().filter(is_new).filter(is_old).cloned());
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
        if let Some(obeyed) = other_repositories::obeyed(path) {
            return is_later(path) || obeyed.iter().any(|file| is_later(file));
        }
        if !is_directory || !is_repository {
            return holds(path, &is_later);
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

/// Whether a path, or something beneath it, is such.
fn holds(path: &Path, is_such: &dyn Fn(&Path) -> bool) -> bool {
    let (mut left, mut seen) = (vec![path.to_owned()], 0);
    while let Some(path) = left.pop() {
        if is_such(&path) {
            return true;
        }
        seen += 1;
        if seen < HELD && fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()));
        }
    }
    false
}

/// Where a link leads; none where nothing is.
#[expect(clippy::option_option, reason = "what is there need not be a link")]
fn target(path: &Path) -> Option<Option<PathBuf>> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(if found.is_symlink() { fs::read_link(path).ok() } else { None })
}

/// Whether nothing else keeps this name in this folder, at this depth.
fn is_protected(folder: &Path, name: &OsStr, depth: usize) -> bool {
    // Protected only in one folder.
    if name == "hooks" {
        let above = folder.file_name().map(Path::new);
        return above.is_some_and(|above| protected(above.join(name)).is_some());
    }
    // Few names begin so, and the look at a name is not free.
    let may_be =
        name.as_bytes().first().is_some_and(|first| b".cCgGmMoO".contains(first) || *first > 127);
    let found = name.to_str().filter(|_| may_be).and_then(protected);
    // At the top there are mounts for the foremost names, as they are usually spelled.
    found.is_some_and(|found| depth > 0 || OTHERS.contains(&found) || name != found)
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
    fn what_the_settings_of_a_nested_repository_lead_to_is_known_and_watched() {
        let base = tempfile::tempdir().unwrap();
        let root = &base.path().canonicalize().unwrap();
        let settings = "[core]\nhooksPath = .husky\nfsmonitor = ./mon\n[include]\npath = ../more\n";
        write(root, "a/lib/.git/config", settings);
        write(root, "a/lib/more", "[core]\nbare = false\n");
        write(root, "plain/.git/config", "[core]\nbare = false\n");
        let before = look(root, None);
        let pointers = ["a/lib/.husky", "a/lib/more"].map(|name| root.join(name));
        assert_eq!(before.further.iter().cloned().collect::<Vec<_>>(), pointers);
        assert!(before.planted(root).0.is_empty());
        write(root, "a/lib/.husky/pre-commit", "x");
        write(root, "a/lib/mon", "x");
        write(root, "made/.git/config", "[core]\nbare = false\n");
        write(root, "made/.husky/pre-commit", "x");
        let wanted = ["a/lib/.husky", "a/lib/mon"].map(|name| root.join(name));
        assert_eq!(before.planted(root).0, wanted);
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
        write(root, "z/five/.vscode/tasks.json", "");
        std::thread::sleep(2 * LAG);
        let before = look(root, None);
        assert!(before.is_cut);
        write(root, "z/one/.git/config", "[core]\nfsmonitor = x\n");
        write(root, "z/two/.git/index", "x");
        write(root, "z/two/made", "x");
        write(root, "z/four/.mcp.json", "x");
        // What was there is overwritten, which the folder itself does not show.
        write(root, "z/five/.vscode/tasks.json", "x");
        let wanted = ["z/five/.vscode", "z/four/.mcp.json", "z/one/.git"];
        let wanted = wanted.map(|name| root.join(name));
        assert_eq!(before.planted(root), (wanted.to_vec(), false));
    }
}
