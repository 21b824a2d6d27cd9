//! The one event. Terminal, JSON, log, hooks and tests consume this and nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::Action;
use crate::id::{CallId, Seq, SessionId, Timestamp};
use crate::message::{Reply, StopReason, ToolCall, Usage};
use crate::policy::{Mode, Ruling};
use crate::provider::ReasoningLevel;
use crate::tool::{Finish, ToolOutput};

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its position. Events that are not kept carry that of the last kept one.
    pub seq: Seq,
    pub session: SessionId,
    pub at: Timestamp,
    /// The conversation within the session that it belongs to; none for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Subconversation>,
    /// Its kind, with the data of that kind.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// A conversation that a call of another one holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subconversation {
    pub call: CallId,
    pub agent: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    SessionStarted {
        cwd: String,
        format: u32,
        /// The session it was forked from, with the last event it shares.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<Origin>,
    },
    Titled {
        title: String,
    },
    /// From here on this model answers, in this mode.
    Configured {
        provider: String,
        model: String,
        mode: Mode,
        /// The system prompt in force.
        system: String,
    },
    /// The user asked for something.
    TurnStarted {
        prompt: String,
    },
    /// A message for the model in the middle of a turn.
    Injected {
        origin: MessageOrigin,
        text: String,
    },
    /// A request went out. Not kept.
    RequestSent {
        /// The round within the turn, from 1.
        round: u32,
    },
    /// A piece of a reply arrived. Not kept.
    ReplyDelta {
        #[serde(flatten)]
        piece: Piece,
    },
    ReplyFinished {
        reply: Reply,
        usage: Usage,
    },
    /// The model called a tool.
    ToolCalled {
        call: ToolCall,
    },
    /// The policy ruled on a call.
    ToolJudged {
        call: CallId,
        /// The plugin that the tool comes from; none for a built-in one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The arguments as judged; hooks may have changed them.
        args: Value,
        actions: Vec<Action>,
        ruling: Ruling,
    },
    /// A user is asked about a call.
    Asked {
        call: CallId,
        tool: String,
        args: Value,
        actions: Vec<Action>,
        /// Why it asks; empty if the mode alone asks.
        why: String,
        /// True if the call may destroy data that undo does not restore.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        destructive: bool,
        /// The rules that an answer beyond this once would add.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remember: Vec<String>,
    },
    /// A user, or nobody, answered.
    Answered {
        call: CallId,
        answer: Answer,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
        /// The client that answered, if there can be several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A running tool said something. Not kept.
    ToolProgress {
        call: CallId,
        text: String,
    },
    /// A call ended, whether it ran or not.
    ToolFinished {
        call: CallId,
        name: String,
        outcome: CallOutcome,
        output: ToolOutput,
        content: String,
        duration_ms: u64,
    },
    /// Something people should know.
    Notice {
        level: Level,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// The topic, for programs; none for most notices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<NoticeTopic>,
    },
    /// The model's view of the history was shortened. The log keeps all of it.
    Compacted {
        /// Replaces the dropped messages for the model; none if the history was cleared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        strategy: CompactionStrategy,
        /// Messages that the model no longer sees.
        dropped: u64,
        /// The first and the last event that dropped messages come from, summaries apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<(Seq, Seq)>,
        /// The last messages, which it still sees.
        kept: u64,
        /// The cost of the summary.
        #[serde(default)]
        usage: Usage,
        /// Parts of the summary that the next one repeats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lasting: Option<LastingParts>,
    },
    /// Calls changed files. What the files held before is kept, so that it can be undone.
    FilesChanged {
        record: String,
        files: Vec<ChangedFile>,
        count: u64,
        /// True if another program may have made some of the changes, since this one ended during the calls.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        uncertain: bool,
    },
    /// A user took changes of files back, or made them again.
    FilesRestored {
        direction: Direction,
        /// The turns whose changes they are, counted from 1.
        turns: Vec<u64>,
        record: String,
        files: Vec<String>,
        count: u64,
        /// Files that were left as they are, because somebody else had changed them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
    },
    JobStarted {
        /// Its number, counted from 1 in each session.
        job: u32,
        command: String,
    },
    JobFinished {
        job: u32,
        /// In words, such as `exit code 0` or `stopped`.
        outcome: String,
    },
    /// A record of a plugin, or the role that the session plays. No model sees it.
    Custom {
        plugin: String,
        name: String,
        data: Value,
    },
    TurnFinished {
        outcome: Outcome,
        usage: Usage,
    },
    /// The session was closed in order.
    SessionEnded,
}

impl EventKind {
    /// Returns true if the log stores it.
    pub fn is_kept(&self) -> bool {
        !matches!(
            self,
            Self::RequestSent { .. } | Self::ReplyDelta { .. } | Self::ToolProgress { .. }
        )
    }
}

/// The origin of a message that the model reads in the middle of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageOrigin {
    /// The user, while the model was at work.
    #[serde(rename = "person")]
    User,
    /// The recovery of a call that the model wrote as text.
    Recovery,
    /// The reaction to a reply without text and calls.
    #[serde(rename = "empty reply")]
    EmptyReply,
    /// Another part of the program, a hook or a plugin, by name.
    #[serde(untagged)]
    Other(String),
}

impl MessageOrigin {
    /// The name that the log uses.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "person",
            Self::Recovery => "recovery",
            Self::EmptyReply => "empty reply",
            Self::Other(name) => name,
        }
    }
}

