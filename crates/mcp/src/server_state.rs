//! One configured server: its catalog as far as the user agreed to it, and the connection while
//! there is one.

mod consent;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::time::{Duration, Instant};

use contract::policy::Mode;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Catalog, CatalogFailure, CatalogFile};
use crate::config::{Server, Transport};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::launch::{self, StderrTail};
use crate::mutex::lock;
use crate::pins::{Files, Pins};
use crate::sanitize;
use crate::settings::Settings;
use crate::tool_name;
use consent::Approvals;

pub(crate) use consent::Consent;

/// The longest pause before a server that keeps failing is started again.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// The longest pause that a call waits for.
const MAX_CALL_WAIT: Duration = Duration::from_secs(5);
/// The pause, in seconds, before the catalog of a server that failed is fetched again.
const RETRY_AFTER: i64 = 600;

pub(crate) struct ServerState {
    pub(crate) server: Server,
    /// The prefix of the names of its tools.
    pub(crate) prefix: String,
    settings: Arc<Settings>,
    cache: CatalogFile,
    pins: Pins,
    slot: tokio::sync::Mutex<ConnectionSlot>,
    approvals: Mutex<Approvals>,
    /// True after the server announced a change, until it is asked again.
    is_stale: Arc<AtomicBool>,
    /// True while the catalog is fetched.
    is_starting: AtomicBool,
    /// True if the catalog was not fetched since there is no network.
    is_skipped: AtomicBool,
    hidden_warning: Once,
    grants_warning: Once,
    ended: CancellationToken,
}

/// A flag that has a value until this is dropped.
struct FlagGuard<'a>(&'a AtomicBool, bool);

impl Drop for FlagGuard<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
    }
}

/// The connection while there is one, and the failures to make it.
#[derive(Default)]
struct ConnectionSlot {
    connection: Option<Arc<Connection>>,
    failures: u32,
    failed_at: Option<Instant>,
}

impl ServerState {
    /// Reads the cached catalog of a server. Starts nothing.
    pub(crate) fn new(server: Server, settings: Arc<Settings>) -> Self {
        let prefix = tool_name::prefix(&server.name).unwrap_or_default();
        let cache = CatalogFile::new(&settings.cache, &prefix, &server.digest);
        let workspace = &settings.launch.workspace;
        Self {
            pins: Pins::new(&settings.pins, &prefix, &server, workspace),
            approvals: Mutex::new(Approvals::new(cache.read())),
            server,
            prefix,
            settings,
            cache,
            slot: tokio::sync::Mutex::default(),
            is_stale: Arc::default(),
            is_starting: AtomicBool::new(false),
            is_skipped: AtomicBool::new(false),
            hidden_warning: Once::new(),
            grants_warning: Once::new(),
            ended: CancellationToken::new(),
        }
    }

