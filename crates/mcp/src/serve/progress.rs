//! The output of a running call on its way to the client: as progress notifications if the client
//! wants these, else as log messages if it has set a level.
#![expect(deprecated, reason = "logging is deprecated, and most clients use it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The level of log messages that a client wants; none before it sets one.
#[derive(Clone, Default)]
pub(super) struct LogLevel(Arc<AtomicBool>);

impl LogLevel {
    pub(super) fn set(&self, level: LoggingLevel) {
        let admits_info = matches!(level, LoggingLevel::Debug | LoggingLevel::Info);
        self.0.store(admits_info, Ordering::Relaxed);
    }

    fn admits_info(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The task that reports the output of a call. It ends with the call.
pub(super) struct ProgressReport(Option<JoinHandle<()>>);

impl ProgressReport {
    /// Reports the lines of a call of `tool`.
    pub(super) fn start(
        peer: &Peer<RoleServer>,
        token: Option<ProgressToken>,
        (tool, level): (&str, &LogLevel),
        lines: mpsc::Receiver<String>,
    ) -> Self {
        let task = if let Some(token) = token {
            tokio::spawn(progress(peer.clone(), token, lines))
        } else {
            let source = (tool.to_owned(), level.clone());
            tokio::spawn(log(peer.clone(), source, lines))
        };
        Self(Some(task))
    }

    /// Waits until everything is reported.
    pub(super) async fn finish(mut self) {
        if let Some(task) = self.0.take() {
            // A client that left needs no progress.
            let _ = task.await;
        }
    }
}

impl Drop for ProgressReport {
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
    (tool, level): (String, LogLevel),
    mut lines: mpsc::Receiver<String>,
) {
    while let Some(line) = lines.recv().await {
        if !level.admits_info() {
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