/// The topic of a notice that programs react to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeTopic {
    /// A message of the user was not sent to the model at work.
    MessageUnsent,
    /// A failed request is repeated.
    Retry,
    /// A call was recovered from text twice in a row.
    RecoveryLoop,
    /// Too many calls were recovered from text.
    RecoveryBudget,
}

/// How a history is shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStrategy {
    /// A summary by the model replaces the dropped messages.
    Summarize,
    /// Messages are dropped without a summary.
    Truncate,
    Clear,
}

/// The parts of a summary that the next one repeats word for word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastingParts {
    pub task: String,
    /// The instructions of the skills that the user activated.
    pub skills: Vec<String>,
}

/// A point in another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    pub session: SessionId,
    /// Its last event that belongs to both.
    pub seq: Seq,
}

/// A piece of a reply, as front ends see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "piece", rename_all = "snake_case")]
pub enum Piece {
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    /// A tool call has begun to arrive.
    Call {
        name: String,
    },
    /// The pieces so far are void: the reply is requested again.
    Restart,
}

/// An answer to the question whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Once,
    /// This and calls like it, until the session ends.
    Session,
    /// This and calls like it, for this project.
    Project,
    /// This and calls like it, everywhere from here on.
    Always,
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// No, and stop the turn.
    Cancel,
    /// There is nobody to ask.
    #[serde(rename = "nobody")]
    Unavailable,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It ran; the output says how well.
    Ran,
    /// No such tool, or arguments that do not fit it.
    Invalid,
    /// The policy or a user said no.
    Denied,
    /// It needed a permission that nobody could give.
    Unanswered,
    /// No sandbox works on this machine, so it did not run.
    NoSandbox,
    /// It was not run: a dry run, or a hook answered in its place.
    Skipped,
    /// It was stopped, or the program ended while it ran.
    Interrupted,
}

/// How much a notice matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    Error,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The model has said its last word.
    Answered {
        stop_reason: StopReason,
    },
    /// The model said that the task is done.
    Finished(Finish),
    Limited {
        /// Its name, such as `max_tokens`.
        limit: String,
        /// The value of the limit.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        value: Value,
        /// The limit in words, with the flag or key that sets it.
        #[serde(default)]
        told: String,
    },
    /// The model went in circles.
    Stuck {
        /// The repeated behavior.
        why: String,
    },
    Cancelled,
    /// A hook did not let it begin.
    Blocked {
        hook: String,
        reason: String,
    },
    /// It could not go on.
    Failed {
        error: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

/// Input of a front end for a conversation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// A prompt. While a turn runs, the model reads it at its next step.
    #[serde(alias = "say")]
    Prompt {
        text: String,
    },
    /// Run one tool as if the model had called it, without a model.
    #[serde(skip)]
    Call(ToolCall),
    /// Answer a question.
    Answer {
        call: CallId,
        #[serde(flatten)]
        answer: Answer,
        #[serde(default)]
        by: Option<String>,
    },
    /// Compact the conversation.
    Compact {
        /// Content that the summary must keep.
        instructions: Option<String>,
    },
    /// Clear the conversation; the log keeps it.
    Clear,
    /// Give tools more or less freedom: less at once, more from the next turn.
    Mode {
        mode: Mode,
    },
    /// Have the model think more or less from here on.
    #[serde(skip)]
    Effort(ReasoningLevel),
    /// Keep an event that the front end made: what a user did to the session between turns.
    #[serde(skip)]
    Record(EventKind),
    /// True if the user has a message ready for the model's next step.
    #[serde(skip)]
    Ready(bool),
    Interrupt,
    /// Close the conversation when all that was sent before is done.
    End,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Relative to the session's directory where it is below it.
    pub path: String,
    pub change: Change,
}

/// The kind of change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there before.
    Created,
    Modified,
    Deleted,
}

/// The direction of a restoration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Back to what was before a turn.
    Undo,
    Redo,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn origins_strategies_and_topics_keep_their_spelling() {
        let origins = ["person", "recovery", "empty reply", "hook:style"];
        for name in origins {
            let origin: MessageOrigin = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(
                (origin.as_str(), serde_json::to_value(&origin).unwrap()),
                (name, json!(name))
            );
        }
        for name in ["summarize", "truncate", "clear"] {
            let strategy: CompactionStrategy = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(json!(strategy), name);
        }
        let old = json!({"type": "notice", "level": "info", "text": "x"});
        let notice: EventKind = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(serde_json::to_value(notice).unwrap(), old);
    }

    #[test]
    fn inputs_are_json_objects() {
        let input = |json| serde_json::from_value::<Input>(json);
        let answer =
            input(json!({"input": "answer", "call": "c1", "answer": "deny", "reason": "no"}));
        let expected = Answer::Deny { reason: Some("no".to_owned()) };
        assert!(matches!(answer, Ok(Input::Answer { answer, .. }) if answer == expected));
        let json = json!({"input": "mode", "mode": "read-only"});
        assert_eq!(json!(input(json.clone()).unwrap()), json);
        assert!(matches!(input(json!({"input": "compact"})), Ok(Input::Compact { .. })));
        assert!(matches!(input(json!({"input": "say", "text": "x"})), Ok(Input::Prompt { .. })));
        for wrong in [json!({"input": "ready"}), json!({"input": "prompt"}), json!("prompt")] {
            assert!(input(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
