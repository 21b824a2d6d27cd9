//! Finds the files that the sources of a role name.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use files::path;
use globset::{GlobBuilder, GlobMatcher};

#[rustfmt::skip]
const SKIPPED_DIRECTORIES: &[&str] = &[
    "node_modules", ".venv", "venv", "__pycache__", ".git", ".tox", "dist", "build", ".eggs", ".hg",
    ".svn",
];

const MAX_FILES: usize = 100_000;

/// Returns true for a source that is fetched, and not read from a file.
pub(super) fn is_url(source: &str) -> bool {
    source.starts_with("http://") || source.starts_with("https://")
}

/// Adds the files that match a pattern, which is relative to `directory`. Symlinks and hidden names
/// are left out, unless they are before the first wildcard.
pub(super) fn find(
    pattern: &str,
    directory: &Path,
    found: &mut BTreeSet<PathBuf>,
) -> Result<(), String> {
    let whole = path::normalize(&directory.join(pattern));
    let has_wildcard = |part: &OsStr| part.to_string_lossy().contains(['*', '?', '[', '{']);
    let parts: Vec<_> = whole.components().collect();
    let fixed = parts.iter().take_while(|part| !has_wildcard(part.as_os_str())).count();
    let base: PathBuf = parts[..fixed].iter().collect();
    if fixed == parts.len() {
        found.extend(base.is_file().then_some(base));
        return Ok(());
    }
    let rest: PathBuf = parts[fixed..].iter().collect();
    let glob = GlobBuilder::new(&rest.to_string_lossy()).literal_separator(true).build();
    let glob = glob.map_err(|error| error.to_string())?.compile_matcher();
    walk(&base, &base, &glob, found)
}

fn walk(
    directory: &Path,
    base: &Path,
    glob: &GlobMatcher,
    found: &mut BTreeSet<PathBuf>,
) -> Result<(), String> {
    // A directory that is missing or cannot be read has no files.
    let Ok(entries) = directory.read_dir() else { return Ok(()) };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') || SKIPPED_DIRECTORIES.contains(&name.as_ref()) && kind.is_dir() {
            continue;
        }
        if kind.is_dir() {
            walk(&path, base, glob, found)?;
        } else if kind.is_file() && path.strip_prefix(base).is_ok_and(|it| glob.is_match(it)) {
            if found.len() == MAX_FILES {
                return Err(format!("the sources match more than {MAX_FILES} files"));
            }
            found.insert(path);
        }
    }
    Ok(())
}
