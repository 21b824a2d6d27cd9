//! Hides the status line while a server or a plugin asks on the terminal.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static ASKING: AtomicUsize = AtomicUsize::new(0);
static IS_DRAWN: AtomicBool = AtomicBool::new(false);

/// Pauses the status line until dropped.
pub struct StatusLinePause(());

impl StatusLinePause {
    #[expect(clippy::new_without_default, reason = "it has an effect")]
    pub fn new() -> Self {
        ASKING.fetch_add(1, Ordering::SeqCst);
        if IS_DRAWN.swap(false, Ordering::SeqCst) {
            let mut err = io::stderr().lock();
            // A closed terminal has no line on it.
            let _ = err.write_all(b"\r\x1b[K").and_then(|()| err.flush());
        }
        Self(())
    }
}

impl Drop for StatusLinePause {
    fn drop(&mut self) {
        ASKING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns true while a question pauses the status line.
pub fn is_wanted() -> bool {
    ASKING.load(Ordering::SeqCst) > 0
}

pub fn drawn(is_drawn: bool) {
    IS_DRAWN.store(is_drawn, Ordering::SeqCst);
}
