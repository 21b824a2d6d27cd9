//! Earlier messages of the user in a saved session, and copies of the session that end before or
//! after one. A log is append-only: going back means to continue in a copy.

use contract::event::EventKind;
use contract::id::{Seq, SessionId, Timestamp};
use sessions::snapshots::{History, TurnState};
use sessions::store::Store;

use crate::assemble::session_choice::free_name;
use crate::exit::Problem;

pub(crate) struct UserMessage {
    pub(crate) text: String,
    at: Timestamp,
    /// The event before its turn; none for the first message.
    before: Option<Seq>,
    /// The last event of its turn.
    last: Seq,
}

/// The messages that began turns, oldest first.
pub(crate) fn messages(store: &Store, id: &SessionId) -> Result<Vec<UserMessage>, Problem> {
    let mut messages: Vec<UserMessage> = Vec::new();
    let mut before = Seq(0);
    for event in store.read(id)?.events {
        if let (EventKind::TurnStarted { prompt }, None) = (&event.kind, &event.within) {
            messages.push(UserMessage {
                text: prompt.clone(),
                at: event.at,
                before: (!messages.is_empty()).then_some(before),
                last: event.seq,
            });
        } else if let Some(message) = messages.last_mut() {
            message.last = event.seq;
        }
        before = event.seq;
    }
    Ok(messages)
}

pub(crate) fn saved(id: Option<&SessionId>) -> Result<&SessionId, Problem> {
    id.ok_or_else(|| {
        Problem::misuse("this conversation is not saved, so it has no copy to go back in")
            .hint("`session.auto_save: true` saves conversations")
    })
}

pub(crate) fn message(
    store: &Store,
    id: &SessionId,
    number: usize,
) -> Result<UserMessage, Problem> {
    let mut messages = messages(store, id)?;
    let count = messages.len();
    let at = number.checked_sub(1).filter(|at| *at < count);
    at.map(|at| messages.swap_remove(at)).ok_or_else(|| {
        Problem::misuse(format!("there is no message {number} in this session"))
            .hint("`/rewind` lists the messages with their numbers")
    })
}

impl UserMessage {
    /// Copies the session up to this message, without it. None if nothing precedes it.
    pub(crate) fn copy_before(
        &self,
        store: &Store,
        id: &SessionId,
    ) -> Result<Option<SessionId>, Problem> {
        self.before.map(|seq| copy(store, id, Some(seq))).transpose()
    }

    pub(crate) fn copy_after(&self, store: &Store, id: &SessionId) -> Result<SessionId, Problem> {
        copy(store, id, Some(self.last))
    }

    /// The number of turns since this message whose changes of files can be undone.
    pub(crate) fn turns_since(&self, history: &History) -> usize {
        let is_later = |turn: &&sessions::snapshots::Turn| {
            turn.at >= self.at && turn.state != TurnState::Undone
        };
        history.turns().iter().filter(is_later).count()
    }
}

pub(crate) fn copy(
    store: &Store,
    id: &SessionId,
    up_to: Option<Seq>,
) -> Result<SessionId, Problem> {
    let name = free_name(store, id)?;
    drop(store.fork(id, &name, up_to)?);
    Ok(name)
}
