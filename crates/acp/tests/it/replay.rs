//! The replay of a session equals what was sent while it ran.

use serde_json::json;

use crate::client::with_client;
use crate::shown::shown;

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
