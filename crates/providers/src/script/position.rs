//! The turn that answers a request. The history decides, so that a resumed session continues where it
//! was: each reply in it has used up one reply turn. Error turns leave no reply; those between two
//! reply turns are counted by the caller while they are played.

use std::sync::Arc;

use contract::message::{Entry, Message, Reply, StopReason};

use super::scenario::{Scenario, Turn};
use super::sent::Sent;
use super::template;

/// The position of a history in a scenario.
pub(super) struct Reached {
    /// The replies in the history that used up a reply turn.
    pub(super) replies: usize,
    /// The error turns since the last of them that left a broken reply in the history.
    pub(super) errors: u32,
    start: Cursor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) turn: usize,
    /// The number of times that it was played before.
    pub(super) played: u32,
}

impl Reached {
    /// Follows a history through a scenario.
    pub(super) fn by(history: &[Arc<Entry>], scenario: &Scenario) -> Self {
        let mut reached = Self { replies: 0, errors: 0, start: Cursor { turn: 0, played: 0 } };
        for (index, entry) in history.iter().enumerate() {
            if let Message::Assistant(reply) = &entry.message {
                reached.pass(reply, &history[..index], scenario);
            }
        }
        reached
    }

    /// The turn to play when `errors` error turns were played since the last reply; none when the
    /// scenario is exhausted.
    pub(super) fn next(&self, errors: u32, scenario: &Scenario) -> Option<Cursor> {
        let mut cursor = self.start;
        for _ in 0..errors {
            if !cursor.is_error(scenario) {
                break;
            }
            cursor.advance(scenario);
        }
        (cursor.turn < scenario.turns.len()).then_some(cursor)
    }

    fn pass(&mut self, reply: &Reply, before: &[Arc<Entry>], scenario: &Scenario) {
        if reply.stop == StopReason::Interrupted
            && let Some(errors) = self.broken_by(&reply.text(), before, scenario)
        {
            self.errors = errors;
            return;
        }
        while self.start.is_error(scenario) {
            self.start.advance(scenario);
        }
        self.start.advance(scenario);
        self.replies += 1;
        self.errors = 0;
    }

    /// The number of error turns that were played when one of them ended a reply after `text`.
    fn broken_by(&self, text: &str, before: &[Arc<Entry>], scenario: &Scenario) -> Option<u32> {
        let mut cursor = self.start;
        let mut errors = 0;
        while let Some(fault) = cursor.look(scenario).and_then(|turn| turn.error.as_ref()) {
            errors += 1;
            if let Some(after_text) = &fault.after_text
                && errors > self.errors
                && template::fill(after_text, &Sent::of(before)).is_ok_and(|sent| sent == text)
            {
                return Some(errors);
            }
            cursor.advance(scenario);
        }
        None
    }
}

impl Cursor {
    fn look(self, scenario: &Scenario) -> Option<&Turn> {
        scenario.turns.get(self.turn)
    }

    fn is_error(self, scenario: &Scenario) -> bool {
        self.look(scenario).is_some_and(|turn| turn.error.is_some())
    }

    fn advance(&mut self, scenario: &Scenario) {
        self.played += 1;
        if self.look(scenario).is_some_and(|turn| self.played >= turn.repeat.get()) {
            self.turn += 1;
            self.played = 0;
        }
    }
}
