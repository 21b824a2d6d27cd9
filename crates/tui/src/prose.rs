//! Markdown for front ends that write line after line: what more text cannot change, as lines with
//! their styles, and a draft of the rest. Breaks prose to the terminal's width; a line of code stays
//! one line, which the terminal breaks, so that it can be copied.

use crate::ansi::styled;
use crate::markdown::Markdown;
use crate::text::{self, Joint, Row};
use crate::theme::Theme;

/// A screen with fewer rows has no room for a draft.
const MIN_ROWS_FOR_DRAFT: usize = 3;

/// Takes Markdown in pieces and gives back what can be shown.
pub struct Prose {
    /// Columns of the terminal.
    pub width: usize,
    theme: Theme,
    markdown: Markdown,
    voice: Voice,
    /// The rows of the draft on the screen. The cursor stands at the beginning of the row below.
    draft: Vec<String>,
}

/// How lines reach the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Voice {
    /// They are seen: bars and rules stand beside the text.
    #[default]
    Seen,
    /// They are read aloud, or copied as they are: text alone.
    Spoken,
}

impl Prose {
    /// For a terminal of `width` columns.
    pub fn new(width: usize, theme: Theme) -> Self {
        let (markdown, voice) = (Markdown::default(), Voice::Seen);
        Self { width, theme, markdown, voice, draft: Vec::new() }
    }

    /// Sets how lines reach the user.
    #[must_use]
    pub fn with(self, voice: Voice) -> Self {
        Self { voice, ..self }
    }

    /// Takes more text, as it comes from outside.
    pub fn push(&mut self, text: &str) {
        self.markdown.push(&text::prose(text));
    }

    /// Takes out what more text cannot change: whole blocks, and whole lines of code.
    pub fn settled(&mut self) -> String {
        let rows = self.markdown.take_settled(self.width, &self.theme);
        lines(&self.voiced(&rows))
    }

    /// Takes out the rest, with an empty line below it: nothing follows.
    pub fn finish(&mut self) -> String {
        let mut markdown = std::mem::take(&mut self.markdown);
        markdown.finish();
        let had_begun = markdown.has_begun();
        let text = lines(&self.voiced(&markdown.take_settled(self.width, &self.theme)));
        if had_begun || !text.is_empty() { text + "\n" } else { text }
    }

    /// Writes out what more text cannot change, and draws the rest below it as a draft, or its end
    /// where a screen of so many rows is too small for all of it.
    pub fn redraw(&mut self, screen_rows: usize) -> String {
        let settled = self.settled();
        let mut bytes = if settled.is_empty() { settled } else { self.erase_draft() + &settled };
        let draft = self.markdown.draft(self.width, &self.theme).to_vec();
        let mut rows: Vec<String> = self.voiced(&draft).iter().map(|row| line(row, 0)).collect();
        while rows.last().is_some_and(|row| row.trim().is_empty()) {
            rows.pop();
        }
        let room = if screen_rows < MIN_ROWS_FOR_DRAFT { 0 } else { screen_rows - 1 };
        rows.drain(..rows.len().saturating_sub(room));
        let same = rows.iter().zip(&self.draft).take_while(|(new, old)| new == old).count();
        bytes.push_str(&erase_rows(self.draft.len() - same));
        if same < rows.len() {
            // A row stays one row even where the terminal finds a character wider than we do.
            bytes.extend(["\x1b[?7l", &rows[same..].join("\n"), "\n\x1b[?7h"]);
        }
        self.draft = rows;
        bytes
    }

    /// Returns true if a draft stands on the screen.
    pub fn has_draft(&self) -> bool {
        !self.draft.is_empty()
    }

    /// Takes the draft off the screen; what was printed above it is never touched.
    pub fn erase_draft(&mut self) -> String {
        erase_rows(std::mem::take(&mut self.draft).len())
    }

    fn voiced(&self, rows: &[Row]) -> Vec<Row> {
        match self.voice {
            Voice::Seen => rows.to_vec(),
            Voice::Spoken => rows.iter().filter_map(spoken).collect(),
        }
    }
}

/// Goes back so many rows and clears everything from there on.
fn erase_rows(count: usize) -> String {
    if count == 0 { String::new() } else { format!("\r\x1b[{count}A\x1b[J") }
}

