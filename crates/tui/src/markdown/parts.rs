//! Where a long text is told apart, so that each part can be laid out by itself: between blocks where it
//! can, and in the middle of one that goes on and on.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::{Fence, is_item};
use crate::text::Joint;

/// A text that is longer than this is told apart at the next paragraph or line of code.
pub(super) const PART: usize = 32 * 1024;

/// No part is longer: one that has come so far without such a place ends in the middle of its block.
pub(super) const LONGEST_PART: usize = 2 * PART;

/// The end of a part.
pub(super) struct Cut {
    pub(super) at: usize,
    /// What the next part goes on with; none where it begins with a block of its own.
    pub(super) begun: Option<Begun>,
}

/// What the part before has begun.
#[derive(Clone)]
pub(super) struct Begun {
    /// A block of code.
    pub(super) fence: Option<Fence>,
    /// A table, by its head.
    pub(super) head: Option<Arc<str>>,
    /// How the first row follows the last one of the part before.
    pub(super) joint: Joint,
}

/// How far a text was gone through for a place to tell it apart.
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
    middle: Option<(usize, Begun)>,
}

impl Scan {
    /// One for a part that goes on with something.
    pub(super) fn within(begun: Option<&Begun>) -> Self {
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
            if end.unwrap_or(text.len()) > LONGEST_PART {
                return Some(self.in_the_middle(text));
            }
            let Some(end) = end else { break };
            let line = &text[self.done..end];
            let is_gap = line.trim().is_empty();
            match &self.fence {
                Some(fence) => {
                    if fence.is_ended_by(line) {
                        self.fence = None;
                    } else if self.done >= PART && fence.indent == 0 {
                        return Some(self.in_code(self.done, Joint::Line));
                    }
                }
                None if self.is_after_gap && !is_gap && self.done >= PART && is_own(line) => {
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
        } else if self.done >= PART && !line.starts_with([' ', '\t']) {
            let is_broken = ["  \n", "\\\n"].iter().any(|end| before.ends_with(end));
            let is_line = is_broken || self.head.is_some() || is_item(line);
            let joint = if is_line { Joint::Line } else { Joint::Space };
            let begun = Begun { fence: None, head: self.head.clone(), joint };
            self.middle = Some((self.done, begun));
        }
    }

    /// The end of a part that may not become longer: before a line, after a sentence or a word,
    /// or between two letters.
    fn in_the_middle(&mut self, text: &str) -> Cut {
        if let Some((at, begun)) = self.middle.take() {
            return Cut { at, begun: Some(begun) };
        }
        if self.done >= PART {
            return self.in_code(self.done, Joint::Line);
        }
        let from = text.floor_char_boundary(PART);
        let window = contract::text::head(&text[from..], LONGEST_PART - PART);
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
        Cut { at, begun: Some(Begun { fence: self.fence.clone(), head, joint }) }
    }
}

/// Whether a line after a gap is no part of the list above it.
fn is_own(line: &str) -> bool {
    !line.starts_with([' ', '\t']) && !is_item(line)
}

/// Whether a line stands between the head of a table and its rows.
fn is_below_head(line: &str) -> bool {
    line.contains('-') && line.trim().chars().all(|c| "|-: ".contains(c))
}
