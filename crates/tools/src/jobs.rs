//! Background commands: started by `Bash`, listed, tailed and stopped by the tool `Jobs` or by the
//! user, and stopped at the end of the session. Memory is bounded whatever they print.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use contract::event::EventKind;
use contract::message::ToolCall;
use contract::sandbox::{Blocked, Child, Exit};
use contract::tool::{
    Plan, Redactor, RedactorFactory, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::process_output::{self, Bounds, End, Sink, Streams};
use crate::{arguments, describe};

const MAX_RUNNING: usize = 16;
/// Commands in the list; the oldest that have ended are removed.
const MAX_LISTED: usize = 64;
/// The last bytes of the output of each command.
const SPOOL: usize = 256 << 10;
const DEFAULT_TAIL: usize = 50;
/// The commands run until they end or are stopped.
const UNBOUNDED: Bounds = Bounds { timeout: Duration::from_secs(10 << 30), printed: u64::MAX };

/// The background commands of a session.
#[derive(Default)]
pub struct Jobs {
    state: Mutex<State>,
    events: Arc<Events>,
}

#[derive(Default)]
struct State {
    /// The number of the last job.
    last: u32,
    jobs: BTreeMap<u32, Arc<Job>>,
    tasks: JoinSet<()>,
}

/// Starts and ends of commands that were not read yet.
#[derive(Default)]
struct Events {
    waiting: Mutex<VecDeque<EventKind>>,
    added: Notify,
}

struct Job {
    command: String,
    stop: CancellationToken,
    output: Mutex<VecDeque<u8>>,
    ended: watch::Sender<Option<Ended>>,
}

/// The end of a background command.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: String,
    pub(crate) is_success: bool,
    /// The requests that the sandbox refused.
    pub(crate) refused: Vec<Blocked>,
}

/// A background command shortly after its start.
pub(crate) struct Started {
    pub(crate) job: u32,
    /// Its first output.
    pub(crate) output: String,
    pub(crate) ended: Option<Ended>,
}

impl Jobs {
    /// Takes a process as a background command and waits up to `patience` for its end.
    pub(crate) async fn start(
        &self,
        command: String,
        child: Child,
        redactors: Option<&RedactorFactory>,
        patience: Duration,
    ) -> Result<Started, String> {
        let (number, job) = self.add(command)?;
        let feed = || {
            let redactor = redactors.map(|redactors| redactors());
            Feed { job: Arc::clone(&job), is_open: true, total: 0, redactor }
        };
        let streams = Streams { stdout: feed(), stderr: feed() };
        let started = EventKind::JobStarted { job: number, command: job.command.clone() };
        self.events.add(started);
        let run = run(child, streams, Arc::clone(&job), (number, Arc::clone(&self.events)));
        self.state().tasks.spawn(run);
        let mut ended = job.ended.subscribe();
        // A background command may run longer.
        drop(tokio::time::timeout(patience, ended.wait_for(Option::is_some)).await);
        let ended = job.ended.borrow().clone();
        Ok(Started { job: number, output: job.tail(DEFAULT_TAIL), ended })
    }

    fn add(&self, command: String) -> Result<(u32, Arc<Job>), String> {
        let mut state = self.state();
        while state.tasks.try_join_next().is_some() {}
        let running = state.jobs.values().filter(|job| job.is_running()).count();
        if running >= MAX_RUNNING {
            return Err(format!("{running} background commands run already; stop one first"));
        }
        while state.jobs.len() >= MAX_LISTED {
            let Some(oldest) = state.jobs.iter().find(|(_, job)| !job.is_running()) else { break };
            let oldest = *oldest.0;
            state.jobs.remove(&oldest);
        }
        state.last += 1;
        let number = state.last;
        let job = Arc::new(Job {
            command,
            stop: CancellationToken::new(),
            output: Mutex::default(),
            ended: watch::Sender::new(None),
        });
        state.jobs.insert(number, Arc::clone(&job));
        Ok((number, job))
    }

    /// One line for each command.
    pub fn list(&self) -> String {
        let state = self.state();
        let line = |(number, job): (&u32, &Arc<Job>)| {
            let outcome = job.ended.borrow().as_ref().map(|ended| ended.outcome.clone());
            let outcome = outcome.unwrap_or_else(|| "running".to_owned());
            let command = job.command.lines().next().unwrap_or_default();
            format!("job {number}  {outcome}  {command}")
        };
        let lines: Vec<String> = state.jobs.iter().map(line).collect();
        if lines.is_empty() { "no background commands".to_owned() } else { lines.join("\n") }
    }

    /// The last lines that a command printed, and its state.
    pub fn tail(&self, number: u32, lines: Option<usize>) -> Result<String, String> {
        let job = self.job(number)?;
        let output = job.tail(lines.unwrap_or(DEFAULT_TAIL));
        let state = match &*job.ended.borrow() {
            Some(ended) => format!("[job {number}: {}]", ended.outcome),
            None => format!("[job {number} is running]"),
        };
        Ok(if output.is_empty() { state } else { format!("{output}\n{state}") })
    }

    /// Stops a command and its children, and waits for the end.
    pub async fn stop(&self, number: u32) -> Result<String, String> {
        let job = self.job(number)?;
        if !job.is_running() {
            return Err(format!("job {number} has ended"));
        }
        job.stop.cancel();
        let mut ended = job.ended.subscribe();
        drop(ended.wait_for(Option::is_some).await);
        Ok(format!("job {number} was stopped"))
    }

