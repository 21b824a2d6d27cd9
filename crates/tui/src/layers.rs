//! Layers above the conversation: dialogs, pickers, panels. Keys go to the topmost layer
//! first; drawing goes from the bottom up. A layer changes nothing itself: it asks for deeds.

pub(crate) mod approval;
pub(crate) mod dialog;
pub(crate) mod help;
pub(crate) mod inquiry;
pub(crate) mod leaving;
pub(crate) mod picker;
pub(crate) mod question;
pub(crate) mod rewinding;
pub(crate) mod search;

use std::time::Instant;

use contract::event;
use contract::id::CallId;
use ratatui_core::layout::{Position, Rect};

use crate::canvas::Canvas;
use crate::host::{Answer, Item, Leave, Request};
use crate::key::Key;
use crate::keymap::Action;
use crate::message::Effect;
use crate::theme::Theme;
use crate::transcript::Direction;

/// Something above the conversation.
pub(crate) trait Layer {
    /// Takes a key that arrived at `at`.
    fn key(&mut self, key: Key, at: Instant, deeds: &mut Vec<Deed>) -> Flow;

    /// Takes pasted text, or passes it on to what is below.
    fn paste(&mut self, _text: &str, _at: Instant) -> Flow {
        Flow::Stay
    }

    /// Takes what the host answered, if it is for this layer.
    fn answer(&mut self, _answer: &Answer, _deeds: &mut Vec<Deed>) -> bool {
        false
    }

    /// Turns the wheel of the mouse.
    fn scroll(&mut self, _is_down: bool) {}

    /// When it wants to be drawn again without anything happening.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _now: Instant) {}

    /// The calls that it asks about.
    fn asks_about(&self) -> &[CallId] {
        &[]
    }

    /// Returns true while the user writes a text into it.
    fn takes_text(&self) -> bool {
        false
    }

    /// The departure that it asks about while the model works.
    fn departure(&self) -> Option<&Leave> {
        None
    }

    /// The inquiry that it puts to the user.
    fn inquires(&self) -> Option<u64> {
        None
    }

    /// Returns true if it waits for an answer.
    fn is_question(&self) -> bool {
        false
    }

    /// Rows at the bottom of an area that it takes for itself; what is below ends above them.
    fn covers(&mut self, _area: Rect, _theme: &Theme) -> u16 {
        0
    }

    /// Draws itself; says where the cursor is, if it has one.
    fn draw(&mut self, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position>;
}

/// The result of giving a key to a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The layer has taken it.
    Stay,
    /// The layer has taken it and is done.
    Close,
    /// The key was not for the layer; what is below gets it.
    Pass,
}

/// Something that a layer wants done.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Act(Action),
    /// Have this done outside.
    Effect(Effect),
    Answer(Vec<CallId>, event::Answer),
    OneByOne,
    /// Use a theme, by its name; for good or to look at.
    Theme {
        name: String,
        is_final: bool,
    },
    /// Put this into the text that is being written.
    Write(String),
    /// Look for words.
    Find {
        needle: String,
        direction: Direction,
    },
    /// Look for nothing any more.
    EndSearch,
    /// Walk on from what was found.
    Walk,
    /// Have another model answer.
    Model(String),
    /// Ask how to go back to a message.
    GoBack(Item),
    /// Leave the conversation, whatever goes on in it.
    Depart(Leave),
}

impl Deed {
    pub(crate) fn ask(request: Request) -> Self {
        Self::Effect(Effect::Ask(request))
    }
}
