//! The worker of one plugin: started when it is first needed, started again when it died, one
//! process at a time.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::policy::Mode;
use contract::python::{PythonFacts, SharedPlugin};
use contract::sandbox::{Channel, Network, SandboxError, Spawn, Stdin};
use files::private;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::adapter::{Adapter, adapter};
use crate::health::Health;
use crate::interpreter::Interpreter;
use crate::session::{Bounds, Cause, RequestError, Session, SessionSettings, Stream};
use crate::state::HostState;
use crate::wire::{Initialize, PROTOCOL};

const USUAL_TIME: Duration = Duration::from_mins(5);

/// Why a worker did not do what it was asked.
#[derive(Debug)]
pub(crate) enum WorkerError {
    /// Nothing can confine it.
    Sandbox(SandboxError),
    /// It cannot be started; the words say what to do.
    Unready(String),
    /// It was asked and did not answer well.
    Request(RequestError),
}

impl WorkerError {
    /// The error in words.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Sandbox(error) => error.to_string(),
            Self::Unready(words)
            | Self::Request(RequestError::Refused(words) | RequestError::Unsayable(words)) => words,
            Self::Request(RequestError::Ended(words)) => words.to_string(),
            Self::Request(RequestError::Late(time)) => {
                format!("it did not answer within {} s", time.as_secs_f64())
            }
            Self::Request(RequestError::Fault(fault)) => fault.message,
            Self::Request(RequestError::Cancelled) => "it was cancelled".to_owned(),
        }
    }
}

impl From<RequestError> for WorkerError {
    fn from(failed: RequestError) -> Self {
        Self::Request(failed)
    }
}

/// The purpose that a process is started for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// To describe its plugin; no package is installed for that.
    Describe,
    /// To serve calls.
    Serve,
}

/// How long a process may take to load what it serves.
const LOADING: Duration = Duration::from_mins(1);

/// The worker of one plugin.
pub(crate) struct Worker {
    pub(crate) host: Arc<HostState>,
    pub(crate) plugin: SharedPlugin,
    /// True if it has its network in every mode, as the way to a model.
    keeps_network: bool,
    current: Mutex<Option<Running>>,
    starting: tokio::sync::Mutex<()>,
    health: Arc<Mutex<Health>>,
}

#[derive(Clone)]
struct Running {
    session: Arc<Session>,
    /// Under which rules it was started.
    mode: Mode,
}

impl Worker {
    pub(crate) fn new(host: Arc<HostState>, plugin: SharedPlugin) -> Self {
        Self {
            host,
            plugin,
            keeps_network: false,
            current: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            health: Arc::default(),
        }
    }

    /// One that serves nothing but a provider: what the user granted it of the network is the way
    /// to the model, which every mode needs.
    pub(crate) fn that_answers(host: Arc<HostState>, plugin: SharedPlugin) -> Self {
        Self { keeps_network: true, ..Self::new(host, plugin) }
    }

    /// The facts of its plugin.
    pub(crate) fn facts(&self) -> &PythonFacts {
        self.plugin.facts()
    }

