//! The dialog about going back to an earlier message.

use std::time::Instant;

use super::Deed;
use super::dialog::{Dialog, Purpose};
use super::question::{Choice, Question};
use crate::host::{Item, Request};
use crate::permission::Part;
use crate::text::clean;

/// The number of the message, as `/rewind` takes it.
pub(crate) struct Rewinding(String);

impl Rewinding {
    /// Asks from `now` on.
    pub(crate) fn ask(message: Item, now: Instant) -> Dialog<Self> {
        let parts = vec![Part::Verbatim(clean(&message.detail))];
        let choice = |keys: &'static str, word: &'static str, label: &str| Choice {
            keys,
            word,
            label: label.to_owned(),
            takes_text: false,
        };
        let choices = vec![
            choice("1e", "edit", "Edit it: rewind the conversation, keep the files"),
            choice("2f", "files", "Edit it: rewind the conversation and the files"),
            choice("3k", "fork", "Fork: continue after its answer in a new session"),
            choice("4n", "stay", "Stay here"),
        ];
        let question = Question::new("Go back to this message?".to_owned(), parts, choices, 0, now);
        Dialog::new(Self(message.value), question, now)
    }
}

impl Purpose for Rewinding {
    fn choose(&self, at: usize, _text: Option<String>) -> Option<Deed> {
        let number = &self.0;
        let line = match at {
            0 => format!("/rewind {number}"),
            1 => format!("/rewind {number} files"),
            2 => format!("/fork {number}"),
            _ => return None,
        };
        Some(Deed::ask(Request::Command(line)))
    }

    fn cancel(&self) -> Option<Deed> {
        None
    }
}