    fn job(&self, number: u32) -> Result<Arc<Job>, String> {
        let found = self.state().jobs.get(&number).map(Arc::clone);
        found.ok_or_else(|| format!("there is no job {number}"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl contract::jobs::Jobs for Jobs {
    async fn next_event(&self) -> EventKind {
        loop {
            let added = self.events.added.notified();
            if let Some(what) = self.events.waiting().pop_front() {
                return what;
            }
            added.await;
        }
    }

    async fn end(&self) -> Vec<EventKind> {
        let mut tasks = {
            let mut state = self.state();
            state.jobs.values().for_each(|job| job.stop.cancel());
            std::mem::take(&mut state.tasks)
        };
        while tasks.join_next().await.is_some() {}
        self.events.waiting().drain(..).collect()
    }
}

impl Events {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<EventKind>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, what: EventKind) {
        self.waiting().push_back(what);
        self.added.notify_one();
    }
}

impl Job {
    fn is_running(&self) -> bool {
        self.ended.borrow().is_none()
    }

    fn tail(&self, lines: usize) -> String {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(output.make_contiguous()).into_owned();
        let text = text.trim_end();
        let start = text.rmatch_indices('\n').nth(lines.max(1) - 1).map_or(0, |(at, _)| at + 1);
        text[start..].to_owned()
    }
}

/// Runs a command to its end and reports it.
async fn run(
    mut child: Child,
    mut streams: Streams<Feed>,
    job: Arc<Job>,
    (number, events): (u32, Arc<Events>),
) {
    let end = process_output::to_end(&mut child, &mut streams, &UNBOUNDED, &job.stop).await;
    let refused = child.process.blocked();
    drop(child);
    let outcome = match &end {
        End::Exited(Exit::Code(code)) => format!("exit code {code}"),
        End::Exited(Exit::Signal(signal)) => format!("killed by signal {signal}"),
        End::TimedOut | End::Flooded | End::Interrupted => "stopped".to_owned(),
        End::Lost(error) => format!("its end was not seen: {error}"),
    };
    let is_success = matches!(end, End::Exited(Exit::Code(0)));
    job.ended.send_replace(Some(Ended { outcome: outcome.clone(), is_success, refused }));
    events.add(EventKind::JobFinished { job: number, outcome });
}

/// One output stream of a background command.
struct Feed {
    job: Arc<Job>,
    is_open: bool,
    total: u64,
    redactor: Option<Box<dyn Redactor>>,
}

impl Feed {
    fn add(&mut self, bytes: &[u8]) {
        let mut output = self.job.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend(&bytes[bytes.len().saturating_sub(SPOOL)..]);
        let excess = output.len().saturating_sub(SPOOL);
        output.drain(..excess);
    }
}

impl Sink for Feed {
    fn is_open(&self) -> bool {
        self.is_open
    }

    fn total(&self) -> u64 {
        self.total
    }

    async fn take(&mut self, read: io::Result<usize>, buffer: &[u8]) {
        let bytes = &buffer[..read.unwrap_or(0)];
        self.is_open = !bytes.is_empty();
        self.total += bytes.len() as u64;
        let shown = match self.redactor.as_mut() {
            Some(redactor) if bytes.is_empty() => redactor.finish(),
            Some(redactor) => redactor.push(bytes),
            None => bytes.to_vec(),
        };
        self.add(&shown);
    }
}

#[derive(Deserialize)]
struct Args {
    action: Verb,
    #[serde(default, deserialize_with = "arguments::count")]
    job: Option<usize>,
    #[serde(default, deserialize_with = "arguments::count")]
    lines: Option<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verb {
    List,
    Tail,
    Stop,
}

/// The tool `Jobs`.
pub(crate) struct JobsTool {
    spec: Arc<ToolSpec>,
    jobs: Arc<Jobs>,
}

impl JobsTool {
    pub(crate) fn new(jobs: Arc<Jobs>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["list", "tail", "stop"]},
                "job": {"type": "integer", "minimum": 1, "description": "The number of the job, for tail and stop"},
                "lines": {"type": "integer", "minimum": 1, "description": "How many lines tail shows (default 50)"}
            },
            "required": ["action"]
        });
        let words = include_str!("jobs.md");
        Self { spec: describe::spec("Jobs", words, "shell", Risk::ReadOnly, schema).into(), jobs }
    }
}

#[async_trait]
impl Tool for JobsTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let args: Args = arguments::parse("Jobs", args)?;
        match (args.action, args.job) {
            (Verb::List, _) | (Verb::Tail | Verb::Stop, Some(_)) => Ok(Plan::default()),
            (Verb::Tail | Verb::Stop, None) => Err(ToolError::Input("No job provided".to_owned())),
        }
    }

    async fn run(&self, call: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args: Args = arguments::parse("Jobs", &call.args)?;
        let job = args.job.and_then(|job| u32::try_from(job).ok()).unwrap_or(0);
        let done = match args.action {
            Verb::List => Ok(self.jobs.list()),
            Verb::Tail => self.jobs.tail(job, args.lines),
            Verb::Stop => self.jobs.stop(job).await,
        };
        Ok(done.map_or_else(ToolOutput::failure, ToolOutput::success))
    }
}

#[cfg(test)]
mod tests;
