//! A process that was started: its end, its death, and what is tidied up afterwards.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use contract::sandbox::{Blocked, ChannelEnds, Child, Exit, Process};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use crate::alive::Alive;
use crate::blocked::BlockedLog;
use crate::cleanup::Cleanup;
use crate::launch::{Launcher, kill_group};
use crate::low_disk::Watch;

/// Ends that only a signal gives: what a shell makes of them is not taken for anything else.
const FATAL: [i32; 12] = [4, 5, 6, 7, 8, 9, 11, 13, 15, 24, 25, 31];

const DEATH: Duration = Duration::from_secs(3);

/// A started process with what belongs to its life.
#[derive(Debug)]
pub(crate) struct Running {
    child: tokio::process::Child,
    id: u32,
    exit: Option<Exit>,
    watch: Option<Watch>,
    after: Option<Cleanup>,
    blocked: BlockedLog,
    end: End,
    alive: Option<Alive>,
    /// Lives as long as its children, which the kernel ties to its thread.
    _launcher: Arc<Launcher>,
}

/// How all that the process started is ended.
#[derive(Debug)]
pub(crate) enum End {
    /// A kill of the outermost process takes its namespace with it, whose first process this is.
    Namespace(Option<OwnedFd>),
    /// Cutting this tells the supervisor to kill everything below it.
    Supervisor(Lifeline),
    /// A kill of the process group.
    Group,
}

/// Tells a supervisor, by its end, to end everything.
#[derive(Clone, Debug)]
pub(crate) struct Lifeline(Arc<Mutex<Option<OwnedFd>>>);

impl Lifeline {
    /// Lives as long as `end` is open.
    pub(crate) fn new(end: OwnedFd) -> Self {
        Self(Arc::new(Mutex::new(Some(end))))
    }

    fn cut(&self) {
        let end = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(end) = end {
            // The word tells the supervisor that somebody is left to tidy up.
            let _ = std::fs::File::from(end).write_all(b"end");
        }
    }
}

impl Running {
    /// Takes over a started child.
    pub(crate) fn adopt(
        mut child: tokio::process::Child,
        channel: Option<ChannelEnds>,
        end: End,
        after: Cleanup,
        launcher: Arc<Launcher>,
    ) -> io::Result<Child> {
        let missing = || io::Error::other("a started process has no streams");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let id = child.id().ok_or_else(missing)?;
        let kill = killer(id, &end)?;
        let process = Self {
            id,
            child,
            watch: Watch::new(&after.disks, after.notice.clone(), kill),
            exit: None,
            blocked: after.blocked.clone(),
            after: Some(after),
            end,
            alive: Some(Alive::begin()),
            _launcher: launcher,
        };
        Ok(Child {
            stdin: stdin.map(|stdin| Box::new(stdin) as _),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            channel,
            process: Box::new(process),
        })
    }

    fn settle(&mut self, status: ExitStatus) -> Exit {
        let exit = exit(status, &self.end);
        self.exit = Some(exit);
        drop(self.alive.take());
        drop(self.watch.take());
        if matches!(self.end, End::Group) {
            kill_group(self.id);
        }
        if let End::Supervisor(lifeline) = &self.end {
            lifeline.cut();
        }
        drop(self.after.take());
        exit
    }
}

/// A function that kills the process `id` and all it started, from another task.
fn killer(id: u32, end: &End) -> io::Result<Box<dyn FnOnce() + Send>> {
    Ok(match end {
        #[cfg(target_os = "linux")]
        End::Namespace(_) => {
            use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
            let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
            let pid = pid.ok_or_else(|| io::Error::other("a process without an id"))?;
            let process = pidfd_open(pid, PidfdFlags::empty())?;
            Box::new(move || {
                let _ = pidfd_send_signal(&process, Signal::KILL);
            })
        }
        #[cfg(not(target_os = "linux"))]
        End::Namespace(_) => Box::new(move || kill_group(id)),
        End::Supervisor(lifeline) => {
            let lifeline = lifeline.clone();
            Box::new(move || lifeline.cut())
        }
        End::Group => Box::new(move || kill_group(id)),
    })
}

#[async_trait]
impl Process for Running {
    fn id(&self) -> u32 {
        self.id
    }

    async fn wait(&mut self) -> io::Result<Exit> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let status = self.child.wait().await?;
        // Only when the whole namespace is gone is nothing left that could still act.
        if let End::Namespace(Some(first)) = &self.end {
            let first = first.try_clone()?;
            tokio::task::spawn_blocking(move || await_end(&first)).await?;
        }
        Ok(self.settle(status))
    }

    fn kill(&mut self) {
        if self.exit.is_some() {
            return;
        }
        match &self.end {
            End::Namespace(_) => {
                let _ = self.child.start_kill();
            }
            End::Supervisor(lifeline) => lifeline.cut(),
            End::Group => kill_group(self.id),
        }
    }

    fn blocked(&self) -> Vec<Blocked> {
        self.blocked.list()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.exit.is_some() {
            return;
        }
        self.kill();
        let start = std::time::Instant::now();
        while start.elapsed() < DEATH {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    if let End::Namespace(Some(first)) = &self.end {
                        await_end(first);
                    }
                    self.settle(status);
                    return;
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => return,
            }
        }
    }
}

/// Waits for the end of a process that is dying already.
fn await_end(process: &OwnedFd) {
    let mut wanted = [PollFd::new(process, PollFlags::IN)];
    let _ = poll(&mut wanted, Timespec::try_from(DEATH).ok().as_ref());
}

fn exit(status: ExitStatus, end: &End) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => {
            let signal = code - 128;
            // A process between the program and us can only say 128 and the signal's number.
            if !matches!(end, End::Group) && FATAL.contains(&signal) {
                Exit::Signal(signal)
            } else {
                Exit::Code(code)
            }
        }
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fatal_signal_is_distinguished_from_a_code() {
        let code = |code: i32| ExitStatus::from_raw(code << 8);
        assert_eq!(exit(code(0), &End::Namespace(None)), Exit::Code(0));
        assert_eq!(exit(code(129), &End::Namespace(None)), Exit::Code(129));
        assert_eq!(exit(code(139), &End::Namespace(None)), Exit::Signal(11));
        assert_eq!(exit(code(139), &End::Group), Exit::Code(139));
        assert_eq!(exit(ExitStatus::from_raw(9), &End::Namespace(None)), Exit::Signal(9));
    }
}
