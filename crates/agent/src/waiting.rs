//! Messages of the user while the model is at work.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// The time for an announced message to arrive.
const PATIENCE: Duration = Duration::from_secs(2);

/// Messages of the user while the model is at work, in order.
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
        self.words.lock().unwrap_or_else(PoisonError::into_inner).push(prompt);
    }

    pub(crate) fn expect(&self, is_expecting: bool) {
        self.is_expecting.send_replace(is_expecting);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes all of them, also those that are ready and have not arrived.
    pub(crate) async fn gather(&self) -> Vec<String> {
        let mut expecting = self.is_expecting.subscribe();
        let arrival = expecting.wait_for(|is_expecting| !is_expecting);
        // A front end that announces a message and does not send it is not waited for.
        drop(tokio::time::timeout(PATIENCE, arrival).await);
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