    /// The adapter of its plugin.
    pub(crate) fn adapter(&self) -> &'static Adapter {
        adapter(self.facts())
    }

    /// The time that one call may take.
    pub(crate) fn time(&self) -> Duration {
        self.facts().timeout.unwrap_or(USUAL_TIME)
    }

    /// Asks the process, which is started where there is none.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: &impl Serialize,
        bounds: Bounds<'_>,
    ) -> Result<Box<RawValue>, WorkerError> {
        let session = self.session_until(bounds.cancel).await?;
        Ok(session.ask(method, params, bounds).await?)
    }

    /// Returns true if there is a process.
    pub(crate) fn is_running(&self) -> bool {
        self.current().as_ref().is_some_and(|running| !running.session.is_over())
    }

    /// The process, started where there is none.
    pub(crate) async fn session(&self, purpose: Purpose) -> Result<Arc<Session>, WorkerError> {
        self.host.admit(self.facts()).map_err(WorkerError::Unready)?;
        if let Some(session) = self.fit() {
            return Ok(session);
        }
        let _starting = self.starting.lock().await;
        if let Some(session) = self.fit() {
            return Ok(session);
        }
        self.check_health()?;
        let mode = self.host.mode();
        let session = self.start(mode, purpose).await?;
        *self.current() = Some(Running { session: Arc::clone(&session), mode });
        Ok(session)
    }

    /// Ends a process that did not come back from a file, which the next one leaves out; and all
    /// behind it, where it is the last to be tried.
    pub(crate) async fn leave_out(&self, file: String, fate: String, is_last: bool) {
        self.stop().await;
        // It is known what ends it, and that will not happen again.
        *self.lock_health() = Health::default();
        self.host.leave_out(self.facts(), (file, fate), is_last);
    }

    /// Has a process load all there is before somebody is timed. What is wrong with it is said by
    /// who needs it.
    pub(crate) async fn prepare(&self, cancel: &CancellationToken) {
        if self.fit().is_none() {
            let bounds = Bounds { time: LOADING, cancel };
            let _ = self.ask("describe", &json!({}), bounds).await;
        }
    }

    /// Begins to close down, as another one takes its place.
    pub(crate) fn retire(&self) {
        let Some(running) = self.current().take() else { return };
        if self.adapter().is_shared && !running.session.is_over() {
            let what = "its plugins changed, so it starts anew: jobs that ran in it, and what it \
                        kept in memory, are gone";
            (self.host.settings.on_progress)(&self.facts().name, what);
        }
        running.session.retire();
    }

    /// Closes down.
    pub(crate) async fn stop(&self) {
        let running = self.current().take();
        if let Some(running) = running {
            running.session.stop().await;
        }
    }

    /// Asks for a stream of events.
    pub(crate) async fn stream(
        session: &Arc<Session>,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Stream, WorkerError> {
        Ok(session.stream(method, params).await?)
    }

    async fn session_until(&self, cancel: &CancellationToken) -> Result<Arc<Session>, WorkerError> {
        self.host.admit(self.facts()).map_err(WorkerError::Unready)?;
        if let Some(session) = self.fit() {
            return Ok(session);
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(RequestError::Cancelled.into()),
            session = self.session(Purpose::Serve) => session,
        }
    }

    /// The process that runs, where it may go on under the mode of the moment.
    fn fit(&self) -> Option<Arc<Session>> {
        let mut current = self.current();
        let running = current.as_ref().filter(|running| !running.session.is_over())?;
        let facts = self.facts();
        let differs = facts.may_write || facts.network != Network::None;
        if differs && running.mode != self.host.mode() {
            running.session.retire();
            *current = None;
            return None;
        }
        Some(Arc::clone(&running.session))
    }

    /// Refuses to start a process that keeps dying.
    fn check_health(&self) -> Result<(), WorkerError> {
        let health = self.lock_health();
        let Some((rest, words)) = health.rest(Instant::now()) else { return Ok(()) };
        Err(WorkerError::Unready(format!(
            "the plugin `{}` keeps failing and is left alone for {} more seconds; the last time: \
             {words}",
            self.facts().name,
            rest.as_secs().max(1)
        )))
    }

    async fn start(&self, mode: Mode, purpose: Purpose) -> Result<Arc<Session>, WorkerError> {
        let plugin = self.facts();
        let interpreter = match purpose {
            Purpose::Describe => {
                self.host.interpreter(plugin).await.map(|chosen| chosen.seen.interpreter)
            }
            Purpose::Serve => self.host.interpreter_for_calls(plugin).await,
        };
        let interpreter = interpreter.map_err(|why| {
            WorkerError::Unready(format!("the plugin `{}` cannot run: {why}", plugin.name))
        })?;
        let payload = self.host.payload().map_err(WorkerError::Unready)?;
        let data = &plugin.data;
        private::make_directory(data).map_err(|error| {
            WorkerError::Unready(format!("cannot make {}: {error}", data.display()))
        })?;
        let settings = &self.host.settings;
        let surroundings = &settings.surroundings;
        let (mut profile, problems) = self.plugin.profile(mode);
        profile.read.push(payload.clone());
        profile.read.extend(interpreter.directories(surroundings.home.as_deref()));
        if self.keeps_network {
            profile.network.clone_from(&plugin.network);
        }
        for problem in problems {
            (settings.on_output)(&plugin.name, &problem);
        }
        let spawn = Spawn {
            program: interpreter.program.clone(),
            args: arguments(&interpreter, &payload, data),
            cwd: settings.surroundings.directory().to_owned(),
            stdin: Stdin::Piped,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: None,
        };
        let child = settings.sandbox.start(&spawn, &profile).map_err(WorkerError::Sandbox)?;
        let health = Arc::clone(&self.health);
        let opening = SessionSettings {
            plugin: plugin.name.clone(),
            listener: Arc::clone(&settings.on_output),
            on_end: Box::new(move |fate| {
                if fate.cause == Cause::Died {
                    let mut health = health.lock().unwrap_or_else(PoisonError::into_inner);
                    health.died(Instant::now(), &fate.words);
                }
            }),
        };
        Session::open(child, opening, &self.initialize())
            .map_err(|error| WorkerError::Unready(error.to_string()))
    }

    pub(crate) fn initialize(&self) -> Initialize<'_> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (plugin, settings) = (self.facts(), &self.host.settings);
        let left_out = self.host.left_out(plugin);
        Initialize {
            protocol: PROTOCOL,
            dialect: plugin.adapter,
            cwd: text(settings.surroundings.directory()),
            project_root: text(&settings.surroundings.workspace),
            config: &settings.config,
            left_out: left_out.files,
            last: left_out.last,
            rest: self.plugin.initialize(),
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Running>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The arguments of Python: it takes nothing from its surroundings, and speaks UTF-8.
pub(crate) fn arguments(interpreter: &Interpreter, payload: &Path, data: &Path) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["-I", "-X", "utf8"].map(Into::into).into();
    let compiled = payload.join(format!("__pycache__/worker.cpython-3{}.pyc", interpreter.minor));
    if !compiled.exists() {
        // The payload is not compiled for this Python; what it compiles itself stays its own.
        let mut prefix = OsString::from("pycache_prefix=");
        prefix.push(data.join("pycache"));
        args.extend(["-X".into(), prefix]);
    }
    args.push(payload.join("host.py").into());
    args
}
