//! The dialog about leaving a conversation while the model is at work in it.

use std::time::Instant;

use super::Deed;
use super::dialog::{Dialog, Purpose};
use super::question::{Choice, Question};
use crate::host::Leave;
use crate::permission::Part;
use crate::theme::Role;

pub(crate) struct Leaving(Leave);

impl Leaving {
    /// Asks from `now` on.
    pub(crate) fn ask(leave: Leave, now: Instant) -> Dialog<Self> {
        let words = "Finished work is kept; the current step is interrupted.";
        let parts = vec![Part::Prose(Role::Text, words.to_owned())];
        let choice = |keys: &'static str, word: &'static str, label: &str| Choice {
            keys,
            word,
            label: label.to_owned(),
            takes_text: false,
        };
        let choices =
            vec![choice("y", "stop", "Interrupt it and leave"), choice("n", "stay", "Stay")];
        let title = "The model is still working".to_owned();
        let question = Question::new(title, parts, choices, 1, now);
        Dialog::new(Self(leave), question, now)
    }
}

impl Purpose for Leaving {
    fn choose(&self, at: usize, _text: Option<String>) -> Option<Deed> {
        (at == 0).then(|| Deed::Depart(self.0.clone()))
    }

    fn cancel(&self) -> Option<Deed> {
        None
    }

    fn departure(&self) -> Option<&Leave> {
        Some(&self.0)
    }
}
