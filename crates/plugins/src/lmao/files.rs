//! Where the files of LMAO plugins lie. Reads names of folders, and a file only to tell whether it
//! is meant as a plugin.

use std::path::{Path, PathBuf};

use crate::files;
use crate::folders::{Folders, Kind};
use crate::manifest::FILE;

/// The name that every plugin's file has.
const TOOL: &str = "tool.py";
/// Entries of one folder that are looked at.
const MOST_ENTRIES: usize = 10_000;
const DEEPEST: usize = 6;
/// Folders that are looked into.
const MOST_FOLDERS: usize = 5_000;
/// Bytes of a file in which a manifest is looked for.
const LONGEST: usize = 1 << 20;
/// Folders that hold no plugins.
const SKIPPED: [&str; 3] = ["__pycache__", "node_modules", "venv"];
/// What marks a folder as a plugin of another system.
const FOREIGN: [&str; 3] = [FILE, ".claude-plugin", "plugin.json"];

/// A file that is meant as a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The name of its folder.
    pub name: String,
    /// Its folder, without links.
    pub folder: PathBuf,
    /// The file, as it is reached.
    pub file: PathBuf,
}

/// The files in a directory that are meant as plugins, at any depth, sorted.
pub fn find(directory: &Path, folders: &Folders) -> Vec<Candidate> {
    let mut search = Search { folders, found: Vec::new(), looked_into: 0 };
    // Without links in it, so that a worker sees it at the same place.
    if let Ok(directory) = directory.canonicalize() {
        search.look(&directory, 0);
    }
    search.found
}

struct Search<'a> {
    folders: &'a Folders,
    found: Vec<Candidate>,
    looked_into: usize,
}

impl Search<'_> {
    /// Whether something is meant as a plugin. A pipe in the place of one is told by its worker.
    fn is_candidate(&self, file: &Path, depth: usize) -> bool {
        if self.folders.is_file(file) {
            return is_meant(file, depth);
        }
        let found = self.folders.look(file);
        depth == 1 && found.is_some_and(|it| !it.is_file() && !it.is_folder())
    }

    fn look(&mut self, folder: &Path, depth: usize) {
        if self.folders.has_any(folder, &FOREIGN) {
            return;
        }
        self.looked_into += 1;
        if self.looked_into > MOST_FOLDERS {
            return;
        }
        let file = folder.join(TOOL);
        if self.is_candidate(&file, depth)
            && let Ok(real) = folder.canonicalize()
        {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Reached without links, so that the sandbox shows it at the place that is named.
            let file = real.join(TOOL);
            if !self.found.iter().any(|other| other.file == file) {
                self.found.push(Candidate { name, folder: real, file });
            }
        }
        if depth == DEEPEST {
            return;
        }
        let Ok(listing) = self.folders.listing(folder) else { return };
        for entry in listing.entries.iter().take(MOST_ENTRIES) {
            let name = entry.name.to_string_lossy();
            let is_skipped = name.starts_with('.') || SKIPPED.contains(&name.as_ref());
            let path = folder.join(&entry.name);
            let is_folder = match entry.kind {
                Kind::Folder => true,
                Kind::Link => path.is_dir(),
                Kind::File | Kind::Other => false,
            };
            if is_folder && !is_skipped {
                self.look(&path, depth + 1);
            }
        }
    }
}

/// Whether a file is a plugin, or should be. What only happens to have the name is left alone.
fn is_meant(file: &Path, depth: usize) -> bool {
    let Ok(bytes) = files::start(file, LONGEST + 1) else { return false };
    if bytes.len() > LONGEST {
        return depth == 1;
    }
    let has = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
    has(b"PLUGIN") || (depth == 1 && has(b"def run"))
}
