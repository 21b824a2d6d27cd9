//! Replies in the format of the messages API. A call is returned when its block has ended.

use std::borrow::Cow;
use std::sync::Arc;

use contract::id::CallId;
use contract::message::{StopReason, ToolCall, Usage};
use contract::provider::{Delta, ProviderError};
use contract::text::visible;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::body::{Ended, arguments, fresh_call_id, parse};
use crate::failure::Origin;
use crate::reply::{Deltas, EventDecoder, EventReply, Stage};

pub(super) type MessagesDecoder = EventDecoder<MessagesReply>;

#[derive(Default)]
pub(super) struct MessagesReply {
    origin: Arc<Origin>,
    blocks: Vec<(u64, Block)>,
    /// A call that has ended without usable arguments: whether it was cut short by the limit on
    /// the reply is known only when something follows.
    doubtful: Option<OpenCall>,
    usage: UsageCount,
    id: Option<String>,
    stop: Option<StopReason>,
    stage: Stage,
}

enum Block {
    Thinking { signature: String },
    Redacted { data: Value },
    Call(OpenCall),
}

struct OpenCall {
    id: String,
    name: String,
    input: Option<Value>,
    json: String,
}

/// The known events; any other is ignored.
const EVENTS: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

#[derive(Default, Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    delta: Growth<'a>,
    message: Option<Value>,
    content_block: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Growth<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(borrow)]
    thinking: Cow<'a, str>,
    #[serde(borrow)]
    signature: Cow<'a, str>,
    #[serde(borrow)]
    partial_json: Cow<'a, str>,
    stop_reason: Option<String>,
}

impl EventReply for MessagesReply {
    fn new(origin: Arc<Origin>) -> Self {
        Self { origin, ..Self::default() }
    }

    fn event(&mut self, data: &str, out: &mut Deltas) -> Result<(), ProviderError> {
        if self.stage == Stage::Done || data.is_empty() {
            return Ok(());
        }
        let mut repaired = None;
        let event = match parse::<StreamEvent<'_>>(data, &mut repaired) {
            Ok(event) => event,
            Err(_) if is_unknown(data) => return Ok(()),
            Err(_) => {
                let what = "something that is not a part of a reply";
                return Err(self.origin.garbled(what, data.as_bytes()));
            }
        };
        if EVENTS.contains(&event.kind.as_ref()) {
            out.progress();
        }
        self.take(event, out)
    }

    fn whole(&mut self, body: &str, out: &mut Deltas) -> Result<(), ProviderError> {
        let garbled = || self.origin.garbled("something that is not a reply", body.as_bytes());
        let message: Value = parse(body, &mut None).map_err(|_| garbled())?;
        if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
            return Err(self.origin.reported(error));
        }
        let Some(blocks) = message.get("content").and_then(Value::as_array) else {
            return Err(garbled());
        };
        for block in blocks {
            self.start(0, block, out);
            for (_, block) in std::mem::take(&mut self.blocks) {
                self.close(block, out);
            }
        }
        self.id = message.get("id").and_then(Value::as_str).map(str::to_owned);
        self.stop = message.get("stop_reason").and_then(Value::as_str).map(stop_reason);
        self.count(message.get("usage"), out);
        self.stage = Stage::Done;
        Ok(())
    }

    fn end(&mut self, out: &mut Deltas) {
        let reason = self.stop.take().unwrap_or_default();
        self.settle(
            match reason {
                StopReason::EndTurn | StopReason::ToolUse => Ended::Properly,
                _ => Ended::Early,
            },
            out,
        );
        out.stopped(reason);
    }

    fn state(&self) -> (&Origin, Stage) {
        (&self.origin, self.stage)
    }
}

