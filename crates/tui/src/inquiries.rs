//! Questions of servers and plugins while the whole screen is in use, and their answers. The only
//! state that front ends share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::OnceLock;

use tokio::sync::{Mutex, mpsc, oneshot};

use crate::host::{Inquiry, ReplyKind};

static SCREEN: OnceLock<mpsc::Sender<Asked>> = OnceLock::new();

pub struct Asked {
    pub title: String,
    pub body: String,
    pub wanted: ReplyKind,
    /// Gets the answer; none if the user declined.
    pub reply: oneshot::Sender<Option<String>>,
}

/// Takes the screen for the interface. Returns the questions to show there; none if it was taken
/// before.
pub fn take_screen() -> Option<mpsc::Receiver<Asked>> {
    let (questions, asked) = mpsc::channel(1);
    SCREEN.set(questions).is_ok().then_some(asked)
}

pub fn is_full_screen() -> bool {
    SCREEN.get().is_some()
}

/// Asks in the interface; none if the user declined or nothing shows it.
pub async fn ask_on_screen(title: &str, body: &str, wanted: ReplyKind) -> Option<String> {
    let (reply, said) = oneshot::channel();
    let (title, body) = (title.to_owned(), body.to_owned());
    SCREEN.get()?.send(Asked { title, body, wanted, reply }).await.ok()?;
    said.await.ok().flatten()
}

pub struct Inquiries {
    asked: Mutex<mpsc::Receiver<Asked>>,
    open: RefCell<HashMap<u64, oneshot::Sender<Option<String>>>>,
    last: Cell<u64>,
}

impl Inquiries {
    pub fn new(asked: mpsc::Receiver<Asked>) -> Self {
        Self { asked: Mutex::new(asked), open: RefCell::default(), last: Cell::new(0) }
    }

    pub async fn next(&self) -> Inquiry {
        let Some(Asked { title, body, wanted, reply }) = self.asked.lock().await.recv().await
        else {
            return std::future::pending().await;
        };
        let id = self.last.get() + 1;
        self.last.set(id);
        self.open.borrow_mut().insert(id, reply);
        Inquiry { id, title, body, wanted }
    }

    pub fn reply(&self, id: u64, words: Option<String>) {
        if let Some(reply) = self.open.borrow_mut().remove(&id) {
            // The server may be gone.
            let _ = reply.send(words);
        }
    }

    /// Answers all open questions with none.
    pub fn give_up(&self) {
        self.open.borrow_mut().clear();
    }
}
