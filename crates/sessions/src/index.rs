//! A cache of summaries, so that a list of many sessions does not read every log. It may be
//! missing, old or broken at any time; nothing but speed depends on it.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use contract::id::{CallId, Seq};
use serde::{Deserialize, Serialize};

use crate::lock::Lock;
use crate::summary::Summary;

/// Changes whenever [`Summary`] does, so that old caches are not believed.
const VERSION: u32 = 2;

/// The cached summaries.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    version: u32,
    sessions: BTreeMap<String, Entry>,
    #[serde(skip)]
    is_changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    state: State,
    #[serde(flatten)]
    known: Known,
}

/// What was found out about a log.
#[derive(Debug, Serialize, Deserialize)]
struct Known {
    summary: Summary,
    /// How far it was read; nothing where it did not end with a whole line.
    #[serde(default)]
    progress: Option<Progress>,
}

/// How far a log was read, so that only what comes after has to be read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Bytes that were read.
    pub(crate) length: u64,
    /// The last event in them.
    pub(crate) last: Seq,
    /// The checksum of the last of these bytes, which tells whether the log is still the same.
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

/// What of a file tells whether it has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    size: u64,
    modified: (i64, i64),
    inode: u64,
}

impl State {
    /// Takes what matters from a file's metadata.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            inode: metadata.ino(),
        }
    }
}

impl Index {
    /// Reads the index of a directory; an empty one where there is none that can be used.
    pub(crate) fn load(directory: &Path) -> Self {
        fs::read(directory.join("index.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .filter(|index: &Self| index.version == VERSION)
            .unwrap_or(Self { version: VERSION, sessions: BTreeMap::new(), is_changed: false })
    }

    /// The summary of a session, if its log is as it was.
    pub(crate) fn get(&self, id: &str, state: &State) -> Option<&Summary> {
        let entry = self.entry(id)?;
        (entry.state == *state).then_some(&entry.known.summary)
    }

    /// What is known of the beginning of a log that may have grown since.
    pub(crate) fn before(&self, id: &str, state: &State) -> Option<(&Summary, &Progress)> {
        let Entry { state: old, known } = self.entry(id)?;
        let progress = known.progress.as_ref()?;
        let has_grown = old.inode == state.inode && progress.length <= state.size;
        has_grown.then_some((&known.summary, progress))
    }

    /// Remembers the summary of a log in this state.
    pub(crate) fn put(&mut self, state: State, summary: Summary, progress: Option<Progress>) {
        self.is_changed = true;
        let id = summary.id.as_str().to_owned();
        self.sessions.insert(id, Entry { state, known: Known { summary, progress } });
    }

    fn entry(&self, id: &str) -> Option<&Entry> {
        self.sessions.get(id).filter(|entry| entry.known.summary.id.as_str() == id)
    }

    /// Forgets the sessions that are not among `ids`.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        let before = self.sessions.len();
        self.sessions.retain(|id, _| is_there(id));
        self.is_changed |= self.sessions.len() != before;
    }

    /// Writes the index if it has changed. Where that fails, or somebody else is at it, the
    /// next list does the work again.
    pub(crate) fn save(&self, directory: &Path) {
        if !self.is_changed {
            return;
        }
        let Ok(_lock) = Lock::take(&directory.join("index.json.lock")) else {
            return;
        };
        let temporary = directory.join("index.json.tmp");
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(&serde_json::to_vec(self)?))
            .and_then(|()| fs::rename(&temporary, directory.join("index.json")));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }
}
