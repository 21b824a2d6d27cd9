//! How Grep and Glob go through folders: ignore files count, links are not followed, closed
//! places are not entered.

use std::path::Path;
use std::sync::Arc;

use ignore::WalkBuilder;

use crate::paths::Paths;

const MAX_THREADS: usize = 12;

/// A walk from a resolved folder that may be read.
pub(crate) fn from(folder: &Path, paths: &Arc<Paths>) -> WalkBuilder {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut walk = WalkBuilder::new(folder);
    walk.require_git(false)
        // It would be looked up in the environment and the home folder.
        .git_global(false)
        .threads(threads.min(MAX_THREADS));
    if paths.holds_closed(folder) {
        let paths = Arc::clone(paths);
        walk.filter_entry(move |entry| paths.may_enter(entry.path()));
    }
    walk
}

/// A path as one line of text.
pub(crate) fn line(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('\n', "\\n").replace('\r', "\\r")
}
