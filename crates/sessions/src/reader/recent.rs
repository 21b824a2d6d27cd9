//! Finds the part of a long log that a conversation goes on from, without reading all of it into
//! memory: every record is checked, few are parsed. What it leaves out stays in the log.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use contract::event::{Event, EventKind};
use contract::id::Seq;
use memchr::memmem;

use super::{Events, Line};
use crate::record::{self, Cause};

/// Bytes of the log that are given back at most: more than any model reads.
const WINDOW: u64 = 32 << 20;

/// Gives the bytes at an offset of a log.
pub(crate) trait ReadAt: Fn(&mut [u8], u64) -> io::Result<()> {}

impl<F: Fn(&mut [u8], u64) -> io::Result<()>> ReadAt for F {}

/// Where a record is.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: usize,
    line: u64,
    kind: Kind,
}

/// The meaning of a record for the messages after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The session's beginning.
    Start,
    /// Who answers.
    Configured,
    /// A prompt, or words from elsewhere: one message for certain.
    Message,
    /// A reply of the model; one message where it is not empty.
    Reply { is_empty: bool },
    /// The end of a call.
    Result { is_lasting: bool },
    /// Earlier messages are gone from the model's view, except the last so many.
    Compacted { kept: u64, is_cleared: bool },
    /// Nothing that outlives its neighbors.
    Other,
}

impl Kind {
    /// Messages that it is certain to be.
    fn messages(self) -> u64 {
        u64::from(matches!(self, Self::Message | Self::Reply { is_empty: false }))
    }

    /// Returns true if a history can begin with it.
    fn can_be_first(self) -> bool {
        self.messages() == 1 || matches!(self, Self::Compacted { .. })
    }
}

/// The events that a conversation goes on from.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// The events, in order.
    pub(crate) events: Vec<Event>,
    /// Set where messages are left out that the model would still see.
    pub(crate) cut: Option<Cut>,
}

/// A history that is too long to be read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Messages that are left out.
    pub left_out: u64,
    /// Where in the events the part without gaps begins.
    pub at: usize,
}

/// The records of a log that matter so far.
#[derive(Default)]
struct Skimmed {
    /// The part without gaps.
    recent: VecDeque<Place>,
    /// Its length in bytes.
    length: u64,
    start: Option<Place>,
    configured: Option<Place>,
    /// Results that outlive a summary, each after the reply that asked for it.
    lasting: Vec<Place>,
    reply: Option<Place>,
    left_out: u64,
    window: u64,
}

impl<R: BufRead> Events<R> {
    /// Reads to the end and returns what matters from here on, which `read` gives again: the bytes
    /// at an offset.
    pub(crate) fn recent(&mut self, read: impl ReadAt) -> io::Result<Recent> {
        self.recent_within(read, WINDOW)
    }

    pub(crate) fn recent_within(&mut self, read: impl ReadAt, window: u64) -> io::Result<Recent> {
        let mut skimmed = Skimmed { window, ..Skimmed::default() };
        loop {
            let offset = self.lines.length;
            let looked = match self.lines.next()? {
                None => break,
                Some(Line::TooLong) => Err(Cause::TooLong),
                Some(Line::Bytes(line)) => {
                    record::open(line).and_then(look).map(|(seq, kind)| (seq, kind, line.len()))
                }
            };
            match looked {
                Ok((seq, kind, length)) if self.admit(seq) => {
                    let line = self.lines.number;
                    skimmed.add(Place { offset, length, line, kind });
                }
                Ok(_) => {}
                Err(cause) => self.refuse(cause),
            }
        }
        self.load(&read, skimmed)
    }

    fn load(&mut self, read: &impl ReadAt, mut skimmed: Skimmed) -> io::Result<Recent> {
        let begins = skimmed.recent.front().map_or(u64::MAX, |place| place.offset);
        let is_before = |place: &Place| place.offset < begins;
        let mut pinned: Vec<Place> = skimmed.lasting.drain(..).filter(is_before).collect();
        pinned.extend(skimmed.start.filter(is_before));
        pinned.extend(skimmed.configured.filter(is_before));
        pinned.sort_by_key(|place| place.offset);
        pinned.dedup_by_key(|place| place.offset);
        let mut events = self.parse(read, pinned.into_iter())?;
        let at = events.len();
        events.extend(self.parse(read, skimmed.recent.into_iter())?);
        let left_out = skimmed.left_out;
        Ok(Recent { events, cut: (left_out > 0).then_some(Cut { left_out, at }) })
    }

