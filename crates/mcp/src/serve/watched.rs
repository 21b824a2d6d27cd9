//! What one client wants to hear of: it is told when something of that changes, until it leaves.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use super::Backend;

/// The addresses that a client has subscribed to.
#[derive(Clone, Default)]
pub(super) struct Watched {
    addresses: Arc<Mutex<BTreeSet<String>>>,
    task: Arc<Mutex<Task>>,
}

/// What tells the client; ends with it.
#[derive(Default)]
pub(super) struct Task(pub(super) Option<JoinHandle<()>>);

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl Watched {
    /// Tells the client of this address from here on.
    pub(super) fn add(&self, uri: String, backend: &Arc<dyn Backend>, peer: &Peer<RoleServer>) {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).insert(uri);
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.0.is_none() {
            let (mut updates, peer) = (backend.updates(), peer.clone());
            let addresses = Arc::clone(&self.addresses);
            task.0 = Some(tokio::spawn(async move {
                loop {
                    let uri = match updates.recv().await {
                        Ok(uri) => uri,
                        Err(RecvError::Lagged(_)) => continue,
                        Err(RecvError::Closed) => return,
                    };
                    let is_wanted =
                        addresses.lock().unwrap_or_else(PoisonError::into_inner).contains(&uri);
                    let told = ResourceUpdatedNotificationParam::new(uri);
                    if is_wanted && peer.notify_resource_updated(told).await.is_err() {
                        return;
                    }
                }
            }));
        }
    }

    /// Tells the client of it no longer.
    pub(super) fn remove(&self, uri: &str) {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }
}
