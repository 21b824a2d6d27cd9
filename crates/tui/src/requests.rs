//! The order of requests to a host, and threads that may block for them.

use std::sync::Arc;

use contract::event::Level;
use tokio::sync::OwnedMutexGuard;

use crate::host::{Answer, Request};

/// Runs dependent requests in order, also those of an earlier host.
#[derive(Clone, Default)]
pub struct RequestOrder {
    commands: Arc<tokio::sync::Mutex<()>>,
    others: Arc<tokio::sync::Mutex<()>>,
}

impl RequestOrder {
    /// Waits until a request may be answered.
    pub async fn turn(&self, request: &Request) -> Option<OwnedMutexGuard<()>> {
        let lock = match request {
            Request::Command(_) => &self.commands,
            Request::Switch { .. }
            | Request::Plugins
            | Request::Forget(_)
            | Request::Permissions
            | Request::SaveTheme { .. }
            | Request::History
            | Request::Remember(_)
            | Request::Draft
            | Request::SaveDraft(_) => &self.others,
            _ => return None,
        };
        Some(Arc::clone(lock).lock_owned().await)
    }
}

/// Answers a request in its turn, on a thread that may block. The turn ends with the return, so that
/// answers arrive in order too.
pub async fn off_thread<F>(
    turn: Option<OwnedMutexGuard<()>>,
    answer: impl FnOnce() -> F + Send + 'static,
) -> Answer
where
    F: Future<Output = Answer>,
{
    let runtime = tokio::runtime::Handle::current();
    let answered = tokio::task::spawn_blocking(move || (runtime.block_on(answer()), turn));
    let failed = |error: tokio::task::JoinError| {
        let answer = Answer::Tell { level: Level::Error, text: error.to_string(), hint: None };
        (answer, None)
    };
    let (answer, _turn) = answered.await.unwrap_or_else(failed);
    answer
}
