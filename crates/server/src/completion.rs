//! Chat completions in the form of OpenAI's API: requests, and the parts of replies.

use bytes::Bytes;
use contract::id::Timestamp;
use contract::message::Usage;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
pub(crate) struct Request {
    pub(crate) model: Option<String>,
    pub(crate) messages: Vec<Message>,
    #[serde(default)]
    pub(crate) stream: bool,
    #[serde(default)]
    pub(crate) stream_options: StreamOptions,
}

#[derive(Default, Deserialize)]
pub(crate) struct StreamOptions {
    #[serde(default)]
    pub(crate) include_usage: bool,
}

#[derive(Deserialize)]
pub(crate) struct Message {
    pub(crate) role: String,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Value>),
}

impl Message {
    /// Returns true if it has a part that is not text.
    pub(crate) fn has_files(&self) -> bool {
        match &self.content {
            Some(Content::Parts(parts)) => parts.iter().any(|part| part["text"].is_null()),
            None | Some(Content::Text(_)) => false,
        }
    }

    pub(crate) fn text(&self) -> String {
        match &self.content {
            None => String::new(),
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Parts(parts)) => {
                let texts: Vec<&str> =
                    parts.iter().filter_map(|part| part["text"].as_str()).collect();
                texts.join("\n")
            }
        }
    }
}

pub(crate) struct Shape {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) created: Timestamp,
}

impl Shape {
    pub(crate) fn json(&self, object: &str, choices: &[Value]) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created.0.as_second(),
            "model": self.model,
            "choices": choices,
        })
    }

    /// A complete answer.
    pub(crate) fn whole(&self, text: &str, reason: &str, usage: &Usage) -> Value {
        let message = json!({"role": "assistant", "content": text});
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        let mut body = self.json("chat.completion", &[choice]);
        body["usage"] = usage_of(usage);
        body
    }

    pub(crate) fn chunk(&self, delta: &Value, reason: Option<&str>) -> Bytes {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        framed(&self.json("chat.completion.chunk", &[choice]))
    }
}

pub(crate) fn framed(value: &Value) -> Bytes {
    format!("data: {value}\n\n").into()
}

pub(crate) fn usage_of(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens(),
    })
}
