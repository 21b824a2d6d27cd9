//! Finding words in the conversation. Only blocks whose text contains them are laid out.

use super::block::{Block, contains};
use super::{Place, Transcript};
use crate::text::{Joint, Row, skip_columns};
use crate::theme::Theme;

/// Which way to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Towards the beginning.
    Up,
    /// Towards the end.
    Down,
}

impl Transcript {
    /// How many times `needle` is there, and which of them begins in a row, counted from 1.
    pub(crate) fn matches(&self, needle: &str, place: Place) -> (usize, usize) {
        let mut number = 0;
        let mut count = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            if at == place.block {
                let (before, all) = matches_at(block, needle, place);
                number = count + before + 1;
                count += all;
            } else if block.may_contain(needle) {
                count += occurrences(&block.text(), needle) + within(block, needle);
            }
        }
        (number, count)
    }

    /// The next row with `needle`, which is in small letters, beyond `from`; goes round.
    pub(crate) fn find(
        &mut self,
        needle: &str,
        from: Place,
        direction: Direction,
        theme: &Theme,
    ) -> Option<Place> {
        let count = self.len();
        if needle.is_empty() || count == 0 {
            return None;
        }
        let start = from.block.min(count - 1);
        for step in 0..=count {
            let block = match direction {
                Direction::Down => (start + step) % count,
                Direction::Up => (start + count - step % count) % count,
            };
            if !self.blocks[block].may_contain(needle) {
                continue;
            }
            // The block that it starts in comes twice: first what is beyond, at last the rest.
            let is_beyond = |place: Place| match (step, direction) {
                (0, Direction::Down) => block != from.block || place > from,
                (0, Direction::Up) => block != from.block || place < from,
                _ => true,
            };
            let mut found = self.place_with(needle, block, direction, (&is_beyond, theme));
            if found.is_none() && (step > 0 || block != from.block) {
                // It may be in what is closed.
                self.open(block);
                found = self.place_with(needle, block, direction, (&is_beyond, theme));
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The first row of a block in which `needle` begins, among those that are wanted. Parts whose
    /// text does not contain it are not laid out.
    fn place_with(
        &mut self,
        needle: &str,
        block: usize,
        direction: Direction,
        (is_wanted, theme): (&dyn Fn(Place) -> bool, &Theme),
    ) -> Option<Place> {
        let count = self.parts(block, theme);
        for step in 0..count {
            let part = if direction == Direction::Down { step } else { count - 1 - step };
            let last = Place { block, part, row: usize::MAX };
            let is_near = is_wanted(last) || is_wanted(Place { row: 0, ..last });
            if !is_near || !self.blocks[block].may_contain_at(part, needle) {
                continue;
            }
            let height = self.height(block, part, theme);
            if part + 1 < count {
                // It may end in the next one.
                self.height(block, part + 1, theme);
            }
            let it = &self.blocks[block];
            let place = |row: usize| Place { block, part, row };
            let has = |row: &usize| is_wanted(place(*row)) && begins_in(it, place(*row), needle);
            let mut rows = 0..height;
            let found = match direction {
                Direction::Down => rows.find(has),
                Direction::Up => rows.rev().find(has),
            };
            if let Some(row) = found {
                return Some(place(row));
            }
        }
        None
    }
}

/// How many times `needle` is in a block before one of its rows, and in all of it.
fn matches_at(block: &Block, needle: &str, place: Place) -> (usize, usize) {
    let in_row = |place: Place| {
        let text = block.row(place).map_or_else(String::new, |it| it.line.to_string());
        let begins = usize::from(begins_in(block, place, needle));
        occurrences(&text, needle).max(begins)
    };
    let (mut before, mut all) = (0, 0);
    for part in 0..block.parts() {
        let text = block.text_at(part, needle).filter(|_| part != place.part);
        let count = |rows: std::ops::Range<usize>| -> usize {
            rows.map(|row| in_row(Place { part, row, ..place })).sum()
        };
        let above = if part < place.part { usize::MAX } else { place.row };
        let height = block.height(part);
        let inner = block.inner_at(part).filter(|_| !block.is_laid_out_at(part));
        let (above, below) = match text {
            None if inner.is_some() => {
                let count = inner.map_or(0, |inner| seen(inner, needle));
                if part < place.part { (count, 0) } else { (0, count) }
            }
            Some(text) if part < place.part => (occurrences(text, needle), 0),
            Some(text) => (0, occurrences(text, needle)),
            None if part > place.part => (0, count(0..height)),
            None => (count(0..height.min(above)), count(height.min(above)..height)),
        };
        before += above;
        all += above + below;
    }
    (before, all)
}

/// How many times a text is in the conversation that a block holds.
fn within(block: &Block, needle: &str) -> usize {
    let inner = block.inner().into_iter().flat_map(|inner| &inner.blocks);
    inner.map(|inner| seen(inner, needle)).sum()
}

/// How many times a text is in what is seen of a block of such a conversation, which is closed.
pub(super) fn seen(block: &Block, needle: &str) -> usize {
    /// So that few lines are broken.
    const WIDTH: usize = 1000;
    if !block.may_contain(needle) {
        return 0;
    }
    let rows = block.rows_alone(WIDTH, &Theme::unstyled());
    rows.iter().map(|row| occurrences(&row.line.to_string(), needle)).sum()
}

/// How many times a text is in another, in any case.
fn occurrences(text: &str, needle: &str) -> usize {
    text.to_lowercase().matches(needle).count()
}

/// The rows after one, with those of the next part.
fn below(block: &Block, place: Place) -> impl Iterator<Item = &Row> {
    let rows = move |part: usize, first: usize| {
        (first..).map_while(move |row| block.row(Place { part, row, ..place }))
    };
    let next = (place.part + 1 < block.parts()).then(|| rows(place.part + 1, 0));
    rows(place.part, place.row + 1).chain(next.into_iter().flatten())
}

/// Whether a text begins in a row, be it that it goes on in the next ones.
fn begins_in(block: &Block, place: Place, needle: &str) -> bool {
    const ROWS: usize = 3;
    let Some(first) = block.row(place) else { return false };
    let mut text = first.line.to_string();
    if contains(&text, needle) {
        return true;
    }
    let own = text.len();
    for next in below(block, place).take(ROWS) {
        match next.joint {
            Joint::Space => text.push(' '),
            Joint::Tight => {}
            Joint::Line | Joint::Decoration => break,
        }
        text.push_str(skip_columns(&next.line.to_string(), usize::from(next.lead)));
    }
    // What is below alone begins there.
    text.len() > own && contains(&text, needle) && !contains(&text[own..], needle)
}
