//! Chat completions, as OpenAI, OpenRouter and the servers compatible with them write them.

use serde_json::{Value, json};

use super::HookContext;

pub(super) fn streamed(scene: &HookContext<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut send = |event: &Value| {
        body.extend_from_slice(format!("data: {event}\n\n").as_bytes());
    };
    let delta = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        chunk(scene, &json!([choice]))
    };
    send(&delta(json!({"role": "assistant", "content": ""}), None));
    for piece in scene.pieces(&scene.reply.thinking) {
        send(&delta(json!({"reasoning": piece}), None));
    }
    for piece in scene.pieces(&scene.reply.text) {
        send(&delta(json!({"content": piece}), None));
    }
    for (index, call) in scene.reply.calls.iter().enumerate() {
        let start = json!({
            "index": index, "id": scene.call_id(index, "call"), "type": "function",
            "function": {"name": call.name, "arguments": ""}
        });
        send(&delta(json!({"tool_calls": [start]}), None));
        for piece in scene.pieces(&call.arguments) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            send(&delta(json!({"tool_calls": [more]}), None));
        }
    }
    send(&delta(json!({}), Some(finish_reason(scene))));
    if let Some(usage) = usage(scene) {
        let mut last = chunk(scene, &json!([]));
        last["usage"] = usage;
        send(&last);
    }
    body.extend_from_slice(b"data: [DONE]\n\n");
    body
}

pub(super) fn whole(scene: &HookContext<'_>) -> Value {
    let reply = scene.reply;
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !reply.thinking.is_empty() {
        message["reasoning"] = json!(reply.thinking);
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().enumerate().map(|(index, call)| {
            json!({
                "id": scene.call_id(index, "call"), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments}
            })
        });
        message["tool_calls"] = calls.collect();
        if reply.text.is_empty() {
            message["content"] = Value::Null;
        }
    }
    let mut body = json!({
        "id": format!("chatcmpl-{}", scene.number), "object": "chat.completion", "created": 0,
        "model": scene.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(scene)}],
    });
    if let Some(usage) = usage(scene) {
        body["usage"] = usage;
    }
    body
}

fn chunk(scene: &HookContext<'_>, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", scene.number), "object": "chat.completion.chunk",
        "created": 0, "model": scene.model, "choices": choices,
    })
}

fn finish_reason(scene: &HookContext<'_>) -> &'static str {
    match scene.reply.stop {
        Some(reason) => reason,
        None if scene.reply.calls.is_empty() => "stop",
        None => "tool_calls",
    }
}

fn usage(scene: &HookContext<'_>) -> Option<Value> {
    let usage = scene.reply.usage?;
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
