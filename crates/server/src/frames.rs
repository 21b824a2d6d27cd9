//! Messages of event streams.

use bytes::Bytes;
use contract::event::Event;
use serde::Serialize;

use crate::queue::Weight;

/// An event as a message of the stream. Only events in the log carry an ID.
pub(crate) fn frame(event: &Event, weight: Weight) -> Bytes {
    // Events have no keys that JSON cannot have.
    let json = serde_json::to_string(event).unwrap_or_default();
    match weight {
        Weight::Kept => format!("id: {}\ndata: {json}\n\n", event.seq.0).into(),
        Weight::Transient => format!("data: {json}\n\n").into(),
    }
}

/// A message of the stream with a name of its own.
pub(crate) fn named(name: &str, data: &impl Serialize) -> Bytes {
    let json = serde_json::to_string(data).unwrap_or_default();
    format!("event: {name}\ndata: {json}\n\n").into()
}
