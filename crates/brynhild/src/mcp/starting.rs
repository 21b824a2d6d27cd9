//! Servers that are started beside a conversation, which does not wait for them for long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::mcp::{Failure, Learning, Servers};
use tokio::task::JoinSet;

use crate::exit::Exit;
use crate::frontends::{Signals, hush};
use crate::output;

/// How long somebody at a screen waits: they can write meanwhile.
const AT_A_SCREEN: Duration = Duration::from_secs(2);
/// When it is said what is waited for.
const UNNOTICED: Duration = Duration::from_secs(1);

/// What becomes of servers that are not waited for.
const GOES_ON: &str = "it goes on without them, and their tools are offered from the prompt on \
                       that follows their answer";

/// The servers that are being started.
#[derive(Default)]
pub(super) struct Starting(Mutex<Vec<JoinSet<()>>>);

impl Starting {
    /// Starts the servers of which nothing is known, and waits for them no longer than `patience`.
    /// Those that were waited for before are not waited for again. What comes of the others is told
    /// when it comes. A signal that ends the wait is the error.
    pub(super) async fn begin(&self, servers: &Servers, patience: Duration) -> Result<(), Exit> {
        for trouble in servers.troubles() {
            let later =
                "a start some minutes later tries it again, and `brynhild mcp test` at once";
            output::warning(&format!("{trouble} ({later})"));
        }
        let (again, new): (Vec<_>, Vec<_>) =
            servers.learning().into_iter().partition(|learning| learning.was_tried);
        self.beside(again);
        let is_late = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for learning in new {
            tasks.spawn(learned(learning, Arc::clone(&is_late)));
        }
        let waited = awaited(&mut tasks, servers, patience).await;
        if waited == Ok(false) {
            is_late.store(true, Ordering::Relaxed);
            let names = names(servers);
            output::hint(&format!("MCP servers are still starting: {names}; {GOES_ON}"));
        }
        self.keep(tasks);
        waited.map(drop)
    }

    /// Tries servers that did not answer before.
    fn beside(&self, again: Vec<Learning>) {
        if again.is_empty() {
            return;
        }
        let names: Vec<&str> = again.iter().map(|learning| learning.server.as_str()).collect();
        let names = names.join(", ");
        output::hint(&format!(
            "MCP servers that failed before are tried again: {names}; {GOES_ON}"
        ));
        let mut tasks = JoinSet::new();
        for learning in again {
            tasks.spawn(learned(learning, Arc::new(AtomicBool::new(true))));
        }
        self.keep(tasks);
    }

    fn keep(&self, tasks: JoinSet<()>) {
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

/// Waits for servers that are being started, and says so where it takes a while. Whether all of them
/// have answered; the error is the signal that ended the wait.
async fn awaited(
    tasks: &mut JoinSet<()>,
    servers: &Servers,
    patience: Duration,
) -> Result<bool, Exit> {
    if hush::is_screen_taken() {
        return Ok(tokio::time::timeout(patience.min(AT_A_SCREEN), all(tasks)).await.is_ok());
    }
    let unnoticed = patience.min(UNNOTICED);
    if tokio::time::timeout(unnoticed, all(tasks)).await.is_ok() {
        return Ok(true);
    }
    let rest = patience.saturating_sub(unnoticed);
    if rest.is_zero() {
        return Ok(false);
    }
    // Whoever started the program may have switched off what an interrupt does by itself. It is
    // caught from before the hint on, which promises that it ends the wait.
    let mut signals = Signals::new().map_err(|_| Exit::Failed)?;
    let (names, seconds) = (names(servers), patience.as_secs());
    output::hint(&format!(
        "waiting up to {seconds} s for MCP servers to start: {names} (`mcp.start_wait_sec`; Ctrl+C \
         ends it)"
    ));
    let are_there = tokio::select! {
        are_there = tokio::time::timeout(rest, all(tasks)) => are_there.is_ok(),
        exit = signals.next() => return Err(exit),
    };
    if !are_there {
        servers.note_wait(patience);
    }
    Ok(are_there)
}

async fn all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

fn names(servers: &Servers) -> String {
    servers.starting().join(", ")
}

async fn learned(Learning { server, learned, .. }: Learning, is_late: Arc<AtomicBool>) {
    match learned.await {
        // It was removed meanwhile.
        Err(Failure::Cancelled) => {}
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
