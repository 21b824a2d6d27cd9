//! The inotify watches of a workspace: one for each directory that is not regenerable. Symlinks are
//! not followed.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use super::{Blind, Journal};
use crate::skip;

/// Room for some hundred events.
const BUFFER: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Watch {
    inotify: OwnedFd,
    root: PathBuf,
    paths: HashMap<i32, PathBuf>,
    numbers: BTreeMap<PathBuf, i32>,
}

/// An event, copied out of the buffer.
struct Event {
    watch: i32,
    flags: ReadFlags,
    name: Option<OsString>,
}

/// Says if the paths that a scan finds are changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Known,
    Changed,
}

impl Watch {
    /// Watches `root` and the directories below it.
    pub(super) fn start(root: &Path) -> Result<Self, Blind> {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        // There is a limit of inotify instances, too.
        let inotify = inotify::init(flags).map_err(|_| Blind::Exhausted)?;
        let (paths, numbers) = (HashMap::new(), BTreeMap::new());
        let mut watch = Self { inotify, root: root.to_owned(), paths, numbers };
        watch.scan(root, Found::Known, &mut Journal::default())?;
        if watch.numbers.contains_key(root) { Ok(watch) } else { Err(Blind::Lost) }
    }

    /// Adds pending events to `journal`.
    pub(super) fn read(&mut self, journal: &mut Journal) -> Result<(), Blind> {
        loop {
            let events = self.pending().map_err(|_| Blind::Lost)?;
            if events.is_empty() {
                return Ok(());
            }
            for event in events {
                self.take(event, journal)?;
            }
        }
    }

    fn pending(&self) -> Result<Vec<Event>, Errno> {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => events.push(Event {
                    watch: event.wd(),
                    flags: event.events(),
                    name: event.file_name().map(|it| OsStr::from_bytes(it.to_bytes()).to_owned()),
                }),
                Err(Errno::AGAIN) => return Ok(events),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, event: Event, journal: &mut Journal) -> Result<(), Blind> {
        if event.flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            return Err(Blind::Lost);
        }
        // Events of a directory that was renamed: the scan at its new name has found them.
        let Some(directory) = self.paths.get(&event.watch) else { return Ok(()) };
        let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
        if event.flags.intersects(gone) && *directory == self.root {
            return Err(Blind::Lost);
        }
        let Some(name) = event.name else {
            if event.flags.contains(ReadFlags::IGNORED) {
                self.forget(event.watch);
            }
            return Ok(());
        };
        let path = directory.join(name);
        if !is_watched(&path) {
            return Ok(());
        }
        journal.add(path.clone());
        if event.flags.contains(ReadFlags::ISDIR) {
            if event.flags.contains(ReadFlags::MOVED_FROM) {
                self.leave(&path);
            }
            let appears = ReadFlags::CREATE | ReadFlags::MOVED_TO;
            // New permissions may make an unreadable directory readable.
            let opens =
                event.flags.contains(ReadFlags::ATTRIB) && !self.numbers.contains_key(&path);
            if event.flags.intersects(appears) || opens {
                self.scan(&path, Found::Changed, journal)?;
            }
        }
        Ok(())
    }

    /// Watches a directory and everything below it. A watch is added before its directory is
    /// listed, so that nothing appears unseen in between.
    fn scan(&mut self, top: &Path, found: Found, journal: &mut Journal) -> Result<(), Blind> {
        let mut left = vec![top.to_owned()];
        while let Some(directory) = left.pop() {
            // A branch may have any name.
            let is_source = directory == self.root || is_in_git(&directory);
            if !is_source && skip::is_regenerable(&directory) {
                continue;
            }
            match self.add(&directory)? {
                Added::Yes => {}
                Added::Gone => continue,
            }
            // Another directory of this name may be there by now; then an event tells of it.
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                let is_directory = entry.file_type().is_ok_and(|it| it.is_dir());
                if !is_watched(&path) {
                    continue;
                }
                if found == Found::Changed {
                    journal.add(path.clone());
                }
                if is_directory {
                    left.push(path);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, directory: &Path) -> Result<Added, Blind> {
        let events = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        let how = WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW | WatchFlags::EXCL_UNLINK;
        match inotify::add_watch(&self.inotify, directory, events | how) {
            Ok(number) => {
                if let Some(earlier) = self.paths.insert(number, directory.to_owned()) {
                    self.numbers.remove(&earlier);
                }
                self.numbers.insert(directory.to_owned(), number);
                Ok(Added::Yes)
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(Added::Gone),
            Err(Errno::ACCESS) if !may_write(directory) => Ok(Added::Gone),
            Err(Errno::NOSPC | Errno::NOMEM) => Err(Blind::Exhausted),
            Err(_) => Err(Blind::Lost),
        }
    }

    fn forget(&mut self, watch: i32) {
        if let Some(path) = self.paths.remove(&watch)
            && self.numbers.get(&path) == Some(&watch)
        {
            self.numbers.remove(&path);
        }
    }

    /// Stops watching a directory that was renamed, and those below it. The scan at its new name
    /// watches them again.
    fn leave(&mut self, directory: &Path) {
        let below = self.numbers.range(directory.to_owned()..);
        let below = below.take_while(|(path, _)| path.starts_with(directory));
        let watches: Vec<i32> = below.map(|(_, watch)| *watch).collect();
        for watch in watches {
            self.forget(watch);
            // The directory may be gone, and its watch with it.
            let _ = inotify::remove_watch(&self.inotify, watch);
        }
    }
}

enum Added {
    Yes,
    /// It is no directory any more, or one that this user can neither read nor write.
    Gone,
}

/// Returns true if this user could write in a directory that cannot be read.
fn may_write(directory: &Path) -> bool {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(CWD, directory, access, AtFlags::EACCESS).is_ok()
}

/// Returns false for the objects of a git repository, of which only `objects/info` matters.
fn is_watched(path: &Path) -> bool {
    let Some(parent) = path.parent() else { return true };
    let is_object = parent.file_name().is_some_and(|name| name == "objects")
        && is_in_git(parent)
        && path.file_name().is_some_and(|name| name != "info");
    !is_object
}

fn is_in_git(path: &Path) -> bool {
    path.iter().any(|part| part == ".git")
}
