//! Chat, as Ollama's own interface writes it: one object a line.

use serde_json::{Value, json};

use super::{HookContext, value_of};

pub(super) fn streamed(scene: &HookContext<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut send = |object: &Value| body.extend_from_slice(format!("{object}\n").as_bytes());
    for piece in scene.pieces(&scene.reply.thinking) {
        let message = json!({"role": "assistant", "content": "", "thinking": piece});
        send(&object(scene, &message));
    }
    for piece in scene.pieces(&scene.reply.text) {
        send(&object(scene, &json!({"role": "assistant", "content": piece})));
    }
    if !scene.reply.calls.is_empty() {
        let message = json!({"role": "assistant", "content": "", "tool_calls": calls(scene)});
        send(&object(scene, &message));
    }
    let last = object(scene, &json!({"role": "assistant", "content": ""}));
    send(&done(scene, last));
    body
}

pub(super) fn whole(scene: &HookContext<'_>) -> Value {
    let reply = scene.reply;
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !reply.thinking.is_empty() {
        message["thinking"] = json!(reply.thinking);
    }
    if !reply.calls.is_empty() {
        message["tool_calls"] = calls(scene);
    }
    done(scene, object(scene, &message))
}

fn object(scene: &HookContext<'_>, message: &Value) -> Value {
    json!({
        "model": scene.model, "created_at": "2026-01-01T00:00:00Z", "message": message,
        "done": false,
    })
}

fn calls(scene: &HookContext<'_>) -> Value {
    let calls = scene.reply.calls.iter();
    calls
        .map(|call| {
            let arguments = value_of(&call.arguments);
            json!({"function": {"name": call.name, "arguments": arguments}})
        })
        .collect()
}

fn done(scene: &HookContext<'_>, mut object: Value) -> Value {
    object["done"] = json!(true);
    object["done_reason"] = json!(scene.reply.stop.unwrap_or("stop"));
    if let Some(usage) = scene.reply.usage {
        object["prompt_eval_count"] = json!(usage.input);
        object["eval_count"] = json!(usage.output);
    }
    object
}
