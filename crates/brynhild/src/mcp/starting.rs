//! Servers that are started beside a conversation, which does not wait for them for long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::mcp::{Failure, Learning, Servers};
use tokio::task::JoinSet;

use crate::frontends::hush;
use crate::output;

/// How long somebody at a screen waits: they can write meanwhile.
const AT_A_SCREEN: Duration = Duration::from_secs(2);
/// When it is said what is waited for.
const UNNOTICED: Duration = Duration::from_secs(1);

/// The servers that are being started.
#[derive(Default)]
pub(super) struct Starting(Mutex<Vec<JoinSet<()>>>);

impl Starting {
    /// Starts the servers of which nothing is known, and waits for them no longer than `patience`.
    /// What comes of the others is told when it comes.
    pub(super) async fn begin(&self, servers: &Servers, patience: Duration) {
        for trouble in servers.troubles() {
            let later = "it is tried again some minutes later, or by `brynhild mcp test`";
            output::warning(&format!("{trouble} ({later})"));
        }
        let is_late = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for learning in servers.learning() {
            tasks.spawn(learned(learning, Arc::clone(&is_late)));
        }
        let screen = hush::is_screen_taken();
        let patience = if screen { patience.min(AT_A_SCREEN) } else { patience };
        let unnoticed = if screen { patience } else { patience.min(UNNOTICED) };
        let rest = patience.saturating_sub(unnoticed);
        let is_slow = tokio::time::timeout(unnoticed, all(&mut tasks)).await.is_err();
        if is_slow && !rest.is_zero() {
            output::hint(&format!("waiting for MCP servers to start: {}", names(servers)));
        }
        if tokio::time::timeout(rest, all(&mut tasks)).await.is_err() {
            is_late.store(true, Ordering::Relaxed);
            output::hint(&format!(
                "MCP servers are still starting: {}; it goes on without them, and their tools are \
                 offered from the prompt on that follows their answer",
                names(servers)
            ));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(tasks);
    }

    /// Gives up those that have not answered.
    pub(super) async fn end(&self) {
        let tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for mut tasks in tasks {
            tasks.shutdown().await;
        }
    }
}

async fn all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

fn names(servers: &Servers) -> String {
    servers.starting().join(", ")
}

async fn learned(Learning { server, learned }: Learning, is_late: Arc<AtomicBool>) {
    match learned.await {
        Err(failure) => tell(&failure),
        Ok(()) if is_late.load(Ordering::Relaxed) => {
            output::hint(&format!(
                "MCP server `{server}` has started; its tools are offered from the next prompt on"
            ));
        }
        Ok(()) => {}
    }
}

/// Says why a server could not be asked.
pub(super) fn tell(failure: &Failure) {
    output::warning(&failure.to_string());
    if let Some(hint) = failure.hint() {
        output::hint(hint);
    }
}
