//! Runs a process to its end within limits. Output is kept up to a limit and read to the last byte;
//! a process need not read its input. Dropping the future kills the process and all it started.

use std::io;
use std::pin::pin;
use std::time::Duration;

use contract::sandbox::{Child, Exit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long to read on once the process is gone: what it started may hold its output open.
pub(crate) const GRACE: Duration = Duration::from_millis(200);

const CHUNK: usize = 64 << 10;

#[derive(Clone, Copy)]
pub struct Limits<'a> {
    pub output: usize,
    pub deadline: Option<Instant>,
    pub cancel: Option<&'a CancellationToken>,
}

impl Limits<'_> {
    /// Keeps this many bytes of each stream, and lets the process run as long as the future lives.
    pub(crate) fn of_output(output: usize) -> Self {
        Self { output, deadline: None, cancel: None }
    }
}

#[derive(Debug)]
pub struct Ended {
    pub end: End,
    pub stdout: Printed,
    pub stderr: Printed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code; 128 plus the signal's number if a signal ended it.
    Exited(i32),
    Late,
    Cancelled,
}

impl Ended {
    /// The exit code; that of a process ended by SIGKILL if it was killed here.
    pub(crate) fn code(&self) -> i32 {
        match self.end {
            End::Exited(code) => code,
            End::Late | End::Cancelled => 128 + 9,
        }
    }
}

#[derive(Debug, Default)]
pub struct Printed {
    pub text: String,
    pub is_cut: bool,
}

pub async fn run(child: Child, input: &[u8], limits: Limits<'_>) -> io::Result<Ended> {
    let Child { stdin, mut stdout, mut stderr, mut process, .. } = child;
    let mut feeding = pin!(feed(stdin, input));
    let mut interruption = pin!(interrupted(limits));
    let (mut out, mut err) = (Capture::new(limits.output), Capture::new(limits.output));
    let mut is_fed = false;
    let end = loop {
        tokio::select! {
            () = &mut feeding, if !is_fed => is_fed = true,
            () = out.read(&mut *stdout), if !out.ended => {}
            () = err.read(&mut *stderr), if !err.ended => {}
            exit = process.wait() => break exit.map(|exit| End::Exited(match exit {
                Exit::Code(code) => code,
                Exit::Signal(signal) => 128 + signal,
            })),
            end = &mut interruption => break Ok(end),
        }
    };
    if !matches!(end, Ok(End::Exited(_))) {
        process.kill();
    }
    let deadline = Instant::now() + GRACE;
    while !(out.ended && err.ended) {
        tokio::select! {
            () = out.read(&mut *stdout), if !out.ended => {}
            () = err.read(&mut *stderr), if !err.ended => {}
            () = sleep_until(deadline) => break,
        }
    }
    process.kill();
    Ok(Ended { end: end?, stdout: out.printed(), stderr: err.printed() })
}

async fn interrupted(limits: Limits<'_>) -> End {
    let late = async {
        match limits.deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let cancelled = async {
        match limits.cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = late => End::Late,
        () = cancelled => End::Cancelled,
    }
}

/// Writes to a process, which may close its end at any time.
async fn feed(stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>, input: &[u8]) {
    if let Some(mut stdin) = stdin
        && stdin.write_all(input).await.is_ok()
    {
        drop(stdin.shutdown().await);
    }
}

struct Capture {
    bytes: Vec<u8>,
    buffer: Vec<u8>,
    limit: usize,
    is_cut: bool,
    ended: bool,
}

impl Capture {
    fn new(limit: usize) -> Self {
        let buffer = vec![0; CHUNK];
        Self { bytes: Vec::new(), buffer, limit, is_cut: false, ended: false }
    }

    /// Reads on. Loses nothing if it is dropped before its end.
    async fn read(&mut self, from: &mut (dyn AsyncRead + Send + Unpin)) {
        match from.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.ended = true,
            Ok(count) => {
                let room = self.limit - self.bytes.len();
                self.is_cut |= count > room;
                self.bytes.extend_from_slice(&self.buffer[..count.min(room)]);
            }
        }
    }

    fn printed(self) -> Printed {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        Printed { text, is_cut: self.is_cut }
    }
}
