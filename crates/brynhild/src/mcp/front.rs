//! The clients of `mcp serve`, for our own servers: who asked for the one call that a server runs is
//! asked what that server wants to know. Nobody is, where that cannot be told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ::mcp::config::Address;
use ::mcp::serve::Asker;
use tokio::sync::broadcast;

/// Addresses of changed resources that wait at most for whoever listens.
const MOST_UPDATES: usize = 64;

/// The calls that clients wait for.
pub(crate) struct Front {
    calls: Mutex<Vec<Waiting>>,
    next: AtomicU64,
    /// Takes the addresses of resources that have changed.
    pub(super) updates: broadcast::Sender<String>,
    /// Where clients reach us, where that is an address of this machine.
    place: OnceLock<Address>,
}

/// A call that a client waits for.
struct Waiting {
    id: u64,
    /// Where the tool comes from, as rules know it.
    source: String,
    asker: Arc<dyn Asker>,
}

/// A call that ends when this is dropped.
pub(super) struct Entered {
    front: Arc<Front>,
    id: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut calls = self.front.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|call| call.id != self.id);
    }
}

impl Default for Front {
    fn default() -> Self {
        let updates = broadcast::channel(MOST_UPDATES).0;
        let place = OnceLock::new();
        Self { calls: Mutex::default(), next: AtomicU64::default(), updates, place }
    }
}

impl Front {
    /// Notes where clients reach us.
    pub(crate) fn settle(&self, url: &str) {
        let place = Address { url: url.to_owned(), headers: BTreeMap::new() };
        self.place.get_or_init(|| place);
    }

    /// Whether a server is ourselves, who would ask ourselves without end.
    pub(super) fn is_at(&self, address: &Address) -> bool {
        let port = |address: &Address| {
            let host = address.host();
            let (name, port) = host.rsplit_once(':')?;
            let is_here = name == "localhost" || name.starts_with("127.") || name == "[::1]";
            is_here.then(|| port.to_owned())
        };
        self.place.get().and_then(port).is_some_and(|own| port(address) == Some(own))
    }

    /// Notes that a client waits for a tool of this source.
    pub(super) fn enter(self: &Arc<Self>, source: &str, asker: &Arc<dyn Asker>) -> Entered {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let call = Waiting { id, source: source.to_owned(), asker: Arc::clone(asker) };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        Entered { front: Arc::clone(self), id }
    }

    /// Whoever waits for the only call that this server runs.
    pub(super) fn asker(&self, server: &str) -> Option<Arc<dyn Asker>> {
        let end = format!(":{server}");
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut of_server = calls.iter().filter(|call| call.source.ends_with(&end));
        let found = of_server.next().map(|call| Arc::clone(&call.asker));
        found.filter(|_| of_server.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use ::mcp::serve::Alone;

    use super::*;

    #[test]
    fn a_server_reaches_the_client_of_its_only_call() {
        let front = Arc::new(Front::default());
        let asker = Arc::new(Alone) as Arc<dyn Asker>;
        assert!(front.asker("test").is_none());
        let first = front.enter("mcp:test", &asker);
        assert!(front.asker("test").is_some() && front.asker("est").is_none());
        let second = front.enter("mcp:project:test", &asker);
        assert!(front.asker("test").is_none(), "nobody knows whose question it is");
        drop(first);
        assert!(front.asker("test").is_some());
        drop(second);
        assert!(front.asker("test").is_none());
    }
}
