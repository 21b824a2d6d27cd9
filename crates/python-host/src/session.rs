//! One running worker: requests go out from the task that makes them; a supervisor task takes the
//! answers and watches the process. Knows nothing of plugins.

mod pending;
mod supervisor;

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
use pending::{Pending, Waiter};

/// How long a cancelled request may take to end before its worker is killed.
const CANCEL_TIME: Duration = Duration::from_millis(500);
/// How long a worker may take to close down.
const SHUTDOWN_TIME: Duration = Duration::from_secs(2);
/// Events of one stream that wait for their reader.
const EVENTS_LIMIT: usize = 256;
/// The id of the `initialize` request.
const INITIALIZE_ID: u64 = 0;

/// Why a request has no answer.
#[derive(Clone, Debug)]
pub(crate) enum RequestError {
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
pub(crate) struct SessionEnd {
    /// In words, with the last of what the worker printed.
    pub(crate) words: Arc<str>,
    /// The side that ended it.
    pub(crate) cause: Cause,
}

/// The side that ended a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The worker died or broke the agreement.
    Died,
    /// We ended it.
    Stopped,
}

/// An instruction for the supervisor.
enum Instruction {
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
    // Unbounded: there is at most one for each request, and requests are bounded by who waits.
    instructions: mpsc::UnboundedSender<Instruction>,
    _supervisor: AbortOnDropHandle<()>,
}

/// The state that callers and the supervisor share.
struct Shared {
    requests: Mutex<RequestWriter>,
    pending: Pending,
    /// Fires when the process is gone.
    ended: CancellationToken,
    /// Fires when no more requests are taken.
    leaving: CancellationToken,
    /// The file that is being loaded.
    loading: watch::Sender<Option<String>>,
}

/// Writes requests to the worker.
struct RequestWriter {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Goes out in front of the first line, in one write with it.
    greeting: Vec<u8>,
}

impl RequestWriter {
    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.greeting.is_empty() {
            return self.writer.write_all(line).await;
        }
        let mut first = std::mem::take(&mut self.greeting);
        first.extend_from_slice(line);
        self.writer.write_all(&first).await
    }
}

/// The plugin's side of a session.
pub(crate) struct SessionSettings {
    /// The plugin's name.
    pub(crate) plugin: String,
    /// Hears what the plugin prints.
    pub(crate) listener: Listener,
    /// Gets the end of the session.
    pub(crate) on_end: EndListener,
}

/// Hears how a session ended.
pub(crate) type EndListener = Box<dyn FnOnce(&SessionEnd) + Send>;

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
        opening: SessionSettings,
        initialize: &impl Serialize,
    ) -> io::Result<Arc<Self>> {
        let writer = child.stdin.take().ok_or_else(|| io::Error::other("no standard input"))?;
        let greeting = wire::request(INITIALIZE_ID, "initialize", initialize)?;
        let shared = Arc::new(Shared {
            requests: Mutex::new(RequestWriter { writer, greeting }),
            pending: Pending::default(),
            ended: CancellationToken::new(),
            leaving: CancellationToken::new(),
            loading: watch::Sender::default(),
        });
        let (instructions, heard) = mpsc::unbounded_channel();
        let supervisor = supervisor::supervise(Arc::clone(&shared), child, opening, heard);
        let supervisor = AbortOnDropHandle::new(tokio::spawn(supervisor));
        Ok(Arc::new(Self {
            shared,
            next: AtomicU64::new(1),
            instructions,
            _supervisor: supervisor,
        }))
    }

    /// Returns true if it takes no more requests.
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
    ) -> Result<Box<RawValue>, RequestError> {
        let deadline = Instant::now() + bounds.time;
        let (answer, mut answered) = oneshot::channel();
        let guard = self.enter(Waiter::Answer(answer))?;
        let line = line(guard.id, method, params)?;
        let exchange = async {
            self.write(&line).await?;
            (&mut answered).await.unwrap_or_else(|_| Err(self.shared.pending.lost()))
        };
        let failed = tokio::select! {
            biased;
            answer = exchange => return guard.settle(answer),
            () = tokio::time::sleep_until(deadline) => RequestError::Late(bounds.time),
            () = bounds.cancel.cancelled() => RequestError::Cancelled,
        };
        drop(guard);
        // Its work is done when it has answered, or when its worker is dead.
        let _ = tokio::time::timeout(CANCEL_TIME * 4, answered).await;
        Err(failed)
    }

    /// Asks for a stream of events. Dropping it cancels the request.
    pub(crate) async fn stream(
        self: &Arc<Self>,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Stream, RequestError> {
        let (told, items) = mpsc::channel(EVENTS_LIMIT);
        let guard = self.enter(Waiter::Items(told))?;
        let line = line(guard.id, method, params)?;
        self.write(&line).await?;
        let id = guard.keep();
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
        self.instruct(Instruction::Stop);
    }

    fn enter(&self, told: Waiter) -> Result<RequestGuard<'_>, RequestError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.shared.pending.enter(id, told)?;
        Ok(RequestGuard { session: self, id, is_open: true })
    }

    async fn write(&self, line: &[u8]) -> Result<(), RequestError> {
        let mut requests = self.shared.requests.lock().await;
        let guard = WriteGuard { session: self, is_done: false };
        let written = requests.write(line).await;
        guard.done();
        drop(requests);
        if let Err(error) = written {
            if error.kind() == io::ErrorKind::PermissionDenied {
                self.retire();
                return Err(RequestError::Refused(error.to_string()));
            }
            // The worker is gone; the supervisor will know how.
            let _ = tokio::time::timeout(SHUTDOWN_TIME, self.shared.ended.cancelled()).await;
            return Err(self.shared.pending.lost());
        }
        Ok(())
    }

    fn instruct(&self, instruct: Instruction) {
        // Nobody hears it when the session is over, and then there is nothing to do.
        let _ = self.instructions.send(instruct);
    }
}

fn line(id: u64, method: &str, params: &impl Serialize) -> Result<Vec<u8>, RequestError> {
    wire::request(id, method, params).map_err(|error| RequestError::Unsayable(error.to_string()))
}

/// A request that is under way; dropping it cancels the request.
struct RequestGuard<'a> {
    session: &'a Session,
    id: u64,
    is_open: bool,
}

impl RequestGuard<'_> {
    fn settle<T>(mut self, answer: T) -> T {
        self.is_open = false;
        answer
    }

    fn keep(mut self) -> u64 {
        self.is_open = false;
        self.id
    }
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.session.instruct(Instruction::Abandon(self.id));
        }
    }
}

/// Kills the worker when a line is not written to its end: half a line spoils all that follow.
struct WriteGuard<'a> {
    session: &'a Session,
    is_done: bool,
}

impl WriteGuard<'_> {
    fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.session.instruct(Instruction::Kill("a request to it was broken off"));
        }
    }
}

/// The events of one request.
pub(crate) struct Stream {
    session: Arc<Session>,
    id: u64,
    items: mpsc::Receiver<Result<Item, RequestError>>,
    is_over: bool,
}

impl Stream {
    /// The next event, or the end of them.
    pub(crate) async fn next(&mut self) -> Result<Item, RequestError> {
        let item = self.items.recv().await;
        let item = item.unwrap_or_else(|| Err(self.session.shared.pending.lost()));
        self.is_over = !matches!(item, Ok(Item::Event(_)));
        item
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.is_over {
            self.session.instruct(Instruction::Abandon(self.id));
        }
    }
}
