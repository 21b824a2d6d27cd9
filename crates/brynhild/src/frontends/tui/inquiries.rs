//! Questions of servers while the interface has the screen, and their answers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use ::tui::host::Inquiry;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::output::status_line::Asked;

pub(crate) struct Inquiries {
    asked: Mutex<mpsc::Receiver<Asked>>,
    open: RefCell<HashMap<u64, oneshot::Sender<Option<String>>>>,
    last: Cell<u64>,
}

impl Inquiries {
    pub(crate) fn new(asked: mpsc::Receiver<Asked>) -> Self {
        Self { asked: Mutex::new(asked), open: RefCell::default(), last: Cell::new(0) }
    }

    pub(super) async fn next(&self) -> Inquiry {
        let Some(Asked { title, body, wanted, reply }) = self.asked.lock().await.recv().await
        else {
            return std::future::pending().await;
        };
        let id = self.last.get() + 1;
        self.last.set(id);
        self.open.borrow_mut().insert(id, reply);
        Inquiry { id, title, body, wanted }
    }

    pub(super) fn reply(&self, id: u64, words: Option<String>) {
        if let Some(reply) = self.open.borrow_mut().remove(&id) {
            // The server may be gone.
            let _ = reply.send(words);
        }
    }

    /// Answers all open questions with none.
    pub(crate) fn give_up(&self) {
        self.open.borrow_mut().clear();
    }
}
