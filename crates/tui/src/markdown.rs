//! Markdown as it arrives: what more text cannot change is laid out once and kept, the rest is laid
//! out again with each look. A reply of any length costs the same per frame.

mod page;
mod paragraph;
mod table;

use crate::highlight::Highlighter;
use crate::text::{Leads, Piece, Row, fold};
use crate::theme::{Role, Theme};

/// A list or a paragraph that is longer than this is split while it grows.
const LONG: usize = 2048;

/// A draft that is longer than this is made anew only when it has grown by a part of it.
const LONGEST_DRAFT: usize = 16 * 1024;

/// A text that is longer than this is told apart at the next paragraph, so that each part can be
/// laid out by itself.
const PART: usize = 32 * 1024;

/// Markdown with the rows it comes to. The text must be clean.
#[derive(Default)]
pub(crate) struct Markdown {
    text: String,
    /// Nothing more will come.
    is_complete: bool,
    /// What the rows were made for.
    made_for: Option<(usize, u64)>,
    /// Bytes of the text that the settled rows show.
    done: usize,
    fence: Option<Fence>,
    /// Whether the next rows go on with the list or the paragraph above them.
    is_going_on: bool,
    settled: Vec<Row>,
    draft: Vec<Row>,
    is_stale: bool,
    /// Bytes of the text when the draft was made.
    drafted: usize,
    /// Rows that were taken out; they stand above all others.
    given: usize,
    /// Parts of the same text before it.
    part: usize,
    scan: Scan,
}

/// How far a text was gone through for a place to tell it apart.
#[derive(Default)]
struct Scan {
    done: usize,
    fence: Option<Fence>,
    is_after_gap: bool,
}

impl Markdown {
    /// A whole text.
    pub(crate) fn complete(text: String) -> Self {
        Self { text, is_complete: true, is_stale: true, ..Self::default() }
    }

    /// All of the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it goes on with a text that was told apart.
    pub(crate) fn is_continued(&self) -> bool {
        self.part > 0
    }

    /// Takes more text.
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.is_stale = true;
    }

    /// Gives away what goes beyond the length of a part, as a text of its own.
    pub(crate) fn split(&mut self) -> Option<Self> {
        let at = self.scan.end_of_part(&self.text)?;
        let text = self.text.split_off(at);
        self.scan = Scan::default();
        self.drafted = 0;
        let is_complete = std::mem::replace(&mut self.is_complete, true);
        self.forget();
        self.is_stale = true;
        let part = self.part + 1;
        Some(Self { text, is_complete, is_stale: true, part, ..Self::default() })
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
            (self.done, self.fence, self.is_going_on) = (0, None, false);
            (self.is_stale, self.drafted) = (true, 0);
        }
        // What is long and may still change as a whole, such as a table, is not laid out anew for
        // every few letters.
        let (tail, fresh) =
            (self.text.len() - self.done, self.text.len().saturating_sub(self.drafted));
        let can_wait = !self.is_complete && tail > LONGEST_DRAFT && fresh < tail / 8;
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
                let rows = page::render(rest, width, theme);
                if !rows.is_empty() && !self.is_going_on && self.is_below() {
                    draft.push(Row::gap());
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

    /// Whether any rows were taken out.
    pub(crate) fn has_begun(&self) -> bool {
        self.given > 0
    }

    /// Whether something stands above the next row.
    fn is_below(&self) -> bool {
        self.has_begun() || !self.settled.is_empty()
    }

    /// Rows that it has come to.
    pub(crate) fn height(&self) -> usize {
        self.settled.len() + self.draft.len()
    }

    /// One of those rows.
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
            let head = page::code_head(language, theme);
            self.gap();
            self.settled.extend(head);
            self.is_going_on = false;
            self.fence = Some(fence);
            self.done += length;
            return true;
        }
        let (length, is_split) = match end_of_block(rest) {
            Some(length) => (length, false),
            None => {
                match end_of_item(rest).or_else(|| paragraph::end_of_rows(rest, width, theme)) {
                    Some(length) => (length, true),
                    None => return false,
                }
            }
        };
        let mut rows = page::render(&rest[..length], width, theme);
        if !rows.is_empty() && !self.is_going_on {
            self.gap();
        }
        self.settled.append(&mut rows);
        self.is_going_on = is_split;
        self.done += length;
        true
    }
}

