//! A cache of summaries, so that a list of many sessions does not read every log. It may be
//! missing, old or broken at any time; nothing but speed depends on it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use contract::id::{CallId, Seq};
use files::lock::Lock;
use files::private::{self, Durability};
use serde::{Deserialize, Serialize};

use crate::summary::Summary;

/// Changes whenever [`Summary`] does, so that old caches are not believed.
const VERSION: u32 = 3;

/// The cached summaries.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Index {
    version: u32,
    sessions: BTreeMap<String, Entry>,
}

/// The summary of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The stamp of the log when it was read.
    pub(crate) stamp: u64,
    pub(crate) summary: Summary,
    /// How far it was read; none if it did not end with a whole line.
    pub(crate) progress: Option<Progress>,
}

/// How far a log was read, so that only what comes after has to be read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Bytes that were read.
    pub(crate) length: u64,
    /// The last event in them.
    pub(crate) last: Seq,
    /// The checksum of the last of these bytes, by which another log is recognized.
    pub(crate) tail: u32,
    /// Calls without an end so far.
    pub(crate) open_calls: Vec<CallId>,
}

/// The checksum of the last bytes before `length`.
pub(crate) fn tail(file: &File, length: u64) -> io::Result<u32> {
    let mut bytes = [0; 4096];
    let count = usize::try_from(length).map_or(bytes.len(), |length| length.min(bytes.len()));
    let bytes = &mut bytes[..count];
    file.read_exact_at(bytes, length - count as u64)?;
    Ok(crc32fast::hash(bytes))
}

impl Default for Index {
    fn default() -> Self {
        Self { version: VERSION, sessions: BTreeMap::new() }
    }
}

impl Index {
    /// Reads the index of a directory; an empty one if there is none that can be used.
    pub(crate) fn load(directory: &Path) -> Self {
        let bytes = fs::read(directory.join("index.json")).ok();
        let index = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        index.filter(|index: &Self| index.version == VERSION).unwrap_or_default()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Entry> {
        self.sessions.get(id).filter(|entry| entry.summary.id.as_str() == id)
    }

    pub(crate) fn put(&mut self, entry: Entry) {
        self.sessions.insert(entry.summary.id.to_string(), entry);
    }

    /// Writes the index. If that fails, or another process does it, the next list does the work
    /// again.
    pub(crate) fn save(&self, directory: &Path) {
        let path = directory.join("index.json");
        if let Ok(Some(_lock)) = Lock::try_take(&path.with_extension("json.lock"))
            && let Ok(bytes) = serde_json::to_vec(self)
        {
            let _ = private::replace(&path, &bytes, Durability::Unsynced);
        }
    }
}
