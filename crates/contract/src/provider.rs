//! Model providers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Entry, StopReason, ToolCall, Usage};
use crate::tool::ToolSpec;

/// Everything a provider needs to answer once.
#[derive(Clone, Debug)]
pub struct Request {
    pub model: String,
    pub system: Arc<str>,
    /// The conversation, oldest first. It only grows, and is shared between rounds, so that a
    /// round does not touch what earlier ones have sent.
    pub history: Arc<Vec<Arc<Entry>>>,
    pub tools: Arc<[Arc<ToolSpec>]>,
    pub max_tokens: u64,
    /// Sampling temperature; the provider's default where none.
    pub temperature: Option<f64>,
    pub reasoning_level: ReasoningLevel,
    pub reasoning_format: ReasoningFormat,
    /// Further fields of the request body.
    pub params: BTreeMap<String, Value>,
    pub delivery: Delivery,
}

/// How past reasoning is sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningFormat {
    /// As the provider decides.
    #[default]
    Auto,
    ReasoningField,
    ThinkingTags,
    None,
}

/// How hard a model thinks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReasoningLevel {
    #[default]
    Auto,
    Off,
    Low,
    Medium,
    High,
    Maximum,
    /// The provider's own word, written after `raw:`.
    Raw(String),
    /// A word without a meaning of its own here.
    Other(String),
}

impl ReasoningLevel {
    /// Reads a level as it is written in the configuration.
    pub fn parse(text: &str) -> Self {
        match text {
            "" | "auto" => Self::Auto,
            "off" => Self::Off,
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "maximum" => Self::Maximum,
            other => match other.strip_prefix("raw:") {
                Some(raw) => Self::Raw(raw.to_owned()),
                None => Self::Other(other.to_owned()),
            },
        }
    }

    /// The level as it is written in the configuration, without `raw:`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Maximum => "maximum",
            Self::Raw(word) | Self::Other(word) => word,
        }
    }
}

/// How a reply travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In pieces, as they are made.
    Streamed,
    Whole,
}

/// A piece of a reply as it arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    Text(String),
    Thinking(String),
    /// The provider's own form of the reasoning so far; ends that piece of reasoning.
    ThinkingOpaque(Value),
    /// A tool call has begun; its arguments are still coming.
    CallStarted {
        name: String,
    },
    /// A tool call, whole. Sent only when all of its arguments have arrived.
    Call(ToolCall),
    /// The cost of the reply; the last one is valid.
    Usage(Usage),
    /// The reply is complete. A stream that ends without this was cut.
    Stopped(StopReason),
}

/// A reply on its way.
pub type ReplyStream = BoxStream<'static, Result<Delta, ProviderError>>;

/// Why a provider did not answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    pub kind: Failure,
    /// The failure, with the host and the provider's own words.
    pub message: String,
    pub hint: Option<String>,
}

/// The kinds of failure that are treated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The key is missing, wrong or not allowed (401, 403).
    Auth,
    /// The account is out of money (402).
    Payment,
    /// No such model or address (404).
    NotFound,
    /// The request is larger than the model's context (413, or 400 saying so).
    TooLong,
    /// The provider rejects the request (other 4xx).
    Rejected,
    Filtered,
    /// Too many requests (429), with the wait that the provider asked for.
    RateLimited(Option<Duration>),
    /// The provider is in trouble (5xx), with the wait that it asked for.
    Unavailable(Option<Duration>),
    /// No connection: refused, no such host, TLS.
    Unreachable,
    /// Nothing came for too long.
    Idle,
    Cut,
    /// The reply is not in the format of this provider (HTML, broken JSON).
    Garbled,
    /// The scenario or plugin behind the provider says the test has failed.
    Expectation,
}

/// Facts about a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub id: String,
    pub name: Option<String>,
    pub context: Option<u64>,
    /// US dollars for a million input tokens.
    pub input_price: Option<f64>,
    /// US dollars for a million output tokens.
    pub output_price: Option<f64>,
    /// True if it can call tools; none if unknown.
    pub tools: Option<bool>,
    /// True if it can reason; none if unknown.
    #[serde(default)]
    pub reasoning: Option<bool>,
}

/// Something that answers requests.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Its name in the configuration, such as `openrouter`.
    fn name(&self) -> &str;

    /// The provider and the model that answer requests for `model`.
    fn answering<'a>(&'a self, model: &'a str) -> (&'a str, &'a str) {
        (self.name(), model)
    }

    /// Has another model answer in place of `model`, which failed for good. Returns a notice about
    /// that, or the failure if there is no other model.
    fn fall_back(&self, _model: &str, failure: ProviderError) -> Result<String, ProviderError> {
        Err(failure)
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError>;

    /// Asks for a reply. Dropping the stream cancels the request.
    async fn stream(&self, request: Request) -> Result<ReplyStream, ProviderError>;
}
