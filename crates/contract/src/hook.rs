//! What a hook is: something that is asked at fixed moments of a conversation, and may tighten,
//! rewrite or answer. Each moment has its own reply, so that nothing can refuse what has happened.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::action::Action;
use crate::event::{CallOutcome, Subconversation};
use crate::id::{CallId, SessionId};
use crate::message::ToolCall;
use crate::policy::Decision;
use crate::provider::Request;
use crate::tool::ToolOutput;

/// The moments at which hooks are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Something happened: the session begins or ends, something failed in it.
    Notification,
    /// A user sent a prompt.
    BeforePrompt,
    /// A user's prompt is about to be sent to the model.
    BeforeMessage,
    /// A turn's requests are being made: their system prompt can be added to.
    BeforeRequest,
    /// A request is about to be sent: what it offers and how it asks can be changed.
    BeforeSend,
    /// The model has replied.
    AfterReply,
    /// A tool call was judged and is about to run.
    BeforeTool,
    /// A tool call has ended.
    AfterTool,
    /// The history is about to be summarized.
    BeforeCompact,
    /// The model is done, and the turn is about to end.
    BeforeStop,
}

/// Where a moment takes place.
#[derive(Clone, Debug)]
pub struct HookContext {
    /// The conversation.
    pub session: SessionId,
    /// The directory it works in.
    pub cwd: PathBuf,
    /// The conversation within the session; none for the session's own.
    pub within: Option<Subconversation>,
}

/// Something that happened and that no hook can change.
#[derive(Clone, Debug, PartialEq)]
pub enum Notification {
    /// The session begins, or goes on after a while.
    SessionStarted,
    /// The session ends.
    SessionEnded,
    /// A conversation within the session begins.
    AgentStarted,
    /// Something failed.
    Failed {
        /// What happened.
        error: String,
        /// The kind of failure, in one word.
        kind: String,
    },
    /// A user is asked whether a call may run.
    Asking {
        /// The tool.
        tool: String,
    },
    /// A call did not run.
    CallRefused {
        /// The call, as it was judged.
        call: ToolCall,
        /// How it ended: invalid, denied, or with nobody to ask.
        outcome: CallOutcome,
        /// What the model is told.
        why: String,
    },
    /// All calls of a reply have ended.
    BatchEnded {
        /// The calls, as the model made them.
        calls: Vec<ToolCall>,
        /// What the model reads of each, in the same order.
        results: Vec<String>,
    },
    /// A result was too long for the model, and the whole of it was put into a file.
    OutputStored {
        /// The tool.
        tool: String,
        /// The file.
        path: PathBuf,
        /// The length of the whole, in bytes.
        size: usize,
        /// The length of what the model reads, in bytes.
        shown: usize,
    },
    /// The history was shortened.
    Compacted {
        /// Whether a user asked for it.
        is_asked_for: bool,
        /// What stands for the messages that were dropped.
        summary: String,
        /// Messages that were dropped.
        dropped: u64,
        /// Messages that stay.
        kept: u64,
    },
    /// The history is about to be forgotten.
    Clearing {
        /// Its messages.
        messages: u64,
    },
    /// The history was forgotten.
    Cleared,
}

/// A tool call as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct CallView<'a> {
    /// Its id.
    pub id: &'a CallId,
    /// The tool's name.
    pub tool: &'a str,
    /// The arguments, with the changes of earlier hooks.
    pub args: &'a Value,
    /// The arguments that the model gave.
    pub original: &'a Value,
    /// What it would do, or did.
    pub actions: &'a [Action],
    /// What the policy decided.
    pub decision: Decision,
}

/// A call that has ended as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct ResultView<'a> {
    /// The call.
    pub call: CallView<'a>,
    /// What it returned, with the changes of earlier hooks.
    pub output: &'a ToolOutput,
    /// How long it ran.
    pub duration: Duration,
}

/// A history that is about to be shortened as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct CompactView<'a> {
    /// How that is done, unless a hook says otherwise.
    pub strategy: &'a str,
    /// All its messages.
    pub messages: u64,
    /// Why.
    pub cause: CompactCause<'a>,
}

/// Why a history is shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactCause<'a> {
    /// A user asked for it.
    Person {
        /// What must not be lost.
        instructions: Option<&'a str>,
    },
    /// It is too long for the model.
    Length,
}

/// The end of a turn as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// The last words of the model.
    pub reply: &'a str,
    /// Whether a hook has kept this turn from ending before.
    pub is_held: bool,
}

/// What a hook says, with words for the model that it may add at any moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookReply<V> {
    /// What it decides.
    pub verdict: V,
    /// Guidance that the model reads before its next reply.
    pub inject: Option<String>,
}

impl<V> From<V> for HookReply<V> {
    fn from(verdict: V) -> Self {
        Self { verdict, inject: None }
    }
}

