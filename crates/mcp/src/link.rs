//! One configured server: what is known of it, and the conversation with it while there is one.

mod consent;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::policy::Mode;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Catalog, CatalogFile, Trouble};
use crate::config::{Server, Transport};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::launch::{self, Words};
use crate::pins::{Files, Pins};
use crate::settings::Settings;
use crate::{name, schema};

pub(crate) use consent::Consent;
use consent::Known;

/// The longest wait for a server that fails again and again.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// The longest wait that a call puts up with.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a server that could not be asked what it offers is left alone.
const RETRY_AFTER: i64 = 600;

/// One configured server.
pub(crate) struct Link {
    pub(crate) server: Server,
    /// What stands for it in names.
    pub(crate) prefix: String,
    settings: Arc<Settings>,
    cache: CatalogFile,
    pins: Pins,
    slot: tokio::sync::Mutex<Slot>,
    known: Mutex<Known>,
    is_stale: Arc<AtomicBool>,
    /// Whether it was said that some of its words are kept from the model.
    is_told: AtomicBool,
    /// Whether it was said that less can be written than is granted.
    is_narrowed: AtomicBool,
    /// Whether it is being asked what it offers.
    is_starting: AtomicBool,
    /// Whether it was said that it is not asked because there is no network.
    is_passed_over: AtomicBool,
    /// Set once nobody wants it any more.
    ended: CancellationToken,
}

/// A server that is asked what it offers, until this is dropped.
struct Starting<'a>(&'a AtomicBool);

impl<'a> Starting<'a> {
    fn new(is_starting: &'a AtomicBool) -> Self {
        is_starting.store(true, Ordering::Relaxed);
        Self(is_starting)
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A change that a server announced: unless it says what it is, it has to be asked again.
struct Unasked<'a>(Option<&'a AtomicBool>);

impl Unasked<'_> {
    fn settle(mut self) {
        self.0 = None;
    }
}

impl Drop for Unasked<'_> {
    fn drop(&mut self) {
        if let Some(is_stale) = self.0 {
            is_stale.store(true, Ordering::Relaxed);
        }
    }
}

/// The conversation with a server while there is one.
#[derive(Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    failures: u32,
    failed_at: Option<Instant>,
}

