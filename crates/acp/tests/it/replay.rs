//! The replay of a session equals what was sent while it ran.

use serde_json::json;

use crate::client::{Client, with_client};
use crate::shown::shown;

const SESSIONS: usize = 50;
const PROMPTS: [&str; 10] = [
    "hello",
    "plan",
    "limit",
    "agent",
    "hello again",
    "notice",
    "hang",
    "more",
    "ask once",
    "ask deny",
];

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("a small number") % bound
    }
}

/// Holds a turn to its end.
async fn turn(client: &mut Client, session: &str, prompt: &str) {
    let (text, answer) = prompt.split_once("ask ").map_or((prompt, ""), |(_, it)| ("ask", it));
    let id = client.begin(session, text).await;
    if text == "hang" {
        while client.updates.last().is_none_or(|it| it["content"]["text"] != "wait") {
            let update = client.update().await;
            client.updates.push(update);
        }
        client.notify("session/cancel", json!({"sessionId": session})).await;
    }
    if text == "ask" {
        let request = client.next().await;
        client.answer(&request, json!({"outcome": "selected", "optionId": answer})).await;
    }
    assert_eq!(client.next().await["id"], id);
}

#[tokio::test]
async fn replay_shows_what_the_live_stream_showed() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    with_client(async |client| {
        for number in 0..SESSIONS {
            let session = client.session().await;
            client.updates.clear();
            let mut prompts = PROMPTS.to_vec();
            if number > 0 {
                let count = 1 + numbers.below(2 * PROMPTS.len());
                prompts = (0..count).map(|_| PROMPTS[numbers.below(PROMPTS.len())]).collect();
            }
            for prompt in &prompts {
                turn(client, &session, prompt).await;
            }
            let live = std::mem::take(&mut client.updates);
            let params = json!({"sessionId": session, "cwd": "/p", "mcpServers": []});
            client.result("session/load", params).await;
            let replayed = std::mem::take(&mut client.updates);
            let user = replayed.iter().filter(|it| it["sessionUpdate"] == "user_message_chunk");
            // Each prompt, and a message that was typed in the middle of a turn.
            assert!(user.count() >= prompts.len(), "{prompts:?}");
            assert_eq!(shown(&live), shown(&replayed), "{prompts:?}");
        }
    })
    .await;
}
