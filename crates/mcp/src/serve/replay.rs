//! What was said to clients over HTTP, so that one that lost its line can ask for the rest. The
//! latest is kept, up to a limit for all clients together; nothing of it is written down.

use std::collections::{HashMap, VecDeque};
use std::io;

use async_trait::async_trait;
use futures::stream;
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::store::{
    EventId, EventStore, EventStoreError, EventStream,
};
use tokio::sync::watch;

/// What is kept at most, in bytes and in events.
const MOST_BYTES: usize = 16 << 20;
const MOST_EVENTS: usize = 2_000;

/// What was said on all lines.
#[derive(Default)]
pub(super) struct Replay {
    kept: watch::Sender<Kept>,
}

#[derive(Default)]
struct Kept {
    lines: HashMap<String, Line>,
    /// The line of each event, the oldest first.
    order: VecDeque<String>,
    bytes: usize,
    count: u64,
}

#[derive(Default)]
struct Line {
    events: VecDeque<Event>,
    /// The last event that is not kept any more.
    forgotten: Option<u64>,
    is_over: bool,
}

struct Event {
    number: u64,
    size: usize,
    message: ServerSseMessage,
}

/// What comes after an event.
enum Step {
    Said(u64, ServerSseMessage),
    Over,
}

impl Kept {
    fn add(&mut self, line: &str, message: &ServerSseMessage) -> EventId {
        self.count += 1;
        let number = self.count;
        let id = format!("{line}#{number}");
        let mut message = message.clone();
        message.event_id = Some(id.clone());
        let content = message.message.as_deref();
        let size = content.map_or(0, size_of);
        let entry = self.lines.entry(line.to_owned()).or_default();
        entry.is_over = content.is_some_and(is_answer);
        entry.events.push_back(Event { number, size, message });
        self.order.push_back(line.to_owned());
        self.bytes += size;
        while self.bytes > MOST_BYTES || self.order.len() > MOST_EVENTS {
            self.forget();
        }
        id
    }

    fn forget(&mut self) {
        let Some(name) = self.order.pop_front() else { return };
        let Some(line) = self.lines.get_mut(&name) else { return };
        if let Some(event) = line.events.pop_front() {
            self.bytes -= event.size;
            line.forgotten = Some(event.number);
        }
        if line.events.is_empty() {
            self.lines.remove(&name);
        }
    }

    /// What comes after `number`; none where that is still to come.
    fn after(&self, name: &str, number: u64) -> Option<Step> {
        let Some(line) = self.lines.get(name) else { return Some(Step::Over) };
        let next = line.events.iter().find(|event| event.number > number);
        match next {
            Some(event) => Some(Step::Said(event.number, event.message.clone())),
            None => line.is_over.then_some(Step::Over),
        }
    }
}

#[async_trait]
impl EventStore for Replay {
    async fn store_event(
        &self,
        stream_id: &str,
        event: &ServerSseMessage,
    ) -> Result<EventId, EventStoreError> {
        let mut id = String::new();
        self.kept.send_modify(|kept| id = kept.add(stream_id, event));
        Ok(id)
    }

    async fn replay_events_after(&self, last: &str) -> Result<EventStream, EventStoreError> {
        let parsed = last.rsplit_once('#').and_then(|(line, n)| Some((line, n.parse().ok()?)));
        let (line, number): (&str, u64) =
            parsed.ok_or_else(|| io::Error::other("there is no such event"))?;
        let is_kept = |kept: &Kept| {
            kept.lines.get(line).is_some_and(|line| line.forgotten.is_none_or(|it| it <= number))
        };
        if !is_kept(&self.kept.borrow()) {
            return Err(io::Error::other("what came after it is not kept any more").into());
        }
        let state = (self.kept.subscribe(), line.to_owned(), number);
        Ok(Box::pin(stream::unfold(state, |(mut kept, line, number)| async move {
            let step = {
                let is_there = |kept: &Kept| kept.after(&line, number).is_some();
                let found = kept.wait_for(is_there).await.ok()?;
                found.after(&line, number)
            };
            match step? {
                Step::Said(number, message) => Some((message, (kept, line, number))),
                Step::Over => None,
            }
        })))
    }
}

fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
}

fn size_of(message: &ServerJsonRpcMessage) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written is not sent either.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use serde_json::{Value, json};

    use super::*;

    fn message(value: &Value) -> ServerSseMessage {
        ServerSseMessage::from_message(serde_json::from_value(value.clone()).unwrap())
    }

    fn progress(number: u32) -> ServerSseMessage {
        let params = json!({"progressToken": "t", "progress": f64::from(number)});
        message(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
    }

    fn answer(text: &str) -> ServerSseMessage {
        message(&json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [
            {"type": "text", "text": text}]}}))
    }

    async fn ids(replay: &Replay, last: &str) -> Vec<String> {
        let events = replay.replay_events_after(last).await.unwrap();
        events.map(|event| event.event_id.unwrap()).collect().await
    }

    #[tokio::test]
    async fn what_comes_after_an_event_is_told_once_and_in_order_to_the_answer() {
        let replay = Replay::default();
        let mut said = Vec::new();
        for number in 0..5 {
            said.push(replay.store_event("a", &progress(number)).await.unwrap());
            replay.store_event("b", &progress(number)).await.unwrap();
        }
        said.push(replay.store_event("a", &answer("done")).await.unwrap());
        for at in 0..said.len() {
            assert_eq!(ids(&replay, &said[at]).await, said[at + 1..]);
        }
    }

    #[tokio::test]
    async fn what_is_still_to_come_is_waited_for() {
        let replay = Replay::default();
        let first = replay.store_event("a", &progress(0)).await.unwrap();
        let mut events = replay.replay_events_after(&first).await.unwrap();
        assert!(futures::poll!(events.next()).is_pending());
        let last = replay.store_event("a", &answer("done")).await.unwrap();
        assert_eq!(events.next().await.unwrap().event_id, Some(last));
        assert!(events.next().await.is_none());
    }

    #[tokio::test]
    async fn only_the_latest_is_kept_and_a_gap_is_refused() {
        let replay = Replay::default();
        let text = "x".repeat(MOST_BYTES / 4);
        let first = replay.store_event("a", &progress(0)).await.unwrap();
        replay.store_event("a", &progress(1)).await.unwrap();
        for line in 0..4 {
            replay.store_event(&format!("line {line}"), &answer(&text)).await.unwrap();
        }
        assert!(replay.replay_events_after(&first).await.is_err());
        for unknown in ["", "a", "a#", "a#x", "never#1"] {
            assert!(replay.replay_events_after(unknown).await.is_err(), "{unknown}");
        }
        assert!(replay.kept.borrow().bytes <= MOST_BYTES);
        for number in 0..MOST_EVENTS {
            replay.store_event(&format!("many {number}"), &progress(0)).await.unwrap();
        }
        let kept = replay.kept.borrow();
        assert_eq!((kept.order.len(), kept.lines.len()), (MOST_EVENTS, MOST_EVENTS));
    }
}
