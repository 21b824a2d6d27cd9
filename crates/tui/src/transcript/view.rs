//! Which rows of the conversation are on the screen. A place is a block and a row in it, so that
//! nothing above needs to be known; without a place the view follows the end.

use std::sync::Arc;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{By, Selection, Shape, Transcript};
use crate::link::Links;
use crate::text::{columns, narrow};
use crate::theme::{Role, Theme};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) block: usize,
    pub(crate) part: usize,
    /// The row in that; 0 of the first part is the gap above the block.
    pub(crate) row: usize,
}

impl Place {
    pub(crate) fn head(block: usize) -> Self {
        Self { block, part: 0, row: 1 }
    }

    pub(crate) fn is_head(self) -> bool {
        (self.part, self.row) <= (0, 1)
    }
}

/// The visible part of the conversation.
#[derive(Default)]
pub(crate) struct View {
    /// The row at the top; none while it follows the end.
    top: Option<Place>,
    /// The rows that were last shown, from the top.
    shown: Vec<Place>,
    height: usize,
    /// The row, and its block, that the keys are about.
    pub(crate) cursor: Option<Place>,
    pub(crate) selection: Option<Selection>,
    /// Where the search is.
    pub(crate) found: Option<Place>,
    /// The text that is searched for, in lower case.
    pub(crate) needle: String,
}

impl View {
    /// Shows the end from here on.
    pub(crate) fn follow(&mut self) {
        self.top = None;
    }

    /// Stays where it is, whatever comes below.
    pub(crate) fn hold(&mut self) {
        self.top = self.top.or_else(|| self.shown.first().copied());
    }

    /// Shows a block that was closed from its head, where its rows were at the top.
    pub(crate) fn closed(&mut self, block: usize) {
        if self.top.is_some_and(|top| top.block == block) {
            self.top = Some(Place::head(block));
        }
    }

    pub(crate) fn rewind(&mut self) {
        self.top = Some(Place::default());
    }

    /// The row that a row of the screen shows, counted from the top of the view.
    pub(crate) fn place_at(&self, row: usize) -> Option<Place> {
        self.shown.get(row).copied()
    }

    pub(crate) fn last_place(&self) -> Option<Place> {
        self.shown.last().copied()
    }

    pub(crate) fn page(&self) -> usize {
        self.height.saturating_sub(2).max(1)
    }

    pub(crate) fn up(&mut self, count: usize, transcript: &mut Transcript, theme: &Theme) {
        let Some(top) = self.top.or_else(|| self.shown.first().copied()) else { return };
        self.top = Some(before(top, count, transcript, theme));
    }

    /// Goes down by so many rows; at the end it follows.
    pub(crate) fn down(&mut self, count: usize, transcript: &mut Transcript, theme: &Theme) {
        let Some(mut top) = self.top else { return };
        for _ in 0..count {
            match after(top, transcript, theme) {
                Some(next) => top = next,
                None => break,
            }
        }
        self.top = Some(top);
    }

    pub(crate) fn show(&mut self, place: Place, transcript: &mut Transcript, theme: &Theme) {
        if !self.shown.contains(&place) {
            let above = self.height / 3;
            self.top = Some(before(place, above, transcript, theme));
        }
    }

    /// The row that keys are about when somebody begins to walk: the last head of a block in view.
    pub(crate) fn entry(&self) -> Option<Place> {
        let head = self.shown.iter().rev().find(|place| **place == Place::head(place.block));
        head.or(self.shown.last()).copied()
    }

    /// Goes to another row, so many rows away.
    pub(crate) fn walk(&mut self, rows: isize, transcript: &mut Transcript, theme: &Theme) {
        let Some(place) = self.cursor.or_else(|| self.entry()) else { return };
        let place = away(place, rows, transcript, theme);
        self.cursor = Some(place);
        self.show(place, transcript, theme);
    }

