//! The offer that requests see. It is renewed at a request if something has changed; that can take
//! long, so other requests go on with the one before.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::host::{Host, Offer, PromptNames};
use crate::catalog::PromptEntry;
use crate::mutex::lock;
use crate::servers::Servers;

/// How long a request waits for another one that renews the offer. Most renewals take much less.
const RENEWAL_WAIT: Duration = Duration::from_secs(1);

/// The offer that requests see.
pub(super) struct CurrentOffer {
    host: Arc<dyn Host>,
    offer: Mutex<Arc<Offer>>,
    /// Held while the offer is renewed.
    renewing: Arc<tokio::sync::Mutex<()>>,
    /// Counts the changes of tools.
    pub(super) changes: watch::Sender<u64>,
}

impl CurrentOffer {
    pub(super) fn new(host: Arc<dyn Host>, offer: Offer) -> Self {
        let offer = Mutex::new(Arc::new(offer));
        Self { host, offer, renewing: Arc::default(), changes: watch::Sender::new(0) }
    }

    /// The offer as of the last renewal.
    pub(super) fn last(&self) -> Arc<Offer> {
        Arc::clone(&lock(&self.offer))
    }

    /// The offer after a renewal, or the last one if another request has been renewing it for long.
    /// A renewal goes on if the request is cancelled: the next one finds its result.
    pub(super) async fn refreshed(self: &Arc<Self>) -> Arc<Offer> {
        let lock = Arc::clone(&self.renewing).lock_owned();
        let Ok(guard) = tokio::time::timeout(RENEWAL_WAIT, lock).await else {
            return self.last();
        };
        let current = Arc::clone(self);
        let renewal = tokio::spawn(async move {
            current.renew().await;
            drop(guard);
        });
        if let Err(error) = renewal.await {
            self.host.frontend().warn(&format!("changes are not used: {error}"));
        }
        self.last()
    }

    async fn renew(&self) {
        let before = self.last();
        let Some(offer) = self.host.renew(&before).await else { return };
        let has_other_tools = before.specs != offer.specs;
        *lock(&self.offer) = Arc::new(offer);
        if has_other_tools {
            self.changes.send_modify(|count| *count += 1);
        }
    }
}

impl Offer {
    /// The prompts of servers under the names that clients see, each with the name of its command.
    pub(super) fn server_prompts(&self) -> Vec<(&Arc<Servers>, String, PromptEntry)> {
        let mut all = Vec::new();
        for servers in &self.servers {
            for (command, mut entry) in servers.prompts() {
                if self.prompt_names == PromptNames::Command {
                    entry.name.clone_from(&command);
                }
                all.push((servers, command, entry));
            }
        }
        all
    }
}
