//! What judging asks about the disk, of whoever can look: this crate reads no file itself. Where nobody
//! answers, names are taken for what they say.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A longer path leads nowhere.
const LONGEST: usize = 4096;
/// Few paths have more parts.
const DEEP: usize = 32;
/// More ways back of all words of a command are not followed.
const WALKED: usize = 256;

/// Answers about the disk.
pub trait Look: Send + Sync {
    /// Where a path leads once every link is followed; none where nothing is there.
    fn real(&self, path: &Path) -> Option<PathBuf>;

    /// The names in a folder; none where it cannot be listed, or is too large.
    fn names(&self, folder: &Path) -> Option<Vec<String>>;

    /// What in the repository around `folder` makes git run a program when it only looks.
    fn git_runs(&self, folder: &Path) -> Option<String>;

    /// Why git may take its files from elsewhere than where the repository around `folder` is.
    fn git_elsewhere(&self, folder: &Path) -> Option<String>;

    /// The first file that is `wanted` among those that the repository around `folder` keeps.
    fn git_keeps(&self, folder: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought;

    /// Why git would obey a file at `path`, once it is written.
    fn git_obeys(&self, path: &Path) -> Option<String>;

    /// Whether a program is the system's own, and the first of its name on the search path.
    fn is_own(&self, program: &str) -> bool;

    /// The first file at or below `folder` that is `wanted`.
    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought;
}

/// Which files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// All of them.
    Everything,
    /// Those that no ignore file names.
    Unignored,
    /// Those of them that are not hidden.
    Visible,
}

/// What came of looking for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// There is none.
    Nothing,
    /// There is this one.
    Found(PathBuf),
    /// There are too many files to tell, or they cannot be told.
    TooMany,
}

/// Whoever answers, if anybody does.
#[derive(Clone, Default)]
pub struct Ground(Option<Arc<dyn Look>>);

impl Ground {
    /// The answers of `look`.
    pub fn new(look: impl Look + 'static) -> Self {
        Self(Some(Arc::new(look)))
    }

    pub(crate) fn look(&self) -> Option<&dyn Look> {
        self.0.as_deref()
    }

    /// Where a path leads once every link in it is followed; what does not exist stays as it is.
    pub(crate) fn leads(&self, path: &Path) -> PathBuf {
        // No file has so long a path.
        if path.as_os_str().len() > LONGEST {
            return path.to_owned();
        }
        let is_there = |part: &&Path| self.look().is_some_and(|look| look.real(part).is_some());
        // Of a deep path the least part is there, so that it is quicker to begin at the root.
        let deep: Vec<&Path> = path.ancestors().skip(DEEP).collect();
        let top = deep.iter().rev().copied().take_while(is_there).last();
        let start = if deep.is_empty() || top == deep.first().copied() { Some(path) } else { top };
        let found = start.into_iter().flat_map(Path::ancestors).find_map(|ancestor| {
            let real = self.look()?.real(ancestor)?;
            let rest = path.strip_prefix(ancestor).ok()?;
            // Joining nothing would add a slash.
            Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
        });
        found.unwrap_or_else(|| path.to_owned())
    }
}

/// Where paths lead, each asked about once: long texts name the same ones again and again.
pub(crate) struct Ends<'a> {
    ground: &'a Ground,
    known: RefCell<HashMap<PathBuf, PathBuf>>,
    /// How often a way back was followed.
    walked: Cell<usize>,
}

impl<'a> Ends<'a> {
    pub(crate) fn new(ground: &'a Ground) -> Self {
        Self { ground, known: RefCell::default(), walked: Cell::default() }
    }

    /// Whether something is at a path.
    pub(crate) fn is_there(&self, path: &Path) -> bool {
        self.ground.look().is_some_and(|look| look.real(path).is_some())
    }

    /// Where a path from `folder` leads if each `..` is taken from where the links before it lead; none
    /// where there are too many of them.
    pub(crate) fn walked(&self, folder: &Path, path: &str) -> Option<PathBuf> {
        let mut at = PathBuf::new();
        for component in folder.join(path).components() {
            if component == Component::ParentDir {
                self.walked.set(self.walked.get() + 1);
                if self.walked.get() > WALKED || at.as_os_str().len() > LONGEST {
                    return None;
                }
                at = self.of(&at);
                at.pop();
            } else {
                at.push(component);
            }
        }
        Some(self.of(&at))
    }

    /// Where a path leads.
    pub(crate) fn of(&self, path: &Path) -> PathBuf {
        if let Some(end) = self.known.borrow().get(path) {
            return end.clone();
        }
        let is_deep = path.ancestors().nth(DEEP).is_some();
        let real = self.ground.look().filter(|_| !is_deep).and_then(|look| look.real(path));
        let end = match (real, path.parent(), path.file_name()) {
            (Some(real), ..) => real,
            (None, Some(folder), Some(name)) if !is_deep => self.of(folder).join(name),
            (None, ..) => self.ground.leads(path),
        };
        self.known.borrow_mut().insert(path.to_owned(), end.clone());
        end
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ground").finish_non_exhaustive()
    }
}
