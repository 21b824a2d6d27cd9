//! The place where messages are written: keys in, text and wishes out.

mod buffer;
pub(crate) mod complete;
mod edit;
mod history;
mod vim;

use ratatui_core::buffer::Buffer as Screen;
use ratatui_core::layout::{Position, Rect};

use crate::text::narrow;
use crate::theme::{Role, Theme};

pub(crate) use buffer::Buffer;
pub(crate) use complete::{Completion, Wanted};
pub(crate) use history::History;
pub(crate) use vim::Vim;

/// Pasted text that is longer is shown as a chip.
const CHIP_LINES: usize = 8;
const CHIP_BYTES: usize = 1200;

/// What is being written.
#[derive(Default)]
pub(crate) struct Composer {
    pub(crate) buffer: Buffer,
    pub(crate) history: History,
    pub(crate) completion: Completion,
    /// Set where vi's keys are wanted.
    pub(crate) vim: Option<Vim>,
    width: usize,
}

/// What a key in the composer comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was not for the composer.
    Ignored,
    /// It was taken.
    Taken,
    /// The text is to be sent.
    Send,
}

impl Composer {
    /// Edits like vi from here on, or like emacs.
    pub(crate) fn set_vim(&mut self, is_on: bool) {
        self.vim = is_on.then(Vim::default);
    }

    /// Takes pasted text: as it is, or as a chip where it is long.
    pub(crate) fn paste(&mut self, text: &str) {
        let is_long = text.len() > CHIP_BYTES || text.lines().nth(CHIP_LINES).is_some();
        if is_long {
            self.buffer.insert_chip(text);
        } else {
            self.buffer.insert(text);
        }
        self.changed();
    }

    /// Takes note that the text is another.
    pub(crate) fn changed(&mut self) {
        self.history.leave();
        self.completion.refresh(&self.buffer);
    }

    /// Rows that it wants at a width.
    pub(crate) fn height(&mut self, width: u16) -> u16 {
        self.width = usize::from(width).saturating_sub(3).max(1);
        narrow(self.buffer.lines(self.width).len())
    }

    /// Draws the text, and says where the cursor is.
    pub(crate) fn draw(
        &self,
        area: Rect,
        screen: &mut Screen,
        theme: &Theme,
        placeholder: &str,
    ) -> Position {
        let mark = match &self.vim {
            Some(vim) if vim.is_normal() => ": ",
            Some(_) | None => "> ",
        };
        screen.set_stringn(
            area.x,
            area.y,
            mark,
            usize::from(area.width),
            theme.style(Role::Person),
        );
        let inner =
            Rect { x: area.x + 2.min(area.width), width: area.width.saturating_sub(2), ..area };
        let (row, column) = self.buffer.position(self.width);
        let height = usize::from(area.height).max(1);
        let first = row.saturating_sub(height - 1);
        if self.buffer.is_empty() {
            let style = theme.style(Role::Soft);
            screen.set_stringn(inner.x, inner.y, placeholder, usize::from(inner.width), style);
        }
        let lines = self.buffer.lines(self.width);
        for (y, line) in (inner.y..inner.bottom()).zip(lines.iter().skip(first)) {
            let style = theme.style(Role::Text);
            screen.set_stringn(inner.x, y, &line.shown, usize::from(inner.width), style);
            if let Some(part) = self.vim.as_ref().and_then(|vim| vim.marked(&self.buffer)) {
                let columns = self.buffer.columns_of(line, &part);
                let mark = Rect {
                    x: inner.x.saturating_add(narrow(columns.start)),
                    y,
                    width: narrow(columns.len()),
                    height: 1,
                };
                screen.set_style(mark.intersection(inner), theme.style(Role::Selection));
            }
        }
        let x = inner.x.saturating_add(narrow(column)).min(area.right().saturating_sub(1));
        Position { x, y: area.y.saturating_add(narrow(row - first)) }
    }
}
