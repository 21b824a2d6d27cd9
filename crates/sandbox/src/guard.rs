//! What is done when a process has ended: planted repositories and, where no mount protects them,
//! changed protected names go to quarantine; stubs and scratch space go away.
//!
//! By then nothing of that process runs, but what it left is hostile, and others may be confined to the
//! same root and exchange what was looked at: nothing is done by a path whose folder is not held.

#[cfg(test)]
#[cfg(target_os = "linux")]
mod exchanged;
mod linked;
mod print;
#[cfg(target_os = "linux")]
mod sentry;
mod snapshot;
mod unfinished;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use contract::protected::protected;
use contract::text::escaped;
use rustix::fs::{Access, access};

use crate::closed::{self, Opened};
use crate::held::Held;
use crate::nested::{self, Nested, Planted};
use crate::protected::is_bare_repository;
use crate::stubs::Hold;
use crate::{Notice, User};

pub(crate) use linked::{Birth, Linked};
#[cfg(target_os = "linux")]
pub(crate) use sentry::Sentry;
pub(crate) use snapshot::{SAVED_BYTES, SAVED_ENTRIES, Snapshot};
pub(crate) use unfinished::{Unfinished, finish};

/// Where planted files are moved to, at the top of a root.
pub(crate) const QUARANTINE: &str = ".brynhild-quarantine";
/// So many such folders are tried, and so many numbers behind a name.
const QUARANTINES: usize = 10;
const SAME_NAMES: usize = 1000;
/// Letters of a name there, of up to four bytes each.
const LONGEST_NAME: usize = 55;

/// What happens after a process; dropping it does it.
#[derive(Default)]
pub(crate) struct After {
    /// Roots that were no bare repository before.
    pub(crate) roots: Vec<PathBuf>,
    /// Folders whose disks must not be filled.
    pub(crate) disks: Vec<PathBuf>,
    /// How much memory its processes may share.
    pub(crate) memory: Option<u64>,
    /// Writable roots, with what lay deeper in them before.
    pub(crate) nested: Vec<(PathBuf, Nested)>,
    /// Protected names as they were before, where nothing else keeps them.
    pub(crate) snapshots: Vec<Snapshot>,
    /// Protected files that have other names too, by which they could be written.
    pub(crate) linked: Vec<(PathBuf, Linked)>,
    /// Stubs in use.
    pub(crate) holds: Vec<Hold>,
    /// Scratch space.
    #[cfg(target_os = "linux")]
    pub(crate) scratch: Option<crate::landlock::Scratch>,
    /// The control group of the command.
    #[cfg(target_os = "linux")]
    pub(crate) group: Option<crate::control_group::Group>,
    /// The way to the hosts that it was granted.
    #[cfg(target_os = "linux")]
    pub(crate) proxy: Option<crate::proxy::Proxy>,
    /// Words about the process, which come out among those on its standard error.
    pub(crate) heard: Option<tokio::sync::mpsc::Receiver<String>>,
    /// Folders that stand in for some of the workspace.
    #[cfg(target_os = "linux")]
    pub(crate) mirror: Option<crate::mirror::Mirror>,
    /// Another folder to remove.
    pub(crate) folder: Option<tempfile::TempDir>,
    /// What says on the disk that all this is still to be done.
    pub(crate) unfinished: Option<Unfinished>,
    /// Who hears of it.
    pub(crate) notice: Option<Notice>,
}

impl fmt::Debug for After {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("After").finish_non_exhaustive()
    }
}

impl Drop for After {
    fn drop(&mut self) {
        let mut moved = Vec::new();
        #[cfg(target_os = "linux")]
        if let (Some(Err(error)), Some(notice)) =
            (self.mirror.take().map(|mirror| mirror.settle()), &self.notice)
        {
            notice(format!("what a hook wrote could not be brought to the project: {error}"));
        }
        for root in &self.roots {
            moved.extend(quarantine_repository(root));
        }
        for snapshot in &self.snapshots {
            snapshot.restore(&mut moved);
        }
        for (root, linked) in &self.linked {
            moved.extend(linked.restore(root));
        }
        for hold in &self.holds {
            let (planted, replaced) = hold.exchanged();
            moved.extend(planted.iter().filter_map(|path| quarantine_if_there(&hold.root, path)));
            moved.extend(replaced.iter().map(|path| Ok(unwalled(path))));
        }
        // What has been looked at need not be walked through.
        self.holds.clear();
        for (root, before) in &self.nested {
            let Planted { paths, is_cut, opened } = before.planted(root);
            for path in &paths {
                moved.extend(put_away(root, before, path));
            }
            moved.extend(is_cut.then(|| unsearched(root, before)).flatten().map(Ok));
            drop(opened);
        }
        if let Some(notice) = &self.notice {
            for result in moved {
                notice(said(result));
            }
        }
    }
}

