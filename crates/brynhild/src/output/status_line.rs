//! Hides the status line while a server or a plugin asks on the terminal. The only state that front
//! ends share.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ::tui::host::ReplyKind;
use tokio::sync::{mpsc, oneshot};

static ASKING: AtomicUsize = AtomicUsize::new(0);
static IS_DRAWN: AtomicBool = AtomicBool::new(false);
static SCREEN: OnceLock<mpsc::Sender<Asked>> = OnceLock::new();

pub(crate) struct Asked {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) wanted: ReplyKind,
    /// Gets the answer; none if the user declined.
    pub(crate) reply: oneshot::Sender<Option<String>>,
}

/// Pauses the status line until dropped.
pub(crate) struct StatusLinePause(());

impl StatusLinePause {
    pub(crate) fn new() -> Self {
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
pub(crate) fn is_wanted() -> bool {
    ASKING.load(Ordering::SeqCst) > 0
}

pub(crate) fn drawn(is_drawn: bool) {
    IS_DRAWN.store(is_drawn, Ordering::SeqCst);
}

/// Takes the screen for the interface. Returns the questions to show there; none if it was taken
/// before.
pub(crate) fn take_screen() -> Option<mpsc::Receiver<Asked>> {
    let (questions, asked) = mpsc::channel(1);
    SCREEN.set(questions).is_ok().then_some(asked)
}

pub(crate) fn is_full_screen() -> bool {
    SCREEN.get().is_some()
}

/// Asks in the interface; none if the user declined or nothing shows it.
pub(crate) async fn ask_on_screen(title: &str, body: &str, wanted: ReplyKind) -> Option<String> {
    let (reply, said) = oneshot::channel();
    let (title, body) = (title.to_owned(), body.to_owned());
    SCREEN.get()?.send(Asked { title, body, wanted, reply }).await.ok()?;
    said.await.ok().flatten()
}
