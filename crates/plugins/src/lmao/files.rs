//! The files of LMAO plugins. Reads directories, and a file only to see if it is meant as a plugin.

use std::path::{Path, PathBuf};

use ::files::bounded;

use crate::directories::{Directories, Kind, file_type};
use crate::manifest::FILE;

const TOOL: &str = "tool.py";
const MOST_ENTRIES: usize = 10_000;
const DEEPEST: usize = 6;
const MOST_DIRECTORIES: usize = 5_000;
const MAX_FILE_BYTES: usize = 1 << 20;
const SKIPPED: [&str; 3] = ["__pycache__", "node_modules", "venv"];
/// Names that mark a plugin of another system.
const FOREIGN: [&str; 3] = [FILE, ".claude-plugin", "plugin.json"];

/// A file that is meant as a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub name: String,
    /// Its directory, without links.
    pub directory: PathBuf,
    pub file: PathBuf,
}

pub fn find(directory: &Path, directories: &Directories) -> Vec<Candidate> {
    let mut search = Search { directories, found: Vec::new(), looked_into: 0 };
    // Without links in it, so that a worker sees it at the same place.
    if let Ok(directory) = directory.canonicalize() {
        search.look(&directory, 0);
    }
    search.found
}

struct Search<'a> {
    directories: &'a Directories,
    found: Vec<Candidate>,
    looked_into: usize,
}

impl Search<'_> {
    /// Returns true if something is meant as a plugin. A pipe in the place of one is told by its worker.
    fn is_candidate(&self, file: &Path, depth: usize) -> bool {
        if self.directories.is_file(file) {
            return is_meant(file, depth);
        }
        let kind = self.directories.look(file).map(|found| file_type(&found));
        depth == 1 && kind.is_some_and(|it| !it.is_file() && !it.is_dir())
    }

    fn look(&mut self, directory: &Path, depth: usize) {
        if self.directories.has_any(directory, &FOREIGN) {
            return;
        }
        self.looked_into += 1;
        if self.looked_into > MOST_DIRECTORIES {
            return;
        }
        let file = directory.join(TOOL);
        if self.is_candidate(&file, depth)
            && let Ok(real) = directory.canonicalize()
        {
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Reached without links, so that the sandbox shows it at the place that is named.
            let file = real.join(TOOL);
            if !self.found.iter().any(|other| other.file == file) {
                self.found.push(Candidate { name, directory: real, file });
            }
        }
        if depth == DEEPEST {
            return;
        }
        let Ok(listing) = self.directories.listing(directory) else { return };
        for entry in listing.entries.iter().take(MOST_ENTRIES) {
            let name = entry.name.to_string_lossy();
            let is_skipped = name.starts_with('.') || SKIPPED.contains(&name.as_ref());
            let path = directory.join(&entry.name);
            let is_directory = match entry.kind {
                Kind::Directory => true,
                Kind::Link => path.is_dir(),
                Kind::File | Kind::Other => false,
            };
            if is_directory && !is_skipped {
                self.look(&path, depth + 1);
            }
        }
    }
}

/// Returns true if a file is a plugin, or should be. What only happens to have the name is left alone.
fn is_meant(file: &Path, depth: usize) -> bool {
    let Some(bytes) = bounded::head(file, MAX_FILE_BYTES + 1) else { return false };
    if bytes.len() > MAX_FILE_BYTES {
        return depth == 1;
    }
    let has = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
    has(b"PLUGIN") || (depth == 1 && has(b"def run"))
}
