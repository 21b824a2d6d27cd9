//! Front matter that was read in earlier runs, by its text: with many skills, most of a start would
//! go into YAML. A lost or broken file of them costs time and nothing else.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use ::files::cache;
use serde_json::{Map, Value};

/// Entries above which those that were not asked for in this run are dropped.
const MAX_BLOCKS: usize = 4096;

const BLOCK_LIMIT: usize = 8 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    file: Option<PathBuf>,
    known: HashMap<String, Map<String, Value>>,
    used: HashSet<String>,
    is_changed: bool,
}

impl Blocks {
    pub(crate) fn load(file: Option<PathBuf>) -> Self {
        let known = file.as_deref().and_then(cache::read).unwrap_or_default();
        Self { file, known, ..Self::default() }
    }

    pub(crate) fn get(&mut self, block: &str) -> Option<Map<String, Value>> {
        let keys = self.known.get(block)?.clone();
        self.used.insert(block.to_owned());
        Some(keys)
    }

    pub(crate) fn keep(&mut self, block: &str, keys: &Map<String, Value>) {
        if self.file.is_some() && block.len() <= BLOCK_LIMIT && !self.known.contains_key(block) {
            self.known.insert(block.to_owned(), keys.clone());
            self.used.insert(block.to_owned());
            self.is_changed = true;
        }
    }

    pub(crate) fn save(mut self) {
        let Some(file) = self.file.take().filter(|_| self.is_changed) else {
            return;
        };
        if self.known.len() > MAX_BLOCKS {
            self.known.retain(|block, _| self.used.contains(block));
        }
        // A cache that cannot be written only costs time.
        let _ = cache::write(&file, &self.known);
    }
}