impl After {
    /// Watches `roots`, of this user, for what is planted in them.
    pub(crate) fn watch(roots: &[PathBuf], user: Option<&User>, notice: Option<Notice>) -> Self {
        let mut after = Self::default();
        after.roots = roots.iter().filter(|root| !is_bare_repository(root)).cloned().collect();
        after.nested = roots.iter().map(|root| (root.clone(), nested::look(root, user))).collect();
        after.disks = roots.to_vec();
        after.notice = notice;
        after
    }
}

/// What the person should know of something that was to be moved away, as one line: names can hold ends of
/// lines.
fn said(result: io::Result<String>) -> String {
    let words =
        result.unwrap_or_else(|error| format!("a planted file could not be moved away: {error}"));
    let ends = words.char_indices().filter(|(_, letter)| ['\n', '\r'].contains(letter));
    escaped(&words, ends).into_owned()
}

/// What the person should know of a protected path at which the host has put something else.
fn unwalled(path: &Path) -> String {
    format!(
        "`{}` was replaced while a command ran, which could write it from then on; look at it before \
         something obeys it",
        path.display()
    )
}

/// What the person should know of a root that holds more than can be looked through: always if a command
/// made it so, otherwise once.
fn unsearched(root: &Path, before: &Nested) -> Option<String> {
    static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let shown = root.display();
    if !before.is_boundless {
        return Some(format!(
            "a confined process left more in `{shown}` than can be looked through for what it planted"
        ));
    }
    let is_first = TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(root.to_owned());
    is_first.then(|| {
        format!("`{shown}` holds more than can be looked through for what commands plant in it")
    })
}

/// Takes the head off a bare repository at `root`, where there was none before.
fn quarantine_repository(root: &Path) -> Option<io::Result<String>> {
    is_bare_repository(root).then(|| quarantine_if_there(root, &root.join("HEAD"))).flatten()
}

/// Moves what was planted at `path` out of effect: what has that name, or a link that leads there.
fn put_away(root: &Path, before: &Nested, path: &Path) -> Vec<io::Result<String>> {
    let is_there = || fs::symlink_metadata(path).is_ok();
    // With a repository goes what was found in it, and with a link what is behind it.
    if !is_there() {
        return Vec::new();
    }
    let mut moved: Vec<_> =
        quarantine_if_there(root, &before.to_move(root, path)).into_iter().collect();
    // Another process may exchange the way meanwhile. Whatever leads there then goes instead.
    if let Some(link) = nested::link_on_the_way(root, path).filter(|_| is_there()) {
        moved.retain(io::Result::is_ok);
        moved.extend(quarantine_if_there(root, &link));
    }
    moved
}

/// Moves `path` out of effect; nothing comes of what has gone by itself meanwhile.
fn quarantine_if_there(root: &Path, path: &Path) -> Option<io::Result<String>> {
    let moved = quarantine(root, path);
    let is_missed = moved.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    (!is_missed || fs::symlink_metadata(path).is_ok()).then_some(moved)
}

/// Moves `path` out of effect, to a folder in the same file system that nothing looks into.
fn quarantine(root: &Path, path: &Path) -> io::Result<String> {
    let moved = || {
        let mut moved = move_to_quarantine(root, path);
        // A disk of its own may lie within the root, or a part of it be there once more.
        for base in [disk(root, path), path.parent()].into_iter().flatten() {
            let is_other = |error: &io::Error| error.kind() == io::ErrorKind::CrossesDevices;
            if moved.as_ref().is_err_and(is_other) {
                moved = move_to_quarantine(base, path);
            }
        }
        moved
    };
    let place = with_rights(root, path, moved).map_err(|error| named(path, &error))?;
    Ok(format!(
        "a confined process changed or planted `{}`, which the host could obey; it was moved to `{}`",
        path.display(),
        place.display()
    ))
}