/// What a hook decides about a user's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WordsVerdict {
    /// They stay as they are.
    #[default]
    Keep,
    /// These take their place.
    Replace(String),
    /// They are not sent.
    Block(String),
    /// They are dropped without a word.
    Skip,
}

/// What a hook adds to the system prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextVerdict {
    /// Before it.
    pub prepend: Option<String>,
    /// After it.
    pub append: Option<String>,
}

/// What a hook changes about a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestVerdict {
    /// The only tools that are offered, by name; all of them where it does not say.
    pub only: Option<Vec<String>>,
    /// Tools that are not offered.
    pub without: Vec<String>,
    /// Fields of the request: `temperature`, `max_tokens`, or one that goes to the provider as it is.
    pub fields: Map<String, Value>,
}

/// What a hook does with the text of a reply, or with what the model reads of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TextVerdict {
    /// It stays as it is.
    #[default]
    Keep,
    /// This takes its place.
    Replace(String),
}

/// What a hook decides about a call that is about to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ToolVerdict {
    /// It goes on.
    #[default]
    Proceed,
    /// It goes on with other arguments, which are checked and judged like any.
    Rewrite(Value),
    /// It does not run; this is its result.
    Answer(ToolOutput),
    /// A user decides, for this reason.
    Ask(String),
    /// It does not run, for this reason.
    Block(String),
}

/// What a hook decides about a summary of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactVerdict {
    /// How to make it, by name.
    pub strategy: Option<String>,
    /// The summary itself.
    pub summary: Option<String>,
    /// Why the history stays as it is, where it is to stay.
    pub refusal: Option<String>,
}

/// What a hook decides about the end of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StopVerdict {
    /// It ends.
    #[default]
    End,
    /// The model goes on, for this reason.
    GoOn(String),
}

/// What it means that a hook did not answer, or not sensibly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The work goes on.
    #[default]
    Continue,
    /// A user decides where that is possible; elsewhere the work stops.
    Ask,
    /// What it guards does not happen.
    Block,
}

/// Why a hook gave no answer: it crashed, took too long, or said what makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// What a hook says to a question, or why it says nothing.
pub type Advised<V> = Result<HookReply<V>, HookError>;

/// Something that is asked at moments of a conversation. Hooks are asked in order, one after the
/// other; each sees what the ones before it have changed.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Its name for people, with where it comes from.
    fn name(&self) -> &str;

    /// Whether it wants to be asked at all at this moment.
    fn wants(&self, moment: Moment) -> bool;

    /// What a failure of this hook means.
    fn on_failure(&self) -> OnFailure {
        OnFailure::Continue
    }

    /// Hears what happened.
    async fn occasion(&self, _: &HookContext, _: &Notification) -> Advised<()> {
        Ok(HookReply::default())
    }

    /// Is asked about a prompt that a user sent.
    async fn before_prompt(&self, _: &HookContext, _: &str) -> Advised<WordsVerdict> {
        Ok(HookReply::default())
    }

    /// Is asked about a prompt on its way to the model.
    async fn before_message(&self, _: &HookContext, _: &str) -> Advised<WordsVerdict> {
        Ok(HookReply::default())
    }

    /// Is asked what to add to a system prompt.
    async fn before_request(&self, _: &HookContext, _: &str) -> Advised<ContextVerdict> {
        Ok(HookReply::default())
    }

    /// Is asked about a request that is about to be sent.
    async fn before_send(&self, _: &HookContext, _: &Request) -> Advised<RequestVerdict> {
        Ok(HookReply::default())
    }

    /// Is asked about the text of a reply, given the prompt it answers.
    async fn after_reply(
        &self,
        _: &HookContext,
        _prompt: &str,
        _reply: &str,
    ) -> Advised<TextVerdict> {
        Ok(HookReply::default())
    }

    /// Is asked about a call that is about to run.
    async fn before_tool(&self, _: &HookContext, _: CallView<'_>) -> Advised<ToolVerdict> {
        Ok(HookReply::default())
    }

    /// Is asked about a call that has ended.
    async fn after_tool(&self, _: &HookContext, _: ResultView<'_>) -> Advised<TextVerdict> {
        Ok(HookReply::default())
    }

    /// Why the turn must end here, where the hook has said so since it was last looked for.
    fn take_halt(&self) -> Option<String> {
        None
    }

    /// Is asked how to summarize the history.
    async fn before_compact(&self, _: &HookContext, _: CompactView<'_>) -> Advised<CompactVerdict> {
        Ok(HookReply::default())
    }

    /// Is asked whether a turn may end.
    async fn before_stop(&self, _: &HookContext, _: Ending<'_>) -> Advised<StopVerdict> {
        Ok(HookReply::default())
    }
}