    fn parse(
        &mut self,
        read: &impl ReadAt,
        places: impl Iterator<Item = Place>,
    ) -> io::Result<Vec<Event>> {
        let mut line = Vec::new();
        let mut events = Vec::new();
        for place in places {
            line.resize(place.length, 0);
            read(&mut line, place.offset)?;
            match record::open(&line).and_then(record::parse) {
                Ok(event) => events.push(self.adopt(event)),
                Err(cause) => {
                    let last = std::mem::replace(&mut self.lines.number, place.line);
                    self.refuse(cause);
                    self.lines.number = last;
                }
            }
        }
        Ok(events)
    }
}

impl Skimmed {
    fn add(&mut self, place: Place) {
        match place.kind {
            Kind::Start => {
                self.start.get_or_insert(place);
            }
            Kind::Configured => self.configured = Some(place),
            Kind::Reply { .. } => self.reply = Some(place),
            Kind::Result { is_lasting: true } => {
                self.lasting.extend(self.reply);
                self.lasting.push(place);
            }
            Kind::Compacted { kept, is_cleared } => self.compact(kept, is_cleared),
            Kind::Message | Kind::Result { is_lasting: false } | Kind::Other => {}
        }
        self.length += place.length as u64;
        self.recent.push_back(place);
        // The last record stays, whatever its size: its number is where the log goes on.
        while self.length > self.window && self.recent.len() > 1 {
            self.drop_first();
        }
        // Nothing begins with a result whose call is gone.
        while self.left_out > 0
            && self.recent.len() > 1
            && self.recent.front().is_some_and(|first| !first.kind.can_be_first())
        {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some(first) = self.recent.pop_front() {
            self.length -= first.length as u64;
            let is_seen = first.kind.can_be_first() || matches!(first.kind, Kind::Result { .. });
            self.left_out += u64::from(is_seen);
        }
    }

    /// Drops what no model sees any more. More than `kept` messages may stay: applying the event
    /// leaves the same.
    fn compact(&mut self, kept: u64, is_cleared: bool) {
        if is_cleared {
            self.lasting.clear();
        }
        let mut found = 0;
        let mut from = self.recent.len();
        while found < kept && from > 0 {
            from -= 1;
            found += self.recent[from].kind.messages();
        }
        for place in self.recent.drain(..from) {
            self.length -= place.length as u64;
        }
        if found >= kept {
            self.left_out = 0;
        }
    }
}

/// The kind of a record, by its first bytes if they tell.
fn look(json: &[u8]) -> Result<(Seq, Kind), Cause> {
    if let Some(glance) = record::glance(json)
        && let Some(kind) = glance.kind.map_or(Some(Kind::Other), |name| kind_of(name, json))
    {
        return Ok((Seq(glance.seq), kind));
    }
    let event = record::parse(json)?;
    let kind = match event.kind {
        _ if event.within.is_some() => Kind::Other,
        EventKind::SessionStarted { .. } => Kind::Start,
        EventKind::Configured { .. } => Kind::Configured,
        EventKind::TurnStarted { .. } | EventKind::Injected { .. } => Kind::Message,
        EventKind::ReplyFinished { reply, .. } => Kind::Reply { is_empty: reply.parts.is_empty() },
        EventKind::ToolFinished { output, .. } => {
            Kind::Result { is_lasting: output.lasting().is_some() }
        }
        EventKind::Compacted { summary, kept, .. } => {
            Kind::Compacted { kept, is_cleared: summary.is_none() }
        }
        _ => Kind::Other,
    };
    Ok((event.seq, kind))
}

/// The kind of a record of this type, where its bytes tell without being parsed.
fn kind_of(name: &[u8], json: &[u8]) -> Option<Kind> {
    Some(match name {
        b"configured" => Kind::Configured,
        b"turn_started" | b"injected" => Kind::Message,
        b"reply_finished" => {
            Kind::Reply { is_empty: memmem::find(json, b"\"parts\":[{").is_none() }
        }
        b"tool_finished" => {
            // A result may quote these words; then it is looked at as if it lasted.
            Kind::Result { is_lasting: memmem::find(json, b"\"lasting\":true").is_some() }
        }
        b"titled" | b"tool_called" | b"tool_judged" | b"asked" | b"answered" | b"notice"
        | b"custom" | b"turn_finished" | b"session_ended" => Kind::Other,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
