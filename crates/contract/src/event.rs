//! The one event. Terminal, JSON, log, hooks and tests consume this and nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::Action;
use crate::id::{CallId, Seq, SessionId, Timestamp};
use crate::message::{Reply, ToolCall, Usage};
use crate::policy::{Mode, Ruling};
use crate::tool::{Finish, ToolOutput};

/// The origin of what a user said while the model was at work.
pub const PERSON: &str = "person";

/// What the notice begins with that a user's words did not reach the model at work.
pub const UNSENT: &str = "a message was not sent";

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its position. Events that are not kept carry that of the last kept one.
    pub seq: Seq,
    /// The session.
    pub session: SessionId,
    /// When.
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
    /// The call.
    pub call: CallId,
    /// The agent that answers in it.
    pub agent: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// A session began.
    SessionStarted {
        /// The directory it works in.
        cwd: String,
        /// The version of the log's format.
        format: u32,
        /// The session it was forked from, with the last event it shares.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<Origin>,
    },
    /// The session got a title.
    Titled {
        /// The title.
        title: String,
    },
    /// From here on this model answers, in this mode.
    Configured {
        /// The provider's type.
        provider: String,
        /// The model.
        model: String,
        /// The mode.
        mode: Mode,
        /// The system prompt in force.
        system: String,
    },
    /// The user asked for something.
    TurnStarted {
        /// The words the model reads.
        prompt: String,
    },
    /// The model was told something in the middle of a turn.
    Injected {
        /// By whom: a part of the program, a hook, a plugin, or [`PERSON`].
        origin: String,
        /// The words the model reads.
        text: String,
    },
    /// A request went out. Not kept.
    RequestSent {
        /// The round within the turn, from 1.
        round: u32,
    },
    /// A piece of a reply arrived. Not kept.
    ReplyDelta {
        /// The piece.
        #[serde(flatten)]
        piece: Piece,
    },
    /// A reply is complete.
    ReplyFinished {
        /// The reply.
        reply: Reply,
        /// What it cost.
        usage: Usage,
    },
    /// The model called a tool.
    ToolCalled {
        /// The call.
        call: ToolCall,
    },
    /// The policy ruled on a call.
    ToolJudged {
        /// The call.
        call: CallId,
        /// The plugin that the tool comes from; none for a built-in one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The arguments as judged; hooks may have changed them.
        args: Value,
        /// What it would do.
        actions: Vec<Action>,
        /// The ruling with its reasoning.
        ruling: Ruling,
    },
    /// A user is asked about a call.
    Asked {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// The arguments.
        args: Value,
        /// What it would do.
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
        /// The call.
        call: CallId,
        /// The answer.
        answer: Answer,
        /// The rules that it added.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
    },
    /// A running tool said something. Not kept.
    ToolProgress {
        /// The call.
        call: CallId,
        /// What it said.
        text: String,
    },
    /// A call ended, whether it ran or not.
    ToolFinished {
        /// The call.
        call: CallId,
        /// The tool's name.
        name: String,
        /// How it ended.
        outcome: CallOutcome,
        /// What it returned.
        output: ToolOutput,
        /// What the model reads.
        content: String,
        /// Milliseconds it ran.
        duration_ms: u64,
    },
    /// Something people should know.
    Notice {
        /// How much it matters.
        level: Level,
        /// What happened.
        text: String,
        /// What to do about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// The model's view of the history was shortened. The log keeps all of it.
    Compacted {
        /// What the model reads in place of what was dropped; nothing where it was cleared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// How it was shortened.
        strategy: String,
        /// Messages that the model no longer sees.
        dropped: u64,
        /// The first and the last event that dropped messages come from, summaries apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<(Seq, Seq)>,
        /// The last messages, which it still sees.
        kept: u64,
        /// What making the summary cost.
        #[serde(default)]
        usage: Usage,
    },
    /// Calls changed files. What the files held before is kept, so that it can be undone.
    FilesChanged {
        /// The record of it in the store of snapshots.
        record: String,
        /// The first hundred files.
        files: Vec<ChangedFile>,
        /// How many there are.
        count: u64,
        /// Whether somebody else may have made some of the changes: the program ended meanwhile.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        uncertain: bool,
    },
    /// A user took changes of files back, or made them again.
    FilesRestored {
        /// Which way.
        direction: Direction,
        /// The turns whose changes they are, counted from 1.
        turns: Vec<u64>,
        /// The record of it in the store of snapshots.
        record: String,
        /// The first hundred files.
        files: Vec<String>,
        /// How many there are.
        count: u64,
        /// Files that were left as they are, because somebody else had changed them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
    },
    /// A background command was started.
    JobStarted {
        /// Its number, counted from 1 in each session.
        job: u32,
        /// The command.
        command: String,
    },
    /// A background command ended.
    JobFinished {
        /// Its number.
        job: u32,
        /// How it ended, in words, such as `exit code 0` or `stopped`.
        outcome: String,
    },
    /// A plugin's own record: kept, never read by the program.
    Custom {
        /// The plugin.
        plugin: String,
        /// The record's name.
        name: String,
        /// The record.
        data: Value,
    },
    /// The turn is over.
    TurnFinished {
        /// How it ended.
        outcome: Outcome,
        /// What the turn cost.
        usage: Usage,
    },
    /// The session was closed in order.
    SessionEnded,
}

