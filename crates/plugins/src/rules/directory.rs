//! Rules in `.claude/rules`: Markdown files at any depth. One whose front matter names `paths` says
//! so to the model, which reads all of them.

use std::path::{Path, PathBuf};

use ::files::foreign;

use super::ENTRIES_LIMIT;
use crate::claude::document;

pub(super) const PLACE: &str = ".claude/rules";

const DEPTH: usize = 8;

/// The files below a directory, sorted. Directories behind links are not entered.
pub(super) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(directory, DEPTH, &mut found);
    found
}

fn collect(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok((entries, _)) = foreign::entries(directory, ENTRIES_LIMIT) else { return };
    for entry in entries {
        if found.len() == ENTRIES_LIMIT {
            return;
        }
        let is_directory = entry.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_directory && depth > 0 {
            collect(&entry, depth - 1, found);
        } else if !is_directory && entry.extension().is_some_and(|ending| ending == "md") {
            found.push(entry);
        }
    }
}

/// A file's text without its front matter, after the files that it is about.
pub(super) fn text(whole: &str) -> String {
    let Ok(document) = document::read(whole) else { return whole.to_owned() };
    let paths = document.names("paths");
    if paths.is_empty() || document.body.trim().is_empty() {
        return document.body;
    }
    format!("These rules are about files that match {}.\n\n{}", paths.join(", "), document.body)
}
