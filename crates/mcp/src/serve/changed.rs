//! Tells a client that others have taken the place of the tools, until it leaves. What it then finds
//! is looked for when it asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::watch;

use super::Backend;
use super::watched::Task;

/// What tells one client.
#[derive(Clone)]
pub(super) struct Changed {
    /// Has heard of nothing since the client came.
    since: watch::Receiver<u64>,
    task: Arc<Mutex<Task>>,
    expected: Arc<Mutex<Vec<watch::Receiver<u64>>>>,
}

impl Changed {
    /// For a client that has just come.
    pub(super) fn new(backend: &Arc<dyn Backend>) -> Self {
        Self { since: backend.changes(), task: Arc::default(), expected: Arc::default() }
    }

    /// Tells the client from here on.
    pub(super) fn tell(&self, peer: Peer<RoleServer>) {
        let mut changes = self.since.clone();
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() && peer.notify_tool_list_changed().await.is_ok() {
            }
        });
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Task(Some(task));
    }

    /// Takes note that the client wants to hear it by a request of its own. It learns that it will
    /// be told before [`Changed::listen`] is reached: what changes meanwhile counts.
    pub(super) fn expect(&self, backend: &Arc<dyn Backend>) {
        self.expected().push(backend.changes());
    }

    /// Tells a client that wants to hear it by a request of its own, until it ends that.
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

    /// What a request hears of that was expected. Where there are several, nobody knows which one came
    /// first: each goes by the oldest, since a notice too many costs less than one too few.
    fn take_expected(&self) -> watch::Receiver<u64> {
        let mut expected = self.expected();
        let oldest = expected.first().unwrap_or(&self.since).clone();
        expected.pop();
        oldest
    }

    fn expected(&self) -> MutexGuard<'_, Vec<watch::Receiver<u64>>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Duration;

    use async_trait::async_trait;
    use contract::tool::ToolSpec;
    use serde_json::{Value, json};
    use tokio::io::{
        AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
    };
    use tokio::sync::broadcast;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::catalog::PromptEntry;
    use crate::connection::Watch;
    use crate::serve::{Asker, Call, Called, Guest, Resources, streams};

    /// Offers nothing, which may change.
    struct Nothing(watch::Sender<u64>);

    #[async_trait]
    impl Backend for Nothing {
        fn welcome(self: Arc<Self>) -> Arc<dyn Guest> {
            Arc::new(Nobody)
        }

        async fn tools(&self) -> Arc<[Arc<ToolSpec>]> {
            Arc::default()
        }

        fn changes(&self) -> watch::Receiver<u64> {
            self.0.subscribe()
        }

        async fn prompts(&self) -> Vec<PromptEntry> {
            Vec::new()
        }

        async fn prompt(&self, _: &str, _: &BTreeMap<String, String>) -> Result<Value, String> {
            Ok(Value::Null)
        }

        fn updates(&self) -> broadcast::Receiver<String> {
            broadcast::channel(1).1
        }
    }

    struct Nobody;

    #[async_trait]
    impl Guest for Nobody {
        async fn call(&self, _: Call) -> Option<Called> {
            None
        }

        async fn resources(&self) -> Resources {
            Resources::default()
        }

        async fn read(&self, _: &str, _: Arc<dyn Asker>) -> Result<Option<Value>, String> {
            Ok(None)
        }

        async fn watch(&self, _: &str, _: Watch) -> Result<(), String> {
            Ok(())
        }
    }

    /// Has the tools change at the very moment at which a client is told that it will hear of it.
    struct Abrupt(DuplexStream, Arc<Nothing>);

    impl AsyncWrite for Abrupt {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            if String::from_utf8_lossy(bytes).contains("acknowledged") {
                self.1.0.send_modify(|count| *count += 1);
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
    async fn a_change_right_after_the_word_that_changes_are_told_is_told() {
        let backend = Arc::new(Nothing(watch::Sender::new(0)));
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
