//! Markdown as it arrives: what more text cannot change is laid out once, the rest is laid
//! out again with each look. A reply of any length costs the same per frame.

mod page;
mod paragraph;
mod parts;
mod table;
#[cfg(test)]
mod tests;

use crate::highlight::Highlighter;
use crate::text::{Joint, Leads, Piece, Row, fold};
use crate::theme::{Role, Theme};

use parts::{OpenBlock, PART_BYTES, Scan};

/// A list or a paragraph that is longer than this is split while it grows.
const SPLIT_BYTES: usize = 2048;

/// A draft that is longer than this is made anew only when it has grown by a part of it.
const MAX_DRAFT_BYTES: usize = 16 * 1024;

/// Markdown with the rows it comes to. The text must be clean.
#[derive(Default)]
pub(crate) struct Markdown {
    text: String,
    /// Nothing more will come.
    is_complete: bool,
    /// The width and the theme's edition of the rows.
    made_for: Option<(usize, u64)>,
    /// Bytes of the text that the settled rows show.
    done: usize,
    fence: Option<Fence>,
    /// How the next row follows the list or the paragraph above it, where it goes on with that.
    goes_on: Option<Joint>,
    settled: Vec<Row>,
    draft: Vec<Row>,
    is_stale: bool,
    /// Bytes of the text when the draft was made.
    drafted: usize,
    /// Rows that were taken out; they stand above all others.
    given: usize,
    /// Parts of the same text before it.
    part: usize,
    /// The block that it begins in the middle of.
    begun: Option<OpenBlock>,
    scan: Scan,
}

