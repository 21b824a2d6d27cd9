//! Finding words in the conversation. Only blocks whose text contains them are laid out.

use super::block::{Block, contains};
use super::{Place, Transcript};
use crate::text::{Joint, skip_columns};
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
                let in_row = |row: usize| {
                    let text = block.row(row).map_or_else(String::new, |it| it.line.to_string());
                    let begins = usize::from(begins_in(block, row, needle));
                    occurrences(&text, needle).max(begins)
                };
                let before: usize = (0..place.row).map(in_row).sum();
                number = count + before + 1;
                count += before + (place.row..block.height()).map(in_row).sum::<usize>();
            } else if block.may_contain(needle) {
                count += occurrences(&block.text(), needle);
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
            let is_beyond = |row: usize| match (step, direction) {
                (0, Direction::Down) => block != from.block || row > from.row,
                (0, Direction::Up) => block != from.block || row < from.row,
                _ => true,
            };
            let mut found = self.row_with(needle, block, direction, (&is_beyond, theme));
            if found.is_none() && (step > 0 || block != from.block) {
                // It may be in what is closed.
                self.open(block);
                found = self.row_with(needle, block, direction, (&is_beyond, theme));
            }
            if let Some(row) = found {
                return Some(Place { block, row });
            }
        }
        None
    }

    /// The first row of a block in which `needle` begins, among those that are wanted.
    fn row_with(
        &mut self,
        needle: &str,
        block: usize,
        direction: Direction,
        (is_wanted, theme): (&dyn Fn(usize) -> bool, &Theme),
    ) -> Option<usize> {
        let height = self.height(block, theme);
        let block = &self.blocks[block];
        let has = |row: &usize| is_wanted(*row) && begins_in(block, *row, needle);
        let mut rows = 0..height;
        match direction {
            Direction::Down => rows.find(has),
            Direction::Up => rows.rev().find(has),
        }
    }
}

/// How many times a text is in another, in any case.
fn occurrences(text: &str, needle: &str) -> usize {
    text.to_lowercase().matches(needle).count()
}

/// Whether a text begins in a row, be it that it goes on in the next ones.
fn begins_in(block: &Block, row: usize, needle: &str) -> bool {
    const ROWS: usize = 3;
    let Some(first) = block.row(row) else { return false };
    let mut text = first.line.to_string();
    if contains(&text, needle) {
        return true;
    }
    let own = text.len();
    for next in (row + 1..=row + ROWS).map_while(|next| block.row(next)) {
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
