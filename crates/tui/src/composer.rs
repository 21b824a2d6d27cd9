//! The text field in which messages are written: keys in, text out.

mod buffer;
pub(crate) mod complete;
mod edit;
mod history;
mod vim;

use ratatui_core::layout::{Position, Rect};

use crate::canvas::Canvas;
use crate::host::Item;
use crate::text::narrow;
use crate::theme::Role;

pub(crate) use buffer::Buffer;
pub(crate) use complete::{Completion, CompletionKind};
pub(crate) use edit::Edit;
pub(crate) use history::History;
pub(crate) use vim::Vim;

/// Pasted text that is longer is shown as a chip.
const CHIP_LINES: usize = 8;
const CHIP_BYTES: usize = 1200;

#[derive(Default)]
pub(crate) struct Composer {
    pub(crate) buffer: Buffer,
    pub(crate) history: History,
    pub(crate) completion: Completion,
    /// Set where vi's keys are wanted.
    pub(crate) vim: Option<Vim>,
    /// True if the user wanted an entry of the history before there was one.
    recalls_on_load: bool,
    width: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ignored,
    Taken,
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

    /// Takes the arguments of a command, unless another one was typed meanwhile.
    pub(crate) fn take_arguments(&mut self, command: String, items: Vec<Item>) {
        let is_typed = |item: &Item| item.value == command;
        if self.completion.command(&self.buffer).is_some_and(is_typed) {
            self.completion.arguments = Some((command, items));
            self.completion.refresh(&self.buffer);
        }
    }

    /// Rows that it wants at a width.
    pub(crate) fn height(&mut self, width: u16) -> u16 {
        self.width = usize::from(width).saturating_sub(3).max(1);
        narrow(self.buffer.lines(self.width).len())
    }

    /// Draws the text, and says where the cursor is.
    pub(crate) fn draw(&self, area: Rect, canvas: &mut Canvas<'_>, placeholder: &str) -> Position {
        let mark = match &self.vim {
            Some(vim) if vim.is_normal() => ": ",
            Some(_) | None => "> ",
        };
        canvas.text(area.as_position(), mark, Role::Person, area.width);
        let inner =
            Rect { x: area.x + 2.min(area.width), width: area.width.saturating_sub(2), ..area };
        let (row, column) = self.buffer.position(self.width);
        let height = usize::from(area.height).max(1);
        let first = row.saturating_sub(height - 1);
        if self.buffer.is_empty() {
            canvas.text(inner.as_position(), placeholder, Role::Soft, inner.width);
        }
        let lines = self.buffer.lines(self.width);
        for (y, line) in (inner.y..inner.bottom()).zip(lines.iter().skip(first)) {
            canvas.text(
                Position { y, ..inner.as_position() },
                &line.shown,
                Role::Text,
                inner.width,
            );
            if let Some(part) = self.vim.as_ref().and_then(|vim| vim.marked(&self.buffer)) {
                let columns = self.buffer.columns_of(line, &part);
                let mark = Rect {
                    x: inner.x.saturating_add(narrow(columns.start)),
                    y,
                    width: narrow(columns.len()),
                    height: 1,
                };
                let style = canvas.theme.style(Role::Selection);
                canvas.buffer.set_style(mark.intersection(inner), style);
            }
        }
        let x = inner.x.saturating_add(narrow(column)).min(area.right().saturating_sub(1));
        Position { x, y: area.y.saturating_add(narrow(row - first)) }
    }
}