/// A row without decoration; none if that is all there is.
fn spoken(row: &Row) -> Option<Row> {
    let is_rule = |text: &str| !text.is_empty() && text.chars().all(|c| "─┼ ".contains(c));
    if row.joint == Joint::Decoration && is_rule(&row.line.to_string()) {
        return None;
    }
    let mut row = row.clone();
    let names_code = row.joint == Joint::Decoration && !row.line.spans.is_empty();
    let (mut used, mut lead) = (0, 0);
    for span in &mut row.line.spans {
        let is_lead = used < usize::from(row.lead);
        used += text::columns(&span.content);
        span.content = match span.content.as_ref() {
            "│ " if is_lead => "".into(),
            "█ " if is_lead => "# ".into(),
            "▌ " if is_lead => "## ".into(),
            "▎ " if is_lead => "### ".into(),
            "• " if is_lead => "- ".into(),
            language if names_code && !language.trim().is_empty() => {
                format!("code, {language}:").into()
            }
            // Between the cells of a table.
            " │ " => "; ".into(),
            other => other.to_owned().into(),
        };
        lead += if is_lead { text::columns(&span.content) } else { 0 };
    }
    row.lead = text::narrow(lead);
    Some(row)
}

/// Rows as lines, with those together that only the width has parted.
fn lines(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let is_joined = row.joint == Joint::Tight && text.ends_with('\n');
        if is_joined {
            text.pop();
        }
        text.push_str(&line(row, if is_joined { usize::from(row.lead) } else { 0 }));
        text.push('\n');
    }
    text
}

