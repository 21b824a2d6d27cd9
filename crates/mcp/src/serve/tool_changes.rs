//! Notifies a client of changes of the tool list, until it leaves.

use std::sync::{Arc, Mutex};

use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::Backend;
use crate::mutex::lock;

/// The notifications of one client.
#[derive(Clone)]
pub(super) struct ToolChanges {
    /// Has seen no change since the client connected.
    since: watch::Receiver<u64>,
    task: Arc<Mutex<Option<AbortOnDropHandle<()>>>>,
    expected: Arc<Mutex<Vec<watch::Receiver<u64>>>>,
}

impl ToolChanges {
    /// For a client that has just connected.
    pub(super) fn new(backend: &Backend) -> Self {
        Self {
            since: backend.current.changes.subscribe(),
            task: Arc::default(),
            expected: Arc::default(),
        }
    }

    /// Notifies the client from here on.
    pub(super) fn notify(&self, peer: Peer<RoleServer>) {
        let mut changes = self.since.clone();
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() && peer.notify_tool_list_changed().await.is_ok() {
            }
        });
        *lock(&self.task) = Some(AbortOnDropHandle::new(task));
    }

    /// Notes that the client is about to subscribe. It is told so before [`ToolChanges::listen`] is
    /// reached, so changes from here on count.
    pub(super) fn expect(&self, backend: &Backend) {
        lock(&self.expected).push(backend.current.changes.subscribe());
    }

    /// Notifies a client that has subscribed, until it ends the subscription.
    pub(super) async fn listen(&self, client: &SubscriptionContext) {
        let mut changes = self.take_expected();
        loop {
            tokio::select! {
                change = changes.changed() => {
                    if change.is_err() || client.sink().notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
                () = client.cancelled() => return,
            }
        }
    }

    /// The receiver for an expected subscription. Of several the order is not known, so each takes the
    /// oldest: one notification too many does no harm.
    fn take_expected(&self) -> watch::Receiver<u64> {
        let mut expected = lock(&self.expected);
        let oldest = expected.first().unwrap_or(&self.since).clone();
        expected.pop();
        oldest
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Duration;

    use async_trait::async_trait;
    use contract::event::Event;
    use contract::id::SessionId;
    use contract::tool::Tool;
    use serde_json::json;
    use tokio::io::{
        AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::frontend::{Frontend, NoFrontend};
    use crate::serve::host::{CallConversation, CommandEntry, Commands, Host, Offer, PromptNames};
    use crate::serve::streams;

    /// Offers nothing.
    struct EmptyHost;

    #[async_trait]
    impl Host for EmptyHost {
        async fn renew(&self, _: &Offer) -> Option<Offer> {
            None
        }

        fn open(
            &self,
            _: &Offer,
            _: &SessionId,
            _: Vec<Arc<dyn Tool>>,
        ) -> Box<dyn CallConversation> {
            unreachable!("there is no tool")
        }

        async fn begin_session(&self, _: &Offer, _: &SessionId) {}

        async fn end_session(&self, _: &Offer, _: &SessionId) {}

        fn question(&self, _: &Event) -> String {
            String::new()
        }

        fn frontend(&self) -> &dyn Frontend {
            &NoFrontend
        }
    }

    impl Commands for EmptyHost {
        fn list(&self) -> Vec<CommandEntry> {
            Vec::new()
        }

        fn find(&self, _: &str) -> Option<CommandEntry> {
            None
        }

        fn render(&self, _: &str, _: &str) -> Option<String> {
            None
        }
    }

    fn empty_backend() -> Backend {
        let offer = Offer {
            specs: Arc::default(),
            tools: Vec::new(),
            hooks: Vec::new(),
            commands: Arc::new(EmptyHost),
            skills: Vec::new(),
            servers: Vec::new(),
            prompt_names: PromptNames::Command,
        };
        Backend::new(Arc::new(EmptyHost), offer, Arc::default()).unwrap()
    }

    /// Has the tools change at the very moment at which a client is told that it will hear of it.
    struct Abrupt(DuplexStream, Arc<Backend>);

    impl AsyncWrite for Abrupt {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            if String::from_utf8_lossy(bytes).contains("acknowledged") {
                self.1.current.changes.send_modify(|count| *count += 1);
            }
            Pin::new(&mut self.0).poll_write(context, bytes)
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(context)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(context)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn change_right_after_the_acknowledgment_is_notified() {
        let backend = Arc::new(empty_backend());
        let (mut asking, asked) = tokio::io::duplex(1 << 16);
        let (answered, answers) = tokio::io::duplex(1 << 16);
        let write = Abrupt(answered, Arc::clone(&backend));
        let serving = streams(backend, asked, write, CancellationToken::new());
        let served = tokio::spawn(serving);
        let listen = json!({
            "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
            "params": {
                "notifications": {"toolsListChanged": true},
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        });
        asking.write_all(format!("{listen}\n").as_bytes()).await.unwrap();
        let mut lines = BufReader::new(answers).lines();
        let first = lines.next_line().await.unwrap().unwrap();
        assert!(first.contains("acknowledged"), "{first}");
        // The clock stands still as long as anything is under way.
        let second = tokio::time::timeout(Duration::from_mins(1), lines.next_line()).await;
        let second = second.expect("nothing is told").unwrap().unwrap();
        assert!(second.contains("notifications/tools/list_changed"), "{second}");
        drop(asking);
        served.await.unwrap().unwrap();
    }
}
