//! The requests that wait for a worker.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::{Failed, Fate};

/// What a stream brings.
#[derive(Debug)]
pub(crate) enum Item {
    /// An event.
    Event(Box<RawValue>),
    /// The end.
    End,
}

/// Who is told what a worker says to a request.
pub(super) enum Told {
    /// One who waits for the answer.
    Answer(oneshot::Sender<Result<Box<RawValue>, Failed>>),
    /// One who takes events as they come.
    Items(mpsc::Sender<Result<Item, Failed>>),
}

/// The requests that wait.
#[derive(Default)]
pub(super) struct Pending(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: HashMap<u64, Told>,
    fate: Option<Fate>,
}

impl Pending {
    /// Adds a request, as long as the session lasts.
    pub(super) fn enter(&self, id: u64, told: Told) -> Result<(), Failed> {
        let mut state = self.lock();
        if let Some(fate) = &state.fate {
            return Err(Failed::Ended(Arc::clone(&fate.words)));
        }
        state.waiting.insert(id, told);
        Ok(())
    }

    /// Whether a request still waits.
    pub(super) fn waits(&self, id: u64) -> bool {
        self.lock().waiting.contains_key(&id)
    }

    /// Who takes the events of a request.
    pub(super) fn taker(&self, id: u64) -> Option<mpsc::Sender<Result<Item, Failed>>> {
        match self.lock().waiting.get(&id)? {
            Told::Items(items) => Some(items.clone()),
            Told::Answer(_) => None,
        }
    }

    /// Takes a request that was answered.
    pub(super) fn take(&self, id: u64) -> Option<Told> {
        self.lock().waiting.remove(&id)
    }

    /// Ends the session for all who wait. Its first fate counts.
    pub(super) fn fail(&self, fate: &Fate) {
        let mut state = self.lock();
        let fate = state.fate.get_or_insert_with(|| fate.clone()).clone();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for told in waiting.into_values() {
            if let Told::Answer(answer) = told {
                // Whoever has gone does not want to know.
                let _ = answer.send(Err(Failed::Ended(Arc::clone(&fate.words))));
            }
        }
    }

    /// Why there is no answer.
    pub(super) fn lost(&self) -> Failed {
        let fate = self.lock().fate.clone();
        Failed::Ended(fate.map_or_else(|| Arc::from("the worker does not answer"), |it| it.words))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