impl EventKind {
    /// Whether the log keeps it.
    pub fn is_kept(&self) -> bool {
        !matches!(
            self,
            Self::RequestSent { .. } | Self::ReplyDelta { .. } | Self::ToolProgress { .. }
        )
    }
}

/// A point in another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The session.
    pub session: SessionId,
    /// Its last event that belongs to both.
    pub seq: Seq,
}

/// A piece of a reply, as front ends see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "piece", rename_all = "snake_case")]
pub enum Piece {
    /// Text.
    Text {
        /// More of it.
        text: String,
    },
    /// Reasoning.
    Thinking {
        /// More of it.
        text: String,
    },
    /// A tool call has begun to arrive.
    Call {
        /// The tool's name.
        name: String,
    },
    /// What came of this reply so far is void: it will be asked for again.
    Restart,
}

/// An answer to the question whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// This once.
    Once,
    /// This and calls like it, until the session ends.
    Session,
    /// This and calls like it, in this project from here on.
    Project,
    /// This and calls like it, everywhere from here on.
    Always,
    /// No.
    Deny {
        /// What the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// No, and stop the turn.
    Cancel,
    /// There is nobody to ask.
    Nobody,
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
    /// Something failed.
    Error,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The model has said its last word.
    Answered {
        /// The provider's reason for stopping.
        stop_reason: String,
    },
    /// The model said that the task is done.
    Finished(Finish),
    /// A limit was reached.
    Limited {
        /// Which one, in one word, such as `max_tokens`.
        limit: String,
        /// What it is set to.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        value: Value,
        /// The same in words, by the flag or the key that sets it.
        #[serde(default)]
        told: String,
    },
    /// The model went in circles.
    Stuck {
        /// What it did again and again.
        why: String,
    },
    /// A user stopped it.
    Cancelled,
    /// A hook did not let it begin.
    Blocked {
        /// The hook.
        hook: String,
        /// Why.
        reason: String,
    },
    /// It could not go on.
    Failed {
        /// Why.
        error: String,
        /// What to do about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

/// What a front end sends into a conversation.
#[derive(Clone, Debug)]
pub enum Input {
    /// Start a turn.
    Prompt(String),
    /// Run one tool as if the model had called it, without a model.
    Call(ToolCall),
    /// Answer a question.
    Answer {
        /// The call that was asked about.
        call: CallId,
        /// The answer.
        answer: Answer,
    },
    /// Shorten what the model sees of the history.
    Compact {
        /// What the summary must not lose.
        instructions: Option<String>,
    },
    /// Begin again with an empty history; the log keeps it.
    Clear,
    /// Give tools more or less freedom from here on.
    Mode(Mode),
    /// Keep an event that the front end made: what a user did to the session between turns.
    Record(EventKind),
    /// Whether the user has words ready for the model's next step.
    Ready(bool),
    /// Stop the running turn.
    Interrupt,
    /// Close the session.
    End,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Relative to the session's directory where it is below it.
    pub path: String,
    /// What happened to it.
    pub change: Change,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there before.
    Created,
    /// It is different.
    Modified,
    /// It is gone.
    Deleted,
}

/// Which way changes went that a user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Back to what was before a turn.
    Undo,
    /// Forth again.
    Redo,
}
