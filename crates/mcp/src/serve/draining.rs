//! The transport to a client that sends its requests and closes its end: they are answered before
//! the connection ends, as far as that takes seconds.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long answers may take after the client has closed its end.
const GRACE: Duration = Duration::from_secs(10);

/// A transport that knows which requests are not answered yet.
pub(super) struct Draining<T> {
    inner: T,
    open: Arc<watch::Sender<HashSet<RequestId>>>,
    /// The end of the wait, once the client has closed its end.
    end: Option<Instant>,
    /// Fires when the client has closed its end.
    left: CancellationToken,
}

impl<T> Draining<T> {
    pub(super) fn new(inner: T, left: CancellationToken) -> Self {
        Self { inner, open: Arc::default(), end: None, left }
    }

    fn note(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            // One who listens is answered too, once no more is asked.
            JsonRpcMessage::Request(request) => {
                self.open.send_modify(|open| {
                    open.insert(request.id.clone());
                });
            }
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(withdrawn) = &told.notification
                    && let Some(id) = &withdrawn.params.request_id
                {
                    close(&self.open, id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }
}

/// Takes a request off those that are still to be answered.
fn close(open: &watch::Sender<HashSet<RequestId>>, id: &RequestId) {
    open.send_modify(|open| {
        open.remove(id);
    });
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Draining<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let (sent, open) = (self.inner.send(message), Arc::clone(&self.open));
        async move {
            sent.await?;
            if let Some(id) = answered {
                close(&open, &id);
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.end.is_none() {
            if let Some(message) = self.inner.receive().await {
                self.note(&message);
                return Some(message);
            }
            self.end = Some(Instant::now() + GRACE);
            self.left.cancel();
        }
        let mut open = self.open.subscribe();
        let all = open.wait_for(HashSet::is_empty);
        // Waits no longer than the deadline.
        let _ = tokio::time::timeout_at(self.end.unwrap_or_else(Instant::now), all).await;
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::async_rw::AsyncRwTransport;
    use serde_json::{Value, json};

    use super::*;

    /// A line on which all of this was said, and no more will be.
    fn line(messages: &[Value]) -> Draining<impl Transport<RoleServer> + use<>> {
        let lines: Vec<String> = messages.iter().map(|message| format!("{message}\n")).collect();
        let said = std::io::Cursor::new(lines.concat().into_bytes());
        let inner = AsyncRwTransport::new_server(said, tokio::io::sink());
        Draining::new(inner, CancellationToken::new())
    }

    fn request(id: u64, method: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}})
    }

    async fn answer(line: &mut Draining<impl Transport<RoleServer>>, id: u64) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {}});
        line.send(serde_json::from_value(answer).unwrap()).await.unwrap();
    }

    /// Returns true if the line is still open, as far as nothing more happens.
    async fn is_held(line: &mut Draining<impl Transport<RoleServer>>) -> bool {
        let at_once = Duration::ZERO;
        tokio::time::timeout(at_once, line.receive()).await.is_err()
    }

    #[tokio::test]
    async fn transport_ends_after_the_last_answer() {
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let mut line = line(&[request(1, "ping"), told, request(2, "tools/list")]);
        for _ in 0..3 {
            assert!(line.receive().await.is_some());
        }
        answer(&mut line, 1).await;
        assert!(is_held(&mut line).await);
        answer(&mut line, 2).await;
        assert!(line.receive().await.is_none());
    }

    #[tokio::test]
    async fn listening_client_gets_the_answer_to_its_request() {
        let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
            "params": {"notifications": {"toolsListChanged": true}}});
        let mut line = line(&[listen, request(2, "tools/list")]);
        for _ in 0..2 {
            assert!(line.receive().await.is_some());
        }
        assert!(!line.left.is_cancelled());
        assert!(is_held(&mut line).await);
        assert!(line.left.is_cancelled());
        answer(&mut line, 1).await;
        assert!(is_held(&mut line).await);
        answer(&mut line, 2).await;
        assert!(line.receive().await.is_none());
    }

    #[tokio::test]
    async fn cancelled_request_is_not_waited_for() {
        let withdrawn = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1}});
        let mut line = line(&[request(1, "ping"), request(2, "ping"), withdrawn]);
        for _ in 0..3 {
            assert!(line.receive().await.is_some());
        }
        // One that is answered all the same takes nothing off the others.
        answer(&mut line, 1).await;
        assert!(is_held(&mut line).await);
        answer(&mut line, 2).await;
        assert!(line.receive().await.is_none());
    }
}
