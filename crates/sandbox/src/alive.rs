//! How many processes run: each start counts one up, and its end, seen or given up on, one down.

use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Processes that were started and have not ended.
pub fn running() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// Stands for one of them.
#[derive(Debug)]
pub(crate) struct Alive(());

impl Alive {
    /// One has started.
    pub(crate) fn begin() -> Self {
        COUNT.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}
