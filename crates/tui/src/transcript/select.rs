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
    pub(crate) to: (Place, u16),
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

    fn columns_of(&self, place: Place, width: u16) -> Option<(u16, u16)> {
        let (first, last) = self.ordered();
        if place < first.0 || place > last.0 {
            return None;
        }
        let from = if place == first.0 { first.1 } else { 0 };
        let to = if place == last.0 { last.1.saturating_add(1) } else { width };
        // The screen may have become narrower since.
        let to = to.min(width);
        (from < to).then_some((from, to))
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
    pub(crate) fn selected(&mut self, selection: &Selection, theme: &Theme) -> String {
        let (first, last) = selection.ordered();
        let mut text = String::new();
        for block in first.0.block..=last.0.block.min(self.len().saturating_sub(1)) {
            for part in 0..self.parts(block, theme) {
                let here = (block, part);
                if here < (first.0.block, first.0.part) || here > (last.0.block, last.0.part) {
                    continue;
                }
                let was_laid_out = self.blocks[block].is_laid_out_at(part);
                for row in 0..self.height(block, part, theme) {
                    self.add_selected(selection, Place { block, part, row }, &mut text);
                }
                if !was_laid_out {
                    self.blocks[block].forget_at(part);
                }
            }
        }
        text.truncate(text.trim_end_matches([' ', '\t']).len());
        text
    }

    fn add_selected(&self, selection: &Selection, place: Place, text: &mut String) {
        let Some((from, to)) = selection.columns_of(place, u16::MAX) else { return };
        let Some(row) = self.blocks[place.block].row(place) else {
            return end_line(text, '\n');
        };
        match row.joint {
            Joint::Decoration if row.line.spans.is_empty() => return end_line(text, '\n'),
            Joint::Decoration => return,
            Joint::Space => end_line(text, ' '),
            Joint::Line => end_line(text, '\n'),
            // Blanks at which a line was broken are part of it.
            Joint::Tight => {}
        }
        text.push_str(&part(&row.line, from.max(row.lead), to));
    }
}

/// Ends a line or a row of a text that has begun, without the blanks at its end.
fn end_line(text: &mut String, end: char) {
    if !text.is_empty() {
        text.truncate(text.trim_end_matches([' ', '\t']).len());
        text.push(end);
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
