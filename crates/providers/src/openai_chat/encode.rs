//! Requests in the format of chat completions. A message is encoded once and cached.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use contract::message::{Entry, Message, Part, Reply, ToolCall};
use contract::provider::{Delivery, ReasoningFormat, ReasoningLevel, Request};
use serde_json::{Map, Value, json};

use crate::body::{Memos, arguments_object, chat, json_bytes, merge, merge_params, separate};
use crate::catalog::{CallIds, LevelStyle, Quirks};
use crate::images::{Image, Images, data_url};

/// The address to which requests are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    /// The vendor's own.
    Vendor,
    /// One that the instance names by `base_url`.
    Configured,
}

/// The names of parameters here.
const PARAMS: &[(&str, &str)] = &[("stop_sequences", "stop")];

/// The body of a request.
pub(super) fn body(quirks: &Quirks, address: Address, request: &Request, memos: &Memos) -> Vec<u8> {
    let mut head = Map::new();
    head.insert("model".into(), json!(request.model));
    head.insert(quirks.max_tokens_field.clone(), json!(request.max_tokens));
    if let Some(temperature) = request.temperature {
        head.insert("temperature".into(), json!(temperature));
    }
    merge(&mut head, &quirks.body);
    add_level(&mut head, quirks, &request.reasoning_level);
    merge_params(&mut head, &request.params, PARAMS);
    head.insert("stream".into(), json!(request.delivery == Delivery::Streamed));
    if request.delivery == Delivery::Streamed && quirks.stream_usage {
        head.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if !request.tools.is_empty() && !head.contains_key("tool_choice") {
        head.insert("tool_choice".into(), json!("auto"));
    }
    let echo = Echo::choose(quirks, address, request.reasoning_format);
    let ids = quirks.call_ids;
    let images = Images::of(quirks, &request.model).and_recordings();
    let format = images.format(&format!("{}{}", echo.format_key(), ids.format_key()));
    let append = |out: &mut Vec<u8>, before: Option<&Entry>, entry: &Entry| {
        separate(out, before);
        let encode = |message: &Message, image: Option<&Image>| match (message, image) {
            (Message::User { text }, Some(image)) => with_image(text, image),
            (message, _) => encode(message, &echo, ids),
        };
        out.extend_from_slice(&images.wire(&format, entry, encode));
    };
    memos.history.with(&format, &request.history, append, |history| {
        chat(head, request, history, &memos.tools)
    })
}

fn add_level(head: &mut Map<String, Value>, quirks: &Quirks, level: &ReasoningLevel) {
    let word = match level {
        ReasoningLevel::Raw(word) => word,
        ReasoningLevel::Auto => return,
        level => quirks.level_words.get(level.as_str()).map_or(level.as_str(), String::as_str),
    };
    match quirks.reasoning_level {
        LevelStyle::Object => {
            // The older switch contradicts a level of `none`.
            head.remove("include_reasoning");
            head.insert("reasoning".into(), json!({"effort": word}));
        }
        LevelStyle::Effort => {
            head.insert("reasoning_effort".into(), json!(word));
        }
        LevelStyle::None => {}
    }
}

/// The form in which past reasoning is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Echo<'a> {
    /// In a field of the message, perhaps with its structured form.
    Field {
        name: &'a str,
        /// True if `reasoning_details` is sent with it.
        details: bool,
    },
    /// In the fields in which it arrived.
    Received,
    /// As text before the answer, in tags.
    Tags,
    /// Not at all.
    Nothing,
}

impl<'a> Echo<'a> {
    /// Chooses by the configuration and the vendor.
    pub(super) fn choose(quirks: &'a Quirks, address: Address, format: ReasoningFormat) -> Self {
        let details = quirks.reasoning_details;
        let field = |name: &'a str| Self::Field { name, details };
        match (format, quirks.reasoning_field.as_deref()) {
            (ReasoningFormat::ThinkingTags, _) => Self::Tags,
            (ReasoningFormat::ReasoningField, None | Some("none" | "received")) => {
                field("reasoning")
            }
            (ReasoningFormat::None, _) | (_, Some("none")) => Self::Nothing,
            (_, Some("received")) => Self::Received,
            (_, Some(name)) => field(name),
            (_, None) if address == Address::Configured => Self::Received,
            (_, None) => Self::Nothing,
        }
    }

