//! The agents behind a server of roles, which the binary runs.

use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use contract::event::{Event, EventKind, Outcome};
use contract::id::{Seq, SessionId, Timestamp};
use contract::log::FORMAT;
use contract::message::{Part, Reply, StopReason, Usage};
use http::StatusCode;
use serde_json::Value;
use tokio::sync::watch;

use crate::host::Failure;

/// An agent that clients may run.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The name of its model.
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
}

/// A message of an earlier exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Earlier {
    Prompt(String),
    Answer(String),
}

/// Messages as the events of a session in a directory; none if there are no messages.
pub fn events(session: &SessionId, cwd: String, messages: Vec<Earlier>) -> Vec<Event> {
    if messages.is_empty() {
        return Vec::new();
    }
    let start = EventKind::SessionStarted { cwd, format: FORMAT, forked_from: None };
    let kinds = messages.into_iter().map(|message| match message {
        Earlier::Prompt(prompt) => EventKind::TurnStarted { prompt },
        Earlier::Answer(text) => {
            let reply = Reply { parts: vec![Part::Text { text }], ..Reply::default() };
            EventKind::ReplyFinished { reply, usage: Usage::default() }
        }
    });
    let outcome = Outcome::Answered { stop_reason: StopReason::EndTurn };
    let end = EventKind::TurnFinished { outcome, usage: Usage::default() };
    let (session, at) = (session.clone(), Timestamp::now());
    let event =
        |(seq, kind)| Event { seq: Seq(seq), session: session.clone(), at, within: None, kind };
    (1..).zip([start].into_iter().chain(kinds).chain([end])).map(event).collect()
}

/// The work of a run.
pub enum Work {
    Prompt {
        /// The place of the agent in the list.
        agent: usize,
        history: Vec<Earlier>,
        prompt: String,
    },
    /// Continue a run whose waiting calls are decided by ID, by somebody with a name.
    Resume { run_id: String, approved: BTreeMap<String, bool>, by: String },
}

/// Gets the pieces of an answer.
pub type Tell = Rc<dyn Fn(&str)>;

/// The front end of one run.
pub struct Listener {
    pub tell: Tell,
    /// Becomes true if the run is to end at once.
    pub stop: watch::Receiver<bool>,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct RunEnd {
    /// The place of the agent in the list.
    pub agent: usize,
    pub run_id: String,
    pub text: String,
    /// True if the text is JSON that fits the role's schema.
    pub is_data: bool,
    pub usage: Usage,
    /// The calls that wait for approval: `tool_call_id`, `tool_name` and `arguments`.
    pub waiting: Vec<Value>,
}

/// The kinds of failure of a run that clients tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// The request or its prompt is refused.
    Refused,
    /// A limit of the role is reached.
    Limit,
    /// The answer is withheld.
    Withheld,
    Timeout,
    NotFound,
    /// The server was started without this.
    Unavailable,
    Failed,
}

impl RunFailure {
    /// The failure, for the client.
    pub fn with(self, message: impl Into<String>) -> Failure {
        let (status, code) = match self {
            Self::Refused => (StatusCode::BAD_REQUEST, None),
            Self::Limit => (StatusCode::BAD_REQUEST, Some("context_length_exceeded")),
            Self::Withheld => (StatusCode::BAD_REQUEST, Some("content_filter")),
            Self::Timeout => (StatusCode::GATEWAY_TIMEOUT, None),
            Self::NotFound => (StatusCode::NOT_FOUND, None),
            Self::Unavailable => (StatusCode::NOT_IMPLEMENTED, None),
            Self::Failed => (StatusCode::INTERNAL_SERVER_ERROR, None),
        };
        Failure { code, ..Failure::new(status, message) }
    }
}

/// The agents of a server.
#[async_trait(?Send)]
pub trait RoleHost {
    async fn run(&self, work: Work, listener: Listener) -> Result<RunEnd, Failure>;

    /// Reports a refused request.
    fn report(&self, text: &str);
}