impl MessagesReply {
    fn take(&mut self, event: StreamEvent<'_>, out: &mut Deltas) -> Result<(), ProviderError> {
        match event.kind.as_ref() {
            "content_block_delta" => self.grow(event.index, &event.delta, out),
            "message_start" => {
                let message = event.message.unwrap_or_default();
                self.id = message.get("id").and_then(Value::as_str).map(str::to_owned);
                self.count(message.get("usage"), out);
            }
            "content_block_start" => {
                self.settle(Ended::Properly, out);
                self.start(event.index, &event.content_block.unwrap_or_default(), out);
            }
            "content_block_stop" => {
                let known = |(index, _): &(u64, Block)| *index == event.index;
                if let Some(at) = self.blocks.iter().position(known) {
                    let (_, block) = self.blocks.remove(at);
                    self.close(block, out);
                }
            }
            "message_delta" => {
                if let Some(reason) = &event.delta.stop_reason {
                    self.stop = Some(stop_reason(reason));
                    self.stage = Stage::Complete;
                }
                self.count(event.usage.as_ref(), out);
            }
            "message_stop" => self.stage = Stage::Done,
            "error" => return Err(self.origin.reported(&event.error.unwrap_or_default())),
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, index: u64, block: &Value, out: &mut Deltas) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        let open = match text("type") {
            "text" => {
                out.text(text("text"));
                return;
            }
            "thinking" => {
                out.thinking(text("thinking"));
                Block::Thinking { signature: text("signature").to_owned() }
            }
            "redacted_thinking" => Block::Redacted { data: json!(text("data")) },
            "tool_use" => {
                out.push(Delta::CallStarted { name: text("name").to_owned() });
                let input = block.get("input").filter(|input| !is_blank(input));
                Block::Call(OpenCall {
                    id: text("id").to_owned(),
                    name: text("name").to_owned(),
                    input: input.cloned(),
                    json: String::new(),
                })
            }
            _ => return,
        };
        self.blocks.push((index, open));
    }

    fn grow(&mut self, index: u64, delta: &Growth<'_>, out: &mut Deltas) {
        out.text(&delta.text);
        out.thinking(&delta.thinking);
        let block = self.blocks.iter_mut().find(|(known, _)| *known == index);
        match block.map(|(_, block)| block) {
            Some(Block::Thinking { signature }) => signature.push_str(&delta.signature),
            Some(Block::Call(call)) => call.json.push_str(&delta.partial_json),
            Some(Block::Redacted { .. }) | None => {}
        }
    }

    fn close(&mut self, block: Block, out: &mut Deltas) {
        match block {
            Block::Thinking { signature } if signature.is_empty() => {}
            Block::Thinking { signature } => {
                out.push(Delta::ThinkingOpaque(
                    json!({"type": "thinking", "signature": signature}),
                ));
            }
            Block::Redacted { data } => {
                out.push(Delta::ThinkingOpaque(json!({"type": "redacted_thinking", "data": data})));
            }
            Block::Call(call) => {
                self.settle(Ended::Properly, out);
                let args = call.args(Ended::Early);
                if args.is_object() {
                    out.push(Delta::Call(call.with(args)));
                } else {
                    self.doubtful = Some(call);
                }
            }
        }
    }

    /// Returns the call that was in doubt.
    fn settle(&mut self, ended: Ended, out: &mut Deltas) {
        if let Some(call) = self.doubtful.take() {
            let args = call.args(ended);
            out.push(Delta::Call(call.with(args)));
        }
    }

    fn count(&mut self, usage: Option<&Value>, out: &mut Deltas) {
        let Some(usage) = usage else { return };
        self.usage.update(usage);
        out.push(Delta::Usage(self.usage.total(self.id.clone())));
    }
}

impl OpenCall {
    fn args(&self, ended: Ended) -> Value {
        match &self.input {
            Some(input) if self.json.is_empty() => input.clone(),
            _ => arguments(&self.json, ended),
        }
    }

    fn with(self, args: Value) -> ToolCall {
        ToolCall {
            id: CallId(if self.id.is_empty() { fresh_call_id() } else { self.id }),
            name: self.name,
            args,
            opaque: None,
        }
    }
}

#[derive(Default)]
struct UsageCount {
    input: u64,
    cache_read: Option<u64>,
    cache_written: Option<u64>,
    output: u64,
}

impl UsageCount {
    fn update(&mut self, usage: &Value) {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        self.input = count("input_tokens").unwrap_or(self.input);
        self.cache_read = count("cache_read_input_tokens").or(self.cache_read);
        self.cache_written = count("cache_creation_input_tokens").or(self.cache_written);
        self.output = count("output_tokens").unwrap_or(self.output);
    }

    fn total(&self, id: Option<String>) -> Usage {
        Usage {
            input_tokens: self.input
                + self.cache_read.unwrap_or(0)
                + self.cache_written.unwrap_or(0),
            output_tokens: self.output,
            cached_tokens: self.cache_read,
            cache_write_tokens: self.cache_written,
            generation_id: id,
            ..Usage::default()
        }
    }
}

fn is_unknown(data: &str) -> bool {
    let kind = parse::<Value>(data, &mut None);
    kind.is_ok_and(|event| {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        !EVENTS.contains(&kind)
    })
}

fn is_blank(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty)
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        other => StopReason::Other(visible(other).into_owned()),
    }
}