impl Markdown {
    /// A whole text.
    pub(crate) fn complete(text: String) -> Self {
        Self { text, is_complete: true, is_stale: true, ..Self::default() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_continued(&self) -> bool {
        self.part > 0
    }

    /// Returns true if its rows are those of an earlier text.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale
    }

    pub(crate) fn begins_within(&self) -> bool {
        self.begun.is_some()
    }

    /// A copy of the text of which nothing is laid out yet.
    pub(crate) fn alone(&self) -> Self {
        Self { begun: self.begun.clone(), ..Self::complete(self.text.clone()) }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.is_stale = true;
    }

    /// Takes more text, and gives away what goes beyond the length of a part: the parts after this
    /// one, the last of which takes what follows.
    pub(crate) fn extend(&mut self, text: &str) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        let mut rest = text;
        // Little by little, or the end of a long text would be moved for each part.
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(PART_BYTES));
            rest = after;
            parts.last_mut().unwrap_or(&mut *self).push(piece);
            while let Some(next) = parts.last_mut().unwrap_or(&mut *self).split() {
                parts.push(next);
            }
        }
        parts
    }

    /// Gives away what goes beyond the length of a part, as a text of its own.
    fn split(&mut self) -> Option<Self> {
        let cut = self.scan.end_of_part(&self.text)?;
        let text = self.text.split_off(cut.at);
        let scan = std::mem::take(&mut self.scan);
        let mut begun = cut.begun;
        if let Some(fence) = begun.as_mut().and_then(|begun| begun.fence.as_mut()) {
            // An open construct in the code, such as a comment, continues in the next part.
            let blank = Theme::unstyled();
            for line in self.text[scan.code_at..].lines() {
                fence.highlighter.highlighter.line(line, &blank);
            }
        }
        self.drafted = 0;
        let is_complete = std::mem::replace(&mut self.is_complete, true);
        // Rows that were made stay, or the next frame would lay out the whole part again.
        if self.done > cut.at {
            self.forget();
        }
        self.is_stale = true;
        let part = self.part + 1;
        let scan = Scan::within(begun.as_ref());
        Some(Self { text, is_complete, is_stale: true, part, begun, scan, ..Self::default() })
    }

    /// Has the next layout show everything, since nothing came for a while.
    pub(crate) fn catch_up(&mut self) {
        self.drafted = 0;
    }

    /// Takes note that nothing more will come.
    pub(crate) fn finish(&mut self) {
        self.is_complete = true;
        self.is_stale = true;
    }

    /// Lays out what has come; `edition` tells one theme from another.
    pub(crate) fn lay_out(&mut self, width: usize, edition: u64, theme: &Theme) {
        if self.made_for != Some((width, edition)) {
            self.made_for = Some((width, edition));
            self.settled.clear();
            self.done = 0;
            self.fence = self.begun.as_ref().and_then(|begun| begun.fence.clone());
            let begun = self.begun.as_ref().filter(|_| self.fence.is_none());
            self.goes_on = begun.map(|begun| begun.joint);
            (self.is_stale, self.drafted) = (true, 0);
        }
        // What is long and may still change as a whole, such as a table, is not laid out anew for
        // every few letters.
        let (tail, fresh) =
            (self.text.len() - self.done, self.text.len().saturating_sub(self.drafted));
        let can_wait = !self.is_complete && tail > MAX_DRAFT_BYTES && fresh < tail / 8;
        if !self.is_stale || (can_wait && self.drafted > 0) {
            return;
        }
        self.is_stale = false;
        self.drafted = self.text.len();
        while self.settle_one(width, theme) {}
        let mut draft = self.rest(width, theme);
        if self.is_complete {
            self.settled.append(&mut draft);
            self.done = self.text.len();
            self.fence = None;
        }
        self.draft = draft;
        let first = self.settled.first_mut().or(self.draft.first_mut());
        if let (Some(row), Some(begun)) = (first, &self.begun) {
            row.follow(begun.joint);
        }
    }

    /// The rows of blocks that begin where the settled ones end.
    fn page(&self, text: &str, width: usize, theme: &Theme) -> Vec<Row> {
        let head = self.begun.as_ref().and_then(|begun| begun.head.as_deref());
        let Some(head) = head.filter(|_| self.done == 0) else {
            return page::render(text, width, theme);
        };
        // The head of a table stands above its first part.
        let mut rows = page::render(&format!("{head}{text}"), width, theme);
        let is_rule = |row: &Row| row.joint == Joint::Decoration && !row.line.spans.is_empty();
        let above = rows.iter().position(is_rule).map_or(0, |at| at + 1);
        rows.drain(..above);
        rows
    }

    /// The rows of what may still change.
    fn rest(&self, width: usize, theme: &Theme) -> Vec<Row> {
        let mut draft = Vec::new();
        let rest = &self.text[self.done..];
        match &self.fence {
            Some(fence) if fence.may_become_end(rest) => {}
            Some(fence) => {
                let line = rest.trim_end_matches('\n');
                draft.extend(fence.highlighter.clone().rows(line, width, theme));
            }
            None => {
                let mut rows = self.page(rest, width, theme);
                match (rows.first_mut(), self.goes_on) {
                    (Some(first), Some(joint)) => first.follow(joint),
                    (Some(_), None) if self.is_below() => draft.push(Row::gap()),
                    _ => {}
                }
                draft.extend(rows);
            }
        }
        draft
    }

    /// Takes out the rows that more text cannot change: all of them once it is complete.
    pub(crate) fn take_settled(&mut self, width: usize, theme: &Theme) -> Vec<Row> {
        while self.settle_one(width, theme) {}
        if self.is_complete {
            let mut rest = self.rest(width, theme);
            self.settled.append(&mut rest);
            self.done = self.text.len();
        }
        self.text.drain(..self.done);
        self.done = 0;
        self.given += self.settled.len();
        std::mem::take(&mut self.settled)
    }

    /// The rows of the rest, after those that were taken out.
    pub(crate) fn draft(&mut self, width: usize, theme: &Theme) -> &[Row] {
        self.draft = self.rest(width, theme);
        &self.draft
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.given > 0
    }

    fn is_below(&self) -> bool {
        self.has_begun() || !self.settled.is_empty() || self.begun.is_some()
    }

    pub(crate) fn height(&self) -> usize {
        self.settled.len() + self.draft.len()
    }

    pub(crate) fn row(&self, at: usize) -> Option<&Row> {
        self.settled.get(at).or_else(|| self.draft.get(at.checked_sub(self.settled.len())?))
    }

    /// Forgets the rows; they are made again when they are needed.
    pub(crate) fn forget(&mut self) {
        self.made_for = None;
        self.settled = Vec::new();
        self.draft = Vec::new();
    }

    /// Leaves a row free below what is there.
    fn gap(&mut self) {
        if self.is_below() {
            self.settled.push(Row::gap());
        }
    }

    /// Lays out the beginning of the rest if it is final. Says whether it was.
    fn settle_one(&mut self, width: usize, theme: &Theme) -> bool {
        let rest = &self.text[self.done..];
        let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let line = &rest[..length];
        if !line.ends_with('\n') && (self.fence.is_some() || Fence::begun_by(line).is_some()) {
            return false;
        }
        if let Some(fence) = &mut self.fence {
            if fence.is_ended_by(line) {
                self.fence = None;
            } else {
                let line = line.trim_end_matches('\n');
                self.settled.extend(fence.highlighter.rows(line, width, theme));
            }
            self.done += length;
            return true;
        }
        if let Some((fence, language)) = Fence::begun_by(line)
            && fence.indent == 0
        {
            let head = page::code_head(language, &[], theme);
            self.gap();
            self.settled.extend(head);
            self.goes_on = None;
            self.fence = Some(fence);
            self.done += length;
            return true;
        }
        let whole = |length: usize| (length, self.page(&rest[..length], width, theme));
        let (goes_on, found) = match end_of_block(rest) {
            Some(length) => (None, Some(whole(length))),
            // Nothing follows: what is left is laid out at once.
            None if self.is_complete => return false,
            None => match end_of_item(rest) {
                Some(length) => (Some(Joint::Line), Some(whole(length))),
                None => (Some(Joint::Space), paragraph::whole_rows(rest, width, theme)),
            },
        };
        let Some((length, mut rows)) = found else { return false };
        match (rows.first_mut(), self.goes_on) {
            (Some(first), Some(joint)) => first.follow(joint),
            (Some(_), None) => self.gap(),
            (None, _) => {}
        }
        self.settled.append(&mut rows);
        self.goes_on = goes_on;
        self.done += length;
        true
    }
}

