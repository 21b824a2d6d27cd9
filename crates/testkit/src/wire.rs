//! The formats in which model servers answer. Each renders the neutral [`Reply`] as the bytes of a
//! body, streamed or whole.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod responses;

use serde_json::{Value, json};

use crate::reply::Reply;

/// A format, known by the path of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `POST ../chat/completions`.
    OpenAiChat,
    /// `POST ../v1/messages`.
    Anthropic,
    /// `POST ../api/chat`.
    Ollama,
    /// `POST ../responses`.
    Responses,
    /// `POST ../models/NAME:streamGenerateContent`.
    Gemini,
}

/// Which of the two ways a reply travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// In events, as it is made.
    Streamed,
    /// In one object.
    Whole,
}

impl Format {
    /// The format that answers a `POST` to this path.
    pub fn of_path(path: &str) -> Option<Self> {
        let formats = [
            ("/chat/completions", Self::OpenAiChat),
            ("/messages", Self::Anthropic),
            ("/api/chat", Self::Ollama),
            ("/responses", Self::Responses),
            (":streamGenerateContent", Self::Gemini),
        ];
        let path = path.split('?').next().unwrap_or_default();
        formats.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, format)| format)
    }

    /// The way a request of this format wants its reply.
    pub fn transfer(self, request: &Value) -> Transfer {
        let default = matches!(self, Self::Ollama | Self::Gemini);
        if request["stream"].as_bool().unwrap_or(default) {
            Transfer::Streamed
        } else {
            Transfer::Whole
        }
    }

    /// The content type of a body.
    pub fn content_type(self, transfer: Transfer) -> &'static str {
        match (self, transfer) {
            (Self::Ollama, Transfer::Streamed) => "application/x-ndjson",
            (_, Transfer::Streamed) => "text/event-stream",
            (_, Transfer::Whole) => "application/json",
        }
    }

    /// The body of the reply to a request, which is the one with this number.
    pub fn body(self, reply: &Reply, request: &Value, number: usize) -> Vec<u8> {
        let model = request["model"].as_str().unwrap_or("test-model");
        let exchange = Exchange { reply, model, number };
        match (self, self.transfer(request)) {
            (Self::OpenAiChat, Transfer::Streamed) => openai::streamed(&exchange),
            (Self::OpenAiChat, Transfer::Whole) => {
                openai::whole(&exchange).to_string().into_bytes()
            }
            (Self::Anthropic, Transfer::Streamed) => anthropic::streamed(&exchange),
            (Self::Anthropic, Transfer::Whole) => {
                anthropic::whole(&exchange).to_string().into_bytes()
            }
            (Self::Ollama, Transfer::Streamed) => ollama::streamed(&exchange),
            (Self::Ollama, Transfer::Whole) => ollama::whole(&exchange).to_string().into_bytes(),
            (Self::Responses, Transfer::Streamed) => responses::streamed(&exchange),
            (Self::Responses, Transfer::Whole) => {
                responses::whole(&exchange).to_string().into_bytes()
            }
            (Self::Gemini, _) => gemini::streamed(&exchange),
        }
    }

    /// The body of an error.
    pub fn error(self, message: &str) -> Value {
        match self {
            Self::OpenAiChat | Self::Responses | Self::Gemini => {
                json!({"error": {"message": message, "type": "scripted_error"}})
            }
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "scripted_error", "message": message}})
            }
            Self::Ollama => json!({"error": message}),
        }
    }

    /// The list of models.
    pub fn models(self, names: &[String]) -> Value {
        let list = |entry: fn(&String) -> Value| names.iter().map(entry).collect::<Vec<_>>();
        match self {
            Self::Gemini => json!({"models": list(|name| json!({
                "name": format!("models/{name}"), "inputTokenLimit": 1_000_000,
                "supportedGenerationMethods": ["generateContent"]
            }))}),
            Self::OpenAiChat | Self::Responses => json!({"object": "list", "data": list(|name| {
                json!({"id": name, "object": "model", "created": 0, "owned_by": "testkit"})
            })}),
            Self::Anthropic => json!({
                "data": list(|name| json!({
                    "type": "model", "id": name, "display_name": name,
                    "created_at": "2026-01-01T00:00:00Z"
                })),
                "has_more": false, "first_id": names.first(), "last_id": names.last(),
            }),
            Self::Ollama => json!({"models": list(|name| json!({
                "name": name, "model": name, "modified_at": "2026-01-01T00:00:00Z",
                "size": 1, "digest": "0", "details": {"format": "gguf", "family": "test"}
            }))}),
        }
    }
}

/// A reply, and what a format says about it beside its content.
struct Exchange<'a> {
    reply: &'a Reply,
    model: &'a str,
    number: usize,
}

impl Exchange<'_> {
    fn call_id(&self, index: usize, prefix: &str) -> String {
        match &self.reply.calls[index].id {
            Some(id) => id.clone(),
            None => format!("{prefix}_{}_{}", self.number, index + 1),
        }
    }

    /// A text as a model says it: a few characters at a time, of a long one at most about a
    /// thousand times, so that what is large is not slow as well.
    fn pieces<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> + use<'t> {
        let size = self.reply.delta_size.unwrap_or((text.len() / 1000).max(8));
        let mut rest = text;
        std::iter::from_fn(move || {
            let end = rest.char_indices().nth(size).map(|(end, _)| end);
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            (!piece.is_empty()).then_some(piece)
        })
    }
}

/// Arguments as a value; as a string where they are not valid JSON.
fn value_of(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()))
}
