//! Questions of servers and plugins while the whole screen is in use. The only state that front ends
//! share.

use std::sync::OnceLock;

use ::tui::host::ReplyKind;
pub(crate) use line_ui::status_line::StatusLinePause;
use tokio::sync::{mpsc, oneshot};

static SCREEN: OnceLock<mpsc::Sender<Asked>> = OnceLock::new();

pub(crate) struct Asked {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) wanted: ReplyKind,
    /// Gets the answer; none if the user declined.
    pub(crate) reply: oneshot::Sender<Option<String>>,
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
