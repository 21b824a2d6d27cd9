//! Finds the session that was last used by the ends of the logs alone, so that going on with it does
//! not read the others.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use contract::event::{Event, EventKind};
use contract::id::{SessionId, Timestamp};

use super::{Store, modified};
use crate::error::Error;
use crate::index::{Index, State};
use crate::record;
use crate::summary::Summarizer;

/// Bytes at an end of a log that are looked at first.
const END: u64 = 64 << 10;

impl Store {
    /// The session that was last used among those that work in a directory which `is_wanted`.
    pub fn newest(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Option<SessionId>, Error> {
        let index = Index::load(&self.directory);
        let mut newest: Option<(Timestamp, SessionId)> = None;
        for id in self.ids()? {
            let Some(metadata) = self.metadata(&id) else { continue };
            let state = State::of(&metadata);
            let (cwd, updated) = if let Some(summary) = index.get(id.as_str(), &state) {
                (summary.cwd.clone(), summary.updated_at)
            } else if let Some(ends) = self.ends(&id, metadata.len()) {
                ends
            } else {
                let mut summarizer = Summarizer::new(id.clone(), modified(&metadata));
                // What cannot be read counts with what is known of it.
                let _ = self.summarize(&id, None, &mut summarizer);
                (summarizer.summary.cwd, summarizer.summary.updated_at)
            };
            let candidate = (updated, id);
            if is_wanted(&cwd) && newest.as_ref().is_none_or(|newest| *newest < candidate) {
                newest = Some(candidate);
            }
        }
        Ok(newest.map(|(_, id)| id))
    }

    /// The directory and the last moment of a session, from the first and the last record.
    fn ends(&self, id: &SessionId, length: u64) -> Option<(String, Timestamp)> {
        let file = File::open(self.path(id)).ok()?;
        let first = read(&file, 0, length.min(END)).ok()?;
        let first = event(first.split(|byte| *byte == b'\n').next()?)?;
        let EventKind::SessionStarted { cwd, .. } = first.kind else { return None };
        let mut reach = END;
        loop {
            let from = length.saturating_sub(reach);
            let bytes = read(&file, from, length - from).ok()?;
            let mut lines = bytes.rsplit(|byte| *byte == b'\n');
            if let Some(last) = lines.find_map(event) {
                return Some((cwd, last.at.max(first.at)));
            }
            if from == 0 {
                return None;
            }
            reach *= 8;
        }
    }
}

fn event(line: &[u8]) -> Option<Event> {
    record::open(line).and_then(record::parse).ok()
}

fn read(file: &File, from: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(count).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}
