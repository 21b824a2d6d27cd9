//! What a part of the program wants to know from the person: agreement, one of a few things, or
//! words. Nothing is answered by keys that were typed before it appeared.

use std::time::Instant;

use ratatui_core::layout::{Position, Rect};

use super::question::{Choice, Decided, Part, Question, flow};
use super::{Canvas, Deed, Flow, Layer};
use crate::host::{Inquiry, Request, Wanted};
use crate::key::{Code, Key};
use crate::text::{clean, one_line};
use crate::theme::{Role, Theme};

/// The keys of the first things to choose from.
const NUMBERS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// The dialog.
pub(crate) struct Asking {
    inquiry: Inquiry,
    question: Question,
    now: Instant,
}

impl Asking {
    /// Asks from `now` on; for somebody who is writing with a longer look.
    pub(crate) fn new(inquiry: Inquiry, now: Instant, is_writing: bool) -> Self {
        let parts = vec![Part::Words(Role::Text, clean(inquiry.body.trim()))];
        let title = one_line(&inquiry.title);
        let choice = |letters: &'static str, label: &str, grants: bool| Choice {
            letters,
            word: match letters {
                "y" => "yes",
                "n" => "no",
                _ => "",
            },
            label: one_line(label),
            takes_words: false,
            grants,
        };
        let question = match &inquiry.wanted {
            Wanted::Agreement(yes) => {
                let choices = vec![choice("y", yes, true), choice("n", "No", false)];
                Question::new(title, parts, choices, now)
            }
            Wanted::One { choices, usual } => {
                let numbered = NUMBERS.iter().zip(choices);
                let choices = numbered.map(|(key, (_, label))| choice(key, label, false));
                Question::new(title, parts, choices.collect(), now).beginning_at(*usual)
            }
            Wanted::Words(name) => Question::for_words(title, parts, one_line(name), now),
        };
        let question = if is_writing { question.amid_writing() } else { question };
        Self { inquiry, question, now }
    }

    /// What a choice says.
    fn said(&self, at: usize, words: Option<String>) -> Option<String> {
        match &self.inquiry.wanted {
            Wanted::Agreement(_) => (at == 0).then(String::new),
            Wanted::One { choices, .. } => choices.get(at).map(|(value, _)| value.clone()),
            Wanted::Words(_) => Some(words.unwrap_or_default()),
        }
    }
}

impl Layer for Asking {
    fn key(&mut self, key: Key, at: Instant, deeds: &mut Vec<Deed>) -> Flow {
        let id = self.inquiry.id;
        let decided = self.question.key(key, at);
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
            Decided::Nothing | Decided::Early | Decided::Other => {}
        }
        flow(&decided)
    }

    fn paste(&mut self, text: &str, at: Instant) -> Flow {
        self.question.paste(text, at)
    }

    fn scroll(&mut self, is_down: bool) {
        self.question.scroll(is_down);
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.question.armed_at()).filter(|armed_at| *armed_at > self.now)
    }

    fn inquires(&self) -> Option<u64> {
        Some(self.inquiry.id)
    }

    fn covers(&mut self, area: Rect, theme: &Theme) -> u16 {
        self.question.height(area, theme)
    }

    fn draw(&mut self, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position> {
        self.question.draw(area, canvas, self.now)
    }

    fn tick(&mut self, now: Instant) {
        self.now = now;
    }
}
