//! Reads what a process prints until it ends, is told to stop, or runs out of time.

use std::io;
use std::time::Duration;

use contract::sandbox::{Child, Exit};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// How long to read on once the process is gone: what it started may hold its output open.
const GRACE: Duration = Duration::from_millis(200);
/// How long to wait for a killed process to be gone.
const REAPING: Duration = Duration::from_secs(2);
const CHUNK: usize = 64 << 10;

/// Takes one output stream of a process.
pub(crate) trait Sink: Send {
    /// Returns true while more may come.
    fn is_open(&self) -> bool;
    /// The number of bytes that came.
    fn total(&self) -> u64;
    /// Takes the result of a read. No bytes, or an error, end the stream.
    fn take(&mut self, read: io::Result<usize>, buffer: &[u8]) -> impl Future<Output = ()> + Send;
}

/// The output of a process.
pub(crate) struct Streams<S> {
    /// Its standard output.
    pub(crate) stdout: S,
    /// Its standard error.
    pub(crate) stderr: S,
}

/// How much a process may take.
pub(crate) struct Bounds {
    /// How long it may run.
    pub(crate) timeout: Duration,
    /// How many bytes it may print.
    pub(crate) printed: u64,
}

/// How it ended.
pub(crate) enum End {
    /// By itself.
    Exited(Exit),
    /// It ran out of time.
    TimedOut,
    /// Somebody stopped it.
    Interrupted,
    /// It printed too much.
    Flooded,
    /// Nobody knows.
    Lost(io::Error),
}

/// Runs a process to its end. Nothing that it started is left when this returns.
pub(crate) async fn to_end(
    child: &mut Child,
    streams: &mut Streams<impl Sink>,
    bounds: &Bounds,
    cancel: &CancellationToken,
) -> End {
    let deadline = Instant::now() + bounds.timeout;
    let mut buffers = Buffers::default();
    let end = loop {
        if streams.stdout.total() + streams.stderr.total() > bounds.printed {
            break End::Flooded;
        }
        let Child { stdout, stderr, process, .. } = &mut *child;
        tokio::select! {
            read = stdout.read(&mut buffers.stdout), if streams.stdout.is_open() => {
                streams.stdout.take(read, &buffers.stdout).await;
            }
            read = stderr.read(&mut buffers.stderr), if streams.stderr.is_open() => {
                streams.stderr.take(read, &buffers.stderr).await;
            }
            exit = process.wait() => break exit.map_or_else(End::Lost, End::Exited),
            () = cancel.cancelled() => break End::Interrupted,
            () = sleep_until(deadline) => break End::TimedOut,
        }
    };
    if matches!(end, End::Exited(_)) {
        drain(child, streams, &mut buffers).await;
        child.process.kill();
    } else {
        child.process.kill();
        drain(child, streams, &mut buffers).await;
        // A process that is still there after this is the sandbox's to bury.
        drop(timeout(REAPING, child.process.wait()).await);
    }
    end
}

struct Buffers {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self { stdout: vec![0; CHUNK], stderr: vec![0; CHUNK] }
    }
}

/// Reads what is left in the pipes.
async fn drain(child: &mut Child, streams: &mut Streams<impl Sink>, buffers: &mut Buffers) {
    let deadline = Instant::now() + GRACE;
    while streams.stdout.is_open() || streams.stderr.is_open() {
        tokio::select! {
            read = child.stdout.read(&mut buffers.stdout), if streams.stdout.is_open() => {
                streams.stdout.take(read, &buffers.stdout).await;
            }
            read = child.stderr.read(&mut buffers.stderr), if streams.stderr.is_open() => {
                streams.stderr.take(read, &buffers.stderr).await;
            }
            () = sleep_until(deadline) => break,
        }
    }
}
