//! Finding words in the conversation. Only blocks whose text contains them are laid out.

use super::block::contains;
use super::{Place, Transcript};
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
    /// How many blocks contain `needle`, and the number of one of them.
    pub(crate) fn matches(&self, needle: &str, block: usize) -> (usize, usize) {
        let mut number = 0;
        let mut count = 0;
        for (at, it) in self.blocks.iter().enumerate() {
            if it.may_contain(needle) {
                count += 1;
                number += usize::from(at <= block);
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
            let height = self.height(block, theme);
            let has = |row: &usize| {
                let row = self.blocks[block].row(*row);
                row.is_some_and(|row| contains(&row.line.to_string(), needle))
            };
            // The block that it starts in comes twice: first what is beyond, at last the rest.
            let is_beyond = |row: &usize| match (step, direction) {
                (0, Direction::Down) => block != from.block || *row > from.row,
                (0, Direction::Up) => block != from.block || *row < from.row,
                _ => true,
            };
            let mut rows = 1..height;
            let found = match direction {
                Direction::Down => rows.find(|row| is_beyond(row) && has(row)),
                Direction::Up => rows.rev().find(|row| is_beyond(row) && has(row)),
            };
            if let Some(row) = found {
                return Some(Place { block, row });
            }
        }
        None
    }
}
