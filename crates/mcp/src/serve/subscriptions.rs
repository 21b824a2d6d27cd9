//! The subscriptions of one client to resources. They end when the client leaves.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use super::Backend;

/// The URIs that a client has subscribed to.
#[derive(Clone, Default)]
pub(super) struct Subscriptions {
    uris: Arc<Mutex<BTreeSet<String>>>,
    task: Arc<Mutex<AbortOnDrop>>,
}

/// A task that is aborted when this is dropped.
#[derive(Default)]
pub(super) struct AbortOnDrop(pub(super) Option<JoinHandle<()>>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl Subscriptions {
    /// Notifies the client of changes of this resource from here on.
    pub(super) fn add(&self, uri: String, backend: &Backend, peer: &Peer<RoleServer>) {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner).insert(uri);
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.0.is_none() {
            let (mut updates, peer) = (backend.updates(), peer.clone());
            let uris = Arc::clone(&self.uris);
            task.0 = Some(tokio::spawn(async move {
                loop {
                    let uri = match updates.recv().await {
                        Ok(uri) => uri,
                        Err(RecvError::Lagged(_)) => continue,
                        Err(RecvError::Closed) => return,
                    };
                    let is_wanted =
                        uris.lock().unwrap_or_else(PoisonError::into_inner).contains(&uri);
                    let update = ResourceUpdatedNotificationParam::new(uri);
                    if is_wanted && peer.notify_resource_updated(update).await.is_err() {
                        return;
                    }
                }
            }));
        }
    }

    /// Ends the notifications.
    pub(super) fn remove(&self, uri: &str) {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }
}
