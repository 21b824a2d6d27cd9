//! Hooks are asked at fixed moments of a conversation, and may tighten, rewrite or answer. Each
//! moment has its own reply, so that nothing can refuse what has happened.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::action::Action;
use crate::event::{CallOutcome, CompactionStrategy, Subconversation};
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
    BeforePrompt,
    /// A user's prompt is about to be sent to the model.
    BeforeMessage,
    /// A turn's requests are being made: their system prompt can be added to.
    BeforeRequest,
    /// A request is about to be sent: what it offers and how it asks can be changed.
    BeforeSend,
    AfterReply,
    /// A tool call was judged and is about to run.
    BeforeTool,
    AfterTool,
    BeforeCompact,
    /// The model is done, and the turn is about to end.
    BeforeStop,
}

/// The place of a moment.
#[derive(Clone, Debug)]
pub struct HookContext {
    pub session: SessionId,
    pub cwd: PathBuf,
    /// The conversation within the session; none for the session's own.
    pub within: Option<Subconversation>,
}

/// Something that happened and that no hook can change.
#[derive(Clone, Debug, PartialEq)]
pub enum Notification {
    SessionStarted,
    SessionEnded,
    AgentStarted,
    Failed {
        error: String,
        /// The kind of failure, in one word.
        kind: String,
    },
    /// A user is asked whether a call may run.
    Asking {
        tool: String,
    },
    /// A call did not run.
    CallRefused {
        call: ToolCall,
        outcome: CallOutcome,
        why: String,
    },
    /// All calls of a reply have ended.
    BatchEnded {
        /// The calls, as the model made them.
        calls: Vec<ToolCall>,
        /// The text for the model of each, in the order of the calls.
        results: Vec<String>,
    },
    /// A result was too long for the model, and the whole of it was put into a file.
    OutputStored {
        tool: String,
        path: PathBuf,
        /// The length of the whole, in bytes.
        size: usize,
        /// The length of what the model reads, in bytes.
        shown: usize,
    },
    Compacted {
        is_asked_for: bool,
        /// Replaces the dropped messages.
        summary: String,
        dropped: u64,
        kept: u64,
    },
    Clearing {
        messages: u64,
    },
    Cleared,
}

/// A tool call as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct CallView<'a> {
    pub id: &'a CallId,
    pub tool: &'a str,
    /// The arguments, with the changes of earlier hooks.
    pub args: &'a Value,
    /// The arguments that the model gave.
    pub original: &'a Value,
    /// The planned or completed actions.
    pub actions: &'a [Action],
    pub decision: Decision,
}

/// A call that has ended as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct ResultView<'a> {
    pub call: CallView<'a>,
    /// The result, with the changes of earlier hooks.
    pub output: &'a ToolOutput,
    pub duration: Duration,
}

/// A history that is about to be shortened as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct CompactView<'a> {
    pub strategy: CompactionStrategy,
    pub messages: u64,
    pub cause: CompactCause<'a>,
}

/// Why a history is shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactCause<'a> {
    Person {
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
    /// True if a hook has kept this turn from ending before.
    pub is_held: bool,
}

/// The reply of a hook, with text for the model that it may add at any moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookReply<V> {
    pub verdict: V,
    /// Guidance that the model reads before its next reply.
    pub inject: Option<String>,
}

impl<V> From<V> for HookReply<V> {
    fn from(verdict: V) -> Self {
        Self { verdict, inject: None }
    }
}

/// The decision of a hook about a user's message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WordsVerdict {
    #[default]
    Keep,
    Replace(String),
    Block(String),
    /// They are dropped without a word.
    Skip,
}

/// Additions of a hook to the system prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextVerdict {
    pub prepend: Option<String>,
    pub append: Option<String>,
}

/// Changes of a hook to a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestVerdict {
    /// The only tools that are offered, by name; all of them where it does not say.
    pub only: Option<Vec<String>>,
    /// Tools that are not offered.
    pub without: Vec<String>,
    /// Fields of the request: `temperature`, `max_tokens`, or one that goes to the provider as it is.
    pub fields: Map<String, Value>,
}

/// The decision of a hook about the text of a reply or of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TextVerdict {
    #[default]
    Keep,
    Replace(String),
}

/// The decision of a hook about a call that is about to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ToolVerdict {
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

/// The decision of a hook about a summary of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactVerdict {
    pub strategy: Option<String>,
    pub summary: Option<String>,
    /// Why the history stays as it is, where it is to stay.
    pub refusal: Option<String>,
}

/// The decision of a hook about the end of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StopVerdict {
    #[default]
    End,
    /// The model goes on, for this reason.
    GoOn(String),
}

/// The effect of a failed hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    #[default]
    Continue,
    /// A user decides where that is possible; elsewhere the work stops.
    Ask,
    /// The guarded action does not happen.
    Block,
}

/// A hook crashed, took too long, or gave an invalid reply.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// The reply of a hook, or its failure.
pub type Advised<V> = Result<HookReply<V>, HookError>;

/// Something that is asked at moments of a conversation. Hooks are asked in order, one after the
/// other; each sees what the ones before it have changed.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Its name for people, with where it comes from.
    fn name(&self) -> &str;

    /// Returns true if it is to be asked at this moment.
    fn wants(&self, moment: Moment) -> bool;

    /// The effect of a failure of this hook.
    fn on_failure(&self) -> OnFailure {
        OnFailure::Continue
    }

    /// Is notified of an event that it cannot change.
    async fn notify(&self, _: &HookContext, _: &Notification) -> Advised<()> {
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
