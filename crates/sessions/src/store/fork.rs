//! Copies a session into one of its own, record by record, so that a long one needs no memory.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use contract::event::{Event, EventKind, Origin};
use contract::id::{Seq, SessionId, Timestamp};
use files::private;

use super::Store;
use crate::error::{Error, cannot};
use crate::reader::Contents;
use crate::record;

/// Writes the events of a fork: numbered without gaps, under its own name, without the end of the
/// source. Returns what was damaged in the source.
pub(super) fn write(
    store: &Store,
    id: &SessionId,
    new: &SessionId,
    up_to: Option<Seq>,
    target: &Path,
) -> Result<Contents, Error> {
    let mut cwd = None;
    let mut last = Seq(0);
    let is_shared = |event: &Event| up_to.is_none_or(|last| event.seq <= last);
    let damage = store.each_event(id, |event| {
        if is_shared(&event) {
            last = event.seq;
            if let EventKind::SessionStarted { cwd: directory, .. } = event.kind
                && event.within.is_none()
            {
                cwd.get_or_insert(directory);
            }
        }
        Ok::<_, Error>(())
    })?;
    let start = EventKind::SessionStarted {
        cwd: cwd.unwrap_or_default(),
        format: contract::log::FORMAT,
        forked_from: Some(Origin { session: id.clone(), seq: last }),
    };
    let file = private::create(target).map_err(cannot("write", target))?;
    let mut copy = Copy { out: BufWriter::new(file), new, seq: Seq(0), record: Vec::new() };
    let written = (|| {
        let at = Timestamp::now();
        let first = Event { seq: Seq(1), session: new.clone(), at, within: None, kind: start };
        copy.push(first).map_err(cannot("write", target))?;
        store.each_event(id, |event| {
            let is_own =
                matches!(event.kind, EventKind::SessionStarted { .. } | EventKind::SessionEnded);
            if !is_own && is_shared(&event) {
                copy.push(event).map_err(cannot("write", target))?;
            }
            Ok::<_, Error>(())
        })?;
        copy.out.flush().map_err(cannot("write", target))?;
        copy.out.get_ref().sync_all().map_err(cannot("write", target))?;
        Ok(())
    })();
    if written.is_err() {
        let _ = fs::remove_file(target);
    }
    written.map(|()| damage)
}

struct Copy<'a> {
    out: BufWriter<File>,
    new: &'a SessionId,
    seq: Seq,
    record: Vec<u8>,
}

impl Copy<'_> {
    fn push(&mut self, mut event: Event) -> io::Result<()> {
        self.seq = self.seq.next();
        event.seq = self.seq;
        event.session.clone_from(self.new);
        self.record.clear();
        record::encode(&event, &mut self.record)?;
        self.out.write_all(&self.record)
    }
}
