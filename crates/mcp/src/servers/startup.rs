//! The start of servers beside a conversation, which does not wait for them for long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::task::JoinSet;

use super::{CatalogFetch, Servers};
use crate::frontend::Frontend;
use crate::mutex::lock;

/// Upper bound on the wait of a full-screen interface, in which the user can already write.
const MAX_SCREEN_WAIT: Duration = Duration::from_secs(2);
/// A longer wait is announced.
const SILENT_WAIT: Duration = Duration::from_secs(1);

const GOES_ON: &str = "continuing without them; their tools are offered with the next prompt \
                       after they have started";

/// The servers that are being started.
#[derive(Default)]
pub(super) struct Startup(Mutex<Vec<JoinSet<()>>>);

impl Startup {
    fn add(&self, tasks: JoinSet<()>) {
        lock(&self.0).push(tasks);
    }

    /// Gives up on servers that have not answered.
    pub(super) async fn cancel(&self) {
        let tasks = std::mem::take(&mut *lock(&self.0));
        for mut tasks in tasks {
            tasks.shutdown().await;
        }
    }
}

impl Servers {
    /// Starts the servers of which nothing is known, and waits for them no longer than `timeout`.
    /// Servers that failed before are not waited for. `interrupt` is called before a long wait; its
    /// future ends the wait with an error.
    pub async fn start_unknown<E>(
        &self,
        timeout: Duration,
        interrupt: impl FnOnce() -> Result<BoxFuture<'static, E>, E>,
    ) -> Result<(), E> {
        for failure in self.recent_failures() {
            let later =
                "a start some minutes later tries it again, and `brynhild mcp test` at once";
            self.frontend().warn(&format!("{failure} ({later})"));
        }
        let (again, new): (Vec<_>, Vec<_>) =
            self.catalog_fetches().into_iter().partition(|fetch| fetch.failed_before);
        if !again.is_empty() {
            let names: Vec<&str> = again.iter().map(|fetch| fetch.server.as_str()).collect();
            let names = names.join(", ");
            self.frontend()
                .hint(&format!("MCP servers that failed before are retried: {names}; {GOES_ON}"));
            self.startup.add(self.spawn(again, &Arc::new(AtomicBool::new(true))));
        }
        let is_late = Arc::new(AtomicBool::new(false));
        let mut tasks = self.spawn(new, &is_late);
        let waited = self.wait_for(&mut tasks, timeout, interrupt).await;
        if let Ok(false) = waited {
            is_late.store(true, Ordering::Relaxed);
            let names = self.starting().join(", ");
            self.frontend().hint(&format!("MCP servers are still starting: {names}; {GOES_ON}"));
        }
        self.startup.add(tasks);
        waited.map(drop)
    }

    fn spawn(&self, fetches: Vec<CatalogFetch>, is_late: &Arc<AtomicBool>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for fetch in fetches {
            tasks.spawn(run(fetch, Arc::clone(self.frontend()), Arc::clone(is_late)));
        }
        tasks
    }

    /// Waits for servers that are being started. Returns true if all of them have answered.
    async fn wait_for<E>(
        &self,
        tasks: &mut JoinSet<()>,
        timeout: Duration,
        interrupt: impl FnOnce() -> Result<BoxFuture<'static, E>, E>,
    ) -> Result<bool, E> {
        if self.frontend().is_full_screen() {
            let timeout = timeout.min(MAX_SCREEN_WAIT);
            return Ok(tokio::time::timeout(timeout, join_all(tasks)).await.is_ok());
        }
        let silent = timeout.min(SILENT_WAIT);
        if tokio::time::timeout(silent, join_all(tasks)).await.is_ok() {
            return Ok(true);
        }
        let rest = timeout.saturating_sub(silent);
        if rest.is_zero() {
            return Ok(false);
        }
        // The interrupt is caught before the hint, which promises that it ends the wait.
        let interrupted = interrupt()?;
        let (names, seconds) = (self.starting().join(", "), timeout.as_secs());
        self.frontend().hint(&format!(
            "waiting up to {seconds} s for MCP servers to start: {names} (`mcp.start_wait_sec`; \
             Ctrl+C ends it)"
        ));
        let all_answered = tokio::select! {
            joined = tokio::time::timeout(rest, join_all(tasks)) => joined.is_ok(),
            error = interrupted => return Err(error),
        };
        if !all_answered {
            self.active().iter().for_each(|state| state.note_wait(timeout));
        }
        Ok(all_answered)
    }
}

async fn join_all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Runs a fetch and reports its outcome; a success only if nobody waits for it any more.
async fn run(fetch: CatalogFetch, frontend: Arc<dyn Frontend>, is_late: Arc<AtomicBool>) {
    let CatalogFetch { server, outcome, .. } = fetch;
    match outcome.await {
        Err(failure) => failure.report(frontend.as_ref()),
        Ok(()) if is_late.load(Ordering::Relaxed) => {
            frontend.hint(&format!(
                "MCP server `{server}` has started; its tools are offered with the next prompt"
            ));
        }
        Ok(()) => {}
    }
}
