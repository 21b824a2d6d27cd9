//! The clients of `mcp serve` that wait for a call, so that a question of a server behind us reaches
//! the client whose call the server runs. If that is not certain, no client is asked.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use formats::address;
use tokio::sync::broadcast;

use crate::config::Address;
use crate::mutex::lock;
use crate::question::{Question, QuestionAnswer, SamplingReply, SamplingRequest};

/// Upper bound on the resource updates that wait for a listener.
const MAX_QUEUED_UPDATES: usize = 64;

/// Asks the user and the model on a client's side. By default nobody can be asked.
#[async_trait]
pub(crate) trait ClientIo: Send + Sync {
    /// Asks for consent. None if the client cannot ask.
    async fn consent(&self, _question: &str) -> Option<bool> {
        None
    }

    /// Passes on a question of a server. None if the client cannot ask.
    async fn answer(&self, _question: &Question) -> Option<QuestionAnswer> {
        None
    }

    /// Passes on a sampling request of a server. None if the client has no model.
    async fn sample(&self, _request: &SamplingRequest) -> Option<Result<SamplingReply, String>> {
        None
    }
}

pub(crate) struct NoClient;

impl ClientIo for NoClient {}

/// The calls that clients wait for.
pub struct ClientRegistry {
    calls: Mutex<Vec<PendingCall>>,
    next_id: AtomicU64,
    /// Takes the URIs of resources that have changed.
    pub(crate) updates: broadcast::Sender<String>,
    /// The address at which clients reach us, if we listen at one.
    own_address: OnceLock<Address>,
}

struct PendingCall {
    id: u64,
    /// The source of the tool, as in its specification.
    source: String,
    client: Arc<dyn ClientIo>,
}

/// A registered call. Dropping it ends the registration.
pub(crate) struct CallGuard {
    registry: Arc<ClientRegistry>,
    id: u64,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut calls = lock(&self.registry.calls);
        calls.retain(|call| call.id != self.id);
    }
}

impl Default for ClientRegistry {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            next_id: AtomicU64::default(),
            updates: broadcast::channel(MAX_QUEUED_UPDATES).0,
            own_address: OnceLock::new(),
        }
    }
}

impl ClientRegistry {
    /// Notes the address at which clients reach us.
    pub fn set_own_address(&self, url: &str) {
        let address = Address { url: url.to_owned(), headers: BTreeMap::new() };
        self.own_address.get_or_init(|| address);
    }

    /// Returns true if an address is our own: we would ask ourselves without end.
    pub fn is_own_address(&self, address: &Address) -> bool {
        let local_port = |address: &Address| {
            let host = address.host();
            let (name, port) = host.rsplit_once(':')?;
            address::is_loopback(name).then(|| port.to_owned())
        };
        let own = self.own_address.get().and_then(local_port);
        own.is_some_and(|own| local_port(address) == Some(own))
    }

    /// Registers a call of a tool that a client waits for.
    pub(crate) fn register(
        self: &Arc<Self>,
        source: &str,
        client: &Arc<dyn ClientIo>,
    ) -> CallGuard {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let call = PendingCall { id, source: source.to_owned(), client: Arc::clone(client) };
        lock(&self.calls).push(call);
        CallGuard { registry: Arc::clone(self), id }
    }

    /// The client that waits for the only call that this server runs.
    pub(crate) fn client(&self, server: &str) -> Option<Arc<dyn ClientIo>> {
        let end = format!(":{server}");
        let calls = lock(&self.calls);
        let mut of_server = calls.iter().filter(|call| call.source.ends_with(&end));
        let found = of_server.next().map(|call| Arc::clone(&call.client));
        found.filter(|_| of_server.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_goes_to_the_client_of_the_only_call() {
        let registry = Arc::new(ClientRegistry::default());
        let client = Arc::new(NoClient) as Arc<dyn ClientIo>;
        assert!(registry.client("test").is_none());
        let first = registry.register("mcp:test", &client);
        assert!(registry.client("test").is_some() && registry.client("est").is_none());
        let second = registry.register("mcp:project:test", &client);
        assert!(registry.client("test").is_none(), "two clients could be meant");
        drop(first);
        assert!(registry.client("test").is_some());
        drop(second);
        assert!(registry.client("test").is_none());
    }
}
