//! What stands above the conversation: dialogs, pickers, panels. Keys go to the topmost layer
//! first; drawing goes from the bottom up. A layer changes nothing itself: it asks for deeds.

pub(crate) mod approval;
pub(crate) mod dialog;
pub(crate) mod help;
pub(crate) mod inquiry;
pub(crate) mod leaving;
pub(crate) mod picker;
pub(crate) mod question;
pub(crate) mod search;

use std::time::Instant;

use contract::event;
use contract::id::CallId;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};

use crate::host::{Answer, Leave, Request};
use crate::key::Key;
use crate::keymap::{Action, Keymap};
use crate::message::Effect;
use crate::text::{clipped, columns, narrow};
use crate::theme::{Role, Theme};
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

    /// Takes note of the time.
    fn tick(&mut self, _now: Instant) {}

    /// The calls that it asks about.
    fn asks_about(&self) -> &[CallId] {
        &[]
    }

    /// Returns true while the user writes a text into it.
    fn takes_words(&self) -> bool {
        false
    }

    /// The inquiry that it puts to the user.
    fn inquires(&self) -> Option<u64> {
        None
    }

    /// Whether it waits for an answer.
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

/// What becomes of a key and of the layer that saw it.
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
    /// Start this.
    Act(Action),
    /// Have this done outside.
    Effect(Effect),
    /// Answer the questions about these calls.
    Answer(Vec<CallId>, event::Answer),
    /// Ask about the calls that wait one by one.
    OneByOne,
    /// Use a theme, by its name; for good or to look at.
    Theme { name: String, is_final: bool },
    /// Put this into the text that is being written.
    Write(String),
    /// Look for words.
    Find { needle: String, direction: Direction },
    /// Look for nothing any more.
    EndSearch,
    /// Walk on from what was found.
    Walk,
    /// Leave the conversation, whatever goes on in it.
    Depart(Leave),
}

impl Deed {
    /// Asks the host for something.
    pub(crate) fn ask(request: Request) -> Self {
        Self::Effect(Effect::Ask(request))
    }
}

/// What layers draw on.
pub(crate) struct Canvas<'a> {
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) theme: &'a Theme,
    /// The keys in force, for those who name some.
    pub(crate) keys: &'a Keymap,
}

impl Canvas<'_> {
    /// Writes a text in at most so many columns; says how many it took.
    pub(crate) fn text(&mut self, at: Position, text: &str, role: Role, room: u16) -> u16 {
        if !self.buffer.area.contains(at) {
            return 0;
        }
        let style = self.theme.style(role);
        let (end, _) = self.buffer.set_stringn(at.x, at.y, text, usize::from(room), style);
        end - at.x
    }

    /// Empties an area.
    pub(crate) fn clear(&mut self, area: Rect) {
        for position in area.intersection(self.buffer.area).positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.reset();
            }
        }
    }

    /// Empties an area and draws a frame with a title around it; where there is no room for a
    /// frame, the title alone. Gives what is left inside.
    pub(crate) fn frame(&mut self, area: Rect, title: &str) -> Rect {
        self.clear(area);
        let area = area.intersection(self.buffer.area);
        if area.height < 6 || area.width < 12 {
            let title = clipped(title, usize::from(area.width));
            self.text(area.as_position(), &title, Role::Heading, area.width);
            let inner = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
            return inner.intersection(area);
        }
        let wide = usize::from(area.width) - 2;
        let title = clipped(title, wide.saturating_sub(4));
        let rest = wide.saturating_sub(columns(&title) + 3);
        let top = area.as_position();
        let mut x = self.text(top, "╭─ ", Role::Border, area.width);
        x += self.text(Position { x: top.x + x, ..top }, &title, Role::Heading, area.width);
        let line = format!(" {}╮", "─".repeat(rest));
        self.text(Position { x: top.x + x, ..top }, &line, Role::Border, area.width - x);
        for y in area.y + 1..area.bottom() - 1 {
            self.text(Position { x: area.x, y }, "│", Role::Border, 1);
            self.text(Position { x: area.right() - 1, y }, "│", Role::Border, 1);
        }
        let bottom = format!("╰{}╯", "─".repeat(wide));
        let at = Position { x: area.x, y: area.bottom() - 1 };
        self.text(at, &bottom, Role::Border, area.width);
        Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 }
    }

    /// Words in the lower edge of a frame that was drawn around an area, where it has one.
    pub(crate) fn foot(&mut self, area: Rect, words: &str) {
        let area = area.intersection(self.buffer.area);
        if area.height < 6 || area.width < 12 {
            return;
        }
        let words = clipped(&format!(" {words} "), usize::from(area.width) - 4);
        let at = Position { x: area.x + 2, y: area.bottom() - 1 };
        self.text(at, &words, Role::Soft, area.width - 4);
    }
}

/// An area in the middle of another.
pub(crate) fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width);
    let height = height.min(area.height);
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

/// A share of a length, in percent.
pub(crate) fn share(length: u16, percent: u16) -> u16 {
    narrow(usize::from(length) * usize::from(percent) / 100)
}