impl Link {
    /// Reads what is kept of a server. Starts nothing.
    pub(crate) fn new(server: Server, settings: Arc<Settings>) -> Self {
        let prefix = name::prefix(&server.name).unwrap_or_default();
        let cache = CatalogFile::new(&settings.cache, &prefix, &server.digest);
        let pins = Pins::new(&settings.pins, &prefix, &server, &settings.surroundings.workspace);
        Self {
            known: Mutex::new(Known::of(cache.read())),
            server,
            prefix,
            settings,
            cache,
            pins,
            slot: tokio::sync::Mutex::default(),
            is_stale: Arc::default(),
            is_told: AtomicBool::new(false),
            is_narrowed: AtomicBool::new(false),
            is_starting: AtomicBool::new(false),
            is_passed_over: AtomicBool::new(false),
            ended: CancellationToken::new(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it offers as far as the user agreed to it; none where that is not known.
    pub(crate) fn catalog(&self) -> Option<Arc<Catalog>> {
        self.known().catalog.clone().filter(|catalog| catalog.failure.is_none())
    }

    /// Whether results keep what a model cannot see.
    pub(crate) fn keeps_content(&self) -> bool {
        self.settings.clients.is_some()
    }

    /// Whether it has resources.
    pub(crate) fn has_resources(&self) -> bool {
        self.known().catalog.as_ref().is_some_and(|catalog| catalog.resources)
    }

    /// Why it could not be asked, where it could not.
    pub(crate) fn trouble(&self) -> Option<String> {
        let known = self.known();
        let trouble = known.catalog.as_ref()?.failure.as_ref();
        trouble.map(|trouble| self.server.without_keys(&trouble.message))
    }

    /// Whether it should be asked what it offers: nothing is known, and it did not just fail.
    pub(crate) fn is_unknown(&self) -> bool {
        if self.is_passed_over.load(Ordering::Relaxed) {
            return false;
        }
        let known = self.known();
        match &known.catalog {
            None => true,
            Some(catalog) => match &catalog.failure {
                Some(trouble) => {
                    let age = now() - trouble.at;
                    !(0..RETRY_AFTER).contains(&age)
                }
                None => false,
            },
        }
    }

    /// Whether it was asked before what it offers, in vain.
    pub(crate) fn was_tried(&self) -> bool {
        self.known().catalog.as_ref().is_some_and(|catalog| catalog.failure.is_some())
    }

    /// Notes that it was waited for in vain, so that the next start does not wait: it is tried then
    /// all the same.
    pub(crate) fn note_wait(&self, waited: Duration) {
        let mut known = self.known();
        if self.is_starting() && known.catalog.is_none() {
            let name = &self.server.name;
            let message =
                format!("MCP server `{name}` did not say what it offers within {waited:?}");
            let catalog =
                Catalog { failure: Some(Trouble { message, at: 0 }), ..Catalog::default() };
            self.keep(&catalog);
            known.catalog = Some(Arc::new(catalog));
        }
    }

    /// Whether it is being asked what it offers.
    pub(crate) fn is_starting(&self) -> bool {
        self.is_starting.load(Ordering::Relaxed)
    }

    /// Why it cannot be reached, whatever its address.
    fn out_of_reach(&self) -> Result<(), Failure> {
        let mode = self.settings.surroundings.mode;
        match &self.server.transport {
            Transport::Http(_) if mode == Mode::ReadOnly => {
                let name = &self.server.name;
                let why = "there is no network in read-only mode";
                Err(Failure::new(format!("MCP server `{name}` is not reached: {why}")))
            }
            Transport::Http(_) | Transport::Stdio(_) => Ok(()),
        }
    }

    /// The conversation with the server, which is started where there is none.
    pub(crate) async fn connect(&self, consent: Consent<'_>) -> Result<Arc<Connection>, Failure> {
        self.out_of_reach()?;
        let mut slot = self.slot.lock().await;
        if let Some(connection) = &slot.connection {
            if !connection.is_closed() {
                let connection = Arc::clone(connection);
                self.renew(&connection).await?;
                return Ok(connection);
            }
            slot.connection = None;
            slot.failures += 1;
            slot.failed_at = Some(Instant::now());
        }
        slot.wait(&self.server.name).await?;
        // What is looked at is what is started: nothing waits in between.
        let files = self.settle_files(consent).await?;
        match self.start(&files).await {
            Ok(connection) => {
                self.agree_to_files(&files);
                let connection = Arc::new(connection);
                slot.connection = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(failure) => {
                slot.failures += 1;
                slot.failed_at = Some(Instant::now());
                Err(failure.without_keys(&self.server))
            }
        }
    }

    /// Notes that the server did what it was asked.
    pub(crate) async fn praise(&self) {
        self.slot.lock().await.failures = 0;
    }

    /// Starts the program whose files were looked at.
    async fn start(&self, files: &Files) -> Result<Connection, Failure> {
        let protocol = self.known().catalog.as_ref().map(|catalog| catalog.protocol.clone());
        self.is_stale.store(false, Ordering::Relaxed);
        let stale = &self.is_stale;
        let words = Words::default();
        self.tell_narrowed();
        let begin: BoxFuture<'_, _> = Box::pin(async {
            let server = (&self.server, &words);
            let (settings, protocol) = (&self.settings, protocol.as_deref());
            let again = self.unchanged(files);
            let connection = Connection::open(server, settings, protocol, stale, again).await?;
            let catalog = connection.catalog().await?;
            Ok((connection, catalog))
        });
        let started = tokio::time::timeout(self.server.start_timeout, begin).await;
        let (connection, catalog) = started.unwrap_or_else(|_| {
            let (name, timeout, words) =
                (&self.server.name, self.server.start_timeout, words.text());
            let said = launch::said(&words);
            let message =
                format!("MCP server `{name}` did not say what it offers within {timeout:?}{said}");
            Err(Failure::hinted(message, launch::advice(&self.server, &words)))
        })?;
        self.reconcile(catalog);
        Ok(connection)
    }

    /// Asks again what a server offers that said it changed.
    async fn renew(&self, connection: &Connection) -> Result<(), Failure> {
        if !self.is_stale.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let unasked = Unasked(Some(&self.is_stale));
        let asked = tokio::time::timeout(self.server.start_timeout, connection.catalog()).await;
        let catalog = asked.map_err(|_| {
            Failure::new(format!("MCP server `{}` does not answer", self.server.name))
        })??;
        unasked.settle();
        self.reconcile(catalog);
        Ok(())
    }

    /// Asks a running server again what it offers, where it said that it changed, or speaks a
    /// revision in which it would not say so. Others ask too often for the latter.
    pub(crate) async fn refresh(&self) {
        // Nobody waits for one that is being started: it says afterwards what it offers.
        let Ok(slot) = self.slot.try_lock() else { return };
        let Some(connection) = slot.connection.as_ref().filter(|it| !it.is_closed()) else {
            return;
        };
        let is_silent = connection.protocol().is_some_and(|version| !version.has_initialize());
        if is_silent && self.settings.clients.is_none() {
            self.is_stale.store(true, Ordering::Relaxed);
        }
        // A call asks it again, and is not made where it fails once more.
        if let Err(failure) = self.renew(connection).await {
            self.say(&format!("it cannot be asked what it offers: {}", failure.whole()));
        }
    }

    /// Starts the server to learn what it offers, and keeps in mind where that fails.
    pub(crate) async fn learn(&self) -> Result<(), Failure> {
        // That says nothing about the server, so that the next start asks it.
        if let Err(failure) = self.out_of_reach() {
            self.is_passed_over.store(true, Ordering::Relaxed);
            return Err(failure);
        }
        let _starting = Starting::new(&self.is_starting);
        let learned = tokio::select! {
            biased;
            () = self.ended.cancelled() => return Err(Failure::Cancelled),
            learned = self.connect(Consent::None) => learned,
        };
        match learned {
            Ok(_) => Ok(()),
            Err(failure) => {
                let mut known = self.known();
                if known.catalog.as_ref().is_none_or(|catalog| catalog.failure.is_some()) {
                    let at = now();
                    let trouble = Trouble { message: failure.whole(), at };
                    let catalog = Catalog { failure: Some(trouble), ..Catalog::default() };
                    self.keep(&catalog);
                    known.catalog = Some(Arc::new(catalog));
                }
                Err(failure)
            }
        }
    }

    /// Ends the conversation. One that is only beginning is given up by whoever waits for it.
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

    /// Keeps what it offers.
    fn keep(&self, catalog: &Catalog) {
        if let Err(error) = self.cache.write(catalog) {
            self.say(&format!("cannot keep what it offers: {error}"));
        }
    }

    /// Says, once, what of its words was kept from the model because nobody would see it.
    pub(crate) fn tell_hidden(&self) {
        let report = self.catalog().as_deref().and_then(schema::report);
        if let Some(report) = report
            && !self.is_told.swap(true, Ordering::Relaxed)
        {
            self.say(&report);
        }
    }

    /// Says, once, what of its grants is not given.
    fn tell_narrowed(&self) {
        let narrowed = launch::narrowed(&self.server, &self.settings.surroundings);
        if let Some(narrowed) = narrowed
            && !self.is_narrowed.swap(true, Ordering::Relaxed)
        {
            self.say(&narrowed);
        }
    }

    fn say(&self, text: &str) {
        let text = self.server.without_keys(text);
        self.settings.frontend.warn(&format!("MCP server `{}`: {text}", self.server.name));
    }

    fn agree_to_files(&self, files: &Files) {
        if let Err(error) = self.pins.agree(files) {
            self.say(&format!("cannot keep what its program is: {error}"));
        }
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    contract::id::Timestamp::now().0.as_second()
}

impl Slot {
    /// Waits as long as a server that failed before should be left alone.
    async fn wait(&self, name: &str) -> Result<(), Failure> {
        let Some(failed_at) = self.failed_at.filter(|_| self.failures >= 2) else { return Ok(()) };
        let doubled = 2u32.saturating_pow(self.failures.saturating_sub(2).min(10));
        let backoff = (Duration::from_millis(250) * doubled).min(LONGEST_BACKOFF);
        let rest = backoff.saturating_sub(failed_at.elapsed());
        if rest > PATIENCE {
            let (times, rest) = (self.failures, rest.as_secs());
            return Err(Failure::hinted(
                format!("MCP server `{name}` failed {times} times; it is left alone for {rest} s"),
                format!("`brynhild mcp test {name}` shows what is wrong"),
            ));
        }
        tokio::time::sleep(rest).await;
        Ok(())
    }
}