fn move_to_quarantine(base: &Path, path: &Path) -> io::Result<PathBuf> {
    let from = Held::of(path)?;
    let place = quarantine_place(base, path)?;
    let moved = Held::of(&place).and_then(|to| fs::rename(from.path(), to.path()));
    if let (Err(_), Some(folder)) = (&moved, place.parent()) {
        // One that was made for nothing goes again; what is not empty stays.
        let _ = Held::of(folder).and_then(|made| fs::remove_dir(made.path()));
    }
    moved.map(|()| place)
}

/// An error that says of what it speaks.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The highest folder above `path`, up to `root`, that is on the same disk.
fn disk<'a>(root: &Path, path: &'a Path) -> Option<&'a Path> {
    let device = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.dev());
    let own = device(path)?;
    let above = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    above.take_while(|folder| device(folder) == Some(own)).last()
}

/// Does something to a path beneath `root`; once more where a right is missing, which the command may
/// have taken away.
fn with_rights<T>(root: &Path, path: &Path, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let done = act();
    if !done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        return done;
    }
    // To move a folder to another one is to write into it, too.
    let mut opened = Opened::default();
    for folder in [root, path.parent().unwrap_or(root), path] {
        opened.open_to_write(root, folder);
    }
    act()
}

/// A name in the quarantine that nothing has.
fn quarantine_place(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let name = path.strip_prefix(root).unwrap_or(path);
    let flat = name.to_string_lossy().replace('/', "_");
    // The end of a path says more, and no file system takes a name of any length.
    let start = flat.char_indices().rev().nth(LONGEST_NAME).map_or(0, |(at, _)| at);
    // Some names are obeyed with any ending.
    let flat = match &flat[start..] {
        flat if protected(format!("{flat}.1")).is_some() => format!("_{flat}"),
        flat => flat.to_owned(),
    };
    for number in 0..QUARANTINES {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let folder = root.join(format!("{QUARANTINE}{suffix}"));
        let held = Held::of(&folder)?;
        if fs::create_dir(held.path()).is_err() && !is_usable(&folder, &held) {
            continue;
        }
        let mut places = (1..SAME_NAMES).map(|number| folder.join(format!("{flat}.{number}")));
        if let Some(place) = places.find(|place| fs::symlink_metadata(place).is_err()) {
            return Ok(place);
        }
    }
    // A command may have taken all these names.
    let held = Held::of(&root.join(QUARANTINE))?;
    let within = held.path().parent().unwrap_or(root);
    let made =
        tempfile::Builder::new().prefix(&format!("{QUARANTINE}-")).tempdir_in(within)?.keep();
    Ok(root.join(made.file_name().unwrap_or_default()).join(format!("{flat}.1")))
}