impl Scan {
    /// Where a part of a text ends, if it is long enough: before a block that follows a gap.
    fn end_of_part(&mut self, text: &str) -> Option<usize> {
        while let Some(length) = text[self.done..].find('\n').map(|at| at + 1) {
            let line = &text[self.done..self.done + length];
            let is_gap = line.trim().is_empty();
            match &self.fence {
                Some(fence) => {
                    if fence.is_ended_by(line) {
                        self.fence = None;
                    }
                }
                None if self.is_after_gap && !is_gap && self.done >= PART => {
                    let is_own = !line.starts_with([' ', '\t']) && !is_item(line);
                    if is_own || self.done >= 4 * PART {
                        return Some(self.done);
                    }
                }
                None => self.fence = Fence::begun_by(line).map(|(fence, _)| fence),
            }
            self.is_after_gap = is_gap && self.fence.is_none();
            self.done += length;
        }
        None
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
            // What is indented may belong to the list above the gap.
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

/// Whether a line after a gap may be the next item of the list that `text` begins with.
fn goes_on(text: &str, line: &str, is_complete: bool) -> bool {
    is_item(text) && (is_item(line) || (!is_complete && line.trim().len() < 4))
}

/// Where an item in the middle of a long list ends.
fn end_of_item(text: &str) -> Option<usize> {
    if text.len() < LONG || !is_item(text) || text.contains("```") || text.contains("~~~") {
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

/// Whether a line begins an item of an outermost list.
fn is_item(line: &str) -> bool {
    let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered =
        after.len() < line.len() && (after.starts_with(". ") || after.starts_with(") "));
    is_numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

/// The line that begins a block of code, and what ends it.
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

    /// Whether a line is made of the fence's mark alone, as far as it has come.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn theme() -> Theme {
        Theme::built_in().swap_remove(3)
    }

    fn shown(markdown: &Markdown) -> Vec<String> {
        let rows = (0..markdown.height()).filter_map(|at| markdown.row(at));
        rows.map(|row| row.line.to_string()).collect()
    }

    fn whole(text: &str, width: usize) -> Vec<String> {
        let mut markdown = Markdown::complete(text.to_owned());
        markdown.lay_out(width, 0, &theme());
        shown(&markdown)
    }

    #[test]
    fn blocks_are_shown_with_gaps_between_them() {
        let text = "# T\n\none *two*\n\n- a\n- b\n\n```rust\nlet x;\n\n```\nafter\n";
        assert_eq!(
            whole(text, 40),
            ["▌ T", "", "one two", "", "• a", "• b", "", "rust", "│ let x;", "│ ", "", "after"]
        );
    }

    #[test]
    fn pieces_of_any_size_come_to_the_same() {
        let text = "# T\n\npara *one*\ntwo\n\n- a\n- b\n\n  c\n\n1. x\n2. y\n\n```py\nx = 1\n\n```\n\
                    | a |\n|---|\n| 1 |\n\n> quote\n> more\n\nend";
        let expected = whole(text, 30);
        for size in [1, 2, 3, 7] {
            let mut markdown = Markdown::default();
            let characters: Vec<char> = text.chars().collect();
            for piece in characters.chunks(size) {
                markdown.push(&piece.iter().collect::<String>());
                markdown.lay_out(30, 0, &theme());
            }
            markdown.finish();
            markdown.lay_out(30, 0, &theme());
            assert_eq!(shown(&markdown), expected, "{size}");
        }
    }

    #[test]
    fn what_has_come_is_shown_before_it_is_complete() {
        let mut markdown = Markdown::default();
        markdown.push("one\n\nhalf a **sen");
        markdown.lay_out(40, 0, &theme());
        assert_eq!(shown(&markdown), ["one", "", "half a **sen"]);
        markdown.push("tence**\n```\nlet x");
        markdown.lay_out(40, 0, &theme());
        assert_eq!(shown(&markdown), ["one", "", "half a sentence", "", "│ let x"]);
    }

    #[test]
    fn a_long_list_settles_while_it_grows() {
        let mut markdown = Markdown::default();
        for number in 0..2000 {
            markdown.push(&format!("- item number {number}\n"));
            markdown.lay_out(40, 0, &theme());
        }
        assert!(markdown.draft.len() < 200, "{} rows in the draft", markdown.draft.len());
        assert_eq!(markdown.height(), 2000);
    }

    #[test]
    fn a_paragraph_without_end_settles_while_it_grows_and_breaks_where_it_would() {
        let words =
            ["some", "plain", "words", "**and bold ones**", "with `code`,", "Wörter", "and"];
        let text: Vec<&str> =
            (0..1500).map(|number| words[number * 5 % 7 * (number % 3) % 7]).collect();
        for between in [" ", "\n"] {
            let text = text.join(between);
            let mut markdown = Markdown::default();
            let letters: Vec<char> = text.chars().collect();
            for piece in letters.chunks(64) {
                markdown.push(&piece.iter().collect::<String>());
                markdown.lay_out(60, 0, &theme());
                assert!(markdown.draft.len() < 200, "{} rows", markdown.draft.len());
            }
            markdown.finish();
            markdown.lay_out(60, 0, &theme());
            assert_eq!(shown(&markdown), whole_at_once(&text));
        }
    }

    /// The rows of a text that is not split.
    fn whole_at_once(text: &str) -> Vec<String> {
        page::render(text, 60, &theme()).iter().map(|row| row.line.to_string()).collect()
    }

    #[test]
    fn a_long_text_is_told_apart_between_paragraphs_and_never_in_code() {
        let paragraphs = "Some words of a paragraph.\n\n".repeat(PART / 20);
        let code = format!("```\n{}```\n\n", "let x = 1;\n\n".repeat(PART / 10));
        let text = format!("{code}{paragraphs}the end");
        let mut parts = vec![Markdown::complete(text.clone())];
        while let Some(rest) = parts.last_mut().and_then(Markdown::split) {
            parts.push(rest);
        }
        assert!(parts.len() > 2, "{}", parts.len());
        assert!(parts[0].text().starts_with(&code) && !parts[0].is_continued());
        assert!(parts[1..].iter().all(|part| part.is_continued() && part.text().len() < 2 * PART));
        let joined: String = parts.iter().map(Markdown::text).collect();
        assert_eq!(joined, text);
    }

    #[test]
    fn a_long_table_is_not_laid_out_for_every_letter_and_caught_up_with() {
        let mut markdown = Markdown::default();
        markdown.push(&format!("| a |\n|---|\n{}", "| cell |\n".repeat(LONGEST_DRAFT / 4)));
        markdown.lay_out(40, 0, &theme());
        let before = markdown.height();
        markdown.push("| more |\n");
        markdown.lay_out(40, 0, &theme());
        assert_eq!(markdown.height(), before);
        markdown.catch_up();
        markdown.lay_out(40, 0, &theme());
        assert_eq!(markdown.height(), before + 1);
        markdown.push("| end |\n");
        markdown.finish();
        markdown.lay_out(40, 0, &theme());
        assert_eq!(markdown.height(), before + 2);
    }

    #[test]
    fn another_width_lays_everything_out_again() {
        let mut markdown = Markdown::complete("one two three".to_owned());
        markdown.lay_out(40, 0, &theme());
        assert_eq!(markdown.height(), 1);
        markdown.lay_out(5, 0, &theme());
        assert_eq!(shown(&markdown), ["one", "two", "three"]);
    }
}
