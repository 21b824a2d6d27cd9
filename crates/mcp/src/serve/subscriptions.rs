//! The subscriptions of one client to resources. They end when the client leaves.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::task::AbortOnDropHandle;

use super::Backend;
use crate::mutex::lock;

/// The URIs that a client has subscribed to.
#[derive(Clone, Default)]
pub(super) struct Subscriptions {
    uris: Arc<Mutex<BTreeSet<String>>>,
    task: Arc<OnceLock<AbortOnDropHandle<()>>>,
}

impl Subscriptions {
    /// Notifies the client of changes of this resource from here on.
    pub(super) fn add(&self, uri: String, backend: &Backend, peer: &Peer<RoleServer>) {
        lock(&self.uris).insert(uri);
        self.task.get_or_init(|| {
            let (mut updates, peer) = (backend.updates(), peer.clone());
            let uris = Arc::clone(&self.uris);
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    let uri = match updates.recv().await {
                        Ok(uri) => uri,
                        Err(RecvError::Lagged(_)) => continue,
                        Err(RecvError::Closed) => return,
                    };
                    let is_wanted = lock(&uris).contains(&uri);
                    let update = ResourceUpdatedNotificationParam::new(uri);
                    if is_wanted && peer.notify_resource_updated(update).await.is_err() {
                        return;
                    }
                }
            }))
        });
    }

    /// Ends the notifications.
    pub(super) fn remove(&self, uri: &str) {
        lock(&self.uris).remove(uri);
    }
}
