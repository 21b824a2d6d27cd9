//! A part of a conversation that a reload replaces. Clones share it.

use std::sync::{Arc, Mutex, PoisonError};

/// A part that may be replaced.
pub struct Swappable<T>(Arc<Mutex<Option<Arc<T>>>>);

impl<T> Swappable<T> {
    /// Holds the first part, if there is one.
    pub fn new(first: Option<Arc<T>>) -> Self {
        Self(Arc::new(Mutex::new(first)))
    }

    /// The part in use.
    pub fn present(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the part.
    pub fn put(&self, next: Option<Arc<T>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

impl<T> Clone for Swappable<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
