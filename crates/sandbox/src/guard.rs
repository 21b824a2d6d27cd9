//! What is done when a process has ended: planted repositories and, where no mount protects them,
//! changed protected names go to quarantine; stubs and scratch space go away.
//!
//! By then nothing confined runs, but what it left is hostile: no link is followed.

mod linked;
mod print;
#[cfg(target_os = "linux")]
mod sentry;
mod snapshot;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Notice;
use crate::nested::{self, Nested};
use crate::protected::is_bare_repository;
use crate::stubs::Hold;

pub(crate) use linked::{Birth, Linked};
pub(crate) use print::is_exhausted;
#[cfg(target_os = "linux")]
pub(crate) use sentry::Sentry;
pub(crate) use snapshot::Snapshot;

/// Where planted files are moved to, at the top of a root.
pub(crate) const QUARANTINE: &str = ".brynhild-quarantine";

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
            moved.extend(planted.iter().map(|path| quarantine(&hold.root, path)));
            moved.extend(replaced.iter().map(|path| Ok(unwalled(path))));
        }
        for (root, before) in &self.nested {
            let (planted, is_cut) = before.planted(root);
            // With a repository goes what was found in it.
            let is_there = |path: &&PathBuf| fs::symlink_metadata(path).is_ok();
            for path in &planted {
                moved.extend(Some(path).filter(is_there).map(|path| quarantine(root, path)));
            }
            if is_cut && !before.is_cut {
                moved.push(Ok(format!(
                    "a confined process left more in `{}` than can be looked through for what it \
                     planted",
                    root.display()
                )));
            }
        }
        self.holds.clear();
        if let Some(notice) = &self.notice {
            for result in moved {
                notice(match result {
                    Ok(words) => words,
                    Err(error) => format!("a planted file could not be moved away: {error}"),
                });
            }
        }
    }
}

impl After {
    /// Watches `roots`, of a user with this home, for what is planted in them.
    pub(crate) fn watch(roots: &[PathBuf], home: Option<&Path>, notice: Option<Notice>) -> Self {
        let mut after = Self::default();
        after.roots = roots.iter().filter(|root| !is_bare_repository(root)).cloned().collect();
        after.nested = roots.iter().map(|root| (root.clone(), nested::look(root, home))).collect();
        after.disks = roots.to_vec();
        after.notice = notice;
        after
    }
}

/// What the person should know of a protected path at which the host has put something else.
fn unwalled(path: &Path) -> String {
    format!(
        "`{}` was replaced while a command ran, which could write it from then on; look at it before \
         something obeys it",
        path.display()
    )
}

/// Takes the head off a bare repository at `root`, where there was none before.
fn quarantine_repository(root: &Path) -> Option<io::Result<String>> {
    is_bare_repository(root).then(|| quarantine(root, &root.join("HEAD")))
}

/// Moves `path` out of effect, to a folder in the same file system that nothing looks into.
fn quarantine(root: &Path, path: &Path) -> io::Result<String> {
    let folder = quarantine_folder(root)?;
    let name = path.strip_prefix(root).unwrap_or(path);
    let flat = name.to_string_lossy().replace('/', "_");
    for number in 1..10_000 {
        let target = folder.join(format!("{flat}.{number}"));
        if fs::symlink_metadata(&target).is_err() {
            let named = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            fs::rename(path, &target).map_err(named)?;
            return Ok(format!(
                "a confined process changed or planted `{}`, which the host could obey; it was \
                 moved to `{}`",
                path.display(),
                target.display()
            ));
        }
    }
    Err(io::Error::other("the quarantine is full"))
}

fn quarantine_folder(root: &Path) -> io::Result<PathBuf> {
    for number in 0..100 {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let folder = root.join(format!("{QUARANTINE}{suffix}"));
        if fs::create_dir(&folder).is_ok()
            || fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir())
        {
            return Ok(folder);
        }
    }
    Err(io::Error::other("there is no place for a quarantine"))
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
