//! `Bash`: runs a shell command in the sandbox. Memory stays bounded whatever the command prints,
//! and nothing it started outlives the call.

mod capture;
mod pump;

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::Action;
use contract::sandbox::{Channel, Exit, Spawn, Stdin};
use contract::tool::{Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{arguments, describe};
use capture::Capture;
use pump::{Bounds, End};

const DEFAULT_TIMEOUT: usize = 120_000;
const MAX_TIMEOUT: usize = 600_000;
/// A command that prints more than this is killed.
const MAX_PRINTED: u64 = 10 << 30;
/// The most characters a call returns.
const MAX_RETURNED: usize = 50_000;
/// What is left of it once the notes on what was cut are taken off.
const BUDGET: usize = 48_000;
/// What standard error may take of it where standard output wants all.
const ERROR_BUDGET: usize = 12_000;

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    command: String,
    #[serde(default, deserialize_with = "arguments::count")]
    timeout: Option<usize>,
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

/// How a commit can be made, where git in the sandbox cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committing {
    /// By the tool `GitCommit`.
    ByTool,
    /// Not at all.
    Nowhere,
}

/// The tool.
pub(crate) struct Bash {
    spec: ToolSpec,
    root: PathBuf,
    committing: Committing,
    max_printed: u64,
}

impl Bash {
    /// Makes the tool for commands that run in `root`.
    pub(crate) fn new(root: PathBuf, committing: Committing) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command to run"},
                "timeout": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_TIMEOUT,
                    "description": "Milliseconds after which it is killed (default 120000)"
                }
            },
            "required": ["command"]
        });
        let words = include_str!("bash.md");
        Self {
            spec: describe::spec("Bash", words, "shell", Risk::HighImpact, schema),
            root,
            committing,
            max_printed: MAX_PRINTED,
        }
    }
}

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        let args = Args::parse(args)?;
        Ok(vec![Action::Run { command: args.command, cwd: self.root.clone() }])
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args = Args::parse(&call.args)?;
        let milliseconds = args.timeout.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT);
        let bash = Path::new("/bin/bash");
        let shell = if bash.exists() { "/bin/bash" } else { "/bin/sh" };
        let spawn = Spawn {
            program: PathBuf::from(shell),
            args: vec!["-c".into(), args.command.into()],
            cwd: self.root.clone(),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: std::collections::BTreeMap::new(),
            home: None,
        };
        let mut child = context.confinement.start(&spawn)?;
        let mut streams = pump::Streams {
            stdout: Capture::new("stdout", context, call),
            stderr: Capture::new("stderr", context, call),
        };
        let bounds = Bounds {
            timeout: Duration::from_millis(milliseconds as u64),
            printed: self.max_printed,
        };
        let end = pump::to_end(&mut child, &mut streams, &bounds, &context.cancel).await;
        drop(child);
        let mut output = conclude(&end, milliseconds, self.max_printed);
        let text = text(streams).await;
        output.facts.extend(text.facts());
        output.output = text.whole;
        if let Some(error) = &mut output.error
            && let Some(remedy) = remedy(&output.output, self.committing)
        {
            error.push_str("\n.git is read-only for commands; ");
            error.push_str(remedy);
        }
        Ok(output)
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

/// What to do where a command complained that it could not write in a repository.
fn remedy(text: &str, committing: Committing) -> Option<&'static str> {
    let is_refused =
        |line: &&str| line.contains("Read-only file system") || line.contains("Permission denied");
    let mut refused = text.lines().filter(is_refused).filter(|line| line.contains(".git/"));
    if committing == Committing::ByTool && refused.clone().any(|line| line.contains("index.lock")) {
        return Some("commit with the GitCommit tool");
    }
    refused.next().map(|_| {
        "ask the person to make, change or remove a repository here, and clone what you only want to read to /tmp"
    })
}

/// What both streams held.
struct Text {
    whole: String,
    /// Where the first ends and the second begins, where there is one.
    parts: Option<(usize, usize)>,
}

impl Text {
    /// Which bytes were printed where: no reader can tell it by words that a command may print itself.
    fn facts(&self) -> impl Iterator<Item = (String, Value)> {
        let end = self.whole.len();
        let facts = self.parts.map(|(first, second)| {
            let range = |from: usize, to: usize| json!([from.min(end), to.min(end)]);
            [("stdout".to_owned(), range(0, first)), ("stderr".to_owned(), range(second, end))]
        });
        facts.into_iter().flatten()
    }
}

/// What both streams held, cut to what a model can take in.
async fn text(streams: pump::Streams) -> Text {
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
