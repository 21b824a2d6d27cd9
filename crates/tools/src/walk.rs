//! The walk through directories: obeys ignore files, follows no symlinks, and enters no directory that
//! tools may not read.

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

/// Selects the files of a walk, as `rg` does: by overrides first, then ignore files, then types of
/// files, then hidden names.
pub struct Filter {
    /// None if ignore files are not used.
    pub ignored: Option<IgnoreFiles>,
    pub overrides: Override,
    pub types: Types,
    pub shows_hidden: bool,
}

impl Filter {
    /// Selects by ignore files and hidden names only.
    pub fn new(ignored: Option<IgnoreFiles>, shows_hidden: bool) -> Self {
        Self { ignored, overrides: Override::empty(), types: Types::empty(), shows_hidden }
    }

    /// Returns true if a walk shows an entry, and enters it if it is a directory.
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

    /// Returns true if an ignore file could not be read.
    pub fn has_unread(&self) -> bool {
        self.ignored.as_ref().is_some_and(IgnoreFiles::has_unread)
    }

    /// Adds a note about ignore files that could not be read.
    pub(crate) fn with_note(&self, mut output: ToolOutput) -> ToolOutput {
        if self.has_unread() {
            output.output +=
                "\n(an ignore file was not used: it is not a regular file, or too large)";
        }
        output
    }
}

/// A walk through the entries for which `shows` returns true.
#[expect(clippy::disallowed_methods, reason = "this is the place; nothing of its own is read")]
pub fn filtered(
    directory: &Path,
    shows: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let mut walk = WalkBuilder::new(directory);
    walk.standard_filters(false).filter_entry(shows);
    walk
}

/// A walk of Grep or Glob from a resolved directory that may be read. The user's global ignore file
/// is not used: it would be looked up in the environment and the home directory.
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

/// The ignore files that Grep and Glob obey, in a repository or not.
pub(crate) fn ignored(directory: &Path) -> IgnoreFiles {
    let names = vec![".ignore", ".gitignore"];
    IgnoreFiles::new(directory, Sources { names, above: true, ..Sources::default() })
}

/// A path as one line of text.
pub(crate) fn line(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('\n', "\\n").replace('\r', "\\r")
}

/// The files and directories of a project that are not ignored, relative to it; at most `most`.
pub fn project_files(root: &Path, most: usize) -> Vec<String> {
    let sources = Sources {
        names: vec![".ignore", ".gitignore"],
        global: ignore::gitignore::gitconfig_excludes_path(),
        repositories_only: true,
        above: true,
    };
    let filter = Filter::new(Some(IgnoreFiles::new(root, sources)), true);
    let is_ours = move |entry: &DirEntry| entry.file_name() != ".git" && filter.shows(entry);
    let entries = filtered(root, is_ours).build();
    let relative = |entry: DirEntry| {
        let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        (!path.is_empty()).then(|| if is_directory { format!("{path}/") } else { path })
    };
    let mut files: Vec<String> =
        entries.filter_map(Result::ok).filter_map(relative).take(most).collect();
    // Near files first, hidden ones last.
    files.sort_by_cached_key(|file| {
        (file.starts_with('.') || file.contains("/."), file.matches('/').count(), file.clone())
    });
    files
}

#[cfg(test)]
mod tests;