    /// Names the encoding that follows from the choice.
    pub(super) fn format_key(&self) -> String {
        match self {
            Self::Field { name, details: true } => format!("openai_chat {name} details"),
            Self::Field { name, .. } => format!("openai_chat {name}"),
            Self::Received => "openai_chat received".into(),
            Self::Tags => "openai_chat <thinking>".into(),
            Self::Nothing => "openai_chat".into(),
        }
    }
}

impl CallIds {
    fn format_key(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::NineLetters => " nine letters",
        }
    }

    /// An id that the vendor accepts; always the same for a call.
    fn of(self, id: &str) -> Cow<'_, str> {
        let fits = id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self == Self::Any || fits {
            return Cow::Borrowed(id);
        }
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        Cow::Owned(format!("{:016x}", hasher.finish())[..NINE].to_owned())
    }
}

/// The length of an id for vendors with a fixed length.
const NINE: usize = 9;

fn with_image(text: &str, image: &Image) -> Bytes {
    let text = json!({"type": "text", "text": text});
    let (media_type, data) = image;
    let file = match media_type.strip_prefix("audio/") {
        Some(format) => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        None => json!({"type": "image_url", "image_url": {"url": data_url(image)}}),
    };
    json_bytes(&json!({"role": "user", "content": [text, file]}))
}

fn encode(message: &Message, echo: &Echo<'_>, ids: CallIds) -> Bytes {
    let value = match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant(reply) => assistant(reply, echo, ids),
        Message::Tool { call, content, .. } => {
            json!({"role": "tool", "tool_call_id": ids.of(call.as_str()), "content": content})
        }
    };
    json_bytes(&value)
}

fn assistant(reply: &Reply, echo: &Echo<'_>, ids: CallIds) -> Value {
    let thinking = reply.thinking();
    let mut text = reply.text();
    if *echo == Echo::Tags && !thinking.is_empty() {
        text = format!("<thinking>\n{thinking}\n</thinking>\n\n{text}");
    }
    let calls: Vec<Value> = reply.calls().map(|call| encode_call(call, ids)).collect();
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    let content = match (text.is_empty(), calls.is_empty()) {
        (true, false) => Value::Null,
        // Some vendors refuse an empty message, and all requests after it.
        (true, true) => json!("(nothing)"),
        (false, _) => Value::String(text),
    };
    message.insert("content".into(), content);
    let (field, has_details) = match echo {
        Echo::Field { name, details } => (Some(*name), *details),
        Echo::Received => (received_reasoning(reply).find_map(Value::as_str), true),
        Echo::Tags | Echo::Nothing => (None, false),
    };
    if let Some(field) = field.filter(|_| !thinking.is_empty()) {
        message.insert(field.to_owned(), json!(thinking));
    }
    let details: Vec<&Value> = received_reasoning(reply).filter(|it| !it.is_string()).collect();
    if has_details && !details.is_empty() {
        message.insert("reasoning_details".into(), json!(details));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    Value::Object(message)
}

/// The structured reasoning of a reply, and the names of the fields in which its text arrived.
fn received_reasoning(reply: &Reply) -> impl Iterator<Item = &Value> {
    let lists = reply.parts.iter().filter_map(|part| match part {
        Part::Thinking { opaque: Some(Value::Array(items)), .. } => Some(items),
        Part::Thinking { .. } | Part::Text { .. } | Part::Call(_) => None,
    });
    lists.flatten()
}

fn encode_call(call: &ToolCall, ids: CallIds) -> Value {
    let arguments = arguments_object(&call.args).to_string();
    let mut value = json!({
        "id": ids.of(call.id.as_str()),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    });
    if let Some(extra) = call.opaque.as_ref().and_then(|opaque| opaque.get("extra_content")) {
        value["extra_content"] = extra.clone();
    }
    value
}
