//! `Bash`: runs a shell command in the sandbox. Memory is bounded whatever the command prints, and
//! no process that it started outlives the call, except background commands, which `jobs` owns.

mod blocked;
mod capture;
mod needs;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::sandbox::{Blocked, Channel, Child, Exit, Spawn, Stdin};
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::jobs::{Jobs, Started};
use crate::process_output::{self, Bounds, End, Streams};
use crate::{Settings, arguments, describe};
use capture::Capture;

const DEFAULT_TIMEOUT: usize = 120_000;
const MAX_TIMEOUT: usize = 600_000;
/// The time for a background command to end or to print its first lines.
const FIRST_OUTPUT: Duration = Duration::from_millis(500);
/// A command that prints more than this is killed.
const MAX_PRINTED: u64 = 10 << 30;
/// The most characters that a call returns.
const MAX_RETURNED: usize = 50_000;
/// The part of them that is output and not a note on output that was cut.
const BUDGET: usize = 48_000;
/// The part of that which standard error may have if standard output is long.
const ERROR_BUDGET: usize = 12_000;

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    command: String,
    #[serde(default, deserialize_with = "arguments::count")]
    timeout: Option<usize>,
    #[serde(default)]
    network: needs::Network,
    #[serde(default)]
    outside: bool,
    #[serde(default)]
    background: bool,
}

impl Args {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Self = arguments::parse("Bash", args)?;
        if args.command.trim().is_empty() {
            return Err(ToolError::Input("No command provided".to_owned()));
        }
        if args.command.contains('\0') {
            let message = "the command holds a NUL byte, which no program can be given";
            return Err(ToolError::Input(message.to_owned()));
        }
        Ok(args)
    }
}

pub(crate) struct Bash {
    spec: Arc<ToolSpec>,
    root: PathBuf,
    jobs: Arc<Jobs>,
    single_hosts: bool,
    max_printed: u64,
}

impl Bash {
    pub(crate) fn new(settings: &Settings) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command to run"},
                "timeout": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_TIMEOUT,
                    "description": "Milliseconds after which it is killed (default 120000)"
                },
                "network": {
                    "type": ["array", "boolean"],
                    "items": {"type": "string"},
                    "description": "Hosts that the command connects to, such as [\"registry.example\"]; true for any host (default none)"
                },
                "outside": {"type": "boolean", "description": "Run it outside the sandbox (default false)"},
                "background": {
                    "type": "boolean",
                    "description": "Return at once and let the command run until it ends or is stopped (default false)"
                },
                "reason": {"type": "string", "description": "Why it needs network or outside; the user reads it"}
            },
            "required": ["command"]
        });
        let words = include_str!("bash.md");
        Self {
            spec: describe::spec("Bash", words, "shell", Risk::HighImpact, schema).into(),
            root: settings.root.clone(),
            jobs: Arc::clone(&settings.jobs),
            single_hosts: settings.single_hosts,
            max_printed: MAX_PRINTED,
        }
    }
}

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let args = Args::parse(args)?;
        let hosts = needs::hosts(&args.network)?;
        if !self.single_hosts && hosts.iter().any(|host| host != needs::ANY_HOST) {
            let message =
                "the sandbox of this machine cannot allow single hosts; use `network: true`";
            return Err(ToolError::Input(message.to_owned()));
        }
        let outside = args.outside.then_some(args.command.as_str());
        let run = Action::Run { command: args.command.clone(), cwd: self.root.clone() };
        let actions = std::iter::once(run).chain(needs::actions(hosts, outside));
        Ok(Plan::from(actions.collect::<Vec<_>>()))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let child = context.confinement.start(&self.spawn(&args))?;
        if args.background {
            self.start(args, child, context).await
        } else {
            self.finish(args, child, (call, context)).await
        }
    }
}

impl Bash {
    fn spawn(&self, args: &Args) -> Spawn {
        let bash = Path::new("/bin/bash");
        let shell = if bash.exists() { "/bin/bash" } else { "/bin/sh" };
        Spawn {
            program: PathBuf::from(shell),
            args: vec!["-c".into(), args.command.clone().into()],
            cwd: self.root.clone(),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: std::collections::BTreeMap::new(),
            home: None,
        }
    }

