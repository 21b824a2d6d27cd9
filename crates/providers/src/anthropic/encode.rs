//! Requests in the format of the messages API. An entry keeps its content blocks; messages are put
//! together around them, because results of several calls make one message.

use std::sync::Arc;

use bytes::Bytes;
use contract::message::{Entry, Message, Part, Reply};
use contract::provider::{Delivery, ReasoningFormat, ReasoningLevel, Request};
use contract::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::body::{Memos, arguments_object, assemble, json_bytes, merge, merge_params, write_json};
use crate::catalog::Quirks;
use crate::images::{Image, Images};

/// The name of the encoding of entries.
pub(super) const FORMAT: &str = "anthropic";
/// The name of the encoding without past reasoning.
const FORMAT_WITHOUT_THINKING: &str = "anthropic without thinking";
/// Marks a block as the end of the part that the server caches.
const CACHED: &[u8] = br#","cache_control":{"type":"ephemeral"}}"#;
/// The smallest budget for thinking that the server accepts.
const LEAST_BUDGET: u64 = 1024;

/// The names of parameters here.
const PARAMS: &[(&str, &str)] = &[
    ("seed", ""),
    ("parallel_tool_calls", ""),
    ("presence_penalty", ""),
    ("frequency_penalty", ""),
    ("logit_bias", ""),
];

/// The body of a request.
pub(super) fn body(quirks: &Quirks, request: &Request, memos: &Memos) -> Vec<u8> {
    let mut head = Map::new();
    head.insert("model".into(), json!(request.model));
    head.insert("max_tokens".into(), json!(request.max_tokens));
    if let Some(temperature) = request.temperature {
        head.insert("temperature".into(), json!(temperature.clamp(0.0, 1.0)));
    }
    if let Some(thinking) = thinking(request) {
        if thinking["type"] != "disabled" {
            head.remove("temperature");
        }
        head.insert("thinking".into(), thinking);
    }
    merge(&mut head, &quirks.body);
    merge_params(&mut head, &request.params, PARAMS);
    head.insert("stream".into(), json!(request.delivery == Delivery::Streamed));
    let (format, echo) = match request.reasoning_format {
        ReasoningFormat::None => (FORMAT_WITHOUT_THINKING, Echo::Nothing),
        _ => (FORMAT, Echo::Thinking),
    };
    let images = Images::of(quirks, &request.model);
    let format = images.format(format);
    let append = |out: &mut Vec<u8>, before: Option<&Entry>, entry: &Entry| {
        begin(out, before.map(speaker), speaker(entry));
        let encode = |message: &Message, image: Option<&Image>| blocks(message, image, echo);
        out.extend_from_slice(&images.wire(&format, entry, encode));
    };
    memos.history.with(&format, &request.history, append, |history| {
        let speaker = request.history.last().map(|entry| speaker(entry));
        // The mark goes into the last block, in front of its closing brace.
        let messages: &[&[u8]] = match (speaker, history.split_last()) {
            (Some("user"), Some((_, block))) => &[b"[", block, CACHED, b"]}]"],
            (Some(_), _) => &[b"[", history, b"]}]"],
            (None, _) => &[b"[]"],
        };
        let system = system(&request.system);
        let tools = memos.tools.get(&request.tools, encode_tools);
        let (system, tools): (&[&[u8]], &[&[u8]]) = (&[&system], &[&tools]);
        let mut encoded = vec![("messages", messages)];
        if !request.system.is_empty() {
            encoded.push(("system", system));
        }
        if !request.tools.is_empty() {
            encoded.push(("tools", tools));
        }
        assemble(head, &encoded)
    })
}

/// The role of an entry.
fn speaker(entry: &Entry) -> &'static str {
    match entry.message {
        Message::Assistant(_) => "assistant",
        Message::User { .. } | Message::Tool { .. } => "user",
    }
}

