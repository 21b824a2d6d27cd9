//! The log of one session, open for appending. What `append` has acknowledged is on disk.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use contract::event::Event;
use contract::id::{Seq, SessionId};
use contract::log::{Log, LogError};
use files::lock::Lock;

use crate::disk::Tail;
use crate::record;

/// A session's log in a file. Holds the session's lock until it is dropped.
pub struct FileLog {
    /// The session.
    pub id: SessionId,
    /// The file.
    pub path: PathBuf,
    writer: Mutex<Writer>,
    _lock: Lock,
}

struct Writer {
    tail: Tail<File>,
    last: Seq,
}

impl FileLog {
    /// Continues a file of `length` good bytes, opened for appending, after event `last`.
    pub(crate) fn new(
        id: SessionId,
        path: PathBuf,
        (file, length, last): (File, u64, Seq),
        lock: Lock,
    ) -> Self {
        let tail = Tail::new(file, length);
        Self { id, path, writer: Mutex::new(Writer { tail, last }), _lock: lock }
    }

    fn try_append(&self, events: &[Event]) -> io::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut records = Vec::new();
        let mut last = writer.last;
        for event in events.iter().filter(|event| event.kind.is_kept()) {
            let problem = if event.session != self.id {
                format!("it belongs to session {}", event.session)
            } else if event.seq != last.next() {
                format!("it does not follow event {}", last.0)
            } else {
                record::encode(event, &mut records)?;
                last = event.seq;
                continue;
            };
            let message = format!("event {} is refused: {problem}", event.seq.0);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if !records.is_empty() {
            writer.tail.append(&records)?;
            writer.last = last;
        }
        Ok(())
    }
}

impl Log for FileLog {
    fn append(&self, events: &[Event]) -> Result<(), LogError> {
        self.try_append(events)
            .map_err(|source| LogError { path: self.path.display().to_string(), source })
    }

    fn sync(&self) -> Result<(), LogError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let synced = writer.tail.sync();
        synced.map_err(|source| LogError { path: self.path.display().to_string(), source })
    }
}

impl Drop for FileLog {
    fn drop(&mut self) {
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        if writer.tail.is_empty() {
            // A session in which nothing happened leaves nothing behind.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::event::{EventKind, Piece};

    use super::*;
    use crate::samples;
    use crate::store::Store;

    #[test]
    fn batch_is_written_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        let log = store.create(&samples::id()).unwrap();
        let events = samples::conversation();
        log.append(&events[..3]).unwrap();
        let skipping = [events[3].clone(), events[5].clone()];
        let error = log.append(&skipping).unwrap_err().to_string();
        assert!(error.contains("sample.jsonl"), "{error}");
        assert!(error.contains("does not follow event 4"), "{error}");
        assert_eq!(store.read(&samples::id()).unwrap().events, events[..3]);
        log.append(&events[3..]).unwrap();
        assert_eq!(store.read(&samples::id()).unwrap().events, events);
    }

    #[test]
    fn events_of_another_session_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let other = SessionId::parse("other").unwrap();
        let log = Store::new(directory.path()).create(&other).unwrap();
        assert!(log.append(&samples::conversation()[..1]).is_err());
    }

    #[test]
    fn transient_events_are_not_stored() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        let log = store.create(&samples::id()).unwrap();
        let mut events = samples::conversation();
        let text = "a".to_owned();
        let piece = Piece::Text { text };
        events.insert(2, samples::event(2, EventKind::ReplyDelta { piece }));
        log.append(&events).unwrap();
        events.remove(2);
        assert_eq!(store.read(&samples::id()).unwrap().events, events);
    }

    #[test]
    fn log_deleted_while_open_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let log = Store::new(directory.path()).create(&samples::id()).unwrap();
        let events = samples::conversation();
        log.append(&events[..1]).unwrap();
        fs::remove_file(&log.path).unwrap();
        let error = log.append(&events[1..2]).unwrap_err().to_string();
        assert!(error.contains("deleted by another program"), "{error}");
    }
}
