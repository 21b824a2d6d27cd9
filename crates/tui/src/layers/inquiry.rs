//! The dialog for an inquiry of a part of the program: agreement, one of a few things, or a
//! text. Nothing is answered by keys that were typed before it appeared.

use std::time::Instant;

use super::Deed;
use super::dialog::{Dialog, Purpose};
use super::question::{Choice, Question};
use crate::host::{Inquiry, ReplyKind, Request};
use crate::permission::Part;
use crate::text::{clean, one_line};
use crate::theme::Role;

/// The keys of the first things to choose from.
const NUMBERS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

pub(crate) struct InquiryDialog(Inquiry);

impl InquiryDialog {
    /// Asks from `now` on; for somebody who is writing with a longer look.
    pub(crate) fn ask(inquiry: Inquiry, now: Instant, is_writing: bool) -> Dialog<Self> {
        let parts = vec![Part::Prose(Role::Text, clean(inquiry.body.trim()))];
        let title = one_line(&inquiry.title);
        let choice = |keys: &'static str, label: &str| Choice {
            keys,
            word: match keys {
                "y" => "yes",
                "n" => "no",
                _ => "",
            },
            label: one_line(label),
            takes_text: false,
        };
        let question = match &inquiry.wanted {
            ReplyKind::Agreement(yes) => {
                Question::new(title, parts, vec![choice("y", yes), choice("n", "No")], 1, now)
            }
            ReplyKind::One { choices, usual } => {
                let numbered = NUMBERS.iter().zip(choices);
                let choices = numbered.map(|(key, (_, label))| choice(key, label)).collect();
                Question::new(title, parts, choices, usual.unwrap_or(0), now)
            }
            ReplyKind::Text(name) => Question::for_text(title, parts, one_line(name), now),
        };
        let dialog = Dialog::new(Self(inquiry), question, now);
        if is_writing { dialog.amid_writing() } else { dialog }
    }
}

impl Purpose for InquiryDialog {
    fn choose(&self, at: usize, text: Option<String>) -> Option<Deed> {
        let text = match &self.0.wanted {
            ReplyKind::Agreement(_) => (at == 0).then(String::new),
            ReplyKind::One { choices, .. } => choices.get(at).map(|(value, _)| value.clone()),
            ReplyKind::Text(_) => Some(text.unwrap_or_default()),
        };
        Some(Deed::ask(Request::Reply { id: self.0.id, text }))
    }

    fn cancel(&self) -> Option<Deed> {
        Some(Deed::ask(Request::Reply { id: self.0.id, text: None }))
    }

    fn inquiry(&self) -> Option<u64> {
        Some(self.0.id)
    }
}
