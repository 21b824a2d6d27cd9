//! A Python that stays for a while, so that scripts of hooks need no start of it each: every script
//! runs in a fork of its own, confined as it would be by itself. What cannot be served so is for the
//! caller to run. It ends soon after its last script: the walls of a process that may write are
//! built from what the workspace holds when it starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::hook::HookError;
use contract::sandbox::{Channel, Child, Process, Profile, Sandbox, Spawn, Stdin};
use futures::FutureExt as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::process::{Ended, Failed, Printed, unseen};

/// How long one stays without work.
const IDLE: Duration = Duration::from_secs(5);
/// How long one stays at most.
const AGE: Duration = Duration::from_mins(1);
/// How many there are at a time.
const MOST: usize = 8;

/// The Pythons that stay.
#[derive(Default)]
pub(crate) struct Residents(Mutex<Vec<Seat>>);

/// The place of one, for hooks that are confined in the same way.
struct Seat {
    kind: Kind,
    state: Arc<tokio::sync::Mutex<State>>,
    /// Ends the one that has nothing to do.
    watch: Option<AbortOnDropHandle<()>>,
}

/// What makes one fit for a hook.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Where the hook comes from.
    pub(crate) origin: String,
    /// The interpreter.
    pub(crate) python: PathBuf,
    /// The file that it runs to stay.
    pub(crate) payload: PathBuf,
    /// The home of a plugin's processes.
    pub(crate) home: Option<PathBuf>,
    /// What it may see and do.
    pub(crate) profile: Profile,
}

#[derive(Default)]
enum State {
    #[default]
    Empty,
    Running(Running),
    /// It cannot be had on this machine.
    Unfit,
}

struct Running {
    stdin: Box<dyn AsyncWrite + Send + Unpin>,
    stdout: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    process: Box<dyn Process>,
    born: Instant,
}

/// A script to run.
#[derive(Serialize)]
pub(crate) struct Script<'a> {
    /// Its file.
    #[serde(rename = "script")]
    pub(crate) file: &'a Path,
    /// The directory that it finds itself in.
    pub(crate) cwd: &'a Path,
    /// Variables of its own.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// What it reads.
    pub(crate) input: &'a str,
}

#[derive(Deserialize)]
struct Hello {
    ready: bool,
}

#[derive(Deserialize)]
struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
    cut: [bool; 2],
}

impl Residents {
    /// Runs a script; nothing where no Python can stay for it, or the one that does is busy. Dropping
    /// the future kills it.
    pub(crate) async fn run(
        &self,
        sandbox: &dyn Sandbox,
        kind: &Kind,
        script: &Script<'_>,
    ) -> Result<Option<Ended>, Failed> {
        let Ok(mut state) = self.state(kind).try_lock_owned() else { return Ok(None) };
        // Whatever ends this early takes the process with it.
        let running = match std::mem::take(&mut *state) {
            State::Running(running) => running.alive(),
            State::Empty => None,
            State::Unfit => {
                *state = State::Unfit;
                return Ok(None);
            }
        };
        let running = match running {
            Some(running) => Some(running),
            None => Running::start(sandbox, kind, script.cwd).await,
        };
        let Some(mut running) = running else {
            *state = State::Unfit;
            return Ok(None);
        };
        let ended = running.ask(script).await?;
        *state = State::Running(running);
        drop(state);
        self.watch(kind);
        Ok(Some(ended))
    }

    fn seats(&self) -> MutexGuard<'_, Vec<Seat>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self, kind: &Kind) -> Arc<tokio::sync::Mutex<State>> {
        let mut seats = self.seats();
        if let Some(seat) = seats.iter().find(|seat| seat.kind == *kind) {
            return Arc::clone(&seat.state);
        }
        if seats.len() == MOST {
            seats.remove(0);
        }
        let state = Arc::default();
        seats.push(Seat { kind: kind.clone(), state: Arc::clone(&state), watch: None });
        state
    }

    /// Has the one of a kind end when it has nothing to do for a while.
    fn watch(&self, kind: &Kind) {
        let mut seats = self.seats();
        let Some(seat) = seats.iter_mut().find(|seat| seat.kind == *kind) else { return };
        let state = Arc::clone(&seat.state);
        let end = async move {
            tokio::time::sleep(IDLE).await;
            *state.lock().await = State::Empty;
        };
        seat.watch = Some(AbortOnDropHandle::new(tokio::spawn(end)));
    }
}

impl Running {
    /// Starts one; none where it says that it is of no use here, or does not say anything.
    async fn start(sandbox: &dyn Sandbox, kind: &Kind, cwd: &Path) -> Option<Self> {
        let spawn = Spawn {
            program: kind.python.clone(),
            args: vec![kind.payload.clone().into()],
            cwd: cwd.to_owned(),
            stdin: Stdin::Piped,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: kind.home.clone(),
        };
        let Child { stdin, stdout, process, .. } = sandbox.start(&spawn, &kind.profile).ok()?;
        let (stdout, born) = (BufReader::new(stdout), Instant::now());
        let mut running = Self { stdin: stdin?, stdout, process, born };
        let hello: Hello = running.hear().await.ok()?;
        hello.ready.then_some(running)
    }

    /// The same where it still runs and is not too old.
    fn alive(mut self) -> Option<Self> {
        let has_ended = self.process.wait().now_or_never().is_some();
        (!has_ended && self.born.elapsed() < AGE).then_some(self)
    }

    async fn ask(&mut self, script: &Script<'_>) -> Result<Ended, Failed> {
        let unseen = |error: std::io::Error| unseen(&error);
        let mut line = serde_json::to_vec(script).map_err(|error| HookError(error.to_string()))?;
        line.push(b'\n');
        self.stdin.write_all(&line).await.map_err(unseen)?;
        self.stdin.flush().await.map_err(unseen)?;
        let Answer { code, stdout, stderr, cut } = self.hear().await.map_err(unseen)?;
        let printed = |text, is_cut| Printed { text, is_cut };
        Ok(Ended { code, stdout: printed(stdout, cut[0]), stderr: printed(stderr, cut[1]) })
    }

    async fn hear<T: DeserializeOwned>(&mut self) -> std::io::Result<T> {
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).await?;
        serde_json::from_slice(&line).map_err(std::io::Error::other)
    }
}

#[cfg(test)]
mod tests;
