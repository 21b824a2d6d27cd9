//! Tools: built-in ones and those of plugins implement the same trait.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::action::{Action, View};
use crate::id::SessionId;
use crate::message::ToolCall;
use crate::sandbox::Confinement;

/// The specification of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments; an object schema.
    pub input_schema: Arc<Value>,
    pub version: String,
    pub categories: Vec<String>,
    /// True if a user must agree before it runs.
    pub requires_permission: bool,
    pub risk_level: Risk,
    pub recovery_policy: Recovery,
    /// True if calls may run beside others of the same reply.
    pub parallel: bool,
    /// `builtin`, or the name of a plugin.
    pub source: String,
    #[serde(skip)]
    pub traits: Traits,
}

/// Facts about a tool that most tools share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// The file that it is written in, if a user can change that.
    pub file: Option<PathBuf>,
    /// The schema that arguments are checked against, if that is not the one the model reads.
    pub accepted_schema: Option<Arc<Value>>,
    /// The text that the model reads if a user says no, in place of the usual one.
    pub refusal: Option<String>,
    /// True if the model does not read of it. It can be called all the same.
    pub unoffered: bool,
    /// True if a cancelled call runs to its end: a part of it is worse than the whole.
    pub indivisible: bool,
    /// True if its process may write files whatever a ruling says, since the user granted that.
    pub may_write: bool,
}

/// How much harm a mistaken call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// None: it only looks.
    ReadOnly,
    /// It changes state that can be changed back.
    Mutating,
    /// It may do what cannot be undone.
    HighImpact,
}

/// The treatment of a call that was recovered from a model's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    Allow,
    Confirm,
    Deny,
}

/// The result of a call: text for the model, and data for front ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOutput {
    /// True if the call succeeded.
    pub success: bool,
    /// The text; kept on failure too.
    pub output: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Data that front ends show in place of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// Set by a tool that ends the turn: how the task went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// Structured facts, for programs: exit code, number of matches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
}

/// The source of built-in tools.
pub const BUILTIN: &str = "builtin";

/// How a task went, in the model's own judgment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finish {
    pub status: FinishStatus,
    pub summary: String,
    /// Open work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<String>,
}

/// How well a task went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishStatus {
    Success,
    Partial,
    Failed,
    /// Only a user can remove the obstacle.
    Blocked,
}

impl FinishStatus {
    /// The status as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }

    /// Returns true if the task was not done.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Blocked)
    }
}

/// A result that the model must not lose when its history is shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    /// The subject whose present state it is: a later result replaces it.
    pub subject: Option<String>,
    /// The number of open tasks in it.
    pub open: Option<u64>,
}

/// A kind of output that front ends know how to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Display {
    Diff {
        /// The file, as the caller named it.
        path: String,
        /// The change as a unified diff.
        unified: String,
    },
    /// A picture, beside the text.
    Image {
        /// Its kind, such as `image/png`.
        media_type: String,
        /// Its bytes in base64.
        data: String,
    },
}

impl ToolOutput {
    /// A call that did what it was asked.
    pub fn success(output: impl Into<String>) -> Self {
        Self { success: true, output: output.into(), ..Self::default() }
    }

    /// A call that failed.
    pub fn failure(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }

    /// Marks the result as one that outlives a summary, in the facts `lasting`, `subject`, `open`.
    pub fn set_lasting(&mut self, lasting: Lasting) {
        self.facts.insert("lasting".to_owned(), Value::Bool(true));
        self.facts.extend(lasting.subject.map(|it| ("subject".to_owned(), it.into())));
        self.facts.extend(lasting.open.map(|it| ("open".to_owned(), it.into())));
    }

    /// The facts of a result that outlives a summary; none for other results.
    pub fn lasting(&self) -> Option<Lasting> {
        let is_lasting = self.facts.get("lasting") == Some(&Value::Bool(true));
        is_lasting.then(|| Lasting {
            subject: self.facts.get("subject").and_then(Value::as_str).map(str::to_owned),
            open: self.facts.get("open").and_then(Value::as_u64),
        })
    }

    /// Returns the text for the model: the output, then the error if there is one.
    pub fn for_model(&self) -> String {
        match (&self.error, self.output.is_empty()) {
            (None, false) => self.output.clone(),
            (None, true) if self.success => String::from("(no output)"),
            (None, true) => String::from("The tool failed and gave no reason"),
            (Some(error), true) => error.clone(),
            (Some(error), false) => format!("{}\n\n{error}", self.output),
        }
    }
}

/// Why a call could not run at all. The model reads it; the turn goes on.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments make no sense.
    #[error("{0}")]
    Input(String),
    /// The tool may not use a file that the call names.
    #[error("{0}")]
    Denied(String),
    #[error("interrupted")]
    Cancelled,
    /// No sandbox could run it.
    #[error(transparent)]
    Sandbox(#[from] crate::sandbox::SandboxError),
    /// The tool itself broke.
    #[error("{0}")]
    Broken(String),
}

/// The actions of a call, and the reason why it cannot succeed, if that is known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub actions: Vec<Action>,
    pub obstacle: Option<Obstacle>,
}

impl From<Vec<Action>> for Plan {
    fn from(actions: Vec<Action>) -> Self {
        Self { actions, obstacle: None }
    }
}

/// The reason why a call cannot succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The text for the model.
    pub text: String,
    /// True if the text says something about the content of a file that the call reads.
    pub reveals_content: bool,
}

/// The environment of a running call.
pub struct ToolContext {
    pub session: SessionId,
    /// Starts processes, confined as the ruling says.
    pub confinement: Confinement,
    pub cancel: CancellationToken,
    /// Takes lines of output while the call runs.
    pub progress: mpsc::Sender<String>,
    /// A directory for output too large for the model; the tool may create it.
    pub spill: PathBuf,
    /// Tells which files a walk through directories must leave out.
    pub view: View,
    /// The judged actions: the call does nothing else. Empty if nothing was judged.
    pub actions: Vec<Action>,
    /// Makes redactors for streams that the tool itself stores; none if there are no keys.
    pub redactors: Option<RedactorFactory>,
}

/// Makes a [`Redactor`] for each stream.
pub type RedactorFactory = Arc<dyn Fn() -> Box<dyn Redactor> + Send + Sync>;

/// Removes secrets from a stream.
pub trait Redactor: Send {
    /// Takes a piece; returns the bytes that can be passed on.
    fn push(&mut self, piece: &[u8]) -> Vec<u8>;
    /// Returns the bytes held back, at the end of the stream.
    fn finish(&mut self) -> Vec<u8>;
}

/// Something the model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Its specification at this moment.
    fn spec(&self) -> Arc<ToolSpec>;

    /// The actions of a call with these arguments, which fit the schema. Changes nothing.
    fn actions(&self, args: &Value) -> Result<Plan, ToolError>;

    /// A reason to ask a user about this call whatever rules allow; none for most. Called before a
    /// call is judged, so a tool whose specification changes can bring it up to date here.
    async fn caution(&self, _call: &ToolCall) -> Option<String> {
        None
    }

    /// Runs an approved call. Stops soon after `context.cancel` fires.
    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_call_returns_output_and_error() {
        let output = ToolOutput { output: "partial".into(), ..ToolOutput::failure("exit code 1") };
        assert_eq!(output.for_model(), "partial\n\nexit code 1");
    }

    #[test]
    fn tool_result_is_never_empty() {
        assert!(!ToolOutput::default().for_model().is_empty());
        assert!(!ToolOutput::success("").for_model().is_empty());
    }
}
