//! The running program of a server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contract::sandbox::{Child, Exit, Process};
use contract::text::{tail, visible};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio_util::task::AbortOnDropHandle;

use crate::failure::Failure;
use crate::mutex::lock;

/// The last bytes of a program's standard error.
const MAX_STDERR: usize = 4096;

/// The end of a program's standard error. Outlives the program.
#[derive(Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    /// The text, safe to show.
    pub(crate) fn text(&self) -> String {
        visible(String::from_utf8_lossy(&lock(&self.0)).trim()).into_owned()
    }

    async fn collect(self, mut stderr: Box<dyn AsyncRead + Send + Unpin>) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            let mut bytes = lock(&self.0);
            bytes.extend_from_slice(&buffer[..count]);
            let surplus = bytes.len().saturating_sub(MAX_STDERR);
            bytes.drain(..surplus);
        }
    }
}

/// The running program of a server. Dropping it ends the program and all it started.
pub(crate) struct ServerProcess {
    process: Mutex<Option<Box<dyn Process>>>,
    stderr: StderrTail,
    _collector: AbortOnDropHandle<()>,
}

/// The standard output and input of a program.
pub(crate) type Pipes = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

impl ServerProcess {
    /// Takes a program that was just started.
    pub(super) fn new(child: Child, tail: &StderrTail) -> Result<(Self, Pipes), Failure> {
        let Child { stdin, stdout, stderr, process, .. } = child;
        let stdin = stdin.ok_or_else(|| Failure::new("the sandbox gave no standard input"))?;
        lock(&tail.0).clear();
        let collector = tokio::spawn(tail.clone().collect(stderr));
        let process = Self {
            process: Mutex::new(Some(process)),
            stderr: tail.clone(),
            _collector: AbortOnDropHandle::new(collector),
        };
        Ok((process, (stdout, stdin)))
    }

    /// The end of its standard error.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits for its end. None if it goes on for `grace`.
    pub(crate) async fn exit(&self, grace: Duration) -> Option<Exit> {
        let mut process = lock(&self.process).take()?;
        let exit = tokio::time::timeout(grace, process.wait()).await;
        // The rest of its output arrives with its end.
        tokio::task::yield_now().await;
        *lock(&self.process) = Some(process);
        exit.ok()?.ok()
    }

    /// Ends it.
    pub(crate) fn kill(&self) {
        if let Some(process) = &mut *lock(&self.process) {
            process.kill();
        }
    }
}

/// An exit status in words.
pub(crate) fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

/// The end of a program's standard error, for the end of a message.
pub(crate) fn quoted_stderr(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("; it said: {}", tail(text, 2000)) }
}
