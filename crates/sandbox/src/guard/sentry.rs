//! A watch over protected names while a command runs that no mount keeps from them. It only looks;
//! whoever asks it decides what a change means.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

use super::print::Print;
use super::snapshot::{Saved, Snapshot, read};
use crate::protected::is_bare_repository;

/// How long the clock alone says when to look: to stop listening takes the kernel many
/// milliseconds, which a short command must not wait for.
const SHORT: Duration = Duration::from_secs(1);
/// The least time between two looks, so that a busy folder costs little.
const REST: Duration = Duration::from_millis(4);
/// A change that nothing reports, through mapped memory, is found this much later.
const TICK: Duration = Duration::from_millis(250);

/// Watches the names of snapshots.
#[derive(Debug)]
pub(crate) struct Sentry {
    pub(crate) snapshots: Vec<Snapshot>,
    /// What tells an unchanged file or folder, once its content was found to be the saved one.
    prints: BTreeMap<PathBuf, Print>,
    start: Instant,
    /// Rings when something happens near a protected name.
    bell: Bell,
    looked: Option<Instant>,
}

#[derive(Debug)]
enum Bell {
    /// Not hung up yet.
    Later,
    Hung(OwnedFd),
    /// The kernel gives none.
    Missing,
}

impl Sentry {
    /// Starts to watch.
    pub(crate) fn new(snapshots: Vec<Snapshot>) -> Self {
        let (prints, start) = (BTreeMap::new(), Instant::now());
        Self { snapshots, prints, start, bell: Bell::Later, looked: None }
    }

    fn listen(&mut self) {
        let Ok(bell) = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) else {
            self.bell = Bell::Missing;
            return;
        };
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        for snapshot in &self.snapshots {
            folders.insert(&snapshot.root);
            folders.extend(snapshot.names.iter().filter_map(|name| name.parent()));
            let saved = snapshot.saved.iter().filter(|(_, saved)| **saved == Saved::Folder);
            folders.extend(saved.map(|(path, _)| path.as_path()));
        }
        let what = WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::MOVE
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        for folder in folders {
            // What cannot be listened to is looked at by the clock.
            let _ = inotify::add_watch(&bell, folder, what);
        }
        self.bell = Bell::Hung(bell);
    }

    /// What rings before the time of [`Sentry::patience`] is over.
    pub(crate) fn bell(&self) -> Option<PollFd<'_>> {
        match &self.bell {
            Bell::Hung(bell) if !self.is_resting() => {
                Some(PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN))
            }
            Bell::Hung(_) | Bell::Later | Bell::Missing => None,
        }
    }

    /// How long to wait before the next look.
    pub(crate) fn patience(&self) -> Timespec {
        let is_listening = matches!(self.bell, Bell::Hung(_)) && !self.is_resting();
        let time = if is_listening { TICK } else { REST };
        Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) }
    }

    fn is_resting(&self) -> bool {
        self.looked.is_some_and(|time| time.elapsed() < REST)
    }

    /// The first protected path that is not as it was saved.
    pub(crate) fn changed(&mut self) -> Option<PathBuf> {
        if self.is_resting() {
            return None;
        }
        match &self.bell {
            // What happens while it is hung up is found by the look that follows.
            Bell::Later if self.start.elapsed() > SHORT => self.listen(),
            Bell::Later | Bell::Missing => {}
            Bell::Hung(bell) => hush(bell),
        }
        self.looked = Some(Instant::now());
        let Self { snapshots, prints, .. } = self;
        snapshots.iter().find_map(|snapshot| look(snapshot, prints))
    }
}

/// Takes what has rung; what it was does not matter.
fn hush(bell: &OwnedFd) {
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(bell, &mut space);
    while reader.next().is_ok() {}
}

fn look(snapshot: &Snapshot, prints: &mut BTreeMap<PathBuf, Print>) -> Option<PathBuf> {
    if !snapshot.was_bare && is_bare_repository(&snapshot.root) {
        return Some(snapshot.root.join("HEAD"));
    }
    let is_planted =
        |name: &&PathBuf| !snapshot.saved.contains_key(*name) && fs::symlink_metadata(name).is_ok();
    if let Some(name) = snapshot.names.iter().find(is_planted) {
        return Some(name.clone());
    }
    if let Some(path) = snapshot.other_mode() {
        return Some(path.to_owned());
    }
    for (path, saved) in &snapshot.saved {
        let print = Print::of(path);
        if print.is_some() && prints.get(path) == print.as_ref() {
            continue;
        }
        match read(path) {
            Ok(found) if found.as_ref() == Some(saved) => {}
            Err(error) if snapshot.is_untouched(path, &error) => continue,
            Ok(_) | Err(_) => return Some(path.clone()),
        }
        if *saved == Saved::Folder {
            let entries = match fs::read_dir(path) {
                Ok(entries) => entries,
                Err(error) if snapshot.is_untouched(path, &error) => continue,
                Err(_) => return Some(path.clone()),
            };
            let mut entries = entries.flatten().map(|entry| entry.path());
            if let Some(planted) = entries.find(|entry| !snapshot.saved.contains_key(entry)) {
                return Some(planted);
            }
        }
        // Taken before the content was read, so that a change since then shows.
        prints.extend(print.map(|print| (path.clone(), print)));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn sentry(root: &Path) -> Sentry {
        Sentry::new(vec![Snapshot::take(root, &crate::nested::look(root, None)).unwrap()])
    }

    /// What a look finds when its time has come.
    fn found(sentry: &mut Sentry) -> Option<PathBuf> {
        sentry.looked = None;
        sentry.changed()
    }

    #[test]
    fn every_kind_of_change_is_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let git = root.join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("config"), "mine").unwrap();
        fs::write(git.join("hooks/sample"), "x").unwrap();
        let mut sentry = sentry(root);
        let mode = fs::metadata(&git).unwrap().mode();
        assert_eq!(found(&mut sentry), None);
        fs::write(git.join("index"), "other").unwrap();
        fs::write(root.join("plain"), "other").unwrap();
        fs::write(git.join("config"), "mine").unwrap();
        assert_eq!(found(&mut sentry), None);
        fs::write(git.join("config"), "evil").unwrap();
        assert_eq!(found(&mut sentry), Some(git.join("config")));
        fs::write(git.join("config"), "mine").unwrap();
        fs::write(git.join("hooks/pre-commit"), "evil").unwrap();
        assert_eq!(found(&mut sentry), Some(git.join("hooks/pre-commit")));
        fs::remove_file(git.join("hooks/pre-commit")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join(".vscode")).unwrap();
        assert_eq!(found(&mut sentry), Some(root.join(".vscode")));
        fs::remove_file(root.join(".vscode")).unwrap();
        assert_eq!(found(&mut sentry), None);
        fs::set_permissions(&git, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(found(&mut sentry), Some(git.clone()));
        fs::set_permissions(&git, fs::Permissions::from_mode(mode)).unwrap();
        fs::rename(&git, root.join("moved")).unwrap();
        assert_eq!(found(&mut sentry), Some(git.join("config")));
    }

    #[test]
    fn a_change_rings_and_a_busy_folder_is_not_looked_at_all_the_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut sentry = sentry(folder.path());
        assert_eq!(found(&mut sentry), None);
        assert!(sentry.bell().is_none() && sentry.is_resting());
        sentry.listen();
        sentry.looked = None;
        fs::write(folder.path().join(".envrc"), "evil").unwrap();
        let mut wanted = [sentry.bell().unwrap()];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut wanted, Some(&now)), Ok(1));
    }
}
