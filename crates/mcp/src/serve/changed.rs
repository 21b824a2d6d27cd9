//! Tells a client that others have taken the place of the tools, until it leaves. What it then finds
//! is looked for when it asks.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::{Peer, RoleServer, SubscriptionContext};

use super::Backend;
use super::watched::Task;

/// What tells one client.
#[derive(Clone, Default)]
pub(super) struct Changed(Arc<Mutex<Task>>);

impl Changed {
    /// Tells the client from here on.
    pub(super) fn tell(&self, backend: &Arc<dyn Backend>, peer: Peer<RoleServer>) {
        let mut changes = backend.changes();
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() && peer.notify_tool_list_changed().await.is_ok() {
            }
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Task(Some(task));
    }
}

/// The same for a client that wants to hear it by a request of its own, until it ends that.
pub(super) async fn listen(backend: &Arc<dyn Backend>, client: &SubscriptionContext) {
    let mut counted = backend.changes();
    loop {
        tokio::select! {
            change = counted.changed() => {
                if change.is_err() || client.sink().notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
            () = client.cancelled() => return,
        }
    }
}
