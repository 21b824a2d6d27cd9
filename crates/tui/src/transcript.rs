//! The conversation as blocks: a fold over events. Folding stores clean text and lays nothing out;
//! blocks are laid out when they are looked at, and forgotten when they are far away, so that a
//! frame costs the same however long the conversation is.

mod block;
mod changes;
mod fold;
mod output;
mod parts;
mod prompt;
mod search;
mod select;
mod tool;
mod view;

use std::collections::HashMap;

use contract::id::CallId;

use crate::picture::Pictures;
use crate::text::{Piece, Row, columns};
use crate::theme::Theme;

pub(crate) use block::{Block, Kind};
pub(crate) use search::Direction;
pub(crate) use select::{By, Selection};
pub(crate) use view::{Place, View};

/// Blocks that stay laid out beside those on the screen.
const NEARBY_BLOCKS: usize = 256;

#[derive(Default)]
pub(crate) struct Transcript {
    blocks: Vec<Block>,
    /// Where each call that has not ended stands.
    running: HashMap<CallId, usize>,
    /// Where the reply begins that is arriving.
    reply: Option<usize>,
    /// When the event happened that is being folded, in milliseconds.
    at: i64,
    /// Which tools come from where.
    sources: HashMap<String, String>,
    /// How things are laid out at present.
    shape: Shape,
    laid_out: Vec<usize>,
}

/// The parameters of a layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) width: usize,
    /// Counts changes of the theme.
    pub(crate) edition: u64,
    /// True if reasoning is open unless the user closes it.
    pub(crate) shows_thinking: bool,
    pub(crate) pictures: Pictures,
}

impl Transcript {
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn block(&self, at: usize) -> Option<&Block> {
        self.blocks.get(at)
    }

    pub(crate) fn block_mut(&mut self, at: usize) -> Option<&mut Block> {
        self.blocks.get_mut(at)
    }

    /// How many blocks are laid out.
    #[cfg(test)]
    pub(crate) fn laid_out(&self) -> usize {
        self.blocks.iter().filter(|block| block.is_laid_out()).count()
    }

