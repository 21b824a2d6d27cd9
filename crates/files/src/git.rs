//! The directories in which git keeps the state of a working tree.

use std::path::{Path, PathBuf};

/// The git directories of one working tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitDirectories {
    /// Has HEAD and the index.
    pub own: PathBuf,
    /// Has refs and objects. Linked worktrees share it; otherwise it is `own`.
    pub common: PathBuf,
}

impl GitDirectories {
    /// A git directory that no worktree shares.
    pub fn single(directory: &Path) -> Self {
        Self { own: directory.to_owned(), common: directory.to_owned() }
    }
}
