//! What a running call says, on its way to the client: as progress where the client wants that,
//! else in its log where it wants one.
#![expect(deprecated, reason = "logging is deprecated, and most clients use it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How much a client wants in its log; nothing before it says so.
#[derive(Clone, Default)]
pub(super) struct Loudness(Arc<AtomicU8>);

impl Loudness {
    /// Takes the client's word.
    pub(super) fn set(&self, level: LoggingLevel) {
        let is_wanted = matches!(level, LoggingLevel::Debug | LoggingLevel::Info);
        self.0.store(u8::from(is_wanted), Ordering::Relaxed);
    }

    fn admits_lines(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// The task that tells what a call says; ended with the call.
pub(super) struct Teller(Option<JoinHandle<()>>);

impl Teller {
    /// Tells the lines of a call of `tool`.
    pub(super) fn start(
        peer: &Peer<RoleServer>,
        token: Option<ProgressToken>,
        (tool, loudness): (&str, &Loudness),
        lines: mpsc::Receiver<String>,
    ) -> Self {
        let task = if let Some(token) = token {
            tokio::spawn(progress(peer.clone(), token, lines))
        } else {
            let source = (tool.to_owned(), loudness.clone());
            tokio::spawn(log(peer.clone(), source, lines))
        };
        Self(Some(task))
    }

    /// Waits until everything is told.
    pub(super) async fn finish(mut self) {
        if let Some(task) = self.0.take() {
            // A client that left needs no progress.
            let _ = task.await;
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

async fn progress(peer: Peer<RoleServer>, token: ProgressToken, mut lines: mpsc::Receiver<String>) {
    let mut count = 0.0;
    while let Some(line) = lines.recv().await {
        count += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), count).with_message(line);
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}

async fn log(
    peer: Peer<RoleServer>,
    (tool, loudness): (String, Loudness),
    mut lines: mpsc::Receiver<String>,
) {
    while let Some(line) = lines.recv().await {
        if !loudness.admits_lines() {
            continue;
        }
        let mut message =
            LoggingMessageNotificationParam::new(LoggingLevel::Info, Value::String(line));
        message.logger = Some(tool.clone());
        if peer.notify_logging_message(message).await.is_err() {
            return;
        }
    }
}
