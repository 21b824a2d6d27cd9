//! Chat, as Ollama's own interface writes it: one object a line.

use serde_json::{Value, json};

use super::{Exchange, value_of};

pub(super) fn streamed(exchange: &Exchange<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut send = |object: &Value| body.extend_from_slice(format!("{object}\n").as_bytes());
    for piece in exchange.pieces(&exchange.reply.thinking) {
        let message = json!({"role": "assistant", "content": "", "thinking": piece});
        send(&object(exchange, &message));
    }
    for piece in exchange.pieces(&exchange.reply.text) {
        send(&object(exchange, &json!({"role": "assistant", "content": piece})));
    }
    if !exchange.reply.calls.is_empty() {
        let message = json!({"role": "assistant", "content": "", "tool_calls": calls(exchange)});
        send(&object(exchange, &message));
    }
    let last = object(exchange, &json!({"role": "assistant", "content": ""}));
    send(&done(exchange, last));
    body
}

pub(super) fn whole(exchange: &Exchange<'_>) -> Value {
    let reply = exchange.reply;
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !reply.thinking.is_empty() {
        message["thinking"] = json!(reply.thinking);
    }
    if !reply.calls.is_empty() {
        message["tool_calls"] = calls(exchange);
    }
    done(exchange, object(exchange, &message))
}

fn object(exchange: &Exchange<'_>, message: &Value) -> Value {
    json!({
        "model": exchange.model, "created_at": "2026-01-01T00:00:00Z", "message": message,
        "done": false,
    })
}

fn calls(exchange: &Exchange<'_>) -> Value {
    let calls = exchange.reply.calls.iter();
    calls
        .map(|call| {
            let arguments = value_of(&call.arguments);
            json!({"function": {"name": call.name, "arguments": arguments}})
        })
        .collect()
}

fn done(exchange: &Exchange<'_>, mut object: Value) -> Value {
    object["done"] = json!(true);
    object["done_reason"] = json!(exchange.reply.stop.unwrap_or("stop"));
    if let Some(usage) = exchange.reply.usage {
        object["prompt_eval_count"] = json!(usage.input);
        object["eval_count"] = json!(usage.output);
    }
    object
}
