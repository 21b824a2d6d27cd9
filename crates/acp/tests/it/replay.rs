//! The replay of a session equals what was sent while it ran.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::client::with_client;

/// What a client shows in the end: messages joined, calls with their last state, the last plan.
fn shown(updates: &[Value]) -> Value {
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

#[tokio::test]
async fn replay_shows_what_the_live_stream_showed() {
    with_client(async |client| {
        let session = client.session().await;
        let prompts = ["hello", "plan", "limit", "agent", "hello again", "notice", "hang", "more"];
        for text in prompts {
            let id = client.begin(&session, text).await;
            if text == "hang" {
                while client.updates.last().is_none_or(|it| it["content"]["text"] != "wait") {
                    let update = client.update().await;
                    client.updates.push(update);
                }
                client.notify("session/cancel", json!({"sessionId": session})).await;
            }
            assert_eq!(client.next().await["id"], id);
        }
        for outcome in ["once", "deny"] {
            client.begin(&session, "ask").await;
            let request = client.next().await;
            let outcome = json!({"outcome": "selected", "optionId": outcome});
            client.answer(&request, outcome).await;
            client.next().await;
        }
        let live = std::mem::take(&mut client.updates);
        let params = json!({"sessionId": session, "cwd": "/p", "mcpServers": []});
        client.result("session/load", params).await;
        let replayed = std::mem::take(&mut client.updates);
        let user = replayed.iter().filter(|it| it["sessionUpdate"] == "user_message_chunk");
        // Each prompt, and a message that was typed in the middle of a turn.
        assert_eq!(user.count(), prompts.len() + 3);
        assert_eq!(shown(&live), shown(&replayed));
    })
    .await;
}
