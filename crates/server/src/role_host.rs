//! The agents behind a server of roles, which the binary runs.

use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use contract::message::Usage;
use http::StatusCode;
use serde_json::Value;
use tokio::sync::watch;

use crate::host::{Earlier, Failure};

/// An agent that clients may run.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The name of its model.
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
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
