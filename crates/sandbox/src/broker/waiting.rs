//! Finds what git would wait for without end: a pipe in place of a list that it reads in every
//! folder.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

const LISTS: [&str; 2] = [".gitignore", ".gitattributes"];

/// The first such pipe beneath `root`.
pub(crate) fn pipe(root: &Path) -> Option<PathBuf> {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            if kind.is_dir() && name != ".git" {
                folders.push(entry.path());
            } else if kind.is_fifo() && LISTS.iter().any(|list| name == *list) {
                return Some(entry.path());
            }
        }
    }
    None
}
