//! Finds what git would wait for without end: a pipe in place of a list that it reads in every
//! folder, or of a part of a repository, which it looks for in every folder.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

const READ: [&str; 4] = [".gitignore", ".gitattributes", "HEAD", "commondir"];

/// The first such pipe beneath `root`.
pub(crate) fn pipe(root: &Path) -> Option<PathBuf> {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let (name, path) = (entry.file_name(), entry.path());
            let is_read = || READ.iter().any(|read| name == *read) || is_kept(&path);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_fifo() && is_read() {
                return Some(path);
            }
        }
    }
    None
}

/// Whether git keeps it, or should.
fn is_kept(path: &Path) -> bool {
    path.iter().any(|part| part == ".git")
}
