//! State that lasts for one run of a role: each prompt of a user begins a run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of the run, shared by the tools of a role.
#[derive(Clone, Default)]
pub struct RunNumber(Arc<AtomicU64>);

impl RunNumber {
    /// Begins the next run: state of the one before is forgotten.
    pub fn advance(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) struct RunState<T> {
    number: RunNumber,
    state: Mutex<(u64, T)>,
}

impl<T: Default> RunState<T> {
    pub(super) fn new(number: &RunNumber) -> Self {
        Self { number: number.clone(), state: Mutex::default() }
    }

    /// Uses the state of this run.
    pub(super) fn with<R>(&self, action: impl FnOnce(&mut T) -> R) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.number.0.load(Ordering::Relaxed);
        if state.0 != number {
            *state = (number, T::default());
        }
        action(&mut state.1)
    }
}
