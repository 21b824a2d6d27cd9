//! What judging asks about the disk, of whoever can look: this crate reads no file itself. Where nobody
//! answers, names are taken for what they say.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Answers about the disk.
pub trait Look: Send + Sync {
    /// Where a path leads once every link is followed; none where nothing is there.
    fn real(&self, path: &Path) -> Option<PathBuf>;

    /// The names in a folder; none where it cannot be listed, or is too large.
    fn names(&self, folder: &Path) -> Option<Vec<String>>;

    /// What in the repository around `folder` makes git run a program when it only looks.
    fn git_runs(&self, folder: &Path) -> Option<String>;

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
    /// There are too many files to tell.
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
        let found = path.ancestors().find_map(|ancestor| {
            let real = self.look()?.real(ancestor)?;
            let rest = path.strip_prefix(ancestor).ok()?;
            // Joining nothing would add a slash.
            Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
        });
        found.unwrap_or_else(|| path.to_owned())
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ground").finish_non_exhaustive()
    }
}