/// Whether something at a name for a quarantine is a folder that can be written.
fn is_usable(folder: &Path, held: &Held) -> bool {
    let is_folder = fs::symlink_metadata(held.path()).is_ok_and(|found| found.is_dir());
    if is_folder {
        closed::keep_open(folder);
    }
    is_folder && access(held.path(), Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn after(root: &Path, snapshots: Vec<Snapshot>) -> (After, Arc<Mutex<Vec<String>>>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&heard);
        let notice: Notice = Arc::new(move |words| ear.lock().unwrap().push(words));
        let mut after = After::watch(&[root.to_owned()], None, Some(notice));
        after.snapshots = snapshots;
        (after, heard)
    }

    #[test]
    fn what_has_gone_by_itself_needs_no_word() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::write(root.join(".envrc"), "x").unwrap();
        assert!(
            quarantine_if_there(&root, &root.join(".envrc")).is_some_and(|moved| moved.is_ok())
        );
        assert!(quarantine_if_there(&root, &root.join(".envrc")).is_none());
        assert!(quarantine_if_there(&root, &root.join("gone/.envrc")).is_none());
    }

    fn plant_bare(root: &Path) {
        fs::create_dir(root.join("objects")).unwrap();
        fs::create_dir(root.join("refs")).unwrap();
        fs::write(root.join("HEAD"), "ref: refs/heads/main").unwrap();
    }

    #[test]
    fn a_planted_bare_repository_loses_its_head() {
        let root = tempfile::tempdir().unwrap();
        let (after, heard) = after(root.path(), Vec::new());
        plant_bare(root.path());
        drop(after);
        assert!(!root.path().join("HEAD").exists());
        assert!(root.path().join(QUARANTINE).join("HEAD.1").exists());
        assert_eq!(heard.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_bare_repository_of_the_user_stays() {
        let root = tempfile::tempdir().unwrap();
        plant_bare(root.path());
        let (after, _) = after(root.path(), Vec::new());
        drop(after);
        assert!(root.path().join("HEAD").exists());
    }

    #[test]
    fn changed_and_planted_protected_names_are_undone() {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n").unwrap();
        let snapshot = Snapshot::take(root.path(), &nested::look(root.path(), None)).unwrap();
        let (after, heard) = after(root.path(), vec![snapshot]);

        fs::write(git.join("config"), "[core]\n\tfsmonitor = evil\n").unwrap();
        fs::write(git.join("hooks/pre-commit"), "evil").unwrap();
        fs::write(git.join("commondir"), "../evil").unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::create_dir(root.path().join(".vscode")).unwrap();
        fs::write(root.path().join(".vscode/settings.json"), "{}").unwrap();
        drop(after);

        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "[core]\n");
        assert!(!git.join("hooks/pre-commit").exists());
        assert!(!git.join("commondir").exists());
        assert!(git.join("HEAD").exists());
        assert!(!root.path().join(".vscode").exists());
        assert_eq!(heard.lock().unwrap().len(), 4);
    }

    #[test]
    fn a_folder_that_was_moved_with_its_repository_comes_back_as_a_whole() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("a/n/.git/objects")).unwrap();
        fs::write(path("a/n/.git/config"), "mine").unwrap();
        fs::write(path("a/n/file"), "mine").unwrap();
        let snapshot = Snapshot::take(root.path(), &nested::look(root.path(), None)).unwrap();
        let (after, heard) = after(root.path(), vec![snapshot]);
        fs::create_dir(path("b")).unwrap();
        fs::rename(path("a/n"), path("b/m")).unwrap();
        fs::remove_dir(path("a")).unwrap();
        drop(after);
        assert!(path("a/n/.git/objects").exists() && path("a/n/file").exists());
        assert!(!path("b/m").exists());
        assert_eq!(heard.lock().unwrap().len(), 1, "{heard:?}");
    }

    #[test]
    fn what_goes_with_its_repository_is_not_missed_and_what_stays_is_named() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        let write = |name: &str, text: &str| {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), text).unwrap();
        };
        let (after, heard) = after(root.path(), Vec::new());
        write("z/.git/config", "");
        write("z/.git/worktrees/w/commondir", "../..");
        write("z/.git/worktrees/w/config.worktree", "[core]\nfsmonitor = x\n");
        write("zz/.git", "gitdir: ../z/.git/worktrees/w");
        drop(after);
        assert!(!path("zz/.git").exists());
        let heard = heard.lock().unwrap();
        assert!(heard.iter().all(|words| words.contains("moved to")), "{heard:?}");
        let error = quarantine(root.path(), &path("nothing")).unwrap_err().to_string();
        assert!(error.contains("nothing"), "{error}");
    }

    #[test]
    fn what_was_put_away_is_not_found_once_more() {
        let root = tempfile::tempdir().unwrap();
        let (after, heard) = after(root.path(), Vec::new());
        for name in [".envrc", "mise.toml", ".mise.local.toml", "a/.envrc.x", ".zed"] {
            fs::create_dir_all(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("x"), "").unwrap();
            quarantine(root.path(), &root.path().join(name)).unwrap();
        }
        drop(after);
        assert_eq!(*heard.lock().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn neither_long_names_nor_taken_ones_keep_something_out_of_the_quarantine() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let long = root.join("\u{10000}".repeat(60)).join("\u{10000}".repeat(60));
        fs::create_dir_all(&long).unwrap();
        fs::create_dir(root.join(QUARANTINE)).unwrap();
        for number in 1..SAME_NAMES {
            fs::write(root.join(QUARANTINE).join(format!("x.{number}")), "").unwrap();
        }
        for number in 2..QUARANTINES {
            fs::write(root.join(format!("{QUARANTINE}-{number}")), "").unwrap();
        }
        fs::write(long.join(".envrc"), "").unwrap();
        quarantine(root, &long.join(".envrc")).unwrap();
        assert!(!long.join(".envrc").exists());
        fs::write(root.join("x"), "one").unwrap();
        quarantine(root, &root.join("x")).unwrap();
        assert!(root.join(format!("{QUARANTINE}-1/x.1")).exists());
        fs::remove_dir_all(root.join(format!("{QUARANTINE}-1"))).unwrap();
        fs::write(root.join(format!("{QUARANTINE}-1")), "").unwrap();
        fs::write(root.join("x"), "two").unwrap();
        let words = quarantine(root, &root.join("x")).unwrap();
        assert!(!root.join("x").exists() && words.contains(QUARANTINE), "{words}");
    }

    #[test]
    fn whoever_makes_more_than_can_be_looked_through_is_told_of() {
        let base = tempfile::tempdir().unwrap();
        let deep = |length| base.path().join("d/".repeat(length));
        // More than a short look sees, and then more than any does.
        fs::create_dir_all(deep(10)).unwrap();
        let (untouched, heard) = after(base.path(), Vec::new());
        assert!(untouched.nested[0].1.is_cut);
        drop(untouched);
        assert_eq!(heard.lock().unwrap().len(), 0);
        let words = |act: &dyn Fn()| {
            let (after, heard) = after(base.path(), Vec::new());
            act();
            drop(after);
            heard.lock().unwrap().join("")
        };
        assert!(words(&|| fs::create_dir_all(deep(80)).unwrap()).contains("process left more"));
        assert!(words(&|| {}).contains("holds more"));
        assert_eq!(words(&|| {}), "");
    }

    /// Only in a namespace of its own can a test mount something.
    #[test]
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "the host has such disks")]
    fn what_is_planted_on_a_disk_within_the_root_is_moved_away() {
        let root = tempfile::tempdir().unwrap();
        for name in ["disk", "part", "again"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        let mount = "mount -t tmpfs x disk && mount --bind part again || exit 77; exec \"$@\"";
        let output = std::process::Command::new("unshare")
            .args(["-Urm", "sh", "-c", mount, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["guard::tests::a_root_with_disks", "--exact", "--ignored"])
            .current_dir(root.path())
            .output();
        let Ok(output) = output else { return };
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(77) || errors.contains("unshare failed") {
            return;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let is_run = text.contains("1 passed") && !errors.contains("SKIPPED");
        assert!(output.status.success() && is_run, "{text}\n{errors}");
    }

    #[test]
    #[ignore = "started by another test, in a place that fits"]
    fn a_root_with_disks() {
        let root = fs::canonicalize(".").unwrap();
        if !root.join("disk").is_dir() {
            let words = b"SKIPPED: what another test starts in such a place, which this is not\n";
            return std::io::Write::write_all(&mut std::io::stderr(), words).unwrap();
        }
        for name in ["disk", "again"] {
            let planted = root.join(name).join("x/.git");
            fs::create_dir_all(&planted).unwrap();
            assert!(fs::rename(&planted, root.join("y")).is_err(), "it proves nothing");
            let words = quarantine(&root, &planted).unwrap();
            assert!(!planted.exists() && words.contains(QUARANTINE), "{words}");
        }
        assert!(!root.join(QUARANTINE).exists());
    }

    #[test]
    fn nothing_is_written_through_a_planted_link() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join(".git/hooks/sample"), "x").unwrap();
        let snapshot = Snapshot::take(&root, &nested::look(&root, None)).unwrap();
        let (after, _) = after(&root, vec![snapshot]);
        fs::remove_dir_all(root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join(QUARANTINE)).unwrap();
        drop(after);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(root.join(".git/hooks/sample")).unwrap(), "x");
    }
}
