//! Whoever answers when a server asks for something: words of a user, or of the model.

use async_trait::async_trait;
use serde_json::{Map, Value};

/// What a server wants to know from a user.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The server.
    pub server: String,
    /// What it says.
    pub message: String,
    /// What it wants.
    pub wanted: Wanted,
}

/// What a question wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// The fields of a form: an object schema with plain fields.
    Form(Value),
    /// A visit to an address.
    Visit(String),
}

/// A user's answer to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// These fields; none for a visit.
    Accept(Map<String, Value>),
    /// No.
    Decline,
    /// The question was put aside.
    Cancel,
}

/// What a server wants the model to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// The server.
    pub server: String,
    /// The system prompt it wishes.
    pub system: Option<String>,
    /// The messages: who speaks (`user` or `assistant`), and the words.
    pub messages: Vec<(String, String)>,
    /// Upper bound on the reply.
    pub max_tokens: u32,
}

/// What the model wrote for a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The model.
    pub model: String,
    /// Its words.
    pub text: String,
}

/// Answers servers.
#[async_trait]
pub trait Person: Send + Sync {
    /// Answers a question.
    async fn answer(&self, question: Question) -> Answer;

    /// Agrees to a reply by the model and has it written. The error is told to the server.
    async fn sample(&self, sampling: Sampling) -> Result<Sampled, String>;
}

/// Nobody: every question is declined.
pub struct Nobody;

#[async_trait]
impl Person for Nobody {
    async fn answer(&self, _: Question) -> Answer {
        Answer::Decline
    }

    async fn sample(&self, _: Sampling) -> Result<Sampled, String> {
        Err("declined: nobody is there to agree to it".to_owned())
    }
}
