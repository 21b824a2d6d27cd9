//! JSON-RPC over lines, in both directions: requests, answers, notifications, cancellation.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::host::Failure;
use crate::wire::Code;

/// Queued messages above which updates wait for the client to read.
const QUEUE: usize = 1024;

/// A message of the client.
#[derive(Debug)]
pub(crate) enum Message {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Value, result: Result<Value, Value> },
}

/// The client, as the receiver of messages.
#[derive(Clone)]
pub(crate) struct Peer(Rc<Shared>);

struct Shared {
    /// None once nothing more is sent.
    out: RefCell<Option<mpsc::UnboundedSender<String>>>,
    queued: Cell<usize>,
    drained: Notify,
    pending: RefCell<HashMap<u64, oneshot::Sender<Result<Value, Value>>>>,
    next_id: Cell<u64>,
}

/// Messages that wait to be written.
pub(crate) struct Outbox {
    queue: mpsc::UnboundedReceiver<String>,
    peer: Rc<Shared>,
}

impl Peer {
    pub(crate) fn new() -> (Self, Outbox) {
        let (out, queue) = mpsc::unbounded_channel();
        let shared = Rc::new(Shared {
            out: RefCell::new(Some(out)),
            queued: Cell::new(0),
            drained: Notify::new(),
            pending: RefCell::default(),
            next_id: Cell::new(0),
        });
        (Self(Rc::clone(&shared)), Outbox { queue, peer: shared })
    }

    fn send(&self, message: &impl Serialize) {
        let line = match serde_json::to_string(message) {
            Ok(line) => line,
            Err(error) => unreachable!("JSON values can be written: {error}"),
        };
        // If the client is gone, the reader ends everything.
        if self.0.out.borrow().as_ref().is_some_and(|out| out.send(line).is_ok()) {
            self.0.queued.set(self.0.queued.get() + 1);
        }
    }

    /// Sends nothing more; the queue is still written.
    pub(crate) fn close(&self) {
        self.0.out.borrow_mut().take();
    }

    fn is_closed(&self) -> bool {
        self.0.out.borrow().as_ref().is_none_or(mpsc::UnboundedSender::is_closed)
    }

    pub(crate) fn respond(&self, id: &Value, result: Result<Value, Failure>) {
        match result {
            Ok(result) => self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
            Err(Failure { code, message, hint }) => {
                let mut error = json!({"code": code as i32, "message": message});
                if let Some(hint) = hint {
                    error["data"] = json!({"hint": hint});
                }
                self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        }
    }

    /// Sends a notification. Waits if the client does not keep up.
    pub(crate) async fn notify(&self, method: &str, params: &impl Serialize) {
        while self.0.queued.get() >= QUEUE && !self.is_closed() {
            self.0.drained.notified().await;
        }
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks the client. If the future is dropped, the client is told that the answer is not needed.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.0.next_id.get();
        self.0.next_id.set(id + 1);
        let (sender, receiver) = oneshot::channel();
        self.0.pending.borrow_mut().insert(id, sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let _guard = RequestGuard { peer: self, id };
        receiver.await.unwrap_or_else(|_| Err(json!({"message": "the client is gone"})))
    }

    /// Gives an answer to the request that waits for it. Others are ignored.
    pub(crate) fn answered(&self, id: &Value, result: Result<Value, Value>) {
        let sender = id.as_u64().and_then(|id| self.0.pending.borrow_mut().remove(&id));
        if let Some(sender) = sender {
            // The request may have been given up just now.
            let _ = sender.send(result);
        }
    }
}

struct RequestGuard<'a> {
    peer: &'a Peer,
    id: u64,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        if self.peer.0.pending.borrow_mut().remove(&self.id).is_some() {
            let params = json!({"requestId": self.id});
            let method = "$/cancel_request";
            self.peer.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
        }
    }
}

impl Outbox {
    /// Writes messages as they come, until no more can come or the client is gone.
    pub(crate) async fn write(mut self, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut lines = Vec::new();
        let mut result = Ok(());
        while self.queue.recv_many(&mut lines, QUEUE).await > 0 {
            let mut bytes = Vec::new();
            let count = lines.len();
            for line in lines.drain(..) {
                bytes.extend_from_slice(line.as_bytes());
                bytes.push(b'\n');
            }
            result = async {
                output.write_all(&bytes).await?;
                output.flush().await
            }
            .await;
            if result.is_err() {
                self.queue.close();
            }
            self.peer.queued.set(self.peer.queued.get().saturating_sub(count));
            self.peer.drained.notify_waiters();
            if result.is_err() {
                break;
            }
        }
        result
    }
}

/// Reads one line of the client.
pub(crate) fn parse(line: &[u8]) -> Result<Message, Box<(Value, Failure)>> {
    let wrong =
        |id: Value, message: &str| Box::new((id, Failure::new(Code::InvalidRequest, message)));
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let text = format!("the line is not JSON: {error}");
        Box::new((Value::Null, Failure::new(Code::Parse, text)))
    })?;
    let Value::Object(mut object) = value else {
        let what = "a message is one object; batches are not supported";
        return Err(wrong(Value::Null, what));
    };
    let id = object.remove("id");
    let is_id = |id: &Value| id.is_null() || id.is_string() || id.is_i64() || id.is_u64();
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(wrong(Value::Null, "`id` is a string, an integer or null"));
    }
    let known = || id.clone().unwrap_or_default();
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(wrong(known(), "`jsonrpc` must be \"2.0\""));
    }
    match object.remove("method") {
        Some(Value::String(method)) => {
            let params = object.remove("params").unwrap_or_else(|| Value::Object(Map::new()));
            Ok(match id {
                Some(id) => Message::Request { id, method, params },
                None => Message::Notification { method, params },
            })
        }
        Some(_) => Err(wrong(known(), "`method` is not a string")),
        None => {
            let result = match (object.remove("result"), object.remove("error")) {
                (Some(result), None) => Ok(result),
                (None, Some(error)) => Err(error),
                _ => return Err(wrong(known(), "a message has a method, a result or an error")),
            };
            let id = id.ok_or_else(|| wrong(Value::Null, "an answer has no `id`"))?;
            Ok(Message::Response { id, result })
        }
    }
}
