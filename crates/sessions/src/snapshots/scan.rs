//! Brings what is known of a workspace up to date: all of it, or the paths that are said to have
//! changed. Bytes are read only where a file has changed. Follows no symlink.
//!
//! Covered is everything except regenerable directories, protected names, other file systems and,
//! below `.git`, all but the state in [`git_state`].

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use files::exact_path::{ExactPath, open_directory, open_directory_in, stat_in};
use files::git::GitDirectories;
use files::protected::protected;
use files::skip;
use files::stamp::{is_recent, stamp};
use rustix::fs::{Dir, Stat};
use tokio_util::sync::CancellationToken;

use super::git_state::{self, GIT};
use super::state::{Change, SkipReason, State};
use super::state_reader::{StateReader, is_absence, is_directory, is_limit, mode};
use super::tree_cache::{CachedPath, TreeCache};

/// Files and directories that are covered, at most.
pub(super) const MAX_ENTRIES: usize = 200_000;
/// Directories within directories.
const MAX_DEPTH: usize = 128;

/// One look at a workspace.
pub(super) struct Scan<'a> {
    reader: StateReader<'a>,
    known: &'a mut TreeCache,
    /// The git directories of the workspace that are outside of it.
    linked: Option<&'a GitDirectories>,
    cancel: &'a CancellationToken,
    now: SystemTime,
    number: u64,
    device: u64,
    /// Directories that could not be read: their entries stay as they are.
    unread: Vec<PathBuf>,
    /// The changes since the last look.
    pub(super) changes: Vec<Change>,
    /// Something was left out for want of room.
    pub(super) is_partial: bool,
}

/// How a path that was not known is reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum New {
    /// Not at all: it may have been there all the time.
    Silent,
    /// As created.
    Created,
}

/// A directory on the way.
#[derive(Clone, Copy)]
struct OpenDirectory<'a> {
    descriptor: &'a OwnedFd,
    new: New,
    depth: usize,
    /// Protected names count here. Not so among the refs of a repository.
    has_protected: bool,
}

impl<'a> Scan<'a> {
    /// Begins to look.
    pub(super) fn new(
        reader: StateReader<'a>,
        known: &'a mut TreeCache,
        linked: Option<&'a GitDirectories>,
        cancel: &'a CancellationToken,
    ) -> Self {
        let number = known.next_scan();
        let (unread, changes) = (Vec::new(), Vec::new());
        let now = SystemTime::now();
        let (device, is_partial) = (0, false);
        Self { reader, known, linked, cancel, now, number, device, unread, changes, is_partial }
    }

    /// Looks at everything below `root`. A root that is not known yet is taken in silently. Returns
    /// false if there is no such directory.
    pub(super) fn whole(&mut self, root: &Path) -> io::Result<bool> {
        let Some((descriptor, new)) = self.open_root(root)? else { return Ok(false) };
        let here = OpenDirectory { descriptor: &descriptor, new, depth: 0, has_protected: true };
        self.directory(here, &mut root.to_owned())?;
        self.git(&GitDirectories::single(&root.join(GIT)), new)?;
        self.remove_unseen(root);
        // Known from here on, and not if the scan was interrupted.
        let state = State::Directory { mode: mode(&rustix::fs::fstat(&descriptor)?) };
        self.known
            .insert(root, CachedPath { stamp: 0, is_recent: false, state, scan: self.number });
        Ok(true)
    }

    /// Looks at some paths below `root`, a known one.
    pub(super) fn paths(&mut self, root: &Path, paths: &BTreeSet<PathBuf>) -> io::Result<()> {
        let Some((_, new)) = self.open_root(root)? else { return Ok(()) };
        let git = root.join(GIT);
        if paths.iter().any(|path| path.starts_with(&git)) {
            self.git(&GitDirectories::single(&git), new)?;
        }
        let mut done: Option<&Path> = None;
        for path in paths {
            // A directory that is listed has been looked at with everything in it.
            if path.starts_with(&git) || done.is_some_and(|done| path.starts_with(done)) {
                continue;
            }
            if self.path(path)? {
                done = Some(path);
            }
        }
        Ok(())
    }

