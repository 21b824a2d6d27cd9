//! Chat completions in the form of OpenAI's API: requests, and the parts of replies.

use bytes::Bytes;
use contract::id::Timestamp;
use contract::message::Usage;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::{Earlier, Failure};

const FILES: [&str; 6] =
    ["image/png", "image/jpeg", "image/gif", "image/webp", "audio/wav", "audio/mp3"];

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
    /// Its images and recordings.
    pub(crate) fn files(&self) -> Result<Vec<Earlier>, Failure> {
        let Some(Content::Parts(parts)) = &self.content else { return Ok(Vec::new()) };
        let others = parts.iter().filter(|part| part["text"].is_null());
        others.map(file).collect()
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

/// The image or the recording in a part of a message.
fn file(part: &Value) -> Result<Earlier, Failure> {
    let (url, recording) = (&part["image_url"]["url"], &part["input_audio"]);
    let image = url.as_str().and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"));
    let kind = recording["format"].as_str().map(|format| format!("audio/{format}"));
    let found = image.or_else(|| kind.as_deref().zip(recording["data"].as_str()));
    let known = found.filter(|(kind, _)| FILES.contains(kind));
    let (media_type, data) = known.ok_or_else(|| {
        Failure::bad("send images (PNG, JPEG, GIF, WebP) as `data:` URLs, recordings as WAV or MP3")
    })?;
    Ok(Earlier::File { media_type: media_type.to_owned(), data: data.to_owned() })
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