    pub(crate) fn push(&mut self, kind: Kind) -> usize {
        let mut block = Block::new(kind);
        // A terminal tells few pictures apart; by then the others are far away.
        block.picture_id = u8::try_from(self.blocks.len() % 240 + 16).unwrap_or(16);
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// Begins again with nothing.
    pub(crate) fn clear(&mut self) {
        let sources = std::mem::take(&mut self.sources);
        *self = Self { sources, shape: self.shape, ..Self::default() };
    }

    pub(crate) fn set_sources(&mut self, sources: impl IntoIterator<Item = (String, String)>) {
        self.sources.extend(sources);
    }

    /// Takes another shape; nothing is laid out before it is looked at.
    pub(crate) fn set_shape(&mut self, shape: Shape) {
        self.shape = shape;
    }

    pub(crate) fn toggle(&mut self, at: usize) {
        let shape = self.shape;
        if let Some(block) = self.blocks.get_mut(at) {
            block.toggle(shape);
        }
    }

    pub(crate) fn is_open(&self, at: usize) -> bool {
        self.blocks.get(at).is_some_and(|block| block.is_open(self.shape))
    }

    fn open(&mut self, at: usize) {
        if !self.is_open(at) {
            self.toggle(at);
        }
    }

    pub(crate) fn last_foldable(&self) -> Option<usize> {
        self.blocks.iter().rposition(Block::can_fold)
    }

    /// The parts of a block, at least one; nothing of them is laid out for that.
    pub(crate) fn parts(&mut self, at: usize, theme: &Theme) -> usize {
        let shape = self.shape;
        let Some(block) = self.blocks.get_mut(at) else { return 1 };
        if !block.is_laid_out() {
            self.laid_out.push(at);
        }
        block.split_parts(shape, theme);
        block.parts()
    }

    /// Rows of a part of a block, laid out where they are not.
    pub(crate) fn height(&mut self, at: usize, part: usize, theme: &Theme) -> usize {
        self.parts(at, theme);
        let shape = self.shape;
        let Some(block) = self.blocks.get_mut(at) else { return 0 };
        block.lay_out(part, shape, theme);
        block.height(part)
    }

    fn is_gap(&self, place: Place) -> bool {
        self.blocks.get(place.block).is_some_and(|block| block.row(place).is_none())
    }

    /// The text of a block for a copy: of a long reply all parts.
    pub(crate) fn text_of(&self, at: usize) -> Option<String> {
        let goes_on = |at: usize| {
            let block = self.blocks.get(at);
            block.is_some_and(|it| matches!(&it.kind, Kind::Reply(it) if it.is_continued()))
        };
        let before = |at: usize| {
            let replies = (0..at).rev();
            replies.into_iter().find(|at| matches!(self.blocks[*at].kind, Kind::Reply(_)))
        };
        let mut first = at;
        while goes_on(first) {
            first = before(first)?;
        }
        let mut text = self.blocks.get(first)?.text();
        if matches!(self.blocks[first].kind, Kind::Reply(_)) {
            for at in first + 1..self.blocks.len() {
                match &self.blocks[at].kind {
                    Kind::Reply(part) if part.is_continued() => text.push_str(part.text()),
                    Kind::Reply(_) => break,
                    _ => {}
                }
            }
        }
        Some(text)
    }

    /// Rows above a row, about: blocks that are not laid out are guessed.
    fn rows_before(&self, place: Place) -> usize {
        let blocks = self.blocks.iter().take(place.block);
        let within = self.blocks.get(place.block).map_or(0, |block| block.rows_before(place.part));
        blocks.map(|block| block.rows_about(self.shape)).sum::<usize>() + within + place.row
    }

    pub(crate) fn task(&self, call: &CallId) -> Option<String> {
        match &self.blocks.get(*self.running.get(call)?)?.kind {
            Kind::Tool(tool) => Some(tool.task()).filter(|task| !task.is_empty()),
            _ => None,
        }
    }

    fn last_call(&self) -> Option<&str> {
        self.blocks.iter().rev().find_map(|block| match &block.kind {
            Kind::Tool(tool) => Some(tool.name.as_str()),
            _ => None,
        })
    }

    /// The rows of a block of a conversation that stands within another, behind `lead`.
    fn nested_rows(&self, at: usize, width: usize, theme: &Theme, lead: &[Piece]) -> Vec<Row> {
        let used: usize = lead.iter().map(|(_, text)| columns(text)).sum();
        let inner = width.saturating_sub(used).max(1);
        let rows = self.blocks.get(at).map_or_else(Vec::new, |it| it.rows_alone(inner, theme));
        let nested = |row: Row| {
            let pieces = row.line.spans.into_iter();
            let pieces = pieces.map(|span| (span.style, span.content.into_owned())).collect();
            let mut nested = Row::new(lead, pieces, row.joint);
            nested.lead += row.lead;
            nested.links = row.links;
            nested
        };
        rows.into_iter().map(nested).collect()
    }

    /// Forgets the rows that are far from those between `first` and `last`.
    fn forget(&mut self, first: Place, last: Place) {
        for at in [first.block, last.block] {
            if let Some(block) = self.blocks.get_mut(at) {
                let from = if at == first.block { first.part } else { 0 };
                let to = if at == last.block { last.part } else { usize::MAX };
                block.keep(&(from..=to));
            }
        }
        if self.laid_out.len() <= 2 * NEARBY_BLOCKS {
            return;
        }
        // A block that changes is laid out again and again.
        self.laid_out.sort_unstable();
        self.laid_out.dedup();
        let near = first.block.saturating_sub(NEARBY_BLOCKS / 2)
            ..=last.block.saturating_add(NEARBY_BLOCKS / 2);
        let (close, far): (Vec<usize>, Vec<usize>) =
            std::mem::take(&mut self.laid_out).into_iter().partition(|at| near.contains(at));
        for at in far {
            if let Some(block) = self.blocks.get_mut(at) {
                block.forget();
            }
        }
        self.laid_out = close;
    }
}
