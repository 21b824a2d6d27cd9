//! The parts of a block, laid out one by one when they are looked at: what opens a result of megabytes
//! costs what its rows in view do.

use std::ops::RangeInclusive;

use crate::diff::Span;
use crate::slice::Slice;
use crate::text::Row;

/// Parts that stay laid out beside those on the screen.
const NEARBY_PARTS: usize = 8;

/// The content of one part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// The line that says what it is.
    Head,
    Arguments(Slice),
    /// The actions of a call, and the origin of the decision.
    Decision,
    /// A block of the conversation that a call holds.
    Inner(usize),
    /// Output of a call that runs.
    Progress,
    /// Lines of its text.
    Text(Slice),
    /// The description of a change of a file.
    Description(usize),
    /// Lines of the changes of a file.
    Change(usize, Span),
}

impl Part {
    fn len(self) -> usize {
        match self {
            Self::Arguments(slice) | Self::Text(slice) => slice.len(),
            Self::Change(_, span) => span.slice.len(),
            Self::Whole
            | Self::Head
            | Self::Decision
            | Self::Inner(_)
            | Self::Progress
            | Self::Description(_) => 1,
        }
    }
}

/// The parts of a block, with the rows of those that were looked at.
#[derive(Default)]
pub(super) struct Parts(Vec<(Part, Option<Vec<Row>>)>);

impl Parts {
    /// Parts of which nothing is laid out.
    pub(super) fn new(parts: Vec<Part>) -> Self {
        Self(parts.into_iter().map(|part| (part, None)).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn part(&self, at: usize) -> Option<Part> {
        self.0.get(at).map(|(part, _)| *part)
    }

    pub(super) fn rows(&self, at: usize) -> Option<&[Row]> {
        self.0.get(at)?.1.as_deref()
    }

    pub(super) fn set(&mut self, at: usize, rows: Vec<Row>) {
        if let Some((_, place)) = self.0.get_mut(at) {
            *place = Some(rows);
        }
    }

    pub(super) fn forget(&mut self, at: usize) {
        if let Some((_, rows)) = self.0.get_mut(at) {
            *rows = None;
        }
    }

    /// Forgets the rows of parts that are far from some.
    pub(super) fn keep(&mut self, near: &RangeInclusive<usize>) {
        let first = near.start().saturating_sub(NEARBY_PARTS);
        let last = near.end().saturating_add(NEARBY_PARTS);
        for (at, (_, rows)) in self.0.iter_mut().enumerate() {
            if at < first || at > last {
                *rows = None;
            }
        }
    }

    /// How many parts are laid out.
    #[cfg(test)]
    pub(super) fn laid_out(&self) -> usize {
        self.0.iter().filter(|(_, rows)| rows.is_some()).count()
    }

    /// Rows of the parts before one, about: what is not laid out has as many as others of its length.
    pub(super) fn rows_before(&self, at: usize) -> usize {
        let (mut rows, mut bytes) = (1, 1);
        for (part, laid) in &self.0 {
            if let Some(laid) = laid {
                rows += laid.len();
                bytes += part.len();
            }
        }
        let about = |(part, laid): &(Part, Option<Vec<Row>>)| match laid {
            Some(laid) => laid.len(),
            None => (part.len() * rows).div_ceil(bytes),
        };
        self.0.iter().take(at).map(about).sum()
    }
}
