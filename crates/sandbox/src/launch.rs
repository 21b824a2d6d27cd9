//! Starts processes from one thread that lives as long as its children, hands them descriptors,
//! and hears from the helper how the start went.
//!
//! The kernel ties a "die with the parent" promise to the parent's *thread*, so a child started
//! from a short-lived worker thread would die with that worker.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use contract::sandbox::Stdin;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// Held while a descriptor is inheritable, so that no other child of this program gets it.
static INHERITING: Mutex<()> = Mutex::new(());

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A thread that starts processes.
#[derive(Debug)]
pub(crate) struct Launcher {
    jobs: mpsc::Sender<Job>,
}

#[derive(Debug)]
struct Job {
    command: Command,
    inherited: Vec<OwnedFd>,
    runtime: Handle,
    reply: mpsc::Sender<io::Result<Child>>,
}

/// Descriptors for a child, with the words that tell it their numbers.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    pub(crate) inherited: Vec<OwnedFd>,
    pub(crate) words: Vec<String>,
}

impl Descriptors {
    /// Adds one under `name`.
    pub(crate) fn add(&mut self, name: &str, descriptor: OwnedFd) {
        self.words.push(format!("{name}={}", descriptor.as_raw_fd()));
        self.inherited.push(descriptor);
    }

    /// Adds a file without a name, and returns it to be filled later.
    #[cfg(target_os = "linux")]
    pub(crate) fn add_empty(&mut self, name: &str) -> io::Result<File> {
        use rustix::fs::{MemfdFlags, memfd_create};
        let file = File::from(memfd_create("brynhild", MemfdFlags::CLOEXEC)?);
        self.add(name, file.try_clone()?.into());
        Ok(file)
    }

    /// Adds the ends of a channel.
    #[cfg(target_os = "linux")]
    pub(crate) fn add_channel(&mut self, ends: Option<[OwnedFd; 2]>) {
        if let Some([reader, writer]) = ends {
            self.add(crate::helper::CHANNEL_READER, reader);
            self.add(crate::helper::CHANNEL_WRITER, writer);
        }
    }
}

/// The helper's report on a start.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The program runs.
    Running,
    /// The program could not be executed.
    NotExecuted(io::Error),
    /// Another process replaced a file or directory while it was being mounted.
    MountChanged(String),
    /// The helper could not restrict itself.
    Failed(String),
    /// The helper never ran.
    Silent,
}

impl Launcher {
    /// Starts the thread.
    pub(crate) fn new() -> io::Result<Arc<Self>> {
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::Builder::new().name("sandbox-launcher".to_owned()).spawn(move || {
            for job in queue {
                let _ = job.reply.send(start(job.command, job.inherited, &job.runtime));
            }
        })?;
        Ok(Arc::new(Self { jobs }))
    }

    /// Starts `command`, which keeps the descriptors in `inherited` under their numbers.
    pub(crate) fn launch(&self, command: Command, inherited: Vec<OwnedFd>) -> io::Result<Child> {
        self.begin(command, inherited)?.child()
    }

    /// Starts it without waiting until it runs.
    pub(crate) fn begin(&self, command: Command, inherited: Vec<OwnedFd>) -> io::Result<Started> {
        let (reply, answer) = mpsc::channel();
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let job = Job { command, inherited, runtime, reply };
        self.jobs.send(job).map_err(|_| gone())?;
        Ok(Started(answer))
    }
}

/// A start that was begun. Dropping it ends what was started.
#[derive(Debug)]
pub(crate) struct Started(mpsc::Receiver<io::Result<Child>>);

impl Drop for Started {
    fn drop(&mut self) {
        if let Ok(Ok(child)) = self.0.recv() {
            drop(Unsettled::of(&child));
        }
    }
}

impl Started {
    /// The process, as soon as it runs.
    pub(crate) fn child(self) -> io::Result<Child> {
        self.0.recv().map_err(|_| gone())?
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts processes has ended")
}

/// A child of which nobody has said yet that it runs. Its group ends with this: what it started may wait
/// for it, and would do so for good.
#[derive(Debug)]
pub(crate) struct Unsettled(Option<u32>);

impl Unsettled {
    pub(crate) fn of(child: &tokio::process::Child) -> Self {
        Self(child.id())
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn settle(mut self) {
        self.0 = None;
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            kill_group(id);
        }
    }
}

/// Kills all processes of a group.
pub(crate) fn kill_group(id: u32) {
    if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(id, Signal::KILL);
    }
}

