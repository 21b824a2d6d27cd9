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
    /// A text, or a list of parts.
    #[serde(default)]
    content: Value,
}

impl Message {
    fn parts(&self) -> impl Iterator<Item = &Value> {
        self.content.as_array().into_iter().flatten()
    }

    /// Its images and recordings.
    fn files(&self) -> Result<Vec<Earlier>, Failure> {
        self.parts().filter(|part| part["text"].is_null()).map(file).collect()
    }

    fn text(&self) -> String {
        let parts = self.parts().filter_map(|part| part["text"].as_str());
        self.content.as_str().into_iter().chain(parts).collect::<Vec<_>>().join("\n")
    }
}

/// The messages of a request, taken apart.
pub(crate) struct Exchange {
    /// The system messages that are a part of no prompt.
    pub(crate) system: Vec<String>,
    pub(crate) earlier: Vec<Earlier>,
    pub(crate) files: Vec<Earlier>,
    pub(crate) prompt: String,
}

impl Exchange {
    /// Takes messages apart, of which the last is the prompt. System messages may become a part of
    /// the prompt that follows them.
    pub(crate) fn of(messages: &[Message], joins_system: bool) -> Result<Self, Failure> {
        let Some((last, before)) = messages.split_last().filter(|(last, _)| last.role == "user")
        else {
            return Err(Failure::bad("the last of `messages` has the role `user`"));
        };
        let (mut system, mut earlier) = (Vec::new(), Vec::new());
        let joined = |system: &mut Vec<String>, message: &Message| {
            let before = if joins_system { std::mem::take(system) } else { Vec::new() };
            [before, vec![message.text()]].concat().join("\n\n")
        };
        for message in before {
            match message.role.as_str() {
                "system" | "developer" => system.push(message.text()),
                "assistant" => earlier.push(Earlier::Answer(message.text())),
                "user" => {
                    let text = Some(joined(&mut system, message)).filter(|text| !text.is_empty());
                    earlier.extend(text.map(Earlier::Prompt).into_iter().chain(message.files()?));
                }
                // Results of calls that the server did not make.
                _ => {}
            }
        }
        let prompt = joined(&mut system, last);
        if prompt.trim().is_empty() {
            return Err(Failure::bad("the prompt is empty"));
        }
        Ok(Self { system, earlier, files: last.files()?, prompt })
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
