//! Keeps the moving line off a terminal on which somebody else asks: a server, or a plugin. It is
//! the one state that front ends share, as the terminal is.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static ASKING: AtomicUsize = AtomicUsize::new(0);
static IS_DRAWN: AtomicBool = AtomicBool::new(false);
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Nothing moves on the terminal until this is dropped.
pub(crate) struct Hush(());

impl Hush {
    /// Takes the moving line away.
    pub(crate) fn new() -> Self {
        ASKING.fetch_add(1, Ordering::SeqCst);
        if IS_DRAWN.swap(false, Ordering::SeqCst) {
            let mut err = io::stderr().lock();
            // A terminal that is gone has no line on it.
            let _ = err.write_all(b"\r\x1b[K").and_then(|()| err.flush());
        }
        Self(())
    }
}

impl Drop for Hush {
    fn drop(&mut self) {
        ASKING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether somebody asks, so that nothing may move.
pub(crate) fn is_wanted() -> bool {
    ASKING.load(Ordering::SeqCst) > 0
}

/// Notes that the moving line is on the terminal, or is not.
pub(crate) fn drawn(is_drawn: bool) {
    IS_DRAWN.store(is_drawn, Ordering::SeqCst);
}

/// Notes that the whole screen is taken: nobody can be asked by lines.
pub(crate) fn take_screen() {
    IS_TAKEN.store(true, Ordering::SeqCst);
}

/// Whether the whole screen is taken.
pub(crate) fn is_screen_taken() -> bool {
    IS_TAKEN.load(Ordering::SeqCst)
}
