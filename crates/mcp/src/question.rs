//! Requests of servers to the user and to the model: elicitation and sampling.

use serde_json::{Map, Value};

/// A question of a server to the user (elicitation).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) server: String,
    pub(crate) message: String,
    pub(crate) wanted: Wanted,
}

/// The kind of answer that a question wants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// The fields of a form: an object schema with plain fields.
    Form(Value),
    /// A visit to a page.
    Visit(String),
}

/// The user's answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QuestionAnswer {
    /// These fields; empty for a visit.
    Accept(Map<String, Value>),
    Decline,
    /// The question was dismissed.
    Cancel,
}

/// A request of a server for a reply by the model (sampling).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SamplingRequest {
    pub(crate) server: String,
    /// The system prompt that it wishes.
    pub(crate) system: Option<String>,
    /// The messages: the role (`user` or `assistant`) and the text.
    pub(crate) messages: Vec<(String, String)>,
    /// Upper bound on the reply.
    pub(crate) max_tokens: u32,
}

/// A reply that the model wrote for a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SamplingReply {
    pub(crate) model: String,
    pub(crate) text: String,
}
