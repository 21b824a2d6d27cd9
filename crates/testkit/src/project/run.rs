//! A process of a test: started in a group of its own, read while it runs, killed at a deadline.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use super::Invocation;
use crate::terminal::pid_of;

/// How long a process may take where nothing else is said.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// A process that is running. Dropping it kills it and its group.
pub struct Running {
    command: String,
    group: Pid,
    deadline: Instant,
    stdin: Option<ChildStdin>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    closed: usize,
    status: Option<ExitStatus>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Running {
    pub(super) fn start(invocation: Invocation) -> Self {
        let command = describe(&invocation);
        let mut child =
            spawn(&invocation).unwrap_or_else(|error| panic!("cannot start {command}: {error}"));
        let group = pid_of(&child);
        let shared = Arc::new(Shared::default());
        let mut stdin = child.stdin.take();
        if let Some(text) = invocation.stdin {
            let stdin = stdin.take();
            std::thread::spawn(move || {
                // It fails where the process does not want to read.
                stdin.map(|mut stdin| stdin.write_all(&text))
            });
        }
        if let Some(stdout) = child.stdout.take() {
            follow(stdout, &shared, |state| &mut state.stdout);
        }
        if let Some(stderr) = child.stderr.take() {
            follow(stderr, &shared, |state| &mut state.stderr);
        }
        let waiting = Arc::clone(&shared);
        std::thread::spawn(move || {
            let status = child.wait().expect("a child that nobody else waits for");
            waiting.update(|state| state.status = Some(status));
        });
        let deadline = Instant::now() + invocation.patience;
        Self { command, group, deadline, stdin, shared }
    }

    /// Its process id.
    pub fn id(&self) -> i32 {
        self.group.as_raw_nonzero().get()
    }

    /// Writes to its standard input, which was not given in advance.
    pub fn send(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("an open standard input");
        stdin
            .write_all(text.as_bytes())
            .unwrap_or_else(|error| panic!("cannot write to {}: {error}", self.command));
    }

    /// Closes its standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Sends it alone a signal.
    pub fn signal(&self, signal: Signal) {
        if self.shared.lock().status.is_none() {
            // It fails where the process has just ended.
            let _ = kill_process(self.group, signal);
        }
    }

    /// Presses Ctrl-C: interrupts it and its group.
    pub fn interrupt(&self) {
        let _ = kill_process_group(self.group, Signal::INT);
    }

    /// Kills it alone, at once, as `kill -9` does.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Waits until its standard output contains a text.
    pub fn wait_for_stdout(&self, text: &str) {
        self.wait_until(&format!("{text:?} on its standard output"), |state| {
            String::from_utf8_lossy(&state.stdout).contains(text)
        });
    }

    /// Waits until its standard error contains a text.
    pub fn wait_for_stderr(&self, text: &str) {
        self.wait_until(&format!("{text:?} on its standard error"), |state| {
            String::from_utf8_lossy(&state.stderr).contains(text)
        });
    }

    /// Waits for a line of its standard output, by its number from 0.
    pub fn line(&self, number: usize) -> String {
        self.wait_until(&format!("line {number} of its standard output"), |state| {
            state.stdout.split(|byte| *byte == b'\n').count() > number + 1
        });
        let state = self.shared.lock();
        let line = state.stdout.split(|byte| *byte == b'\n').nth(number);
        String::from_utf8_lossy(line.unwrap_or_default()).into_owned()
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.shared.lock().stdout).into_owned()
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.shared.lock().stderr).into_owned()
    }

    /// Waits until it has ended and all that holds its output has closed it.
    pub fn wait(mut self) -> Run {
        self.stdin = None;
        self.wait_until("its end", |state| state.status.is_some() && state.closed == 2);
        let state = self.shared.lock();
        Run {
            command: self.command.clone(),
            status: state.status.expect("a process that has ended"),
            stdout: String::from_utf8_lossy(&state.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&state.stderr).into_owned(),
        }
    }

    fn wait_until(&self, what: &str, is_reached: impl Fn(&State) -> bool) {
        let mut state = self.shared.lock();
        while !is_reached(&state) {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let over = state.status.is_some() && state.closed == 2;
            if left.is_zero() || over {
                let why = if over { "it ended" } else { "it took too long" };
                let output = output_of(&state);
                drop(state);
                self.kill_group();
                panic!("waited for {what}, but {why}: {}\n{output}", self.command);
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn kill_group(&self) {
        // It fails where nothing of the group is left.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// How a process ended and what it said.
#[derive(Clone, Debug)]
pub struct Run {
    /// The command, for messages.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Run {
    /// Panics with all there is to know unless it ended with 0.
    #[track_caller]
    pub fn success(&self) -> &Self {
        self.code(0)
    }

    /// Panics with all there is to know unless it ended with this code.
    #[track_caller]
    pub fn code(&self, code: i32) -> &Self {
        assert!(
            self.status.code() == Some(code),
            "expected exit code {code} of {}\n{self}",
            self.command
        );
        self
    }

    /// Its standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in the output of {}\n{self}", self.command))
    }

    /// Each line of its standard output as JSON.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{error} in {line:?} of {}\n{self}", self.command))
        };
        self.stdout.lines().map(parse).collect()
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => writeln!(f, "exit code: {code}")?,
            (None, Some(signal)) => writeln!(f, "signal: {signal}")?,
            (None, None) => writeln!(f, "no exit code")?,
        }
        write!(f, "{}", output(&self.stdout, &self.stderr))
    }
}

fn output(stdout: &str, stderr: &str) -> String {
    format!("----- stdout -----\n{stdout}\n----- stderr -----\n{stderr}")
}

fn output_of(state: &State) -> String {
    output(&String::from_utf8_lossy(&state.stdout), &String::from_utf8_lossy(&state.stderr))
}

fn describe(invocation: &Invocation) -> String {
    let program = invocation.program.file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(invocation.args.iter().map(AsRef::as_ref));
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    format!("`{}`", words.join(" "))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test starts the executable as a user does, without a sandbox around it"
)]
fn spawn(invocation: &Invocation) -> io::Result<Child> {
    Command::new(&invocation.program)
        .args(&invocation.args)
        .env_clear()
        .envs(invocation.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&invocation.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

fn follow(
    mut source: impl Read + Send + 'static,
    shared: &Arc<Shared>,
    sink: fn(&mut State) -> &mut Vec<u8>,
) {
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            shared.update(|state| sink(state).extend_from_slice(&buffer[..count]));
        }
        shared.update(|state| state.closed += 1);
    });
}
