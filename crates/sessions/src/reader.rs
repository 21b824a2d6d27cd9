//! Reads a log line by line, whatever is in it: damaged lines are skipped and reported, memory is
//! bounded by the longest record. Never changes the file.

pub(crate) mod recent;

use std::io::{self, BufRead, Read};

use contract::event::{Event, EventKind};
use contract::id::{Seq, SessionId};

use crate::record;
pub use crate::record::Cause;

/// How many repairs are listed; further ones are only counted.
const LISTED: usize = 1_000;

/// Something in a log that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct Repair {
    /// The line, counted from 1.
    pub line: u64,
    /// The problem.
    pub cause: Cause,
}

/// The problems of a log in words: the first few, and the number of others.
pub fn damage(repairs: &[Repair], count: u64) -> impl Iterator<Item = String> {
    const SHOWN: usize = 3;
    let more = count.saturating_sub(repairs.len().min(SHOWN) as u64);
    let rest = (more > 0).then(|| format!("{more} more places"));
    repairs.iter().take(SHOWN).map(ToString::to_string).chain(rest)
}

/// The contents of a log.
#[derive(Debug, Default)]
pub struct Contents {
    /// The events that could be read, in order.
    pub events: Vec<Event>,
    /// Lines that could not be read, up to a thousand.
    pub repairs: Vec<Repair>,
    /// How many repairs there are in all.
    pub repair_count: u64,
    /// The log was written by a later version of the program, so that it must not be
    /// continued by this one.
    pub is_foreign: bool,
}

/// The lines of a log, one at a time.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    longest: usize,
    /// The number of the last line.
    pub(crate) number: u64,
    /// The last line had an end.
    pub(crate) is_whole: bool,
    /// How many bytes were read.
    pub(crate) length: u64,
}

pub(crate) enum Line<'a> {
    /// Its bytes, without the end.
    Bytes(&'a [u8]),
    /// It is longer than the longest record.
    TooLong,
}

impl<R: BufRead> Lines<R> {
    /// Starts at the beginning of a log.
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            longest: record::MAX_RECORD,
            number: 0,
            is_whole: true,
            length: 0,
        }
    }

    /// Where the lines come from.
    pub(crate) fn source(&self) -> &R {
        &self.input
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        const MAX_REUSED: usize = 1 << 20;
        if self.buffer.capacity() > MAX_REUSED {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        let limit = self.longest as u64 + 1;
        let mut limited = (&mut self.input).take(limit);
        let count = limited.read_until(b'\n', &mut self.buffer)?;
        if count == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.length += count as u64;
        self.is_whole = self.buffer.last() == Some(&b'\n');
        if self.is_whole {
            self.buffer.pop();
        } else if self.buffer.len() > self.longest {
            let skipped = self.skip_line()?;
            self.length += skipped;
            return Ok(Some(Line::TooLong));
        }
        Ok(Some(Line::Bytes(&self.buffer)))
    }

    fn skip_line(&mut self) -> io::Result<u64> {
        let mut skipped = 0;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', available);
            let count = end.map_or(available.len(), |end| end + 1);
            self.input.consume(count);
            skipped += count as u64;
            self.is_whole = end.is_some();
            if self.is_whole || count == 0 {
                return Ok(skipped);
            }
        }
    }
}

/// The events of a log, one at a time.
pub(crate) struct Events<R> {
    pub(crate) lines: Lines<R>,
    id: SessionId,
    last: u64,
    /// All but the events.
    pub(crate) contents: Contents,
}

impl<R: BufRead> Events<R> {
    /// Reads the log of session `id`. The events carry this name, also where the session had
    /// another one when they were written.
    pub(crate) fn new(input: R, id: SessionId) -> Self {
        Self { lines: Lines::new(input), id, last: 0, contents: Contents::default() }
    }

    /// Goes on with a log of session `id` after event `last`.
    pub(crate) fn after(last: Seq, input: R, id: SessionId) -> Self {
        Self { last: last.0, ..Self::new(input, id) }
    }

    /// Reads to the end and returns everything.
    pub(crate) fn collect(&mut self) -> io::Result<Contents> {
        let events = self.rest()?;
        Ok(Contents { events, ..std::mem::take(&mut self.contents) })
    }

    /// Reads to the end and returns the events alone.
    pub(crate) fn rest(&mut self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        while let Some(event) = self.next()? {
            events.push(event);
        }
        Ok(events)
    }

    /// The number of the last event that was read.
    pub(crate) fn last(&self) -> Seq {
        Seq(self.last)
    }

    /// The next event that can be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            let parsed = match self.lines.next()? {
                None => return Ok(None),
                Some(Line::TooLong) => Err(Cause::TooLong),
                Some(Line::Bytes(line)) => record::open(line).and_then(record::parse),
            };
            match parsed {
                Ok(event) => {
                    if let Some(event) = self.accept(event) {
                        return Ok(Some(event));
                    }
                }
                Err(cause) => self.refuse(cause),
            }
        }
    }

    fn accept(&mut self, event: Event) -> Option<Event> {
        self.admit(event.seq).then(|| self.adopt(event))
    }

    /// Gives an event the name of the session.
    fn adopt(&mut self, mut event: Event) -> Event {
        if let EventKind::SessionStarted { format, .. } = event.kind {
            self.contents.is_foreign |= format > contract::log::FORMAT;
        }
        event.session.clone_from(&self.id);
        event
    }

    /// Returns true if an event of this number can follow those before it.
    fn admit(&mut self, Seq(found): Seq) -> bool {
        if found <= self.last {
            self.report(Cause::Repeated(found));
            return false;
        }
        if found != self.last + 1 {
            let last = self.last;
            self.report(Cause::Gap { last, found });
        }
        self.last = found;
        true
    }

    /// Notes a line that is not an event.
    fn refuse(&mut self, cause: Cause) {
        if !self.lines.is_whole && matches!(cause, Cause::Shapeless | Cause::Checksum) {
            self.report(Cause::Unfinished);
        } else {
            self.contents.is_foreign |= matches!(cause, Cause::Unknown(_));
            self.report(cause);
        }
    }

    fn report(&mut self, cause: Cause) {
        self.contents.repair_count += 1;
        if self.contents.repairs.len() < LISTED {
            let line = self.lines.number;
            self.contents.repairs.push(Repair { line, cause });
        }
    }
}

#[cfg(test)]
mod tests;
