//! One running worker: requests go out from the task that makes them, one task takes the answers
//! and tends the process. It knows nothing of plugins; how it ends is told to all who wait.

mod pending;
mod tending;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contract::sandbox::Child;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::output::Listener;
use crate::wire::{self, Fault};
pub(crate) use pending::Item;
use pending::{Pending, Told};

/// How long a cancelled request may take to end before its worker is killed.
const GRACE: Duration = Duration::from_millis(500);
/// How long a worker may take to close down.
const FAREWELL: Duration = Duration::from_secs(2);
/// Events of one stream that wait for their reader.
const EVENTS: usize = 256;
/// The request that greets the worker.
const GREETING: u64 = 0;

/// Why a request has no answer.
#[derive(Clone, Debug)]
pub(crate) enum Failed {
    /// The worker answered with a fault.
    Fault(Fault),
    /// The worker has ended; the words say how.
    Ended(Arc<str>),
    /// It took too long.
    Late(Duration),
    /// The caller wanted it to stop.
    Cancelled,
    /// It may not be asked any more; the words say why.
    Refused(String),
    /// The request cannot be written as JSON.
    Unsayable(String),
}

/// How a session ended.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    /// In words, with the last of what the worker printed.
    pub(crate) words: Arc<str>,
    /// Who ended it.
    pub(crate) cause: Cause,
}

/// Who ended a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The worker died or broke the agreement.
    Died,
    /// We ended it.
    Stopped,
}

/// What the task that tends the process is told.
enum Order {
    /// Nobody waits for this request; see that it ends.
    Abandon(u64),
    /// Close down in order.
    Stop,
    /// End at once, for this reason.
    Kill(&'static str),
}

/// A running worker. Dropping it kills the process.
pub(crate) struct Session {
    shared: Arc<Shared>,
    next: AtomicU64,
    // Unbounded: there is at most one order for each request, and requests are bounded by who waits.
    orders: mpsc::UnboundedSender<Order>,
    _tending: AbortOnDropHandle<()>,
}

/// What the callers and the task that tends the process both use.
struct Shared {
    pen: Mutex<Pen>,
    pending: Pending,
    /// Fires when the process is gone.
    ended: CancellationToken,
    /// Fires when no more requests are taken.
    leaving: CancellationToken,
    /// The file that is being loaded.
    loading: watch::Sender<Option<String>>,
}

/// The way to the worker.
struct Pen {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Goes out in front of the first line, in one write with it.
    greeting: Vec<u8>,
}

impl Pen {
    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.greeting.is_empty() {
            return self.writer.write_all(line).await;
        }
        let mut first = std::mem::take(&mut self.greeting);
        first.extend_from_slice(line);
        self.writer.write_all(&first).await
    }
}

/// What a session needs to know.
pub(crate) struct Opening {
    /// The plugin's name.
    pub(crate) plugin: String,
    /// Hears what the plugin prints.
    pub(crate) listener: Listener,
    /// Is told how the session ended.
    pub(crate) on_end: Epilogue,
}

/// Hears how a session ended.
pub(crate) type Epilogue = Box<dyn FnOnce(&Fate) + Send>;

/// How long and how far a request may go.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    /// The time it may take.
    pub(crate) time: Duration,
    /// Says when to stop.
    pub(crate) cancel: &'a CancellationToken,
}

impl Session {
    /// Takes over a started worker; `initialize` goes out with the first request. Needs a runtime.
    pub(crate) fn open(
        mut child: Child,
        opening: Opening,
        initialize: &impl Serialize,
    ) -> io::Result<Arc<Self>> {
        let writer = child.stdin.take().ok_or_else(|| io::Error::other("no standard input"))?;
        let greeting = wire::request(GREETING, "initialize", initialize)?;
        let shared = Arc::new(Shared {
            pen: Mutex::new(Pen { writer, greeting }),
            pending: Pending::default(),
            ended: CancellationToken::new(),
            leaving: CancellationToken::new(),
            loading: watch::Sender::default(),
        });
        let (orders, heard) = mpsc::unbounded_channel();
        let tending = tending::tend(Arc::clone(&shared), child, opening, heard);
        let tending = AbortOnDropHandle::new(tokio::spawn(tending));
        Ok(Arc::new(Self { shared, next: AtomicU64::new(1), orders, _tending: tending }))
    }