    fn open_root(&mut self, root: &Path) -> io::Result<Option<(OwnedFd, New)>> {
        match open_directory(root) {
            Ok(descriptor) => {
                self.device = rustix::fs::fstat(&descriptor)?.st_dev;
                let is_known = self.known.is_directory(root);
                let new = if is_known { New::Created } else { New::Silent };
                Ok(Some((descriptor, new)))
            }
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks at one path. Returns true if it is a directory.
    fn path(&mut self, path: &Path) -> io::Result<bool> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(false);
        };
        // Paths below a directory that is not covered are not covered either.
        if !self.known.is_directory(parent) || is_excluded(name) {
            return Ok(false);
        }
        // A parent that is gone or a symlink by now is reported itself.
        let Ok(descriptor) = open_directory(parent) else { return Ok(false) };
        let depth = path.components().count();
        let here = OpenDirectory {
            descriptor: &descriptor,
            new: New::Created,
            depth,
            has_protected: true,
        };
        let stat = stat_in(&descriptor, name)?;
        if let Some(stat) = stat {
            self.entry(here, &mut path.to_owned(), (name, &stat))?;
        }
        self.remove_unseen(path);
        if stat.is_none() {
            self.remove(path);
        }
        Ok(stat.is_some_and(|stat| is_directory(&stat)))
    }

    /// Looks at the state of the repository outside of the workspace.
    pub(super) fn linked_git(&mut self) -> io::Result<()> {
        let Some(git) = self.linked else { return Ok(()) };
        if self.open_root(&git.common)?.is_some() {
            self.git(git, New::Created)?;
        }
        Ok(())
    }

    /// Looks at the state of a repository. One that was not known is taken in silently: without its
    /// objects, half of it would be undone.
    fn git(&mut self, git: &GitDirectories, new: New) -> io::Result<()> {
        let new = if self.known.get(&git.own.join("HEAD")).is_some() { new } else { New::Silent };
        for mut path in git_state::paths(git) {
            match reach(&path)? {
                Some((exact, stat)) => {
                    let here = OpenDirectory {
                        descriptor: &exact.directory,
                        new,
                        depth: 0,
                        has_protected: false,
                    };
                    self.entry(here, &mut path, (&exact.name, &stat))?;
                }
                None => self.remove(&path),
            }
            self.remove_unseen(&path);
        }
        for (name, why) in git_state::REPORTED {
            let state = State::Unsaved { why, size: 0, mark: 0 };
            self.note(&git.common.join(name), |_| Some(state.clone()))?;
        }
        let directory = |stat: &Stat| State::Directory { mode: mode(stat) };
        self.note(&git.own, |stat| is_directory(stat).then(|| directory(stat)))
    }

    /// Notes that a path exists, without anything in it. Only its removal is reported.
    fn note(&mut self, path: &Path, state: impl Fn(&Stat) -> Option<State>) -> io::Result<()> {
        match reach(path)?.and_then(|(_, stat)| Some((state(&stat)?, stat))) {
            Some((state, stat)) => self.set(path, (&stat, state), New::Silent)?,
            None => self.remove(path),
        }
        Ok(())
    }

    /// Looks at the names in a directory.
    fn directory(&mut self, here: OpenDirectory<'_>, path: &mut PathBuf) -> io::Result<()> {
        if self.cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        for name in names(here.descriptor)? {
            let is_excluded = if here.has_protected {
                is_excluded(&name)
            } else {
                name.as_bytes().ends_with(b".lock")
            };
            if is_excluded {
                continue;
            }
            let Some(stat) = stat_in(here.descriptor, &name)? else { continue };
            path.push(&name);
            let looked = self.entry(here, path, (&name, &stat));
            path.pop();
            looked?;
        }
        Ok(())
    }

    /// Looks at one name of a directory, with everything below it.
    fn entry(
        &mut self,
        here: OpenDirectory<'_>,
        path: &mut PathBuf,
        (name, stat): (&OsStr, &Stat),
    ) -> io::Result<()> {
        if !is_directory(stat) {
            return self.file(here, path, (name, stat));
        }
        let earlier = self.known.get(path).map(|known| known.state.clone());
        let is_known = earlier.as_ref().is_some_and(State::is_directory);
        if !is_known && (stat.st_dev != self.device || here.depth >= MAX_DEPTH) {
            return Ok(());
        }
        if !is_known && here.has_protected && skip::is_regenerable(path) {
            let state = State::Unsaved { why: SkipReason::Regenerable, size: 0, mark: 0 };
            // Creating one is not worth a report, removing it is.
            return self.set(path, (stat, state), New::Silent);
        }
        let opened = match open_directory_in(here.descriptor, name) {
            Err(error) if is_limit(&error) => return Err(error),
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Ok(()),
            Err(_) if !is_known => return self.file(here, path, (name, stat)),
            opened => opened.ok(),
        };
        self.set(path, (stat, State::Directory { mode: mode(stat) }), here.new)?;
        let Some(descriptor) = opened else {
            self.unread.push(path.clone());
            return Ok(());
        };
        let new = match earlier.and_then(|state| state.unsaved()) {
            // Paths in an unreadable directory may have been there before.
            Some(SkipReason::Closed) => New::Silent,
            _ => here.new,
        };
        self.directory(
            OpenDirectory { descriptor: &descriptor, new, depth: here.depth + 1, ..here },
            path,
        )
    }

