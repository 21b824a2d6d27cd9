//! Earlier messages of the user in a session, and copies of the session that end before or after
//! one. A log is append-only: going back means to continue in a copy.

use contract::event::EventKind;
use contract::id::{Seq, SessionId, Timestamp};
use contract::text::head;

use crate::error::Error;
use crate::snapshots::{History, Turn, TurnState};
use crate::store::Store;

/// The longest beginning of a name that its copies keep, in bytes.
const MAX_STEM: usize = 80;

/// A message that began a turn.
pub struct UserMessage {
    /// Its text.
    pub text: String,
    at: Timestamp,
    /// The event before its turn; none for the first message.
    before: Option<Seq>,
    /// The last event of its turn.
    last: Seq,
}

/// The messages that began turns, oldest first.
pub fn messages(store: &Store, id: &SessionId) -> Result<Vec<UserMessage>, Error> {
    let mut messages: Vec<UserMessage> = Vec::new();
    let (mut before, mut is_kept) = (Seq(0), false);
    for event in store.read(id)?.events {
        if let (EventKind::TurnStarted { prompt }, None) = (&event.kind, &event.within) {
            messages.push(UserMessage {
                text: prompt.clone(),
                at: event.at,
                before: is_kept.then_some(before),
                last: event.seq,
            });
            is_kept = true;
        } else if let Some(message) = messages.last_mut() {
            message.last = event.seq;
        }
        // A copy that begins anew would lose the record.
        is_kept |= matches!(event.kind, EventKind::Custom { .. });
        before = event.seq;
    }
    Ok(messages)
}

impl UserMessage {
    /// Copies the session up to this message, without it. None if nothing precedes it.
    pub fn copy_before(&self, store: &Store, id: &SessionId) -> Result<Option<SessionId>, Error> {
        self.before.map(|seq| copy(store, id, Some(seq))).transpose()
    }

    /// Copies the session up to the end of the turn that this message began.
    pub fn copy_after(&self, store: &Store, id: &SessionId) -> Result<SessionId, Error> {
        copy(store, id, Some(self.last))
    }

    /// The number of turns since this message whose changes of files can be undone.
    #[must_use]
    pub fn turns_since(&self, history: &History) -> usize {
        let is_later = |turn: &&Turn| turn.at >= self.at && turn.state != TurnState::Undone;
        history.turns().iter().filter(is_later).count()
    }
}

/// Copies a session, whole or up to an event, under a free name.
pub fn copy(store: &Store, id: &SessionId, up_to: Option<Seq>) -> Result<SessionId, Error> {
    let name = free_name(store, id)?;
    drop(store.fork(id, &name, up_to)?);
    Ok(name)
}

/// The first name for a copy of a session that is not taken.
pub fn free_name(store: &Store, id: &SessionId) -> Result<SessionId, Error> {
    // The name of the copy must not become too long for a file name.
    let stem = head(id.as_str(), MAX_STEM);
    let mut number = 1;
    loop {
        let name = SessionId::parse(&format!("{stem}-fork-{number}"))?;
        if !store.exists(&name) {
            return Ok(name);
        }
        number += 1;
    }
}
