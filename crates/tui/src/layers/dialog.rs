//! A question as a layer, whatever it is about.

use std::time::Instant;

use contract::id::CallId;
use ratatui_core::layout::{Position, Rect};

use super::question::{KeyOutcome, Question};
use super::{Deed, Flow, Layer};
use crate::canvas::Canvas;
use crate::host::Leave;
use crate::key::{Code, Key};
use crate::theme::Theme;

/// The subject of a question.
pub(crate) trait Purpose {
    /// Acts on a choice, with the text that was given with it.
    fn choose(&self, at: usize, text: Option<String>) -> Option<Deed>;

    /// Acts on Esc or an interrupt, which close the dialog.
    fn cancel(&self) -> Option<Deed>;

    fn calls(&self) -> &[CallId] {
        &[]
    }

    fn inquiry(&self) -> Option<u64> {
        None
    }

    fn departure(&self) -> Option<&Leave> {
        None
    }
}

pub(crate) struct Dialog<P> {
    purpose: P,
    question: Question,
    now: Instant,
}

impl<P> Dialog<P> {
    pub(crate) fn new(purpose: P, question: Question, now: Instant) -> Self {
        Self { purpose, question, now }
    }

    /// Gives more time to a user who was writing when it appeared.
    pub(crate) fn amid_writing(self) -> Self {
        Self { question: self.question.amid_writing(), ..self }
    }
}

impl<P: Purpose> Layer for Dialog<P> {
    fn key(&mut self, key: Key, at: Instant, deeds: &mut Vec<Deed>) -> Flow {
        match self.question.key(key, at) {
            KeyOutcome::Nothing => Flow::Stay,
            KeyOutcome::Choice(at, text) => {
                deeds.extend(self.purpose.choose(at, text));
                Flow::Close
            }
            KeyOutcome::Other if [Key::ctrl('c'), Key::plain(Code::Esc)].contains(&key) => {
                deeds.extend(self.purpose.cancel());
                Flow::Close
            }
            KeyOutcome::Other => Flow::Pass,
        }
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

    fn tick(&mut self, now: Instant) {
        self.now = now;
    }

    fn asks_about(&self) -> &[CallId] {
        self.purpose.calls()
    }

    fn takes_text(&self) -> bool {
        self.question.takes_text()
    }

    fn inquires(&self) -> Option<u64> {
        self.purpose.inquiry()
    }

    fn departure(&self) -> Option<&Leave> {
        self.purpose.departure()
    }

    fn is_question(&self) -> bool {
        true
    }

    fn covers(&mut self, area: Rect, theme: &Theme) -> u16 {
        self.question.height(area, theme)
    }

    fn draw(&mut self, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position> {
        self.question.draw(area, canvas, self.now)
    }
}