/// Continues the message of the same role, or starts another.
fn begin(out: &mut Vec<u8>, before: Option<&str>, speaker: &str) {
    match before {
        Some(before) if before == speaker => out.push(b','),
        before => {
            if before.is_some() {
                out.extend_from_slice(b"]},");
            }
            out.extend_from_slice(br#"{"role":""#);
            out.extend_from_slice(speaker.as_bytes());
            out.extend_from_slice(br#"","content":["#);
        }
    }
}

fn thinking(request: &Request) -> Option<Value> {
    let budget = match &request.reasoning_level {
        ReasoningLevel::Auto | ReasoningLevel::Other(_) => return None,
        ReasoningLevel::Off => return Some(json!({"type": "disabled"})),
        ReasoningLevel::Low => 2048,
        ReasoningLevel::Medium => 8192,
        ReasoningLevel::High => 16384,
        ReasoningLevel::Maximum => 32768,
        ReasoningLevel::Raw(word) => match word.parse() {
            Ok(budget) => budget,
            Err(_) => return Some(json!({"type": word})),
        },
    };
    // The answer needs room beside the thinking.
    let budget = budget.min(request.max_tokens / 4 * 3);
    let possible = budget >= LEAST_BUDGET && !goes_on_without_thinking(request);
    possible.then(|| json!({"type": "enabled", "budget_tokens": budget}))
}

/// Returns true if the reply follows tool calls that were made without thinking. The server refuses
/// to switch thinking on at that point.
fn goes_on_without_thinking(request: &Request) -> bool {
    let mut backwards = request.history.iter().rev().map(|entry| &entry.message);
    if !matches!(backwards.next(), Some(Message::Tool { .. })) {
        return false;
    }
    let reply = backwards.find_map(|message| match message {
        Message::Assistant(reply) => Some(reply),
        Message::User { .. } | Message::Tool { .. } => None,
    });
    reply.is_some_and(|reply| !reply.parts.iter().any(|part| thinking_block(part).is_some()))
}

fn system(text: &str) -> Vec<u8> {
    let mut out = br#"[{"type":"text","text":"#.to_vec();
    write_json(&mut out, text);
    out.extend_from_slice(CACHED);
    out.push(b']');
    out
}

fn encode_tools(tools: &[Arc<ToolSpec>]) -> Bytes {
    let mut tools: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            })
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    json_bytes(&tools)
}

#[derive(Clone, Copy)]
enum Echo {
    Thinking,
    Nothing,
}

/// The content blocks of a message, joined with commas; never none.
fn blocks(message: &Message, image: Option<&Image>, echo: Echo) -> Bytes {
    let image = image.map(|(media_type, data)| {
        let source = json!({"type": "base64", "media_type": media_type, "data": data});
        json!({"type": "image", "source": source})
    });
    let blocks = match message {
        Message::User { text } if image.is_some() => {
            image.into_iter().chain(text_block(text)).collect()
        }
        Message::User { text } => vec![text_block(text).unwrap_or_else(nothing_said)],
        Message::Assistant(reply) => reply_blocks(reply, echo),
        Message::Tool { call, content, is_error, .. } => {
            let mut block = json!({
                "type": "tool_result",
                "tool_use_id": safe_id(call.as_str()),
                "content": content,
            });
            if *is_error {
                block["is_error"] = json!(true);
            }
            vec![block]
        }
    };
    let list = json_bytes(&blocks);
    list.slice(1..list.len() - 1)
}

fn reply_blocks(reply: &Reply, echo: Echo) -> Vec<Value> {
    let block = |part: &Part| match (part, echo) {
        (Part::Text { text }, _) => text_block(text),
        (Part::Thinking { .. }, Echo::Thinking) => thinking_block(part),
        (Part::Thinking { .. }, Echo::Nothing) => None,
        (Part::Call(call), _) => Some(json!({
            "type": "tool_use",
            "id": safe_id(call.id.as_str()),
            "name": call.name,
            "input": arguments_object(&call.args),
        })),
    };
    let mut blocks: Vec<Value> = reply.parts.iter().filter_map(block).collect();
    let has_words =
        blocks.iter().any(|block| block["type"] == "text" || block["type"] == "tool_use");
    if !has_words {
        blocks.push(nothing_said());
    }
    blocks
}

/// The server refuses blank text.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn nothing_said() -> Value {
    json!({"type": "text", "text": "(nothing)"})
}

/// Reasoning goes back only in the form in which this API gave it.
fn thinking_block(part: &Part) -> Option<Value> {
    let Part::Thinking { text, opaque: Some(opaque) } = part else {
        return None;
    };
    match opaque.get("type")?.as_str()? {
        "thinking" => Some(json!({
            "type": "thinking",
            "thinking": text,
            "signature": opaque.get("signature")?,
        })),
        "redacted_thinking" => Some(json!({
            "type": "redacted_thinking",
            "data": opaque.get("data")?,
        })),
        _ => None,
    }
}

/// Ids that another provider made may hold characters that this API refuses.
fn safe_id(id: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.chars().map(|c| if safe(c) { c } else { '_' }).collect()
}
