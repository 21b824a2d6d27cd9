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
use tokio_util::task::AbortOnDropHandle;

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
pub(super) struct ProgressReport(AbortOnDropHandle<()>);

impl ProgressReport {
    /// Reports the lines of a call of `tool`.
    pub(super) fn start(
        peer: &Peer<RoleServer>,
        token: Option<ProgressToken>,
        (tool, level): (&str, &LogLevel),
        lines: mpsc::Receiver<String>,
    ) -> Self {
        let source = (tool.to_owned(), level.clone());
        let task = tokio::spawn(report(peer.clone(), token, source, lines));
        Self(AbortOnDropHandle::new(task))
    }

    /// Waits until everything is reported.
    pub(super) async fn finish(self) {
        // A client that left needs no progress.
        let _ = self.0.await;
    }
}

async fn report(
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    (tool, level): (String, LogLevel),
    mut lines: mpsc::Receiver<String>,
) {
    let mut count = 0.0;
    while let Some(line) = lines.recv().await {
        count += 1.0;
        let sent = if let Some(token) = &token {
            let progress = ProgressNotificationParam::new(token.clone(), count);
            peer.notify_progress(progress.with_message(line)).await
        } else if level.admits_info() {
            let mut message =
                LoggingMessageNotificationParam::new(LoggingLevel::Info, Value::String(line));
            message.logger = Some(tool.clone());
            peer.notify_logging_message(message).await
        } else {
            Ok(())
        };
        if sent.is_err() {
            return;
        }
    }
}
