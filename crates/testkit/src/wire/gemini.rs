//! The native API of Gemini.

use serde_json::{Value, json};

use super::{Exchange, value_of};

pub(super) fn streamed(exchange: &Exchange<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut send = |event: &Value| {
        body.extend_from_slice(format!("data: {event}\r\n\r\n").as_bytes());
    };
    let reply = exchange.reply;
    let thoughts = exchange.pieces(&reply.thinking).map(|it| json!({"text": it, "thought": true}));
    let words = exchange.pieces(&reply.text).map(|it| json!({"text": it}));
    for part in thoughts.chain(words) {
        send(&candidate(&json!([part])));
    }
    let calls = reply.calls.iter().map(|call| {
        let function = json!({"name": call.name, "args": value_of(&call.arguments)});
        json!({"functionCall": function, "thoughtSignature": "c2lnbmF0dXJl"})
    });
    let mut last = candidate(&calls.collect());
    last["candidates"][0]["finishReason"] = json!("STOP");
    if let Some(usage) = reply.usage {
        last["usageMetadata"] =
            json!({"promptTokenCount": usage.input, "candidatesTokenCount": usage.output});
    }
    send(&last);
    body
}

fn candidate(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
}