/// A row with its styles, without its first columns.
fn line(row: &Row, hidden: usize) -> String {
    let mut used = 0;
    let spans = row.line.spans.iter().filter(|span| {
        used += text::columns(&span.content);
        used > hidden
    });
    spans.map(|span| styled(span.style, &span.content)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settled text after each piece, and at the end.
    fn settled(pieces: &[&str], width: usize) -> Vec<String> {
        let mut prose = Prose::new(width, Theme::unstyled());
        let take = |piece: &&str| {
            prose.push(piece);
            prose.settled()
        };
        let mut all: Vec<String> = pieces.iter().map(take).collect();
        all.push(prose.finish());
        all
    }

    #[test]
    fn blocks_settle_when_the_next_one_begins() {
        let all = settled(&["one", " two\n", "\n", "three"], 40);
        assert_eq!(all, ["", "", "", "one two\n", "\nthree\n\n"]);
    }

    #[test]
    fn lines_of_code_settle_one_by_one_and_stay_whole() {
        let pieces =
            ["Look:\n```rust\nfn a() {", "\n", "    a_long_line_of_code();\n", "```\nAfter"];
        let all = settled(&pieces, 12);
        assert_eq!(all[0], "Look:\n\nrust\n");
        assert_eq!(all[1], "│ fn a() {\n");
        assert_eq!(all[2], "│     a_long_line_of_code();\n");
        assert_eq!(all[3..].concat(), "\nAfter\n\n");
    }

    #[test]
    fn prose_is_independent_of_chunk_sizes() {
        let text = "# T\n\npara *one*\ntwo\n\n- a\n- b\n\n  c\n\n```py\nx = 1\n\n```\n| a |\n|---|\n| 1 |\n";
        let whole = settled(&[text], 40).concat();
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(settled(&pieces, 40).concat(), whole);
    }

    #[test]
    fn screen_reader_prose_has_no_bars_and_rules() {
        let text = "# Title\n\n## Part\n\n### Point\n\n- item\n\n> quoted\n\n```rust\nfn a() {}\n    b\n```\n\n---\n\n\
                    | a | b |\n|---|---|\n| 1 | 2 |\n";
        let mut prose = Prose::new(40, Theme::unstyled()).with(Voice::Spoken);
        prose.push(text);
        let spoken = prose.settled() + &prose.finish();
        assert!(!spoken.contains(['│', '─', '█', '▌', '▎', '•', '┼']), "{spoken}");
        for line in [
            "# Title",
            "## Part",
            "### Point",
            "- item",
            "quoted",
            "code, rust:",
            "fn a() {}",
            "    b",
            "a; b",
            "1; 2",
        ] {
            assert!(spoken.lines().any(|it| it == line), "{line:?}: {spoken}");
        }
    }

    #[test]
    fn draft_shows_the_unsettled_text() {
        let mut prose = Prose::new(40, Theme::unstyled());
        prose.push("one\n\nhalf a **sen");
        assert_eq!(prose.settled(), "one\n");
        assert_eq!(prose.redraw(24), "\x1b[?7l\nhalf a **sen\n\x1b[?7h");
        assert_eq!(prose.redraw(24), "");
        prose.push("tence**\n```\nlet x");
        let settled = "\r\x1b[2A\x1b[J\nhalf a sentence\n\n";
        assert_eq!(prose.redraw(24), format!("{settled}\x1b[?7l│ let x\n\x1b[?7h"));
        assert_eq!(prose.erase_draft(), "\r\x1b[1A\x1b[J");
        assert_eq!(prose.erase_draft(), "");
        assert_eq!(prose.finish(), "│ let x\n\n");
        assert_eq!(prose.finish(), "", "nothing came since");
    }

    #[test]
    fn only_changed_draft_rows_are_redrawn() {
        let mut prose = Prose::new(10, Theme::unstyled());
        prose.push("- one\n- two");
        assert_eq!(prose.redraw(4), "\x1b[?7l• one\n• two\n\x1b[?7h");
        prose.push(" 3");
        assert_eq!(prose.redraw(4), "\r\x1b[1A\x1b[J\x1b[?7l• two 3\n\x1b[?7h");
        prose.push("\n- a\n- b\n- c");
        let drawn = prose.redraw(4);
        assert!(drawn.ends_with("\x1b[?7l• a\n• b\n• c\n\x1b[?7h"), "{drawn:?}");
        assert_eq!(prose.redraw(2), "\r\x1b[3A\x1b[J", "no room for a draft");
    }

    /// The lines that a terminal has shown in the end, with those that left its screen.
    fn shown(bytes: &str, columns: u16, rows: u16) -> String {
        let size = |length: u16| std::num::NonZeroU16::new(length).expect("a size");
        let mut terminal = vt100::Parser::new(size(rows), size(columns), 10_000);
        terminal.process(bytes.replace('\n', "\r\n").as_bytes());
        terminal.screen_mut().set_scrollback(usize::MAX);
        let above = terminal.screen().scrollback();
        let mut lines = Vec::new();
        for back in (0..=above).rev() {
            terminal.screen_mut().set_scrollback(back);
            let all: Vec<String> = terminal.screen().rows(0, columns).collect();
            lines.extend(if back == 0 { all } else { all[..1].to_vec() });
        }
        lines.join("\n").trim_end().to_owned()
    }

    #[test]
    fn redrawing_letter_by_letter_leaves_the_answer_alone() {
        let long = "some **bold** words and 漢字 ".repeat(12);
        let text = format!(
            "# Title\n\n{long}\n\n- {long}\n- b\n\n  more\n\n```rust\n{}```\n| a | b |\n|---|---|\n\
             | {long} | 2 |\n\n> {long}\n\n{}\n",
            "let a_long_name = \"and a long text\";\n\n".repeat(5),
            "漢".repeat(60)
        );
        for (columns, rows) in [(80, 24), (40, 6), (21, 3), (7, 4), (60, 2)] {
            let sixteen = &Theme::built_in()[2];
            let new = || Prose::new(usize::from(columns), sixteen.clone());
            let (mut prose, mut drawn) = (new(), String::new());
            for letter in text.chars() {
                prose.push(letter.encode_utf8(&mut [0; 4]));
                drawn += &prose.redraw(usize::from(rows));
            }
            drawn += &prose.erase_draft();
            drawn += &prose.finish();
            let mut whole = new();
            whole.push(&text);
            let settled = whole.settled() + &whole.finish();
            let size = format!("{columns} × {rows}");
            assert_eq!(shown(&drawn, columns, rows), shown(&settled, columns, rows), "{size}");
        }
    }

    #[test]
    fn prose_escapes_control_characters() {
        let all = settled(&["a\x1b[2Jb `c\x1b]0;x\x07`\n\n```\n\x1b[31m\n```\n"], 40).concat();
        assert!(!all.contains('\x1b'), "{all:?}");
    }

    #[test]
    fn styles_end_with_their_text() {
        let sixteen = Theme::built_in().swap_remove(2);
        let mut prose = Prose::new(40, sixteen);
        prose.push("a `code` b");
        let text = prose.finish();
        assert!(text.contains("\x1b["), "{text:?}");
        assert!(text.ends_with(" b\n\n"), "{text:?}");
    }
}