    /// Begins to select with keys, at the row that they are about.
    pub(crate) fn select(&mut self, by: By, transcript: &mut Transcript, theme: &Theme) {
        let Some(place) = self.cursor.or_else(|| self.entry()) else { return };
        transcript.height(place.block, place.part, theme);
        let row = transcript.block(place.block).and_then(|block| block.row(place));
        self.selection = Some(Selection::new(by, place, row.map_or(0, |row| row.lead)));
    }

    /// Moves the end of the selection by rows, and goes there.
    pub(crate) fn extend(&mut self, rows: isize, transcript: &mut Transcript, theme: &Theme) {
        let Some(selection) = &mut self.selection else { return };
        let place = away(selection.to.0, rows, transcript, theme);
        selection.to.0 = place;
        self.cursor = Some(place);
        self.show(place, transcript, theme);
    }

    /// Has keys move the other end of the selection.
    pub(crate) fn turn(&mut self, transcript: &mut Transcript, theme: &Theme) {
        let Some(selection) = &mut self.selection else { return };
        std::mem::swap(&mut selection.from, &mut selection.to);
        let place = selection.to.0;
        self.cursor = Some(place);
        self.show(place, transcript, theme);
    }

    /// Moves the end of the selection by columns, within its row.
    pub(crate) fn widen(&mut self, columns: i16, transcript: &Transcript) {
        let Some(selection) = &mut self.selection else { return };
        let (place, column) = selection.to;
        let row = transcript.block(place.block).and_then(|block| block.row(place));
        let last = row.map_or(0, |row| narrow(row.line.width()).saturating_sub(1));
        selection.to.1 = column.saturating_add_signed(columns).min(last);
    }

    /// Lays out what is in view, and nothing else.
    pub(crate) fn prepare(
        &mut self,
        transcript: &mut Transcript,
        theme: &Theme,
        height: usize,
        shape: Shape,
    ) {
        transcript.set_shape(shape);
        self.height = height;
        if let Some(top) = self.top {
            self.shown = rows_from(top, height, transcript, theme);
            // A view of the last row follows new rows.
            let last = self.shown.last().filter(|_| self.shown.len() == height);
            if last.is_none_or(|last| after(*last, transcript, theme).is_none()) {
                self.top = None;
            }
        }
        if self.top.is_none() {
            let count = transcript.len();
            let end = Place { block: count, ..Place::default() };
            let top = before(end, height, transcript, theme);
            self.shown = rows_from(top, height, transcript, theme);
        }
        if let (Some(first), Some(last)) = (self.shown.first(), self.shown.last()) {
            transcript.forget(*first, *last);
        }
    }

