//! Drops late answers: a slow program gets the older handshake before it has answered the newer one,
//! and then answers both in turn.

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// A transport that waits for the answer to `initialize` and drops others.
pub(super) struct InitializeFilter<T> {
    inner: T,
    /// The request whose answer comes next.
    awaited: Option<RequestId>,
}

impl<T> InitializeFilter<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, awaited: None }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for InitializeFilter<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message
            && let ClientRequest::InitializeRequest(_) = &request.request
        {
            self.awaited = Some(request.id.clone());
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let is_late =
                matches!((&self.awaited, answered), (Some(one), Some(other)) if one != other);
            if is_late {
                continue;
            }
            if answered.is_some() {
                self.awaited = None;
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::async_rw::AsyncRwTransport;
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn late_answer_to_the_newer_handshake_is_dropped() {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(ours);
        let mut transport = InitializeFilter::new(AsyncRwTransport::new_client(reader, writer));
        let client = json!({"name": "c", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        transport.send(serde_json::from_value(ask).unwrap()).await.unwrap();
        let mut sent = vec![0; 1 << 12];
        assert!(theirs.read(&mut sent).await.unwrap() > 0);
        let error = json!({"code": -32601, "message": "Method not found"});
        let server = json!({"name": "s", "version": "1"});
        let result =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": server});
        for answer in [
            json!({"jsonrpc": "2.0", "id": 0, "error": error}),
            json!({"jsonrpc": "2.0", "id": 1, "result": result}),
            json!({"jsonrpc": "2.0", "id": 2, "result": {}}),
        ] {
            theirs.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        for id in [1, 2] {
            let message: Value = serde_json::to_value(transport.receive().await.unwrap()).unwrap();
            assert_eq!(message["id"], id, "{message}");
        }
    }
}
