//! Protected paths of one writable root: which exist, copies of them, and the check for changes
//! after a command. One full scan at the first use; later only paths that changed are examined.

mod check;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::sandbox::SandboxError;
use files::changes::{ChangeTracker, Changes, Cursor};

use crate::Settings;
use crate::git_directory;
use crate::pinned_path;
use crate::saved::Saved;
pub(crate) use check::Outcome;

/// Nested protected paths that get mounts. Each mount makes a start slower; the rest is compared
/// and restored after the command.
const NESTED_MOUNTS: usize = 2;

/// Device and inode.
type Identity = (u64, u64);

/// A writable root.
pub(crate) struct Tree {
    root: PathBuf,
    tracker: Arc<ChangeTracker>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Changes before this are examined. `None` before the first scan.
    cursor: Option<Cursor>,
    /// Protected paths with copies.
    guards: BTreeMap<PathBuf, Guard>,
    /// Git directories below the root, or the root itself.
    repositories: BTreeMap<PathBuf, Identity>,
    /// Directories that the user cannot list.
    closed: BTreeSet<PathBuf>,
    /// Processes that may write.
    running: usize,
}

struct Guard {
    saved: Saved,
    parent: Option<Identity>,
}

/// The mounts that protect paths of a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProtectedMounts {
    /// Directories mounted over themselves, so that they cannot be renamed.
    pub(crate) pinned: Vec<PathBuf>,
    /// Paths mounted read-only.
    pub(crate) read_only: Vec<PathBuf>,
}

/// The trees of this program: one for each root.
static TREES: Mutex<BTreeMap<PathBuf, Arc<Tree>>> = Mutex::new(BTreeMap::new());

/// The tree at `root`.
pub(crate) fn at(root: &Path, settings: &Settings) -> Arc<Tree> {
    let mut trees = TREES.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let shared = settings.tracker.as_ref().filter(|tracker| tracker.root() == root);
        let own = || Arc::new(ChangeTracker::new(root.to_owned()));
        Arc::new(Tree::new(root.to_owned(), shared.cloned().unwrap_or_else(own)))
    };
    Arc::clone(trees.entry(root.to_owned()).or_insert_with(make))
}

/// The trees at all directories among `roots`.
pub(crate) fn all(roots: &[PathBuf], settings: &Settings) -> Result<Vec<Arc<Tree>>, SandboxError> {
    let own = settings.home.as_ref().map(|home| home.join(".config/brynhild"));
    let own = own.map(|own| fs::canonicalize(&own).unwrap_or(own));
    if let Some(root) = roots.iter().find(|root| own.as_ref() == Some(root)) {
        return Err(SandboxError::Refused(format!(
            "{} contains the settings that decide what may run; work in another directory, or use \
             read-only access",
            root.display()
        )));
    }
    Ok(roots.iter().filter(|root| root.is_dir()).map(|root| at(root, settings)).collect())
}

impl Tree {
    /// The changes below the root since `cursor`, and the present moment.
    pub(crate) fn since(&self, cursor: Option<Cursor>) -> (Changes, Cursor) {
        // Taken first, so that no change falls between.
        let now = self.tracker.cursor();
        (cursor.map_or(Changes::Unknown, |cursor| self.tracker.since(cursor)), now)
    }

    /// The tree at `root`, with the changes that `tracker` reports.
    pub(crate) fn new(root: PathBuf, tracker: Arc<ChangeTracker>) -> Self {
        Self { root, tracker, state: Mutex::default() }
    }

    /// The root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Registers a process that may write, and returns the mounts that protect the tree from it.
    /// [`Tree::finish`] must follow.
    pub(crate) fn begin(&self) -> Result<ProtectedMounts, SandboxError> {
        let mut state = self.state();
        // While other processes run, a change may be theirs and is examined when they end.
        if state.running == 0 {
            self.absorb(&mut state);
        }
        let mounts = self.mounts(&state)?;
        state.running += 1;
        Ok(mounts)
    }

