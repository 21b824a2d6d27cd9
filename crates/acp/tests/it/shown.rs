//! What a client shows.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// What a client shows in the end: messages joined, calls with their last state, the last plan.
pub(crate) fn shown(updates: &[Value]) -> Value {
    let mut messages: Vec<(Value, String)> = Vec::new();
    let mut calls: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let mut last = BTreeMap::new();
    for update in updates {
        let kind = update["sessionUpdate"].as_str().expect("as scripted");
        match kind {
            "user_message_chunk" | "available_commands_update" => {}
            "agent_message_chunk" | "agent_thought_chunk" => {
                let key = json!([kind, update["messageId"]]);
                let text = update["content"]["text"].as_str().expect("as scripted");
                match messages.last_mut().filter(|(before, _)| *before == key) {
                    Some((_, before)) => before.push_str(text),
                    None => messages.push((key, text.to_owned())),
                }
            }
            "tool_call" | "tool_call_update" => {
                let id = update["toolCallId"].as_str().expect("as scripted").to_owned();
                let call = calls.entry(id).or_default();
                call.extend(update.as_object().expect("as scripted").clone());
                call.remove("sessionUpdate");
            }
            kind => {
                last.insert(kind.to_owned(), update.clone());
            }
        }
    }
    json!({"messages": messages, "calls": calls, "last": last})
}