    /// Runs a process to its end.
    async fn finish(
        &self,
        args: Args,
        mut child: Child,
        (call, context): (&ToolCall, &ToolContext),
    ) -> Result<ToolOutput, ToolError> {
        let milliseconds = args.timeout.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT);
        let mut streams = Streams {
            stdout: Capture::new("stdout", context, call),
            stderr: Capture::new("stderr", context, call),
        };
        let bounds = Bounds {
            timeout: Duration::from_millis(milliseconds as u64),
            printed: self.max_printed,
        };
        let end = process_output::to_end(&mut child, &mut streams, &bounds, &context.cancel).await;
        let refused = child.process.blocked();
        drop(child);
        let mut output = conclude(&end, milliseconds, self.max_printed);
        let text = text(streams).await;
        output.facts.extend(text.facts());
        let complaints = if output.success { text.errors() } else { text.whole.as_str() };
        let is_failed = !output.success && matches!(end, End::Exited(Exit::Code(_)));
        let hint = hint(&args, context, &refused, (complaints, is_failed))?;
        output.output = text.whole;
        append(&mut output, hint);
        Ok(output)
    }

    /// Leaves a process in the background.
    async fn start(
        &self,
        args: Args,
        child: Child,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let redactors = context.redactors.as_ref();
        let started = self.jobs.start(args.command.clone(), child, redactors, FIRST_OUTPUT).await;
        let Started { job, output: printed, ended } = started.map_err(ToolError::Input)?;
        let mut output = match &ended {
            None => ToolOutput::success(format!("job {job} is running in the background")),
            Some(ended) if ended.is_success => {
                ToolOutput::success(format!("job {job} has ended: {}", ended.outcome))
            }
            Some(ended) => ToolOutput::failure(format!("job {job} has ended: {}", ended.outcome)),
        };
        output.facts.insert("job".to_owned(), json!(job));
        if output.success && !printed.is_empty() {
            output.output = format!("{}\n{printed}", output.output);
        } else {
            output.output.push_str(&printed);
        }
        if let Some(ended) = ended {
            let printed = (printed.as_str(), !ended.is_success);
            append(&mut output, hint(&args, context, &ended.refused, printed)?);
        }
        Ok(output)
    }
}

/// The hint about requests that the sandbox blocked.
fn hint(
    args: &Args,
    context: &ToolContext,
    refused: &[Blocked],
    (text, is_failed): (&str, bool),
) -> Result<Option<String>, ToolError> {
    let requested = &needs::hosts(&args.network)?;
    let profile = &context.confinement.profile;
    let failed = is_failed.then_some(args.command.as_str());
    Ok(blocked::hint(&blocked::Outcome { profile, requested, refused, text, failed }))
}

/// Ends a result with a line.
fn append(output: &mut ToolOutput, line: Option<String>) {
    if let Some(line) = line {
        let last = output.error.as_mut().unwrap_or(&mut output.output);
        let gap = if last.is_empty() { "" } else { "\n" };
        *last = format!("{last}{gap}{line}");
    }
}

fn conclude(end: &End, milliseconds: usize, max_printed: u64) -> ToolOutput {
    let mut output = match end {
        End::Exited(Exit::Code(0)) => ToolOutput::success(""),
        End::Exited(Exit::Code(code)) => ToolOutput::failure(format!("Exit code {code}")),
        End::Exited(Exit::Signal(signal)) => {
            ToolOutput::failure(format!("Killed by signal {signal}"))
        }
        End::TimedOut => ToolOutput::failure(format!("Command timed out after {milliseconds}ms")),
        End::Interrupted => ToolOutput::failure("interrupted"),
        End::Flooded => {
            ToolOutput::failure(format!("Command killed: it printed more than {max_printed} bytes"))
        }
        End::Lost(error) => {
            ToolOutput::failure(format!("the end of the command was not seen: {error}"))
        }
    };
    let fact = match end {
        End::Exited(Exit::Code(code)) => Some(("exit_code", json!(code))),
        End::Exited(Exit::Signal(signal)) => Some(("signal", json!(signal))),
        End::TimedOut => Some(("timed_out", json!(true))),
        End::Interrupted => Some(("interrupted", json!(true))),
        End::Flooded | End::Lost(_) => None,
    };
    let facts = fact.map(|(name, value)| (name.to_owned(), value));
    output.facts.extend(facts);
    output
}

/// The output of both streams.
struct Text {
    whole: String,
    /// The end of standard output and the start of standard error, if there is one.
    parts: Option<(usize, usize)>,
}

impl Text {
    fn errors(&self) -> &str {
        let start = self.parts.map_or(self.whole.len(), |(_, second)| second);
        self.whole.get(start..).unwrap_or_default()
    }

    /// The byte ranges of the streams: a command can print the separator itself.
    fn facts(&self) -> impl Iterator<Item = (String, Value)> {
        let end = self.whole.len();
        let facts = self.parts.map(|(first, second)| {
            let range = |from: usize, to: usize| json!([from.min(end), to.min(end)]);
            [("stdout".to_owned(), range(0, first)), ("stderr".to_owned(), range(second, end))]
        });
        facts.into_iter().flatten()
    }
}

/// The output of both streams, within the limits.
async fn text(streams: Streams<Capture>) -> Text {
    let (stdout, stderr) = (streams.stdout, streams.stderr);
    let (printed, complained) = (stdout.characters(), stderr.characters());
    let separator = "\n--- stderr ---\n";
    let between = if complained == 0 { 0 } else { separator.len() };
    let whole = printed.saturating_add(complained).saturating_add(between) <= MAX_RETURNED;
    let for_errors = complained.min(ERROR_BUDGET.max(BUDGET.saturating_sub(printed)));
    let (for_output, for_errors) =
        if whole { (printed, complained) } else { (printed.min(BUDGET - for_errors), for_errors) };
    let mut whole = stdout.finish(for_output).await;
    let errors = stderr.finish(for_errors).await;
    let mut parts = None;
    if !errors.is_empty() {
        let first = whole.len();
        whole.push_str(separator);
        parts = Some((first, whole.len()));
        whole.push_str(&errors);
    }
    whole.truncate(whole.trim_end().len());
    Text { whole, parts }
}

#[cfg(test)]
mod tests;
