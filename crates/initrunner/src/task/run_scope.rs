//! State that lasts for one run of a role: each prompt of a user begins a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Task;
use super::spawned_tasks::SpawnedTasks;

/// The present run, shared by the tools of a role, with the task that it works on.
#[derive(Clone, Default)]
pub struct RunScope(Arc<Scope>);

#[derive(Default)]
struct Scope {
    number: AtomicU64,
    is_prolonged: AtomicBool,
    task: Numbered<Task>,
    spawned: SpawnedTasks,
}

impl RunScope {
    /// Begins the next run: state of the one before is forgotten. Does nothing in a prolonged run.
    pub fn advance(&self) {
        if !self.0.is_prolonged.load(Ordering::Relaxed) {
            self.0.number.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Begins a run that goes on with further prompts, as an autonomous one does.
    pub(crate) fn prolong(&self) {
        self.0.number.fetch_add(1, Ordering::Relaxed);
        self.0.is_prolonged.store(true, Ordering::Relaxed);
    }

    /// The agents in the background; unlike other state, they last for the whole session.
    pub(crate) fn spawned(&self) -> &SpawnedTasks {
        &self.0.spawned
    }

    /// Ends the agents in the background.
    pub async fn stop_spawned(&self) {
        self.0.spawned.stop().await;
    }

    /// Uses the task of this run.
    pub(crate) fn with_task<R>(&self, action: impl FnOnce(&mut Task) -> R) -> R {
        self.0.task.with(self, action)
    }
}

/// State of the run with a number.
#[derive(Default)]
struct Numbered<T>(Mutex<(u64, T)>);

impl<T: Default> Numbered<T> {
    fn with<R>(&self, scope: &RunScope, action: impl FnOnce(&mut T) -> R) -> R {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = scope.0.number.load(Ordering::Relaxed);
        if state.0 != number {
            *state = (number, T::default());
        }
        action(&mut state.1)
    }
}

pub(crate) struct RunState<T> {
    scope: RunScope,
    state: Numbered<T>,
}

impl<T: Default> RunState<T> {
    pub(crate) fn new(scope: &RunScope) -> Self {
        Self { scope: scope.clone(), state: Numbered::default() }
    }

    /// Uses the state of this run.
    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut T) -> R) -> R {
        self.state.with(&self.scope, action)
    }
}
