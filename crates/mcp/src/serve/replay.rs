//! The latest messages to clients over HTTP, so that a client that lost its connection can resume.
//! They are stored in memory, up to a limit for all clients together.

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

/// Upper bound on the messages of all streams, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// Upper bound on the number of messages.
const MAX_EVENTS: usize = 2_000;

/// The latest messages of all streams.
#[derive(Default)]
pub(super) struct ReplayBuffer {
    streams: watch::Sender<Streams>,
}

#[derive(Default)]
struct Streams {
    by_id: HashMap<String, Stream>,
    /// The stream of each event, the oldest first.
    order: VecDeque<String>,
    bytes: usize,
    count: u64,
}

#[derive(Default)]
struct Stream {
    events: VecDeque<StoredEvent>,
    /// The last event that was dropped.
    dropped: Option<u64>,
    is_over: bool,
}

struct StoredEvent {
    number: u64,
    size: usize,
    message: ServerSseMessage,
}

/// The event after another one.
enum NextEvent {
    Message(u64, ServerSseMessage),
    End,
}

impl Streams {
    fn add(&mut self, stream: &str, message: &ServerSseMessage) -> EventId {
        self.count += 1;
        let number = self.count;
        let id = format!("{stream}#{number}");
        let mut message = message.clone();
        message.event_id = Some(id.clone());
        let content = message.message.as_deref();
        let size = content.map_or(0, size_of);
        let entry = self.by_id.entry(stream.to_owned()).or_default();
        entry.is_over = content.is_some_and(is_answer);
        entry.events.push_back(StoredEvent { number, size, message });
        self.order.push_back(stream.to_owned());
        self.bytes += size;
        while self.bytes > MAX_BYTES || self.order.len() > MAX_EVENTS {
            self.drop_oldest();
        }
        id
    }

    fn drop_oldest(&mut self) {
        let Some(name) = self.order.pop_front() else { return };
        let Some(stream) = self.by_id.get_mut(&name) else { return };
        if let Some(event) = stream.events.pop_front() {
            self.bytes -= event.size;
            stream.dropped = Some(event.number);
        }
        if stream.events.is_empty() {
            self.by_id.remove(&name);
        }
    }

    /// The event after `number`. None if it has not happened yet.
    fn after(&self, name: &str, number: u64) -> Option<NextEvent> {
        let Some(stream) = self.by_id.get(name) else { return Some(NextEvent::End) };
        let next = stream.events.iter().find(|event| event.number > number);
        match next {
            Some(event) => Some(NextEvent::Message(event.number, event.message.clone())),
            None => stream.is_over.then_some(NextEvent::End),
        }
    }
}

#[async_trait]
impl EventStore for ReplayBuffer {
    async fn store_event(
        &self,
        stream_id: &str,
        event: &ServerSseMessage,
    ) -> Result<EventId, EventStoreError> {
        let mut id = String::new();
        self.streams.send_modify(|streams| id = streams.add(stream_id, event));
        Ok(id)
    }

    async fn replay_events_after(&self, last: &str) -> Result<EventStream, EventStoreError> {
        let parsed = last.rsplit_once('#').and_then(|(id, n)| Some((id, n.parse().ok()?)));
        let (id, number): (&str, u64) =
            parsed.ok_or_else(|| io::Error::other("there is no such event"))?;
        let is_stored = |streams: &Streams| {
            let stream = streams.by_id.get(id);
            stream.is_some_and(|stream| stream.dropped.is_none_or(|it| it <= number))
        };
        if !is_stored(&self.streams.borrow()) {
            return Err(io::Error::other("later events are no longer stored").into());
        }
        let state = (self.streams.subscribe(), id.to_owned(), number);
        Ok(Box::pin(stream::unfold(state, |(mut streams, id, number)| async move {
            let step = {
                let is_there = |streams: &Streams| streams.after(&id, number).is_some();
                let found = streams.wait_for(is_there).await.ok()?;
                found.after(&id, number)
            };
            match step? {
                NextEvent::Message(number, message) => Some((message, (streams, id, number))),
                NextEvent::End => None,
            }
        })))
    }
}

fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
}

fn size_of(message: &ServerJsonRpcMessage) -> usize {
    serde_json::to_vec(message).map_or(0, |bytes| bytes.len())
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

    async fn ids(replay: &ReplayBuffer, last: &str) -> Vec<String> {
        let events = replay.replay_events_after(last).await.unwrap();
        events.map(|event| event.event_id.unwrap()).collect().await
    }

    #[tokio::test]
    async fn replay_continues_after_an_event_up_to_the_answer() {
        let replay = ReplayBuffer::default();
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
    async fn replay_waits_for_events_to_come() {
        let replay = ReplayBuffer::default();
        let first = replay.store_event("a", &progress(0)).await.unwrap();
        let mut events = replay.replay_events_after(&first).await.unwrap();
        assert!(futures::poll!(events.next()).is_pending());
        let last = replay.store_event("a", &answer("done")).await.unwrap();
        assert_eq!(events.next().await.unwrap().event_id, Some(last));
        assert!(events.next().await.is_none());
    }

    #[tokio::test]
    async fn replay_after_a_dropped_event_is_refused() {
        let replay = ReplayBuffer::default();
        let text = "x".repeat(MAX_BYTES / 4);
        let first = replay.store_event("a", &progress(0)).await.unwrap();
        replay.store_event("a", &progress(1)).await.unwrap();
        for line in 0..4 {
            replay.store_event(&format!("line {line}"), &answer(&text)).await.unwrap();
        }
        assert!(replay.replay_events_after(&first).await.is_err());
        for unknown in ["", "a", "a#", "a#x", "never#1"] {
            assert!(replay.replay_events_after(unknown).await.is_err(), "{unknown}");
        }
        assert!(replay.streams.borrow().bytes <= MAX_BYTES);
        for number in 0..MAX_EVENTS {
            replay.store_event(&format!("many {number}"), &progress(0)).await.unwrap();
        }
        let streams = replay.streams.borrow();
        assert_eq!((streams.order.len(), streams.by_id.len()), (MAX_EVENTS, MAX_EVENTS));
    }
}