    /// Examines the changes after a process. `private` paths were its own.
    pub(crate) fn finish(&self, mounts: &ProtectedMounts, private: &[PathBuf]) -> Outcome {
        let mut state = self.state();
        state.running = state.running.saturating_sub(1);
        let (changes, cursor) = self.since(state.cursor);
        let outcome = self.check(&mut state, changes, mounts, private);
        state.cursor = Some(cursor);
        outcome
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes changes that were made outside of the sandbox as they are.
    fn absorb(&self, state: &mut State) {
        let (changes, cursor) = self.since(state.cursor);
        match changes {
            Changes::Unknown => {
                let running = state.running;
                *state = State { running, ..State::default() };
                self.scan(state);
            }
            Changes::Paths(paths) => {
                for path in paths {
                    state.refresh(&self.root, &path);
                }
            }
        }
        state.cursor = Some(cursor);
    }

    /// The mounts for what is known.
    fn mounts(&self, state: &State) -> Result<ProtectedMounts, SandboxError> {
        let mut mounts = ProtectedMounts::default();
        let mut nested = NESTED_MOUNTS;
        let top = self.root.join(".git");
        for git in state.repositories.keys() {
            let is_top = *git == top || *git == self.root;
            if !is_top {
                if nested == 0 {
                    continue;
                }
                nested -= 1;
            }
            if *git != self.root {
                mounts.pinned.push(git.clone());
            }
            let parts = git_directory::PARTS.map(|part| git.join(part));
            let is_present = |part: &PathBuf| {
                state.guards.get(part).is_some_and(|guard| guard.saved.is_present())
            };
            mounts.read_only.extend(parts.into_iter().filter(is_present));
        }
        let in_repository = |path: &Path| state.repository_around(path).is_some();
        for (path, guard) in &state.guards {
            let is_top = path.parent() == Some(&self.root);
            match &guard.saved {
                Saved::Symlink(_) if is_top => return Err(symlink_refusal(path)),
                Saved::Absent | Saved::Symlink(_) => continue,
                _ if in_repository(path) => continue,
                _ => {}
            }
            // A copy cannot restore what is opaque.
            let is_opaque = matches!(guard.saved, Saved::Opaque(_));
            if !is_top && !is_opaque {
                if nested == 0 {
                    continue;
                }
                nested -= 1;
            }
            mounts.read_only.push(path.clone());
        }
        Ok(mounts)
    }
}

fn symlink_refusal(path: &Path) -> SandboxError {
    SandboxError::Refused(format!(
        "{} is a symlink, so it cannot be protected; replace it by what it points to, or use \
         read-only access",
        path.display()
    ))
}

fn identity(path: &Path) -> Option<Identity> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The identity of a directory that no symlink leads to.
fn real_identity(directory: &Path) -> Option<Identity> {
    pinned_path::directory_metadata(directory).ok().map(|found| (found.dev(), found.ino()))
}

impl State {
    /// The deepest git directory that contains `path`.
    fn repository_around(&self, path: &Path) -> Option<&PathBuf> {
        path.ancestors().find_map(|above| self.repositories.get_key_value(above)).map(|(it, _)| it)
    }

    /// Guards `path` as it is.
    fn guard(&mut self, path: PathBuf) {
        let (saved, parent) = (Saved::read(&path), path.parent().and_then(real_identity));
        self.guards.insert(path, Guard { saved, parent });
    }

    /// Guards a git directory.
    fn add_repository(&mut self, git: &Path) {
        let Some(identity) = identity(git) else { return };
        self.repositories.insert(git.to_owned(), identity);
        for part in git_directory::PARTS {
            self.guard(git.join(part));
        }
    }

    /// Forgets what is known at or below `path`.
    fn forget(&mut self, path: &Path) {
        let is_below = |key: &PathBuf| key.starts_with(path);
        self.guards.retain(|key, _| !is_below(key));
        self.repositories.retain(|key, _| !is_below(key));
    }
}

#[cfg(test)]
mod tests;
