//! Requests of a process that the sandbox refused.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use contract::sandbox::Blocked;

/// The most entries of one process.
const LIMIT: usize = 100;

/// Refused requests of a process, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockedLog(Arc<Mutex<BTreeSet<Blocked>>>);

impl BlockedLog {
    pub(crate) fn add(&self, blocked: Blocked) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() < LIMIT {
            log.insert(blocked);
        }
    }

    pub(crate) fn list(&self) -> Vec<Blocked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
