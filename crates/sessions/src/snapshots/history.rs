//! The turns of a session that changed files, as its log tells: which of them stand, which were
//! undone, and what can be made again.

use contract::event::{Direction, Event, EventKind};
use contract::id::Timestamp;
use contract::text::head;

use crate::summary::typed;

/// The turns of a session that changed files, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(super) turns: Vec<Turn>,
    /// Turns that were undone and can be made again, the last last.
    pub(super) undone: Vec<Undone>,
    /// The turn that goes on, as long as it has changed nothing.
    begun: Option<Turn>,
    count: u64,
    is_open: bool,
}

/// A turn that changed files.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Its place among the turns of the session, from 1.
    pub number: u64,
    /// When it began.
    pub at: Timestamp,
    /// The beginning of what the user asked for.
    pub prompt: String,
    /// Says if its changes stand.
    pub state: TurnState,
    pub(super) records: Vec<String>,
}

/// Says if the changes of a turn stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// They do.
    Done,
    /// Some of them were undone.
    Partly,
    /// They were undone.
    Undone,
}

/// Turns that were undone together.
#[derive(Clone, Debug)]
pub(super) struct Undone {
    pub(super) turns: Vec<u64>,
    pub(super) record: String,
}

impl History {
    /// Folds one event of a session in.
    pub fn take(&mut self, event: &Event) {
        let is_own = event.within.is_none();
        match &event.kind {
            EventKind::TurnStarted { prompt } if is_own => {
                self.is_open = true;
                self.begun = Some(self.begin(event.at, prompt));
            }
            EventKind::TurnFinished { .. } if is_own => {
                self.is_open = false;
                self.begun = None;
            }
            EventKind::FilesChanged { record, .. } => self.changed(event.at, record),
            EventKind::FilesRestored { direction, turns, record, kept, .. } => {
                self.restored(*direction, turns, record, !kept.is_empty());
            }
            _ => {}
        }
    }

    fn changed(&mut self, at: Timestamp, record: &str) {
        let is_single = !self.is_open;
        if let Some(turn) = self.begun.take() {
            self.turns.push(turn);
        } else if is_single || self.turns.is_empty() {
            // A call that no turn made.
            self.is_open = true;
            let turn = self.begin(at, "");
            self.turns.push(turn);
        }
        if let Some(turn) = self.turns.last_mut() {
            turn.records.push(record.to_owned());
            turn.state = TurnState::Done;
        }
        self.undone.clear();
    }

    /// The turns, oldest first.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The last turns, oldest first; all if there is no number.
    pub fn last_turns(&self, count: Option<u32>) -> &[Turn] {
        let all = self.turns.len();
        let count = count.map_or(all, |count| usize::try_from(count).unwrap_or(usize::MAX));
        &self.turns[all.saturating_sub(count)..]
    }

    fn begin(&mut self, at: Timestamp, prompt: &str) -> Turn {
        self.count += 1;
        let line = typed(prompt).unwrap_or(prompt).lines().find(|line| !line.trim().is_empty());
        Turn {
            number: self.count,
            at,
            prompt: head(line.unwrap_or_default().trim(), 80).to_owned(),
            state: TurnState::Done,
            records: Vec::new(),
        }
    }

    fn restored(&mut self, direction: Direction, turns: &[u64], record: &str, is_partial: bool) {
        let state = match direction {
            Direction::Undo if is_partial => TurnState::Partly,
            Direction::Undo => TurnState::Undone,
            Direction::Redo => TurnState::Done,
        };
        for turn in self.turns.iter_mut().filter(|turn| turns.contains(&turn.number)) {
            turn.state = state;
        }
        match direction {
            Direction::Undo => {
                self.undone.push(Undone { turns: turns.to_vec(), record: record.to_owned() });
            }
            Direction::Redo => drop(self.undone.pop()),
        }
    }

    /// The last `count` turns whose changes stand, oldest first; with `is_forced` also those that
    /// were undone in part.
    pub(super) fn last(&self, count: usize, is_forced: bool) -> Vec<&Turn> {
        let stands = |turn: &&Turn| match turn.state {
            TurnState::Done => true,
            TurnState::Partly => is_forced,
            TurnState::Undone => false,
        };
        let mut turns: Vec<&Turn> = self.turns.iter().rev().filter(stands).take(count).collect();
        turns.reverse();
        turns
    }
}
