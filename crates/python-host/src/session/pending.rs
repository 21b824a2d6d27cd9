//! The requests that wait for a worker.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::{RequestError, SessionEnd};

/// An item of a stream.
#[derive(Debug)]
pub(crate) enum Item {
    /// An event.
    Event(Box<RawValue>),
    /// The end.
    End,
}

/// The caller that waits for the answer to a request.
pub(super) enum Waiter {
    /// One who waits for the answer.
    Answer(oneshot::Sender<Result<Box<RawValue>, RequestError>>),
    /// One who takes events as they come.
    Items(mpsc::Sender<Result<Item, RequestError>>),
}

/// The requests that wait.
#[derive(Default)]
pub(super) struct Pending(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: HashMap<u64, Waiter>,
    end: Option<SessionEnd>,
}

impl Pending {
    /// Adds a request, as long as the session lasts.
    pub(super) fn enter(&self, id: u64, told: Waiter) -> Result<(), RequestError> {
        let mut state = self.lock();
        if let Some(end) = &state.end {
            return Err(RequestError::Ended(Arc::clone(&end.words)));
        }
        state.waiting.insert(id, told);
        Ok(())
    }

    /// Returns true if a request still waits.
    pub(super) fn waits(&self, id: u64) -> bool {
        self.lock().waiting.contains_key(&id)
    }

    /// The receiver of a request's events.
    pub(super) fn taker(&self, id: u64) -> Option<mpsc::Sender<Result<Item, RequestError>>> {
        match self.lock().waiting.get(&id)? {
            Waiter::Items(items) => Some(items.clone()),
            Waiter::Answer(_) => None,
        }
    }

    /// Takes a request that was answered.
    pub(super) fn take(&self, id: u64) -> Option<Waiter> {
        self.lock().waiting.remove(&id)
    }

    /// Ends the session for all that wait. Only the first end is used.
    pub(super) fn fail(&self, end: &SessionEnd) {
        let mut state = self.lock();
        let end = state.end.get_or_insert_with(|| end.clone()).clone();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for told in waiting.into_values() {
            if let Waiter::Answer(answer) = told {
                // The receiver may be gone.
                let _ = answer.send(Err(RequestError::Ended(Arc::clone(&end.words))));
            }
        }
    }

    /// Why there is no answer.
    pub(super) fn lost(&self) -> RequestError {
        let end = self.lock().end.clone();
        RequestError::Ended(
            end.map_or_else(|| Arc::from("the worker does not answer"), |it| it.words),
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
