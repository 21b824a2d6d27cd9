//! Reads the output of a process until it ends, is cancelled, or runs out of time.

use std::io;
use std::time::Duration;

use contract::sandbox::{Child, Exit};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// The time to read on after the process ended: its children may have its output open.
const GRACE: Duration = Duration::from_millis(200);
/// The time to wait for the end of a killed process.
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

pub(crate) struct Streams<S> {
    pub(crate) stdout: S,
    pub(crate) stderr: S,
}

/// The limits of a process.
pub(crate) struct Bounds {
    pub(crate) timeout: Duration,
    /// Bytes that it may print.
    pub(crate) printed: u64,
}

/// The end of a process.
pub(crate) enum End {
    Exited(Exit),
    TimedOut,
    Interrupted,
    /// It printed too much.
    Flooded,
    /// Waiting for it failed.
    Lost(io::Error),
}

/// Runs a process to its end. No process that it started is left when this returns.
pub(crate) async fn to_end(
    child: &mut Child,
    streams: &mut Streams<impl Sink>,
    bounds: &Bounds,
    cancel: &CancellationToken,
) -> End {
    let deadline = Instant::now() + bounds.timeout;
    let mut buffers = Streams { stdout: vec![0; CHUNK], stderr: vec![0; CHUNK] };
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
        // The sandbox reaps a process that is still there after this.
        drop(timeout(REAPING, child.process.wait()).await);
    }
    end
}

/// Reads the rest of the output.
async fn drain(
    child: &mut Child,
    streams: &mut Streams<impl Sink>,
    buffers: &mut Streams<Vec<u8>>,
) {
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
