//! Messages between the user, the model and the tools, and the usage a reply reports.

use std::sync::OnceLock;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;

/// One message of a conversation as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A message of the user, or of the program in their place.
    User { text: String },
    /// A reply of the model.
    Assistant(Reply),
    /// The result of a call.
    Tool { call: CallId, name: String, content: String, is_error: bool },
}

/// A model's whole reply: its parts in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    pub parts: Vec<Part>,
    pub stop: StopReason,
}

impl Reply {
    /// All text parts, joined.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::Thinking { .. } | Part::Call(_) => None,
        });
        texts.collect()
    }

    /// All thinking parts, joined.
    pub fn thinking(&self) -> String {
        let thinking = |part: &Part| match part {
            Part::Thinking { text, .. } => Some(text.clone()),
            Part::Text { .. } | Part::Call(_) => None,
        };
        self.parts.iter().filter_map(thinking).collect()
    }

    /// The tool calls, in the model's order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text { .. } | Part::Thinking { .. } => None,
        })
    }
}

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Words for the user.
    Text { text: String },
    /// The model's reasoning.
    Thinking {
        /// The reasoning, as far as the provider shows it.
        text: String,
        /// The provider's own form (signature, encrypted blocks), sent back untouched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Value>,
    },
    /// A request to run a tool.
    Call(ToolCall),
}

/// A request by the model to run a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    pub id: CallId,
    pub name: String,
    /// The arguments. A JSON string where the model's text was not valid JSON.
    pub args: Value,
    /// The provider's own additions, sent back untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Value>,
}

/// Why a model stopped writing, or why a turn ended without a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said all it wanted.
    #[default]
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// It ran into the limit on reply length.
    MaxTokens,
    /// The provider declined to answer.
    Refusal,
    /// The reply broke off: cancelled by the user, or the connection was lost for good.
    Interrupted,
    /// A hook dropped the prompt.
    Skipped,
    /// The history was shortened, as the user asked.
    Compacted,
    /// The history was cleared, as the user asked.
    Cleared,
    /// Anything else, in the provider's words.
    #[serde(untagged)]
    Other(String),
}

impl StopReason {
    /// The reason as one word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
            Self::Interrupted => "interrupted",
            Self::Skipped => "skipped",
            Self::Compacted => "compacted",
            Self::Cleared => "cleared",
            Self::Other(text) => text,
        }
    }
}

/// Tokens and money that a reply cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens received, reasoning included.
    pub output_tokens: u64,
    /// Tokens of reasoning among those received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens sent that the provider had cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Tokens sent that the provider caches from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Price in US dollars, where the provider or the configuration tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The provider's name for this reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_id: Option<String>,
    /// True if tokens are estimated, because the provider does not count them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// True if a part of it has no known price: the cost is that of the rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
}

impl Usage {
    /// Tokens in both directions.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    /// Adds what another reply cost.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens = sum(self.reasoning_tokens, other.reasoning_tokens);
        self.cached_tokens = sum(self.cached_tokens, other.cached_tokens);
        self.cache_write_tokens = sum(self.cache_write_tokens, other.cache_write_tokens);
        self.cost_usd = sum(self.cost_usd, other.cost_usd);
        self.generation_id.clone_from(&other.generation_id);
        self.estimated |= other.estimated;
        self.unpriced |= other.unpriced;
    }
}

fn sum<T: Default + std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    (a.is_some() || b.is_some()).then(|| a.unwrap_or_default() + b.unwrap_or_default())
}

/// A message in a history, with its serialized form, which the requests of later rounds use again.
#[derive(Debug)]
pub struct Entry {
    pub message: Message,
    /// The image that a message of the user describes: its media type and its bytes in base64.
    pub image: Option<(String, String)>,
    wire: OnceLock<(String, Bytes)>,
}

impl Entry {
    /// Puts a message into a history.
    pub fn new(message: Message) -> Self {
        Self::with_image(message, None)
    }

    /// Puts a message into a history, with the image that it describes.
    pub fn with_image(message: Message, image: Option<(String, String)>) -> Self {
        Self { message, image, wire: OnceLock::new() }
    }

    /// The message as `format` writes it: encoded on first use, kept for that format.
    pub fn wire(&self, format: &str, encode: impl Fn(&Message) -> Bytes) -> Bytes {
        let (kept_for, bytes) =
            self.wire.get_or_init(|| (format.to_owned(), encode(&self.message)));
        if kept_for == format { bytes.clone() } else { encode(&self.message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_encoded_once_for_its_format() {
        let entry = Entry::new(Message::User { text: "hi".into() });
        let first = entry.wire("a", |_| Bytes::from_static(b"1"));
        let again = entry.wire("a", |_| Bytes::from_static(b"2"));
        let other = entry.wire("b", |_| Bytes::from_static(b"3"));
        assert_eq!((&first[..], &again[..], &other[..]), (&b"1"[..], &b"1"[..], &b"3"[..]));
    }

    #[test]
    fn stop_reasons_are_plain_words_in_a_log() {
        for name in ["end_turn", "max_tokens", "skipped", "compacted", "cleared", "pause"] {
            let reason: StopReason = serde_json::from_value(name.into()).unwrap();
            assert_eq!(reason.as_str(), name);
            assert_eq!(serde_json::to_value(&reason).unwrap(), name);
            assert_eq!(matches!(reason, StopReason::Other(_)), name == "pause");
        }
    }

    #[test]
    fn usage_sums_known_figures() {
        let mut total = Usage::default();
        total.add(&Usage { input_tokens: 3, cost_usd: Some(0.5), ..Usage::default() });
        total.add(&Usage { output_tokens: 2, cost_usd: Some(0.25), ..Usage::default() });
        assert_eq!(total.total_tokens(), 5);
        assert_eq!(total.cost_usd, Some(0.75));
        assert_eq!(total.cached_tokens, None);
    }
}
