//! Drawing into the buffer of a frame: text in a role's style, frames with a title, cleared areas.
//! Decides nothing about what is drawn.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};

use crate::keymap::Keymap;
use crate::text::{Row, clipped, columns, narrow};
use crate::theme::{Role, Theme};

/// A buffer to draw on, with the colors and keys in use.
pub(crate) struct Canvas<'a> {
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) theme: &'a Theme,
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

    /// Draws rows from the top of an area, as many as it has.
    pub(crate) fn rows(&mut self, rows: &[Row], area: Rect) {
        for (y, row) in (area.y..area.bottom()).zip(rows) {
            self.buffer.set_line(area.x, y, &row.line, area.width);
        }
    }

    /// Makes the letters of a text at these places stand out.
    pub(crate) fn accent(&mut self, text: &str, places: &[usize], start: Position) {
        let mut x = start.x;
        for (at, letter) in text.chars().enumerate() {
            if places.contains(&at)
                && let Some(cell) = self.buffer.cell_mut(Position { x, ..start })
            {
                cell.set_style(self.theme.style(Role::Accent));
            }
            x = x.saturating_add(narrow(columns(letter.encode_utf8(&mut [0; 4]))));
        }
    }

    pub(crate) fn select_row(&mut self, area: Rect, y: u16) {
        let row = Rect { y, height: 1, ..area };
        self.buffer.set_style(row, self.theme.style(Role::Selection));
    }

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

pub(crate) fn share(length: u16, percent: u16) -> u16 {
    narrow(usize::from(length) * usize::from(percent) / 100)
}
