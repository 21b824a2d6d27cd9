//! The change tracker of a workspace: says which paths changed since a moment, without a walk.
//!
//! The first use scans the directories once and has the kernel report what happens in them. Events
//! are read when somebody asks. When the kernel cannot report everything, the answer is
//! [`Changes::Unknown`] and the caller has to scan. Changes made through a hard link or on another
//! machine (network file systems) are not reported.

mod journal;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(not(target_os = "linux"))]
#[path = "changes/unsupported.rs"]
mod watch;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use journal::Journal;
use watch::Watch;

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
    /// changed. A directory that was removed or renamed stands for everything in it; one that
    /// appeared is listed with everything in it, except in directories that are not watched.
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

/// The reason why changes cannot be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blind {
    /// The limit of watches is reached.
    Exhausted,
    /// The root is gone or cannot be read, or events were lost. A new scan may help.
    Lost,
}

impl ChangeTracker {
    /// Tracks the directory `root`, which must be absolute. Does nothing before the first use.
    pub fn new(root: PathBuf) -> Self {
        Self { root, state: Mutex::default() }
    }

    /// The directory that is tracked.
    pub fn root(&self) -> &std::path::Path {
        &self.root
    }

    /// The present moment. The first call scans the directories of the workspace.
    ///
    /// To read changes again and again without a gap, take the next cursor before the changes since
    /// the last one.
    pub fn cursor(&self) -> Cursor {
        let mut state = self.state();
        self.read(&mut state);
        Cursor(state.journal.next())
    }

    /// The changes since `cursor`.
    pub fn since(&self, cursor: Cursor) -> Changes {
        let mut state = self.state();
        self.read(&mut state);
        if state.watch.is_none() {
            return Changes::Unknown;
        }
        state.journal.since(cursor.0).map_or(Changes::Unknown, Changes::Paths)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads pending events. Starts watching if that has not happened or has failed.
    fn read(&self, state: &mut State) {
        if state.is_exhausted {
            return;
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
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
