//! Folds over logs, kept in `statistics.json` with how far each log was read.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use contract::id::{Seq, SessionId};
use serde::{Deserialize, Serialize};

use super::Fold;
use crate::error::{Error, cannot};
use crate::index::tail;
use crate::lock::Lock;
use crate::reader::Events;
use crate::store::Store;

/// Changes whenever [`Fold`] does, so that old files are not believed.
const VERSION: u32 = 2;
const FILE: &str = "statistics.json";

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    sessions: BTreeMap<String, Entry>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    fold: Fold,
    /// Bytes of the log that were read.
    length: u64,
    last: Seq,
    /// The checksum of the last of these bytes, which tells whether the log is still the same.
    tail: u32,
}

/// The folds of all sessions.
pub(super) fn all(store: &Store) -> Result<Vec<(SessionId, Fold)>, Error> {
    let mut kept = load(store.directory());
    let mut sessions = BTreeMap::new();
    let mut folds = Vec::new();
    let mut is_changed = false;
    for id in store.ids()? {
        let known = kept.sessions.remove(id.as_str());
        // A log that cannot be read is left out; `session list` shows it.
        let Ok((fold, entry)) = read(store, &id, known.clone()) else { continue };
        is_changed |= match (&known, &entry) {
            (Some(known), Some(entry)) => known.length != entry.length || known.tail != entry.tail,
            (known, entry) => known.is_some() || entry.is_some(),
        };
        sessions.extend(entry.map(|entry| (id.to_string(), entry)));
        folds.push((id, fold));
    }
    if is_changed || !kept.sessions.is_empty() {
        save(store.directory(), &Kept { version: VERSION, sessions });
    }
    Ok(folds)
}

/// The fold of one session. Keeps nothing.
pub(super) fn one(store: &Store, id: &SessionId) -> Result<Fold, Error> {
    let known = load(store.directory()).sessions.remove(id.as_str());
    Ok(read(store, id, known)?.0)
}

/// Reads what has come to a log since it was last read.
fn read(
    store: &Store,
    id: &SessionId,
    known: Option<Entry>,
) -> Result<(Fold, Option<Entry>), Error> {
    let path = store.path(id);
    let mut reader = store.file(id)?;
    let is_same = |entry: &Entry| tail(reader.get_ref(), entry.length).ok() == Some(entry.tail);
    let (mut fold, from, last) = match known.filter(is_same) {
        Some(entry) => (entry.fold, entry.length, entry.last),
        None => (Fold::default(), 0, Seq(0)),
    };
    reader.seek(SeekFrom::Start(from)).map_err(cannot("read", &path))?;
    let mut events = Events::after(last, reader, id.clone());
    while let Some(event) = events.next().map_err(cannot("read", &path))? {
        fold.add(&event);
    }
    let length = from + events.lines.length;
    if !events.lines.is_whole {
        return Ok((fold, None));
    }
    let tail = tail(events.lines.source().get_ref(), length).map_err(cannot("read", &path))?;
    let entry = Entry { fold: fold.clone(), length, last: events.last(), tail };
    Ok((fold, Some(entry)))
}

fn load(directory: &Path) -> Kept {
    let read = fs::read(directory.join(FILE)).ok();
    let kept = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    kept.filter(|kept: &Kept| kept.version == VERSION)
        .unwrap_or(Kept { version: VERSION, sessions: BTreeMap::new() })
}

/// Where this fails, or somebody else is at it, the next one does the work again.
fn save(directory: &Path, kept: &Kept) {
    let Ok(_lock) = Lock::take(&directory.join(format!("{FILE}.lock"))) else { return };
    let temporary = directory.join(format!("{FILE}.tmp"));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(&serde_json::to_vec(kept)?))
        .and_then(|()| fs::rename(&temporary, directory.join(FILE)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
}
