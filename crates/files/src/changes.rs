//! The change tracker of a workspace: says which paths changed since a moment, without a walk.
//!
//! The first use scans the directories once and has the kernel report changes in them. Events are
//! read on request. If the kernel cannot report everything, the answer is [`Changes::Unknown`] and
//! the caller has to scan; on systems other than Linux that is always so. Changes made through a
//! hard link or on another machine (network file systems) are not reported.

#[cfg(target_os = "linux")]
mod watch;
#[cfg(not(target_os = "linux"))]
mod watch {
    #[derive(Debug)]
    pub(super) struct Watch;

    impl Watch {
        pub(super) fn start(_: &std::path::Path) -> Result<Self, super::Blind> {
            Err(super::Blind::Exhausted)
        }

        pub(super) fn read(&mut self, _: &mut super::Journal) -> Result<(), super::Blind> {
            Err(super::Blind::Exhausted)
        }
    }
}

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use watch::Watch;

/// Paths in the journal. A reader that missed more has to scan.
const JOURNAL_LIMIT: usize = 1 << 16;

/// Tracks the changes below one directory for any number of readers.
#[derive(Debug)]
pub struct ChangeTracker {
    root: PathBuf,
    state: Mutex<State>,
}

/// A moment in the history of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(u64);

/// The changes since a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Absolute paths that were created, written, removed, renamed or had their permissions
    /// changed. A directory that was removed or renamed is listed without its contents; one that
    /// appeared is listed with them, except in directories that are not watched.
    Paths(BTreeSet<PathBuf>),
    /// Anything may have changed.
    Unknown,
}

#[derive(Debug, Default)]
struct State {
    journal: Journal,
    watch: Option<Watch>,
    /// The kernel refused more watches: not tried again.
    is_exhausted: bool,
}

/// The latest changes in order.
#[derive(Debug, Default)]
struct Journal {
    paths: VecDeque<PathBuf>,
    /// The number of the first path. Earlier changes are forgotten.
    first: u64,
}

impl Journal {
    fn next(&self) -> u64 {
        self.first + self.paths.len() as u64
    }

    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing reports changes"))]
    fn add(&mut self, path: PathBuf) {
        self.paths.push_back(path);
        if self.paths.len() > JOURNAL_LIMIT {
            self.paths.pop_front();
            self.first += 1;
        }
    }

    /// Forgets everything: no earlier cursor gets an answer.
    fn forget(&mut self) {
        self.first = self.next() + 1;
        self.paths.clear();
    }

    /// The paths that changed since `cursor`, if all of them are in the journal.
    fn since(&self, cursor: u64) -> Option<BTreeSet<PathBuf>> {
        let start = usize::try_from(cursor.checked_sub(self.first)?).ok()?;
        Some(self.paths.iter().skip(start).cloned().collect())
    }
}

/// A failure to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blind {
    /// The limit of watches is reached.
    Exhausted,
    /// The root is gone or cannot be read, or events were lost. A new scan may help.
    Lost,
}

impl ChangeTracker {
    /// Tracks the directory `root`, which must be absolute.
    pub fn new(root: PathBuf) -> Self {
        Self { root, state: Mutex::default() }
    }

    /// The directory that is tracked.
    pub fn root(&self) -> &std::path::Path {
        &self.root
    }

    /// The present moment. The first call scans the directories of the workspace. To read changes
    /// repeatedly without a gap, take the next cursor before the changes since the last one.
    pub fn cursor(&self) -> Cursor {
        Cursor(self.read().journal.next())
    }

    /// The changes since `cursor`.
    pub fn since(&self, cursor: Cursor) -> Changes {
        let state = self.read();
        let paths = state.watch.as_ref().and_then(|_| state.journal.since(cursor.0));
        paths.map_or(Changes::Unknown, Changes::Paths)
    }

    /// Reads pending events. Starts watching if that has not happened or has failed.
    fn read(&self) -> MutexGuard<'_, State> {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        if state.is_exhausted {
            return guard;
        }
        let mut outcome = match &mut state.watch {
            Some(watch) => watch.read(&mut state.journal),
            None => Err(Blind::Lost),
        };
        if outcome == Err(Blind::Lost) {
            state.journal.forget();
            state.watch = None;
            outcome = Watch::start(&self.root).map(|watch| state.watch = Some(watch));
        }
        if outcome == Err(Blind::Exhausted) {
            // Gives the watches back to the other programs of this user.
            state.watch = None;
            state.is_exhausted = true;
        }
        guard
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