/// A command with piped streams, no variables, and a process group of its own.
#[expect(clippy::disallowed_methods, reason = "this is the place where processes are started")]
pub(crate) fn command(program: &std::path::Path, stdin: Stdin) -> Command {
    use std::process::Stdio;
    let mut command = Command::new(program);
    command
        .env_clear()
        .process_group(0)
        .stdin(match stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Piped => Stdio::piped(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Writes `bytes` for a process that reads them to their end. One that is gone wants no more of them.
#[cfg(target_os = "linux")]
pub(crate) fn send(mut pipe: PipeWriter, mut bytes: &[u8]) -> io::Result<()> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    let patience = Timespec::try_from(START_TIMEOUT).map_err(io::Error::other)?;
    while !bytes.is_empty() {
        match pipe.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut wanted = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT)];
                match poll(&mut wanted, Some(&patience)) {
                    Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for the helper's word on `status`.
pub(crate) fn outcome(status: PipeReader) -> Outcome {
    match read_all(status) {
        Ok(bytes) => understand(&bytes),
        Err(error) => Outcome::Failed(format!("the helper did not answer: {error}")),
    }
}

fn start(mut command: Command, inherited: Vec<OwnedFd>, runtime: &Handle) -> io::Result<Child> {
    let _context = runtime.enter();
    let _guard = INHERITING.lock().unwrap_or_else(PoisonError::into_inner);
    for descriptor in &inherited {
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    let child = command.spawn();
    drop(inherited);
    child
}

fn read_all(mut status: PipeReader) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let patience = Timespec::try_from(START_TIMEOUT).map_err(io::Error::other)?;
    let mut buffer = [0; 1024];
    loop {
        let mut wanted = [PollFd::from_borrowed_fd(status.as_fd(), PollFlags::IN)];
        match poll(&mut wanted, Some(&patience)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        match status.read(&mut buffer)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// `R` means ready to execute, followed by an error number if that failed. `M` (a mount changed)
/// and `E` (any other failure) are followed by the helper's message.
fn understand(bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    match text.split_at_checked(1) {
        Some(("R", "")) => Outcome::Running,
        Some(("R", number)) => Outcome::NotExecuted(number.parse().map_or_else(
            |_| io::Error::other("the program could not be executed"),
            io::Error::from_raw_os_error,
        )),
        Some(("M", words)) => Outcome::MountChanged(words.to_owned()),
        Some(("E", words)) => Outcome::Failed(words.to_owned()),
        _ => Outcome::Silent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn send_exceeds_pipe_capacity_and_survives_a_closed_reader() {
        let bytes: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
        let (mut heard, told) = io::pipe().unwrap();
        let reader = std::thread::spawn(move || {
            let mut found = Vec::new();
            heard.read_to_end(&mut found).unwrap();
            found
        });
        send(told, &bytes).unwrap();
        assert!(reader.join().unwrap() == bytes);
        let (mut heard, told) = io::pipe().unwrap();
        let reader = std::thread::spawn(move || heard.read_exact(&mut [0; 10]).unwrap());
        send(told, &bytes).unwrap();
        reader.join().unwrap();
    }

    #[tokio::test]
    async fn dropped_start_leaves_no_process() {
        let (mut heard, told) = io::pipe().unwrap();
        let mut shell = command(std::path::Path::new("/bin/sh"), Stdin::Null);
        let script =
            format!("sh -c 'echo up >/proc/self/fd/{}; exec sleep 1000' & wait", told.as_raw_fd());
        shell.args(["-c", &script]).kill_on_drop(true);
        let started = Launcher::new().unwrap().begin(shell, vec![told.into()]).unwrap();
        heard.read_exact(&mut [0; 3]).unwrap();
        drop(started);
        // It ends when nobody is left who could write.
        assert_eq!(heard.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn helper_outcomes_are_decoded() {
        assert!(matches!(understand(b"R"), Outcome::Running));
        assert!(matches!(understand(b""), Outcome::Silent));
        let Outcome::NotExecuted(error) = understand(b"R2") else {
            panic!("an error number is a failed start");
        };
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let Outcome::Failed(words) = understand("Eno Landlock – sorry".as_bytes()) else {
            panic!("words are a refusal");
        };
        assert_eq!(words, "no Landlock – sorry");
        assert!(matches!(understand(b"M/x"), Outcome::MountChanged(words) if words == "/x"));
    }
}
