//! The inotify watches of a workspace: one for each directory that is not regenerable. Symlinks are
//! not followed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use super::{Blind, Journal};
use crate::skip;

/// Room for some hundred events.
const BUFFER: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Watch {
    inotify: Arc<OwnedFd>,
    root: PathBuf,
    /// The directories by the numbers of their watches.
    directories: HashMap<i32, PathBuf>,
}

#[derive(PartialEq, Eq)]
enum Added {
    New,
    Known,
    /// Regenerable, no directory any more, or one that this user can neither read nor write.
    Unwatched,
}

impl Watch {
    /// Watches `root` and the directories below it.
    pub(super) fn start(root: &Path) -> Result<Self, Blind> {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        // There is a limit of inotify instances, too.
        let inotify = inotify::init(flags).map_err(|_| Blind::Exhausted)?.into();
        let mut watch = Self { inotify, root: root.to_owned(), directories: HashMap::new() };
        watch.scan(root, &mut |_| {})?;
        if watch.directories.is_empty() { Err(Blind::Lost) } else { Ok(watch) }
    }

    /// Adds pending events to `journal`.
    pub(super) fn read(&mut self, journal: &mut Journal) -> Result<(), Blind> {
        let inotify = Arc::clone(&self.inotify);
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    self.take(event.wd(), event.events(), name, journal)?;
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(_) => return Err(Blind::Lost),
            }
        }
    }

    fn take(
        &mut self,
        watch: i32,
        flags: ReadFlags,
        name: Option<&OsStr>,
        journal: &mut Journal,
    ) -> Result<(), Blind> {
        if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            return Err(Blind::Lost);
        }
        // Events of a directory that was renamed: the scan at its new name has found them.
        let Some(directory) = self.directories.get(&watch) else { return Ok(()) };
        let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
        if flags.intersects(gone) && *directory == self.root {
            return Err(Blind::Lost);
        }
        let Some(name) = name else {
            if flags.contains(ReadFlags::IGNORED) {
                self.directories.remove(&watch);
            }
            return Ok(());
        };
        let path = directory.join(name);
        if !is_watched(&path) {
            return Ok(());
        }
        journal.add(path.clone());
        if flags.contains(ReadFlags::ISDIR) {
            if flags.contains(ReadFlags::MOVED_FROM) {
                self.leave(&path);
            }
            let appears = flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
            // New permissions may make an unreadable directory readable.
            if appears || flags.contains(ReadFlags::ATTRIB) && self.add(&path)? == Added::New {
                self.scan(&path, &mut |path| journal.add(path.to_owned()))?;
            }
        }
        Ok(())
    }

    /// Watches a directory and everything below it, and reports the paths in it. A watch is added
    /// before its directory is listed, so that nothing appears unseen in between.
    fn scan(&mut self, top: &Path, report: &mut dyn FnMut(&Path)) -> Result<(), Blind> {
        let mut left = vec![top.to_owned()];
        while let Some(directory) = left.pop() {
            if self.add(&directory)? == Added::Unwatched {
                continue;
            }
            // If another directory took this name since, an event reports it.
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in entries.flatten().filter(|entry| is_watched(&entry.path())) {
                report(&entry.path());
                if entry.file_type().is_ok_and(|it| it.is_dir()) {
                    left.push(entry.path());
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, directory: &Path) -> Result<Added, Blind> {
        // A branch may have any name.
        let is_source = directory == self.root || is_in_git(directory);
        if !is_source && skip::is_regenerable(directory) {
            return Ok(Added::Unwatched);
        }
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
            Ok(watch) => {
                let earlier = self.directories.insert(watch, directory.to_owned());
                Ok(if earlier.as_deref() == Some(directory) { Added::Known } else { Added::New })
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(Added::Unwatched),
            Err(Errno::ACCESS) if !may_write(directory) => Ok(Added::Unwatched),
            Err(Errno::NOSPC | Errno::NOMEM) => Err(Blind::Exhausted),
            Err(_) => Err(Blind::Lost),
        }
    }

    /// Stops watching a directory that was renamed, and those below it. The scan at its new name
    /// watches them again.
    fn leave(&mut self, directory: &Path) {
        self.directories.retain(|watch, path| {
            let leaves = path.starts_with(directory);
            if leaves {
                // The directory may be gone, and its watch with it.
                let _ = inotify::remove_watch(&self.inotify, *watch);
            }
            !leaves
        });
    }
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