/// Where the first block of `text` ends, if more text cannot belong to it.
fn end_of_block(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut gap = None;
    let mut fence: Option<Fence> = None;
    for line in text.split_inclusive('\n') {
        let is_complete = line.ends_with('\n');
        if let Some(open) = &fence {
            if is_complete && open.is_ended_by(line) {
                fence = None;
            }
        } else if line.trim().is_empty() {
            gap = is_complete.then_some(at + line.len()).or(gap);
        } else {
            // An indented line may belong to the list above the gap.
            let is_indented = line.starts_with("  ") || line.starts_with('\t');
            if let Some(end) = gap.take()
                && !is_indented
                && !goes_on(text, line, is_complete)
            {
                return Some(end);
            }
            if is_complete && let Some((begun, _)) = Fence::begun_by(line) {
                if begun.indent == 0 {
                    return Some(at).filter(|at| *at > 0);
                }
                fence = Some(begun);
            }
        }
        at += line.len();
    }
    None
}

/// Returns true if a line after a gap may be the next item of the list that `text` begins with.
fn goes_on(text: &str, line: &str, is_complete: bool) -> bool {
    is_item(text) && (is_item(line) || (!is_complete && line.trim().len() < 4))
}

/// Where an item in the middle of a long list ends.
fn end_of_item(text: &str) -> Option<usize> {
    if text.len() < SPLIT_BYTES || !is_item(text) || text.contains("```") || text.contains("~~~") {
        return None;
    }
    let mut at = 0;
    let mut last = None;
    for line in text.split_inclusive('\n') {
        if at > 0 && is_item(line) && line.ends_with('\n') {
            last = Some(at);
        }
        at += line.len();
    }
    last
}

/// Returns true if a line begins an item of an outermost list.
fn is_item(line: &str) -> bool {
    let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered =
        after.len() < line.len() && (after.starts_with(". ") || after.starts_with(") "));
    is_numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

/// The line that begins a block of code, and what ends it.
#[derive(Clone)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    highlighter: CodeRows,
}

impl Fence {
    /// The fence that a line begins, with the language it names.
    fn begun_by(line: &str) -> Option<(Self, &str)> {
        let text = line.trim_start_matches(' ');
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let language = text.trim_start_matches(mark);
        let length = text.len() - language.len();
        let is_code_in_text = mark == '`' && language.contains('`');
        let indent = line.len() - text.len();
        let language = language.trim();
        let highlighter = CodeRows::new(language, Vec::new());
        let fence = Self { mark, length, indent, highlighter };
        (length >= 3 && !is_code_in_text).then_some((fence, language))
    }

    fn is_ended_by(&self, line: &str) -> bool {
        line.trim().len() >= self.length && self.may_become_end(line)
    }

    /// Returns true if a line is made of the fence's mark alone, as far as it has come.
    fn may_become_end(&self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        line.len() - text.len() <= self.indent + 3
            && text.trim_end().chars().all(|c| c == self.mark)
    }
}

/// Lines of code behind a bar.
#[derive(Clone)]
struct CodeRows {
    highlighter: Highlighter,
    lead: Vec<Piece>,
}

impl CodeRows {
    fn new(language: &str, lead: Vec<Piece>) -> Self {
        Self { highlighter: Highlighter::new(language), lead }
    }

    fn rows(&mut self, line: &str, width: usize, theme: &Theme) -> Vec<Row> {
        let mut lead = self.lead.clone();
        lead.push((theme.style(Role::Border), "│ ".to_owned()));
        fold(&self.highlighter.line(line, theme), width, &Leads::same(lead))
    }
}
