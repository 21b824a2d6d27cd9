//! The clients of `mcp serve`, for our own servers: who asked for the one call that a server runs is
//! asked what that server wants to know. Nobody is, where that cannot be told.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
        Self { calls: Mutex::default(), next: AtomicU64::default(), updates }
    }
}

impl Front {
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
