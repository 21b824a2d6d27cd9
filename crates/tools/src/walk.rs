//! How directories are gone through: ignore files count, links are not followed, closed places are not
//! entered.

mod ignore_files;

use std::path::Path;
use std::sync::Arc;

use contract::tool::ToolOutput;
use ignore::overrides::Override;
use ignore::types::Types;
use ignore::{DirEntry, Match, WalkBuilder};

pub use self::ignore_files::{IgnoreFiles, Sources};
use crate::paths::Paths;

const MAX_THREADS: usize = 12;

/// What a walk shows, in the order of `rg`: what is asked for by a pattern it shows in any case,
/// then ignore files are asked, then the kinds of files, and hidden names are left out at last.
pub struct Filter {
    /// What ignore files say; none where they do not count.
    pub ignored: Option<IgnoreFiles>,
    /// Names that are asked for.
    pub overrides: Override,
    /// Kinds of files that are asked for.
    pub types: Types,
    /// Whether hidden names are shown.
    pub shows_hidden: bool,
}

impl Filter {
    /// All that ignore files leave.
    pub fn new(ignored: Option<IgnoreFiles>, shows_hidden: bool) -> Self {
        Self { ignored, overrides: Override::empty(), types: Types::empty(), shows_hidden }
    }

    /// Whether a walk shows an entry, and enters it if it is a directory.
    pub fn shows(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        match self.overrides.matched(path, is_directory) {
            Match::None => {}
            Match::Ignore(_) => return false,
            Match::Whitelist(_) => return true,
        }
        let ignored = self.ignored.as_ref().map(|files| files.matched(path, is_directory));
        let ignored = ignored.unwrap_or(Match::None);
        let typed = self.types.matched(path, is_directory).map(drop);
        if ignored.is_ignore() || typed.is_ignore() {
            return false;
        }
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        self.shows_hidden || !is_hidden || !ignored.or(typed).is_none()
    }

    /// Whether an ignore file was left unread that says what nobody here knows.
    pub fn has_unread(&self) -> bool {
        self.ignored.as_ref().is_some_and(IgnoreFiles::has_unread)
    }

    /// What a walk found, with a word about ignore files that did not count.
    pub(crate) fn told(&self, mut output: ToolOutput) -> ToolOutput {
        if self.has_unread() {
            output.output +=
                "\n(an ignore file did not count: it is no regular file, or too large)";
        }
        output
    }
}

/// A walk that enters and shows what a filter says.
#[expect(clippy::disallowed_methods, reason = "this is the place; nothing of its own is read")]
pub fn filtered(
    directory: &Path,
    shows: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let mut walk = WalkBuilder::new(directory);
    walk.standard_filters(false).filter_entry(shows);
    walk
}

/// A walk of Grep or Glob from a resolved directory that may be read. A list of the user's own is
/// not asked: it would be looked up in the environment and the home directory.
pub(crate) fn from(directory: &Path, paths: &Arc<Paths>, filter: &Arc<Filter>) -> WalkBuilder {
    let filter = Arc::clone(filter);
    let closed = paths.holds_closed(directory).then(|| Arc::clone(paths));
    let mut walk = filtered(directory, move |entry| {
        closed.as_ref().is_none_or(|paths| paths.may_enter(entry.path())) && filter.shows(entry)
    });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    walk.threads(threads.min(MAX_THREADS));
    walk
}

/// The ignore files that Grep and Glob go by, in a repository or not.
pub(crate) fn ignored(directory: &Path) -> IgnoreFiles {
    let names = vec![".ignore", ".gitignore"];
    IgnoreFiles::new(directory, Sources { names, above: true, ..Sources::default() })
}

/// A path as one line of text.
pub(crate) fn line(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests;
