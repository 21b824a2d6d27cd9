//! Keeps the moving line off a terminal on which somebody else asks: a server, or a plugin. It is
//! the one state that front ends share, as the terminal is.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ::tui::host::ReplyKind;
use tokio::sync::{mpsc, oneshot};

static ASKING: AtomicUsize = AtomicUsize::new(0);
static IS_DRAWN: AtomicBool = AtomicBool::new(false);
static SCREEN: OnceLock<mpsc::Sender<Asked>> = OnceLock::new();

/// A question to the user while the whole screen is taken.
pub(crate) struct Asked {
    /// Who asks, and what about.
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) wanted: ReplyKind,
    /// Takes what was said; none where the user would not.
    pub(crate) reply: oneshot::Sender<Option<String>>,
}

/// Pauses the status line until dropped.
pub(crate) struct StatusLinePause(());

impl StatusLinePause {
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

impl Drop for StatusLinePause {
    fn drop(&mut self) {
        ASKING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns true if somebody asks, so that nothing may move.
pub(crate) fn is_wanted() -> bool {
    ASKING.load(Ordering::SeqCst) > 0
}

/// Notes that the moving line is on the terminal, or is not.
pub(crate) fn drawn(is_drawn: bool) {
    IS_DRAWN.store(is_drawn, Ordering::SeqCst);
}

/// Notes that the whole screen is taken: nobody can be asked by lines. What is asked there instead
/// comes out of what it returns; none where it was taken before.
pub(crate) fn take_screen() -> Option<mpsc::Receiver<Asked>> {
    let (questions, asked) = mpsc::channel(1);
    SCREEN.set(questions).is_ok().then_some(asked)
}

/// Returns true if the whole screen is taken.
pub(crate) fn is_full_screen() -> bool {
    SCREEN.get().is_some()
}

/// Asks on the whole screen; none where the user would not say, or nobody shows it.
pub(crate) async fn ask_on_screen(title: &str, body: &str, wanted: ReplyKind) -> Option<String> {
    let (reply, said) = oneshot::channel();
    let (title, body) = (title.to_owned(), body.to_owned());
    SCREEN.get()?.send(Asked { title, body, wanted, reply }).await.ok()?;
    said.await.ok().flatten()
}
