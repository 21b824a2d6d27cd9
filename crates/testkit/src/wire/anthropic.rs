//! Messages, as Anthropic writes them.

use serde_json::{Value, json};

use super::{Exchange, value_of};

const SIGNATURE: &str = "c2lnbmF0dXJl";

pub(super) fn streamed(exchange: &Exchange<'_>) -> Vec<u8> {
    let reply = exchange.reply;
    let mut events = Events::default();
    let mut message = message(exchange, &json!([]), &Value::Null);
    message["usage"] = usage(exchange, 1);
    events.send(&json!({"type": "message_start", "message": message}));
    events.send(&json!({"type": "ping"}));
    if !reply.thinking.is_empty() {
        let block = json!({"type": "thinking", "thinking": "", "signature": ""});
        let pieces = exchange.pieces(&reply.thinking);
        let thinking = pieces.map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
        let signature = json!({"type": "signature_delta", "signature": SIGNATURE});
        events.block(&block, thinking.chain([signature]));
    }
    if !reply.text.is_empty() {
        let pieces = exchange.pieces(&reply.text);
        let text = pieces.map(|piece| json!({"type": "text_delta", "text": piece}));
        events.block(&json!({"type": "text", "text": ""}), text);
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let block = json!({
            "type": "tool_use", "id": exchange.call_id(index, "toolu"), "name": call.name,
            "input": {}
        });
        let pieces = exchange.pieces(&call.arguments);
        let input = pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        events.block(&block, input);
    }
    let output = reply.usage.map_or(0, |usage| usage.output);
    events.send(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(exchange), "stop_sequence": null},
        "usage": {"output_tokens": output},
    }));
    events.send(&json!({"type": "message_stop"}));
    events.body
}

pub(super) fn whole(exchange: &Exchange<'_>) -> Value {
    let reply = exchange.reply;
    let mut content = Vec::new();
    if !reply.thinking.is_empty() {
        content.push(json!({
            "type": "thinking", "thinking": reply.thinking, "signature": SIGNATURE
        }));
    }
    if !reply.text.is_empty() {
        content.push(json!({"type": "text", "text": reply.text}));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        content.push(json!({
            "type": "tool_use", "id": exchange.call_id(index, "toolu"), "name": call.name,
            "input": value_of(&call.arguments)
        }));
    }
    let mut message = message(exchange, &json!(content), &json!(stop_reason(exchange)));
    message["usage"] = usage(exchange, reply.usage.map_or(0, |usage| usage.output));
    message
}

#[derive(Default)]
struct Events {
    body: Vec<u8>,
    blocks: usize,
}

impl Events {
    fn send(&mut self, event: &Value) {
        let name = event["type"].as_str().unwrap_or_default();
        let text = format!("event: {name}\ndata: {event}\n\n");
        self.body.extend_from_slice(text.as_bytes());
    }

    fn block(&mut self, block: &Value, deltas: impl Iterator<Item = Value>) {
        let index = self.blocks;
        self.blocks += 1;
        self.send(&json!({"type": "content_block_start", "index": index, "content_block": block}));
        for delta in deltas {
            self.send(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        self.send(&json!({"type": "content_block_stop", "index": index}));
    }
}

fn message(exchange: &Exchange<'_>, content: &Value, stop_reason: &Value) -> Value {
    json!({
        "id": format!("msg_{}", exchange.number), "type": "message", "role": "assistant",
        "model": exchange.model, "content": content, "stop_reason": stop_reason,
        "stop_sequence": null,
    })
}

fn stop_reason(exchange: &Exchange<'_>) -> &'static str {
    match exchange.reply.stop {
        Some(reason) => reason,
        None if exchange.reply.calls.is_empty() => "end_turn",
        None => "tool_use",
    }
}

/// This format counts cached tokens apart from the others.
fn usage(exchange: &Exchange<'_>, output: u64) -> Value {
    let usage = exchange.reply.usage.unwrap_or_default();
    let cached = usage.cached.unwrap_or(0);
    json!({
        "input_tokens": usage.input.saturating_sub(cached), "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0, "output_tokens": output,
    })
}