    /// Looks at one name that is not a directory, or one that cannot be read.
    fn file(
        &mut self,
        here: OpenDirectory<'_>,
        path: &Path,
        (name, stat): (&OsStr, &Stat),
    ) -> io::Result<()> {
        let stamp = stamp(stat);
        if self.known.get(path).is_some_and(|known| known.stamp == stamp && !known.is_recent) {
            self.known.see(path, self.number);
            return Ok(());
        }
        let state = self.reader.state(here.descriptor, name, stat)?;
        self.is_partial |= state.unsaved() == Some(SkipReason::NoRoom);
        if state == State::Absent {
            return Ok(());
        }
        self.set(path, (stat, state), here.new)
    }

    /// Remembers the state of a path, and reports it if it has changed.
    fn set(&mut self, path: &Path, (stat, state): (&Stat, State), new: New) -> io::Result<()> {
        let (stamp, is_recent) = (stamp(stat), is_recent(stat, self.now));
        let earlier = self.known.get(path).map(|known| known.state.clone());
        match earlier {
            Some(earlier) if earlier == state => {}
            // Git has only refreshed the file times in its index.
            Some(earlier)
                if git_state::is_index(path, self.linked)
                    && self.reader.is_same_index(&earlier, &state)? => {}
            Some(earlier) => self.changes.push(Change::new(path, earlier, state.clone())),
            None if new == New::Created => {
                self.changes.push(Change::new(path, State::Absent, state.clone()));
            }
            None => {}
        }
        self.known.insert(path, CachedPath { stamp, is_recent, state, scan: self.number });
        if self.known.len() > MAX_ENTRIES {
            self.is_partial = true;
        }
        Ok(())
    }

    fn remove(&mut self, path: &Path) {
        if let Some(known) = self.known.remove(path) {
            self.changes.push(Change::new(path, known.state, State::Absent));
        }
    }

    /// Reports everything below a path as removed that this scan has not seen.
    fn remove_unseen(&mut self, top: &Path) {
        for path in self.known.unseen(top, self.number, &self.unread) {
            self.remove(&path);
        }
    }
}

/// Opens the directory of a path, which must not be reached through a symlink.
fn reach(path: &Path) -> io::Result<Option<(ExactPath, Stat)>> {
    let Ok(path) = ExactPath::open(path) else { return Ok(None) };
    Ok(path.stat()?.map(|stat| (path, stat)))
}

/// The size of a workspace, as far as undo covers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) entries: usize,
    pub(super) bytes: u64,
}

impl Size {
    /// Returns true if so much can be covered with `max_total` bytes.
    pub(super) fn fits(self, max_total: u64) -> bool {
        self.entries <= MAX_ENTRIES && self.bytes <= budget(max_total)
    }
}

/// The bytes that a workspace may have: the rest is for the versions that calls overwrite.
pub(super) fn budget(max_total: u64) -> u64 {
    max_total / 4 * 3
}

/// Adds the size of a root without reading files. Stops once it does not fit.
pub(super) fn measure(root: &Path, max_file: u64, max_total: u64, size: &mut Size) {
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| !is_excluded(&entry.file_name())) {
            let Ok(metadata) = entry.metadata() else { continue };
            size.entries += 1;
            if metadata.is_dir() && !skip::is_regenerable(&entry.path()) {
                left.push(entry.path());
            } else if metadata.is_file() && metadata.len() <= max_file {
                size.bytes += metadata.len();
            }
            if !size.fits(max_total) {
                return;
            }
        }
    }
}

/// Returns true if a name is never covered: no tool and no confined process writes it, or it is a
/// temporary file of a tool.
fn is_excluded(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    if bytes.starts_with(b".brynhild-") && bytes.ends_with(b".tmp") {
        return true;
    }
    // Every protected name begins so, or like a short name of an old file system.
    let first = bytes.first().copied().unwrap_or_default();
    (!first.is_ascii_alphanumeric()
        || matches!(first, b'c' | b'C' | b'g' | b'G' | b'm' | b'M' | b'o' | b'O'))
        && protected(name).is_some()
}

fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
