//! The Responses API, as OpenAI writes it.

use serde_json::{Value, json};

use super::Exchange;

pub(super) fn streamed(exchange: &Exchange<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut send = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        body.extend_from_slice(format!("event: {kind}\ndata: {event}\n\n").as_bytes());
    };
    let response = whole(exchange);
    let delta = |kind: &str, piece: &str| json!({"type": kind, "delta": piece});
    send(&json!({"type": "response.created", "response": {"id": response["id"]}}));
    for piece in exchange.pieces(&exchange.reply.thinking) {
        send(&delta("response.reasoning_summary_text.delta", piece));
    }
    for piece in exchange.pieces(&exchange.reply.text) {
        send(&delta("response.output_text.delta", piece));
    }
    for item in response["output"].as_array().into_iter().flatten() {
        send(&json!({"type": "response.output_item.added", "item": item}));
        send(&json!({"type": "response.output_item.done", "item": item}));
    }
    send(&json!({"type": "response.completed", "response": response}));
    body
}

pub(super) fn whole(exchange: &Exchange<'_>) -> Value {
    let reply = exchange.reply;
    let mut output = Vec::new();
    if !reply.thinking.is_empty() {
        output.push(json!({
            "type": "reasoning", "id": format!("rs_{}", exchange.number), "encrypted_content": "c2VjcmV0",
            "summary": [{"type": "summary_text", "text": reply.thinking}],
        }));
    }
    if !reply.text.is_empty() {
        let content = json!([{"type": "output_text", "text": reply.text}]);
        output.push(json!({"type": "message", "role": "assistant", "content": content}));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        output.push(json!({
            "type": "function_call", "call_id": exchange.call_id(index, "call"), "name": call.name,
            "arguments": call.arguments,
        }));
    }
    let usage = reply
        .usage
        .map(|usage| json!({"input_tokens": usage.input, "output_tokens": usage.output}));
    let id = format!("resp_{}", exchange.number);
    json!({"id": id, "status": "completed", "output": output, "usage": usage})
}
