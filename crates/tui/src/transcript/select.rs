//! Selecting with the mouse or with keys. What is copied is the text: no bars, no marks, no breaks of ours.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use unicode_segmentation::UnicodeSegmentation;

use super::{Place, Transcript};
use crate::text::{BAR, Joint, OF_FRAME, OF_TAB, TAB, columns, narrow};
use crate::theme::{Role, Theme};

/// From where to where, in the order in which it was dragged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Where it began, with the column.
    pub(crate) from: (Place, u16),
    /// Where it is.
    pub(crate) to: (Place, u16),
    /// How it was begun.
    pub(crate) by: By,
}

/// How a selection was begun, and what it goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The mouse: nothing is selected before it has moved.
    Mouse,
    /// Keys, character by character.
    Characters,
    /// Keys, whole rows.
    Rows,
}

impl Selection {
    /// One that has just begun.
    pub(crate) fn new(by: By, place: Place, column: u16) -> Self {
        Self { from: (place, column), to: (place, column), by }
    }

    /// Whether nothing is selected.
    pub(crate) fn is_empty(&self) -> bool {
        self.by == By::Mouse && self.from == self.to
    }

    fn ordered(&self) -> ((Place, u16), (Place, u16)) {
        let (first, last) =
            if self.from <= self.to { (self.from, self.to) } else { (self.to, self.from) };
        match self.by {
            By::Mouse | By::Characters => (first, last),
            By::Rows => ((first.0, 0), (last.0, u16::MAX - 1)),
        }
    }

    /// The columns of a row that are selected.
    fn columns_of(&self, place: Place, width: u16) -> Option<(u16, u16)> {
        let (first, last) = self.ordered();
        if place < first.0 || place > last.0 {
            return None;
        }
        let from = if place == first.0 { first.1 } else { 0 };
        let to = if place == last.0 { last.1.saturating_add(1) } else { width };
        (from < to).then_some((from, to.min(width)))
    }

    pub(super) fn draw(&self, shown: &[Place], area: Rect, buffer: &mut Buffer, theme: &Theme) {
        if self.is_empty() {
            return;
        }
        for (y, place) in (area.y..area.bottom()).zip(shown) {
            if let Some((from, to)) = self.columns_of(*place, area.width) {
                let mark = Rect { x: area.x + from, y, width: to - from, height: 1 };
                buffer.set_style(mark, theme.style(Role::Selection));
            }
        }
    }
}

impl Transcript {
    /// The text that is selected.
    pub(crate) fn selected(&mut self, selection: &Selection, theme: &Theme) -> String {
        let (first, last) = selection.ordered();
        let mut text = String::new();
        for block in first.0.block..=last.0.block.min(self.len().saturating_sub(1)) {
            let height = self.height(block, theme);
            for number in 0..height {
                let place = Place { block, row: number };
                let Some((from, to)) = selection.columns_of(place, u16::MAX) else { continue };
                let Some(row) = self.blocks[block].row(number) else {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    continue;
                };
                if row.joint == Joint::Decoration {
                    if row.line.spans.is_empty() && !text.is_empty() {
                        text.push('\n');
                    }
                    continue;
                }
                let part = part(&row.line, from.max(row.lead), to);
                let part = part.trim_end();
                match row.joint {
                    Joint::Space if !text.is_empty() => text.push(' '),
                    Joint::Line if !text.is_empty() => text.push('\n'),
                    _ => {}
                }
                text.push_str(part);
            }
        }
        text
    }
}

/// The part of a row between two columns, tabs as they were, and one between the cells of a table.
fn part(line: &Line<'_>, from: u16, to: u16) -> String {
    let mut at = 0_u16;
    let mut out = String::new();
    for span in &line.spans {
        let is_frame = span.style.add_modifier.contains(OF_FRAME);
        let is_tab = span.style.add_modifier.contains(OF_TAB);
        for (number, grapheme) in span.content.graphemes(true).enumerate() {
            if at >= from && at < to {
                match (is_frame, is_tab) {
                    (true, _) if grapheme == BAR => out.push('\t'),
                    (false, true) if number % TAB == 0 => out.push('\t'),
                    (true, _) | (_, true) => {}
                    (false, false) => out.push_str(grapheme),
                }
            }
            at = at.saturating_add(narrow(columns(grapheme)));
        }
    }
    out
}
