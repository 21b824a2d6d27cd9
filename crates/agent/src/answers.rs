//! Decisions of the user while the model is at work: answers to questions, and a stricter mode.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::event::Answer;
use contract::id::CallId;
use contract::policy::Mode;
use tokio::sync::oneshot;

/// Questions that wait for an answer, and the freedom that tools have at most until the turn ends.
#[derive(Default)]
pub(crate) struct Answers {
    questions: Mutex<HashMap<CallId, oneshot::Sender<Answer>>>,
    ceiling: Mutex<Option<Mode>>,
    has_told_fallback: AtomicBool,
}

impl Answers {
    pub(crate) fn give(&self, call: &CallId, answer: Answer) {
        let waiting = locked(&self.questions).remove(call);
        if let Some(sender) = waiting {
            // The call may have been cancelled.
            let _ = sender.send(answer);
        }
    }

    pub(crate) fn wait_for(&self, call: &CallId) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        locked(&self.questions).insert(call.clone(), sender);
        receiver
    }

    /// Takes freedom away at once. More than a turn was begun with is given between turns only.
    pub(crate) fn tighten(&self, mode: Mode) {
        *locked(&self.ceiling) = Some(mode);
    }

    pub(crate) fn has_told_fallback(&self) -> bool {
        self.has_told_fallback.load(Ordering::Relaxed)
    }

    pub(crate) fn note_fallback_told(&self) {
        self.has_told_fallback.store(true, Ordering::Relaxed);
    }

    pub(crate) fn relax(&self) {
        *locked(&self.ceiling) = None;
    }

    /// The mode that holds at most.
    pub(crate) fn ceiling(&self) -> Mode {
        locked(&self.ceiling).unwrap_or(Mode::Yolo)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