    /// The pictures that are in view as a whole: the block, and the row of the screen they begin at.
    pub(crate) fn pictures(&self, transcript: &Transcript) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for (row, place) in self.shown.iter().enumerate() {
            let picture = transcript.block(place.block).and_then(super::Block::picture);
            if let Some((picture, at)) = picture
                && at == (place.part, place.row)
                && row + usize::from(picture.size.1) <= self.shown.len()
            {
                all.push((place.block, row));
            }
        }
        all
    }

    /// How far the view is through the conversation, in percent; none at its end.
    pub(crate) fn progress(&self, transcript: &Transcript) -> Option<usize> {
        self.top?;
        let (first, last) = (self.shown.first()?, self.shown.last()?);
        let above = transcript.rows_before(*first);
        let all = transcript.rows_before(Place { block: transcript.len(), ..Place::default() });
        let seen = transcript.rows_before(*last).saturating_sub(above) + 1;
        Some((above * 100 / all.saturating_sub(seen).max(1)).min(99))
    }

    pub(crate) fn links(&self, transcript: &Transcript) -> Links {
        let rows = self
            .shown
            .iter()
            .filter_map(|place| transcript.block(place.block).and_then(|block| block.row(*place)));
        let links = rows.flat_map(|row| &row.links);
        links.map(|link| (link.number, Arc::clone(&link.address))).collect()
    }

    pub(crate) fn draw(
        &self,
        transcript: &Transcript,
        area: Rect,
        buffer: &mut Buffer,
        theme: &Theme,
    ) {
        for (y, place) in (area.y..area.bottom()).zip(&self.shown) {
            let Some(row) = transcript.block(place.block).and_then(|block| block.row(*place))
            else {
                continue;
            };
            buffer.set_line(area.x, y, &row.line, area.width);
            if !self.needle.is_empty() {
                self.mark_found(&row.line.to_string(), area, y, buffer, theme);
            }
            if self.cursor == Some(*place) {
                let line = Rect { y, height: 1, ..area };
                buffer.set_style(line, theme.style(Role::Selection));
            }
        }
        if let Some(selection) = &self.selection {
            selection.draw(&self.shown, area, buffer, theme);
        }
    }

    fn mark_found(&self, text: &str, area: Rect, y: u16, buffer: &mut Buffer, theme: &Theme) {
        let lower = text.to_lowercase();
        // Letters whose small form has another length would shift what is marked.
        if lower.len() != text.len() {
            return;
        }
        for (at, found) in lower.match_indices(self.needle.as_str()) {
            let (Some(before), Some(inside)) = (text.get(..at), text.get(at..at + found.len()))
            else {
                continue;
            };
            let x = area.x.saturating_add(narrow(columns(before)));
            let mark = Rect { x, y, width: narrow(columns(inside)), height: 1 };
            buffer.set_style(mark.intersection(area), theme.style(Role::Found));
        }
    }
}

/// The row so many rows above another, or the first.
fn before(place: Place, count: usize, transcript: &mut Transcript, theme: &Theme) -> Place {
    let Place { mut block, mut part, mut row } = place;
    let mut left = count;
    loop {
        if row >= left {
            return Place { block, part, row: row - left };
        }
        left -= row;
        if part > 0 {
            part -= 1;
        } else if block > 0 {
            block -= 1;
            part = transcript.parts(block, theme) - 1;
        } else {
            return Place::default();
        }
        row = transcript.height(block, part, theme);
    }
}

/// The row so many rows below or above another that is not a gap, as far as there are any.
fn away(place: Place, rows: isize, transcript: &mut Transcript, theme: &Theme) -> Place {
    let mut place = place;
    for _ in 0..rows.unsigned_abs() {
        let mut next = Some(place);
        loop {
            next = next.and_then(|from| {
                if rows < 0 {
                    let above = before(from, 1, transcript, theme);
                    (above != from).then_some(above)
                } else {
                    after(from, transcript, theme)
                }
            });
            if next.is_none_or(|next| !transcript.is_gap(next)) {
                break;
            }
        }
        match next {
            Some(next) => place = next,
            None => break,
        }
    }
    place
}

fn after(place: Place, transcript: &mut Transcript, theme: &Theme) -> Option<Place> {
    let mut next = Place { row: place.row + 1, ..place };
    // Some parts have no rows.
    while next.row >= transcript.height(next.block, next.part, theme) {
        next = next_part(next, transcript, theme);
        if next.block >= transcript.len() {
            return None;
        }
    }
    Some(next)
}

/// The beginning of the next part, be it of the next block.
fn next_part(place: Place, transcript: &mut Transcript, theme: &Theme) -> Place {
    if place.part + 1 < transcript.parts(place.block, theme) {
        Place { part: place.part + 1, row: 0, ..place }
    } else {
        Place { block: place.block + 1, ..Place::default() }
    }
}

fn rows_from(top: Place, height: usize, transcript: &mut Transcript, theme: &Theme) -> Vec<Place> {
    let mut rows = Vec::with_capacity(height);
    let mut place = top;
    while rows.len() < height && place.block < transcript.len() {
        let count = transcript.height(place.block, place.part, theme);
        let take = (height - rows.len()).min(count.saturating_sub(place.row));
        rows.extend((place.row..place.row + take).map(|row| Place { row, ..place }));
        place = next_part(place, transcript, theme);
    }
    rows
}
