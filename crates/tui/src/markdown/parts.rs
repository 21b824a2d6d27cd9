//! Where a long text is split, so that each part can be laid out by itself: between blocks where it
//! can, and in the middle of one that goes on and on.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::{Fence, is_item};
use crate::text::Joint;

/// A text that is longer than this is split at the next paragraph or line of code.
pub(super) const PART_BYTES: usize = 32 * 1024;

/// No part is longer: one that has come so far without such a place ends in the middle of its block.
pub(super) const MAX_PART_BYTES: usize = 2 * PART_BYTES;

/// The end of a part.
pub(super) struct Cut {
    pub(super) at: usize,
    /// The block that the next part continues; none if it begins with its own.
    pub(super) begun: Option<OpenBlock>,
}

/// A block that the part before has begun.
#[derive(Clone)]
pub(super) struct OpenBlock {
    pub(super) fence: Option<Fence>,
    pub(super) head: Option<Arc<str>>,
    /// How the first row follows the last one of the part before.
    pub(super) joint: Joint,
}

/// How far a text was gone through for a place to split it.
#[derive(Default)]
pub(super) struct Scan {
    done: usize,
    /// Up to where no line ends beyond that.
    seen: usize,
    fence: Option<Fence>,
    /// Where the lines of that code begin.
    pub(super) code_at: usize,
    is_after_gap: bool,
    /// Where the line before begins.
    before: usize,
    /// The head of the table that goes on.
    head: Option<Arc<str>>,
    /// The last line at which the middle of a block can be parted.
    middle: Option<(usize, OpenBlock)>,
}

impl Scan {
    /// One for a part that goes on with something.
    pub(super) fn within(begun: Option<&OpenBlock>) -> Self {
        Self {
            fence: begun.and_then(|it| it.fence.clone()),
            head: begun.and_then(|it| it.head.clone()),
            ..Self::default()
        }
    }

    /// Where a part of a text ends, if it is long enough: before a block that follows a gap, or
    /// before a line of code; at last wherever it must.
    pub(super) fn end_of_part(&mut self, text: &str) -> Option<Cut> {
        loop {
            let from = self.seen.max(self.done);
            let end = text[from..].find('\n').map(|at| from + at + 1);
            if end.unwrap_or(text.len()) > MAX_PART_BYTES {
                return Some(self.in_the_middle(text));
            }
            let Some(end) = end else { break };
            let line = &text[self.done..end];
            let is_gap = line.trim().is_empty();
            match &self.fence {
                Some(fence) => {
                    if fence.is_ended_by(line) {
                        self.fence = None;
                    } else if self.done >= PART_BYTES && fence.indent == 0 {
                        return Some(self.in_code(self.done, Joint::Line));
                    }
                }
                None if self.is_after_gap && !is_gap && self.done >= PART_BYTES && is_own(line) => {
                    return Some(Cut { at: self.done, begun: None });
                }
                None => {
                    self.fence = Fence::begun_by(line).map(|(fence, _)| fence);
                    self.code_at = end;
                    self.note_line(text, line, is_gap);
                }
            }
            self.is_after_gap = is_gap && self.fence.is_none();
            self.before = self.done;
            self.done = end;
        }
        self.seen = text.len();
        None
    }

    /// Takes note of a line outside of code.
    fn note_line(&mut self, text: &str, line: &str, is_gap: bool) {
        if is_gap || self.fence.is_some() {
            self.head = None;
            return;
        }
        let before = &text[self.before..self.done];
        if is_below_head(line) && before.contains('|') {
            self.head = Some(text[self.before..self.done + line.len()].into());
        } else if self.done >= PART_BYTES && !line.starts_with([' ', '\t']) {
            let is_broken = ["  \n", "\\\n"].iter().any(|end| before.ends_with(end));
            let is_line = is_broken || self.head.is_some() || is_item(line);
            let joint = if is_line { Joint::Line } else { Joint::Space };
            let begun = OpenBlock { fence: None, head: self.head.clone(), joint };
            self.middle = Some((self.done, begun));
        }
    }

    /// The end of a part that may not become longer: before a line, after a sentence or a word,
    /// or between two letters.
    fn in_the_middle(&mut self, text: &str) -> Cut {
        if let Some((at, begun)) = self.middle.take() {
            return Cut { at, begun: Some(begun) };
        }
        if self.done >= PART_BYTES {
            return self.in_code(self.done, Joint::Line);
        }
        let from = text.floor_char_boundary(PART_BYTES);
        let window = contract::text::head(&text[from..], MAX_PART_BYTES - PART_BYTES);
        let blank = window.rfind(". ").map(|at| at + 2).or_else(|| Some(window.rfind(' ')? + 1));
        if let Some(at) = blank.filter(|_| self.fence.is_none()) {
            return self.in_code(from + at, Joint::Space);
        }
        let last = window.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
        self.in_code(from + if last > 0 { last } else { window.len() }, Joint::Tight)
    }

    /// An end in the middle of the block of code that goes on, if one does.
    fn in_code(&self, at: usize, joint: Joint) -> Cut {
        let head = self.head.clone();
        Cut { at, begun: Some(OpenBlock { fence: self.fence.clone(), head, joint }) }
    }
}

/// Returns true if a line after a gap is not a part of the list above it.
fn is_own(line: &str) -> bool {
    !line.starts_with([' ', '\t']) && !is_item(line)
}

/// Returns true if a line stands between the head of a table and its rows.
fn is_below_head(line: &str) -> bool {
    line.contains('-') && line.trim().chars().all(|c| "|-: ".contains(c))
}