    /// Whether it takes no more requests.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.leaving.is_cancelled() || self.shared.ended.is_cancelled()
    }

    /// The file that the process is loading, or was loading when it ended. Changes with every file.
    pub(crate) fn loading(&self) -> watch::Receiver<Option<String>> {
        self.shared.loading.subscribe()
    }

    /// Asks and waits for the answer.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: &impl Serialize,
        bounds: Bounds<'_>,
    ) -> Result<Box<RawValue>, Failed> {
        let deadline = Instant::now() + bounds.time;
        let (answer, mut answered) = oneshot::channel();
        let ticket = self.enter(Told::Answer(answer))?;
        let line = line(ticket.id, method, params)?;
        let exchange = async {
            self.write(&line).await?;
            (&mut answered).await.unwrap_or_else(|_| Err(self.shared.pending.lost()))
        };
        let failed = tokio::select! {
            biased;
            answer = exchange => return ticket.settle(answer),
            () = tokio::time::sleep_until(deadline) => Failed::Late(bounds.time),
            () = bounds.cancel.cancelled() => Failed::Cancelled,
        };
        drop(ticket);
        // What it does is over when it has answered, or when its worker is dead.
        let _ = tokio::time::timeout(GRACE * 4, answered).await;
        Err(failed)
    }

    /// Asks for a stream of events. Dropping it cancels the request.
    pub(crate) async fn stream(
        self: &Arc<Self>,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Stream, Failed> {
        let (told, items) = mpsc::channel(EVENTS);
        let ticket = self.enter(Told::Items(told))?;
        let line = line(ticket.id, method, params)?;
        self.write(&line).await?;
        let id = ticket.keep();
        Ok(Stream { session: Arc::clone(self), id, items, is_over: false })
    }

    /// Closes down: the worker gets a moment, then it is killed. Returns when it has ended.
    pub(crate) async fn stop(&self) {
        self.retire();
        self.shared.ended.cancelled().await;
    }

    /// Begins to close down, without a wait.
    pub(crate) fn retire(&self) {
        self.shared.leaving.cancel();
        self.order(Order::Stop);
    }

    fn enter(&self, told: Told) -> Result<Ticket<'_>, Failed> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.shared.pending.enter(id, told)?;
        Ok(Ticket { session: self, id, is_open: true })
    }

    async fn write(&self, line: &[u8]) -> Result<(), Failed> {
        let mut pen = self.shared.pen.lock().await;
        let guard = Whole { session: self, is_done: false };
        let written = pen.write(line).await;
        guard.done();
        drop(pen);
        if let Err(error) = written {
            if error.kind() == io::ErrorKind::PermissionDenied {
                self.retire();
                return Err(Failed::Refused(error.to_string()));
            }
            // The worker is gone; the task that tends it will know how.
            let _ = tokio::time::timeout(FAREWELL, self.shared.ended.cancelled()).await;
            return Err(self.shared.pending.lost());
        }
        Ok(())
    }

    fn order(&self, order: Order) {
        // Nobody hears it when the session is over, and then there is nothing to do.
        let _ = self.orders.send(order);
    }
}

fn line(id: u64, method: &str, params: &impl Serialize) -> Result<Vec<u8>, Failed> {
    wire::request(id, method, params).map_err(|error| Failed::Unsayable(error.to_string()))
}

/// A request that is under way; dropping it cancels the request.
struct Ticket<'a> {
    session: &'a Session,
    id: u64,
    is_open: bool,
}

impl Ticket<'_> {
    fn settle<T>(mut self, answer: T) -> T {
        self.is_open = false;
        answer
    }

    fn keep(mut self) -> u64 {
        self.is_open = false;
        self.id
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.session.order(Order::Abandon(self.id));
        }
    }
}

/// Kills the worker when a line is not written to its end: half a line spoils all that follow.
struct Whole<'a> {
    session: &'a Session,
    is_done: bool,
}

impl Whole<'_> {
    fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Whole<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.session.order(Order::Kill("a request to it was broken off"));
        }
    }
}

/// The events of one request.
pub(crate) struct Stream {
    session: Arc<Session>,
    id: u64,
    items: mpsc::Receiver<Result<Item, Failed>>,
    is_over: bool,
}

impl Stream {
    /// The next event, or the end of them.
    pub(crate) async fn next(&mut self) -> Result<Item, Failed> {
        let item = self.items.recv().await;
        let item = item.unwrap_or_else(|| Err(self.session.shared.pending.lost()));
        self.is_over = !matches!(item, Ok(Item::Event(_)));
        item
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.is_over {
            self.session.order(Order::Abandon(self.id));
        }
    }
}
