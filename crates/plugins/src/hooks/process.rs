//! Runs the process of a hook to its end. What it prints is kept up to a limit and read to the
//! last byte; whether it reads its input is its own affair. Dropping the future kills it.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use contract::hook::HookError;
use contract::sandbox::{Child, Exit, Profile, Sandbox, SandboxError, Spawn};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

/// Bytes of each stream of a hook that are kept.
const KEPT: usize = 1 << 20;

/// How long to read on once the process is gone: what it started may hold its output open.
pub(crate) const GRACE: Duration = Duration::from_millis(200);

const CHUNK: usize = 64 << 10;

/// How a process ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; 128 and the signal's number where a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: Printed,
    pub(crate) stderr: Printed,
}

/// What a process printed to one stream.
#[derive(Debug)]
pub(crate) struct Printed {
    /// The beginning, or all of it.
    pub(crate) text: String,
    /// Whether it printed more than is kept.
    pub(crate) is_cut: bool,
}

/// Why a hook gave no answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It was not let run: its bytes are not the trusted ones any more, or its walls cannot stand,
    /// or no process can be started.
    /// What it guards must not pass for that, whatever it says of failures of its own.
    Refused(String),
    /// It failed by itself.
    Broken(HookError),
}

impl From<HookError> for Failed {
    fn from(error: HookError) -> Self {
        Self::Broken(error)
    }
}

impl Failed {
    /// That a process was not started. A shell is no program that a hook names: where it cannot be
    /// started, nothing can.
    fn at_start(error: SandboxError, program: &Path) -> Self {
        let is_shell = [Path::new("/bin/sh"), Path::new("/bin/bash")].contains(&program);
        match Self::from(error) {
            Self::Broken(HookError(why)) if is_shell => Self::Refused(why),
            failed => failed,
        }
    }
}

impl From<SandboxError> for Failed {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Refused(why) => Self::Refused(why),
            // A program that the hook names and that is not there is its own affair; that nothing can
            // be started is not.
            SandboxError::Start { ref source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Self::Broken(HookError(error.to_string()))
            }
            SandboxError::Unavailable { .. } | SandboxError::Start { .. } => {
                Self::Refused(error.to_string())
            }
        }
    }
}

impl From<Failed> for HookError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Refused(why) => Self(why),
            Failed::Broken(error) => error,
        }
    }
}

/// What it means that a process could not be written to, or its end be seen.
fn unseen(error: &std::io::Error) -> Failed {
    // The way to a process is shut where what it was started from has lost its trust.
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        return Failed::Refused(error.to_string());
    }
    Failed::Broken(HookError(format!("its end was not seen: {error}")))
}

/// Starts a process, gives it `input` and waits for its end.
pub(crate) async fn run(
    sandbox: &dyn Sandbox,
    spawn: &Spawn,
    profile: &Profile,
    input: &[u8],
) -> Result<Ended, Failed> {
    let started = sandbox.start(spawn, profile);
    let child = started.map_err(|error| Failed::at_start(error, &spawn.program))?;
    attend(child, input, KEPT).await.map_err(|error| unseen(&error))
}

/// Gives a process `input` and waits for its end, keeping `limit` bytes of each of its streams.
pub(crate) async fn attend(child: Child, input: &[u8], limit: usize) -> std::io::Result<Ended> {
    let Child { stdin, mut stdout, mut stderr, mut process, .. } = child;
    let mut feeding = pin!(feed(stdin, input));
    let (mut out, mut err) = (Kept::up_to(limit), Kept::up_to(limit));
    let mut is_fed = false;
    let exit = loop {
        tokio::select! {
            () = &mut feeding, if !is_fed => is_fed = true,
            () = out.read(&mut *stdout), if !out.ended => {}
            () = err.read(&mut *stderr), if !err.ended => {}
            exit = process.wait() => break exit,
        }
    };
    let deadline = Instant::now() + GRACE;
    while !(out.ended && err.ended) {
        tokio::select! {
            () = out.read(&mut *stdout), if !out.ended => {}
            () = err.read(&mut *stderr), if !err.ended => {}
            () = sleep_until(deadline) => break,
        }
    }
    process.kill();
    let code = match exit? {
        Exit::Code(code) => code,
        Exit::Signal(signal) => 128 + signal,
    };
    Ok(Ended { code, stdout: out.printed(), stderr: err.printed() })
}

/// Gives a process its input. One that does not want it is not forced.
pub(crate) async fn feed(stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>, input: &[u8]) {
    if let Some(mut stdin) = stdin
        && stdin.write_all(input).await.is_ok()
    {
        drop(stdin.shutdown().await);
    }
}

/// What was read of a stream.
pub(crate) struct Kept {
    bytes: Vec<u8>,
    buffer: Vec<u8>,
    limit: usize,
    is_cut: bool,
    /// Whether the stream has ended.
    pub(crate) ended: bool,
}

impl Kept {
    /// Keeps this many bytes.
    pub(crate) fn up_to(limit: usize) -> Self {
        let buffer = vec![0; CHUNK];
        Self { bytes: Vec::new(), buffer, limit, is_cut: false, ended: false }
    }

    /// Reads on. Loses nothing when it is dropped before its end.
    pub(crate) async fn read(&mut self, from: &mut (dyn AsyncRead + Send + Unpin)) {
        match from.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.ended = true,
            Ok(count) => {
                let room = self.limit - self.bytes.len();
                self.is_cut |= count > room;
                self.bytes.extend_from_slice(&self.buffer[..count.min(room)]);
            }
        }
    }

    /// All that was read.
    pub(crate) fn printed(self) -> Printed {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        Printed { text, is_cut: self.is_cut }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_keeps_every_process_from_starting_is_no_failure_of_the_hook_s_own() {
        let start = |kind: io::ErrorKind| SandboxError::Start {
            program: "x".to_owned(),
            source: kind.into(),
        };
        let unavailable = SandboxError::Unavailable { cause: "c".into(), hint: "h".into() };
        for error in [
            SandboxError::Refused("no".to_owned()),
            unavailable,
            start(io::ErrorKind::OutOfMemory),
            start(io::ErrorKind::Other),
        ] {
            let said = error.to_string();
            assert!(matches!(Failed::from(error), Failed::Refused(_)), "{said}");
        }
        let missing = Failed::from(start(io::ErrorKind::NotFound));
        assert!(matches!(missing, Failed::Broken(_)), "a program that it names is its own affair");
        for (program, is_refused) in [("/bin/sh", true), ("/bin/bash", true), ("/x/guard", false)] {
            let failed = Failed::at_start(start(io::ErrorKind::NotFound), Path::new(program));
            assert_eq!(matches!(failed, Failed::Refused(_)), is_refused, "{program}");
        }
    }
}
