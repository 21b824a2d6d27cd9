//! Requests in Ollama's format. A message is encoded once and cached.

use bytes::Bytes;
use contract::message::{Entry, Message, Reply};
use contract::provider::{Delivery, ReasoningFormat, ReasoningLevel, Request};
use serde_json::{Map, Value, json};

use crate::body::{Memos, arguments_object, chat, json_bytes, merge, merge_params, separate};
use crate::catalog::Quirks;
use crate::images::{Image, Images};

/// The names of parameters here.
const PARAMS: &[(&str, &str)] = &[
    ("top_p", "options.top_p"),
    ("top_k", "options.top_k"),
    ("seed", "options.seed"),
    ("presence_penalty", "options.presence_penalty"),
    ("frequency_penalty", "options.frequency_penalty"),
    ("stop_sequences", "options.stop"),
    ("parallel_tool_calls", ""),
    ("logit_bias", ""),
];

/// The body of a request.
pub(super) fn body(quirks: &Quirks, request: &Request, memos: &Memos) -> Vec<u8> {
    let mut head = Map::new();
    head.insert("model".into(), json!(request.model));
    let mut options = json!({"num_predict": request.max_tokens});
    if let Some(temperature) = request.temperature {
        options["temperature"] = json!(temperature);
    }
    head.insert("options".into(), options);
    if let Some(think) = think(&request.model, &request.reasoning_level) {
        head.insert("think".into(), think);
    }
    merge(&mut head, &quirks.body);
    merge_params(&mut head, &request.params, PARAMS);
    head.insert("stream".into(), json!(request.delivery == Delivery::Streamed));
    let (format, echo) = match request.reasoning_format {
        ReasoningFormat::ThinkingTags => ("ollama <thinking>", Echo::Tags),
        ReasoningFormat::None => ("ollama without thinking", Echo::Nothing),
        ReasoningFormat::Auto | ReasoningFormat::ReasoningField => ("ollama", Echo::Field),
    };
    let images = Images::of(quirks, &request.model);
    let format = images.format(format);
    let append = |out: &mut Vec<u8>, before: Option<&Entry>, entry: &Entry| {
        separate(out, before);
        let encode = |message: &Message, image: Option<&Image>| match (message, image) {
            (Message::User { text }, Some((_, data))) => {
                json_bytes(&json!({"role": "user", "content": text, "images": [data]}))
            }
            (message, _) => encode(message, echo),
        };
        out.extend_from_slice(&images.wire(&format, entry, encode));
    };
    memos.history.with(&format, &request.history, append, |history| {
        chat(head, request, history, &memos.tools)
    })
}

/// Most models know only yes and no; the gpt-oss family has three levels and cannot be switched off.
fn think(model: &str, level: &ReasoningLevel) -> Option<Value> {
    use ReasoningLevel::{Auto, High, Low, Maximum, Medium, Off, Other, Raw};
    let has_levels = model.contains("gpt-oss");
    Some(match level {
        Auto => return None,
        Off if has_levels => json!("low"),
        Off => json!(false),
        Maximum if has_levels => json!("high"),
        Low | Medium | High if has_levels => json!(level.as_str()),
        Low | Medium | High | Maximum | Other(_) => json!(true),
        Raw(word) => match word.parse::<bool>() {
            Ok(is_on) => json!(is_on),
            Err(_) => json!(word),
        },
    })
}

/// The form in which past reasoning is sent back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Field,
    Tags,
    Nothing,
}

fn encode(message: &Message, echo: Echo) -> Bytes {
    let value = match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant(reply) => assistant(reply, echo),
        Message::Tool { name, content, .. } => {
            json!({"role": "tool", "tool_name": name, "content": content})
        }
    };
    json_bytes(&value)
}

fn assistant(reply: &Reply, echo: Echo) -> Value {
    let thinking = reply.thinking();
    let mut message = json!({"role": "assistant", "content": reply.text()});
    if !thinking.is_empty() {
        match echo {
            Echo::Field => message["thinking"] = json!(thinking),
            Echo::Tags => {
                let text = format!("<thinking>\n{thinking}\n</thinking>\n\n{}", reply.text());
                message["content"] = json!(text);
            }
            Echo::Nothing => {}
        }
    }
    let calls: Vec<Value> = reply
        .calls()
        .map(|call| {
            let arguments = arguments_object(&call.args);
            json!({"function": {"name": call.name, "arguments": arguments}})
        })
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}
