//! Chat completions, as OpenAI, OpenRouter and the servers compatible with them write them.

use serde_json::{Value, json};

use super::Exchange;

pub(super) fn streamed(exchange: &Exchange<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut send = |event: &Value| {
        body.extend_from_slice(format!("data: {event}\n\n").as_bytes());
    };
    let delta = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        chunk(exchange, &json!([choice]))
    };
    send(&delta(json!({"role": "assistant", "content": ""}), None));
    for piece in exchange.pieces(&exchange.reply.thinking) {
        send(&delta(json!({"reasoning": piece}), None));
    }
    for piece in exchange.pieces(&exchange.reply.text) {
        send(&delta(json!({"content": piece}), None));
    }
    for (index, call) in exchange.reply.calls.iter().enumerate() {
        let start = json!({
            "index": index, "id": exchange.call_id(index, "call"), "type": "function",
            "function": {"name": call.name, "arguments": ""}
        });
        send(&delta(json!({"tool_calls": [start]}), None));
        for piece in exchange.pieces(&call.arguments) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            send(&delta(json!({"tool_calls": [more]}), None));
        }
    }
    send(&delta(json!({}), Some(finish_reason(exchange))));
    if let Some(usage) = usage(exchange) {
        let mut last = chunk(exchange, &json!([]));
        last["usage"] = usage;
        send(&last);
    }
    body.extend_from_slice(b"data: [DONE]\n\n");
    body
}

pub(super) fn whole(exchange: &Exchange<'_>) -> Value {
    let reply = exchange.reply;
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !reply.thinking.is_empty() {
        message["reasoning"] = json!(reply.thinking);
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().enumerate().map(|(index, call)| {
            json!({
                "id": exchange.call_id(index, "call"), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments}
            })
        });
        message["tool_calls"] = calls.collect();
        if reply.text.is_empty() {
            message["content"] = Value::Null;
        }
    }
    let mut body = json!({
        "id": format!("chatcmpl-{}", exchange.number), "object": "chat.completion", "created": 0,
        "model": exchange.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(exchange)}],
    });
    if let Some(usage) = usage(exchange) {
        body["usage"] = usage;
    }
    body
}

fn chunk(exchange: &Exchange<'_>, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", exchange.number), "object": "chat.completion.chunk",
        "created": 0, "model": exchange.model, "choices": choices,
    })
}

fn finish_reason(exchange: &Exchange<'_>) -> &'static str {
    match exchange.reply.stop {
        Some(reason) => reason,
        None if exchange.reply.calls.is_empty() => "stop",
        None => "tool_calls",
    }
}

fn usage(exchange: &Exchange<'_>) -> Option<Value> {
    let usage = exchange.reply.usage?;
    let mut object = json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
    });
    if let Some(cached) = usage.cached {
        object["prompt_tokens_details"] = json!({"cached_tokens": cached});
    }
    if let Some(cost) = usage.cost {
        object["cost"] = json!(cost);
    }
    Some(object)
}