    fn approvals(&self) -> MutexGuard<'_, Approvals> {
        lock(&self.approvals)
    }

    /// The catalog as far as the user agreed to it. None if it is not known.
    pub(crate) fn catalog(&self) -> Option<Arc<Catalog>> {
        self.approvals().catalog.clone().filter(|catalog| catalog.failure.is_none())
    }

    /// Returns true if results keep what a model cannot see.
    pub(crate) fn keeps_content(&self) -> bool {
        self.settings.clients.is_some()
    }

    pub(crate) fn has_resources(&self) -> bool {
        self.approvals().catalog.as_ref().is_some_and(|catalog| catalog.resources)
    }

    fn last_failure(&self) -> Option<CatalogFailure> {
        self.approvals().catalog.as_ref()?.failure.clone()
    }

    /// The reason why its catalog could not be fetched, if it could not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.last_failure().map(|failure| self.server.redact(&failure.message))
    }

    /// Returns true if its catalog should be fetched: it is not known, and did not just fail.
    pub(crate) fn is_unknown(&self) -> bool {
        if self.is_skipped.load(Ordering::Relaxed) {
            return false;
        }
        match self.last_failure() {
            Some(failure) => !(0..RETRY_AFTER).contains(&(now() - failure.at)),
            None => self.approvals().catalog.is_none(),
        }
    }

    /// Returns true if its catalog could not be fetched before.
    pub(crate) fn has_failed(&self) -> bool {
        self.last_failure().is_some()
    }

    pub(crate) fn is_starting(&self) -> bool {
        self.is_starting.load(Ordering::Relaxed)
    }

    /// Notes that a start waited for it in vain: the next one tries it without waiting.
    pub(crate) fn note_wait(&self, waited: Duration) {
        if self.is_starting() && self.approvals().catalog.is_none() {
            let name = &self.server.name;
            let message = format!("MCP server `{name}` did not list its tools within {waited:?}");
            self.note_failure(CatalogFailure { message, at: 0 });
        }
    }

    /// Caches a failure, unless the catalog is known.
    fn note_failure(&self, failure: CatalogFailure) {
        let mut approvals = self.approvals();
        if approvals.catalog.as_ref().is_none_or(|catalog| catalog.failure.is_some()) {
            let catalog = Catalog { failure: Some(failure), ..Catalog::default() };
            self.write_cache(&catalog);
            approvals.catalog = Some(Arc::new(catalog));
        }
    }

    /// Fails if the server must not be reached, whatever its address.
    fn check_network(&self) -> Result<(), Failure> {
        let is_offline = self.settings.launch.mode == Mode::ReadOnly;
        if is_offline && matches!(self.server.transport, Transport::Http(_)) {
            let why = "is not reached: there is no network in read-only mode";
            return Err(Failure::of(&self.server, why));
        }
        Ok(())
    }

    /// The connection. Starts the server if there is none.
    pub(crate) async fn connect(&self, consent: Consent<'_>) -> Result<Arc<Connection>, Failure> {
        self.check_network()?;
        let mut slot = self.slot.lock().await;
        if let Some(connection) = slot.connection.take() {
            if !connection.is_closed() {
                slot.connection = Some(Arc::clone(&connection));
                self.refetch(&connection).await?;
                return Ok(connection);
            }
            slot.note_failure();
        }
        slot.back_off(&self.server).await?;
        // Nothing is awaited between this check and the start of the program.
        let files = self.check_files(consent).await?;
        match self.start(&files).await {
            Ok(connection) => {
                self.pin_files(&files);
                let connection = Arc::new(connection);
                slot.connection = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(failure) => {
                slot.note_failure();
                Err(failure.redacted(&self.server))
            }
        }
    }

    /// Notes that the server did what it was asked.
    pub(crate) async fn note_success(&self) {
        self.slot.lock().await.failures = 0;
    }

    /// Starts the program whose files were checked, and fetches its catalog.
    async fn start(&self, files: &Files) -> Result<Connection, Failure> {
        let protocol = self.approvals().catalog.as_ref().map(|catalog| catalog.protocol.clone());
        self.is_stale.store(false, Ordering::Relaxed);
        let stderr = StderrTail::default();
        self.warn_of_narrowed_grants();
        let begin: BoxFuture<'_, _> = Box::pin(async {
            let server = (&self.server, &stderr);
            let (settings, protocol) = (&self.settings, protocol.as_deref());
            let again = self.check_unchanged(files);
            let connection =
                Connection::open(server, settings, protocol, &self.is_stale, again).await?;
            let catalog = connection.catalog().await?;
            Ok((connection, catalog))
        });
        let started = tokio::time::timeout(self.server.start_timeout, begin).await;
        let (connection, catalog) = started.unwrap_or_else(|_| {
            let (timeout, text) = (self.server.start_timeout, stderr.text());
            let quoted = launch::quoted_stderr(&text);
            let sentence = format!("did not list its tools within {timeout:?}{quoted}");
            Err(Failure::of(&self.server, sentence).hinted(launch::advice(&self.server, &text)))
        })?;
        self.reconcile(catalog);
        Ok(connection)
    }

    /// Fetches the catalog again if the server announced a change.
    async fn refetch(&self, connection: &Connection) -> Result<(), Failure> {
        if !self.is_stale.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        // Unless it answers, it has to be asked again.
        let unanswered = FlagGuard(&self.is_stale, true);
        let fetch = tokio::time::timeout(self.server.start_timeout, connection.catalog()).await;
        let catalog = fetch.map_err(|_| Failure::of(&self.server, "does not answer"))??;
        std::mem::forget(unanswered);
        self.reconcile(catalog);
        Ok(())
    }

    /// Fetches the catalog of a running server again if it announced a change, or speaks a revision
    /// without such announcements. Clients that are served ask too often for the latter.
    pub(crate) async fn refresh(&self) {
        // A server that is being started tells its catalog afterwards.
        let Ok(slot) = self.slot.try_lock() else { return };
        let Some(connection) = slot.connection.as_ref().filter(|it| !it.is_closed()) else {
            return;
        };
        let is_silent = connection.protocol().is_some_and(|version| !version.has_initialize());
        if is_silent && self.settings.clients.is_none() {
            self.is_stale.store(true, Ordering::Relaxed);
        }
        if let Err(failure) = self.refetch(connection).await {
            self.warn(&format!("its tools cannot be listed: {}", failure.with_hint()));
        }
    }

    /// Starts the server to fetch its catalog. A failure is cached.
    pub(crate) async fn fetch_catalog(&self) -> Result<(), Failure> {
        // This says nothing about the server, so it is not cached.
        if let Err(failure) = self.check_network() {
            self.is_skipped.store(true, Ordering::Relaxed);
            return Err(failure);
        }
        self.is_starting.store(true, Ordering::Relaxed);
        let _starting = FlagGuard(&self.is_starting, false);
        let connected = tokio::select! {
            biased;
            () = self.ended.cancelled() => return Err(Failure::Cancelled),
            connected = self.connect(Consent::None) => connected,
        };
        connected.map(drop).inspect_err(|failure| {
            self.note_failure(CatalogFailure { message: failure.with_hint(), at: now() });
        })
    }

    /// Ends the connection. A start gives up by itself.
    pub(crate) async fn close(&self) {
        self.ended.cancel();
        if self.is_starting() {
            return;
        }
        let connection = self.slot.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    fn write_cache(&self, catalog: &Catalog) {
        if let Err(error) = self.cache.write(catalog) {
            self.warn(&format!("cannot store its tools: {error}"));
        }
    }

    /// Warns, once, of invisible text in its descriptions.
    pub(crate) fn warn_of_hidden_text(&self) {
        if let Some(report) = self.catalog().as_deref().and_then(sanitize::report) {
            self.hidden_warning.call_once(|| self.warn(&report));
        }
    }

    /// Warns, once, of grants that are narrower than they are written.
    fn warn_of_narrowed_grants(&self) {
        if let Some(text) = self.settings.launch.narrowed_grants(&self.server) {
            self.grants_warning.call_once(|| self.warn(&text));
        }
    }

    fn warn(&self, text: &str) {
        let (name, text) = (&self.server.name, self.server.redact(text));
        self.settings.frontend.warn(&format!("MCP server `{name}`: {text}"));
    }

    fn pin_files(&self, files: &Files) {
        if let Err(error) = self.pins.approve_files(files) {
            self.warn(&format!("cannot store its program: {error}"));
        }
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    contract::id::Timestamp::now().0.as_second()
}

impl ConnectionSlot {
    fn note_failure(&mut self) {
        self.failures += 1;
        self.failed_at = Some(Instant::now());
    }

    /// Waits before a server that keeps failing is started again. Fails if the pause is long.
    async fn back_off(&self, server: &Server) -> Result<(), Failure> {
        let Some(failed_at) = self.failed_at.filter(|_| self.failures >= 2) else { return Ok(()) };
        let doubled = 2u32.saturating_pow(self.failures.saturating_sub(2).min(10));
        let backoff = (Duration::from_millis(250) * doubled).min(MAX_BACKOFF);
        let rest = backoff.saturating_sub(failed_at.elapsed());
        if rest > MAX_CALL_WAIT {
            let (times, rest) = (self.failures, rest.as_secs());
            let sentence = format!("failed {times} times; next attempt in {rest} s");
            let hint = format!("`brynhild mcp test {}` shows what is wrong", server.name);
            return Err(Failure::of(server, sentence).hinted(hint));
        }
        tokio::time::sleep(rest).await;
        Ok(())
    }
}
