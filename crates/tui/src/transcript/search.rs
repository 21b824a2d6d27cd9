//! Finding words in the conversation. Only blocks whose text contains them are laid out.

use super::block::{Block, contains};
use super::{Place, Transcript};
use crate::text::{Joint, Row, skip_columns};
use crate::theme::Theme;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Down,
}

impl Transcript {
    /// The number of the match that begins in a row, counted from 1, and the number of all matches.
    pub(crate) fn matches(&self, needle: &str, place: Place) -> (usize, usize) {
        let count = |block: &Block| {
            let text = block.may_contain(needle).then(|| block.text());
            text.map_or(0, |text| occurrences(&text, needle) + within(block, needle))
        };
        let counts: Vec<usize> = self.blocks.iter().map(count).collect();
        let above: usize = counts.iter().take(place.block).sum();
        let own = self.blocks.get(place.block).map_or(0, |it| matches_before(it, needle, place));
        let number = above + own + 1;
        (number, counts.into_iter().sum::<usize>().max(number))
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

/// How many times `needle` is in a block before one of its rows.
fn matches_before(block: &Block, needle: &str, place: Place) -> usize {
    let in_rows = |part: usize, rows: std::ops::Range<usize>| -> usize {
        let in_row = |row: usize| {
            let place = Place { part, row, ..place };
            let text = block.row(place).map_or_else(String::new, |it| it.line.to_string());
            occurrences(&text, needle).max(usize::from(begins_in(block, place, needle)))
        };
        rows.map(in_row).sum()
    };
    let in_part = |part: usize| {
        let inner = block.inner_at(part).filter(|_| !block.is_laid_out_at(part));
        match (block.text_at(part, needle), inner) {
            (Some(text), _) => occurrences(text, needle),
            (None, Some(inner)) => visible_matches(inner, needle),
            (None, None) => in_rows(part, 0..block.height(part)),
        }
    };
    (0..place.part).map(in_part).sum::<usize>() + in_rows(place.part, 0..place.row)
}

/// How many times a text is in the conversation that a block holds.
fn within(block: &Block, needle: &str) -> usize {
    let inner = block.inner().into_iter().flat_map(|inner| &inner.blocks);
    inner.map(|inner| visible_matches(inner, needle)).sum()
}

/// How many times a text is in what is seen of a block of such a conversation, which is closed.
pub(super) fn visible_matches(block: &Block, needle: &str) -> usize {
    /// So that few lines are broken.
    const WIDTH: usize = 1000;
    if !block.may_contain(needle) {
        return 0;
    }
    let rows = block.rows_alone(WIDTH, &Theme::unstyled());
    rows.iter().map(|row| occurrences(&row.line.to_string(), needle)).sum()
}

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

/// Returns true if a text begins in a row, even if it continues in the next ones.
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
