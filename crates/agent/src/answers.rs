//! Input of the user while the model is at work: answers, a stricter mode, further messages.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::event::Answer;
use contract::id::CallId;
use contract::policy::Mode;
use tokio::sync::{oneshot, watch};

/// An answer, and the client that gave it if there can be several.
pub(crate) type Given = (Answer, Option<String>);

/// Questions that wait for an answer, and the freedom that tools have at most until the turn ends.
#[derive(Default)]
pub(crate) struct Answers {
    questions: Mutex<HashMap<CallId, oneshot::Sender<Given>>>,
    ceiling: Mutex<Option<Mode>>,
    pub(crate) has_told_fallback: AtomicBool,
}

impl Answers {
    pub(crate) fn give(&self, call: &CallId, answer: Answer, by: Option<String>) {
        let waiting = locked(&self.questions).remove(call);
        if let Some(sender) = waiting {
            // The call may have been cancelled.
            let _ = sender.send((answer, by));
        }
    }

    pub(crate) fn wait_for(&self, call: &CallId) -> oneshot::Receiver<Given> {
        let (sender, receiver) = oneshot::channel();
        locked(&self.questions).insert(call.clone(), sender);
        receiver
    }

    /// Takes freedom away at once. More than a turn was begun with is given between turns only.
    pub(crate) fn tighten(&self, mode: Mode) {
        *locked(&self.ceiling) = Some(mode);
    }

    pub(crate) fn relax(&self) {
        *locked(&self.ceiling) = None;
    }

    pub(crate) fn ceiling(&self) -> Mode {
        locked(&self.ceiling).unwrap_or(Mode::Yolo)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time for an announced message to arrive.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct Waiting {
    words: Mutex<Vec<String>>,
    is_expecting: watch::Sender<bool>,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { words: Mutex::default(), is_expecting: watch::Sender::new(false) }
    }
}

impl Waiting {
    pub(crate) fn add(&self, prompt: String) {
        locked(&self.words).push(prompt);
    }

    pub(crate) fn expect(&self, is_expecting: bool) {
        self.is_expecting.send_replace(is_expecting);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.words))
    }

    /// Takes all of them, also those that are ready and have not arrived.
    pub(crate) async fn gather(&self) -> Vec<String> {
        let mut expecting = self.is_expecting.subscribe();
        let arrival = expecting.wait_for(|is_expecting| !is_expecting);
        // A front end that announces a message and does not send it is not waited for.
        drop(tokio::time::timeout(ARRIVAL_TIMEOUT, arrival).await);
        self.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn gather_waits_for_expected_messages() {
        let waiting = Waiting::default();
        assert!(waiting.gather().await.is_empty());
        waiting.expect(true);
        let arrive = async {
            tokio::task::yield_now().await;
            waiting.add("one".to_owned());
            tokio::task::yield_now().await;
            waiting.add("two".to_owned());
            waiting.expect(false);
        };
        let (gathered, ()) = tokio::join!(waiting.gather(), arrive);
        assert_eq!(gathered, ["one", "two"]);
    }
}
