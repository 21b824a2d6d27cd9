//! What a part of the program wants to know from the user: agreement, one of a few things, or
//! words. Nothing is answered by keys that were typed before it appeared.

use std::time::Instant;

use super::dialog::{Dialog, Purpose};
use super::question::{Choice, Decided, Question, flow};
use super::{Deed, Flow};
use crate::host::{Inquiry, Request, Wanted};
use crate::key::{Code, Key};
use crate::permission::Part;
use crate::text::{clean, one_line};
use crate::theme::Role;

/// The keys of the first things to choose from.
const NUMBERS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// The dialog.
pub(crate) struct Asking(Inquiry);

impl Asking {
    /// Asks from `now` on; for somebody who is writing with a longer look.
    pub(crate) fn ask(inquiry: Inquiry, now: Instant, is_writing: bool) -> Dialog<Self> {
        let parts = vec![Part::Words(Role::Text, clean(inquiry.body.trim()))];
        let title = one_line(&inquiry.title);
        let choice = |keys: &'static str, label: &str| Choice {
            keys,
            word: match keys {
                "y" => "yes",
                "n" => "no",
                _ => "",
            },
            label: one_line(label),
            takes_words: false,
        };
        let question = match &inquiry.wanted {
            Wanted::Agreement(yes) => {
                Question::new(title, parts, vec![choice("y", yes), choice("n", "No")], 1, now)
            }
            Wanted::One { choices, usual } => {
                let numbered = NUMBERS.iter().zip(choices);
                let choices = numbered.map(|(key, (_, label))| choice(key, label)).collect();
                Question::new(title, parts, choices, usual.unwrap_or(0), now)
            }
            Wanted::Words(name) => Question::for_words(title, parts, one_line(name), now),
        };
        let dialog = Dialog::new(Self(inquiry), question, now);
        if is_writing { dialog.amid_writing() } else { dialog }
    }

    /// What a choice says.
    fn said(&self, at: usize, words: Option<String>) -> Option<String> {
        match &self.0.wanted {
            Wanted::Agreement(_) => (at == 0).then(String::new),
            Wanted::One { choices, .. } => choices.get(at).map(|(value, _)| value.clone()),
            Wanted::Words(_) => Some(words.unwrap_or_default()),
        }
    }
}

impl Purpose for Asking {
    fn decide(&mut self, decided: Decided, key: Key, deeds: &mut Vec<Deed>) -> Flow {
        let id = self.0.id;
        let stops = [Key::ctrl('c'), Key::plain(Code::Esc)];
        match &decided {
            Decided::Choice(at, words) => {
                let words = self.said(*at, words.clone());
                deeds.push(Deed::ask(Request::Reply { id, words }));
            }
            Decided::Other if stops.contains(&key) => {
                deeds.push(Deed::ask(Request::Reply { id, words: None }));
                return Flow::Close;
            }
            Decided::Nothing | Decided::Other => {}
        }
        flow(&decided)
    }

    fn inquiry(&self) -> Option<u64> {
        Some(self.0.id)
    }
}
