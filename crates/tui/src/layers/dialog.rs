//! A question as a layer: what all of them share, whatever they are about.

use std::time::Instant;

use contract::id::CallId;
use ratatui_core::layout::{Position, Rect};

use super::question::{Decided, Question};
use super::{Canvas, Deed, Flow, Layer};
use crate::key::Key;
use crate::theme::Theme;

/// What a question is about.
pub(crate) trait Purpose {
    /// What a key comes to that the question has taken.
    fn decide(&mut self, decided: Decided, key: Key, deeds: &mut Vec<Deed>) -> Flow;

    /// The calls that it is about.
    fn calls(&self) -> &[CallId] {
        &[]
    }

    /// The inquiry that it puts to the user.
    fn inquiry(&self) -> Option<u64> {
        None
    }
}

/// A question with its purpose.
pub(crate) struct Dialog<P> {
    purpose: P,
    question: Question,
    now: Instant,
}

impl<P> Dialog<P> {
    /// Asks from `now` on.
    pub(crate) fn new(purpose: P, question: Question, now: Instant) -> Self {
        Self { purpose, question, now }
    }

    /// The same for somebody who was writing when it appeared.
    pub(crate) fn amid_writing(self) -> Self {
        Self { question: self.question.amid_writing(), ..self }
    }
}

impl<P: Purpose> Layer for Dialog<P> {
    fn key(&mut self, key: Key, at: Instant, deeds: &mut Vec<Deed>) -> Flow {
        let decided = self.question.key(key, at);
        self.purpose.decide(decided, key, deeds)
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

    fn takes_words(&self) -> bool {
        self.question.takes_words()
    }

    fn inquires(&self) -> Option<u64> {
        self.purpose.inquiry()
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
