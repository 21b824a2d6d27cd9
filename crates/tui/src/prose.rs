//! Markdown for front ends that write line after line: what more text cannot change, as lines with
//! their styles, and a draft of the rest. Breaks prose to the terminal's width; a line of code stays
//! one line, which the terminal breaks, so that it can be copied.

use crate::markdown::Markdown;
use crate::screen::styled;
use crate::text::{self, Joint, Row};
use crate::theme::Theme;

/// What a program printed, safe to show: without its colors and moves of the cursor.
pub fn printed(text: &str) -> String {
    text::printed(text)
}

/// Takes Markdown in pieces and gives back what can be shown.
pub struct Prose {
    /// Columns of the terminal.
    pub width: usize,
    theme: Theme,
    markdown: Markdown,
    voice: Voice,
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
        Self { width, theme, markdown: Markdown::default(), voice: Voice::Seen }
    }

    /// The same for lines that reach the user in another way.
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
        self.lines(&rows)
    }

    /// The rest, as if nothing followed.
    pub fn draft(&mut self) -> String {
        let rows = self.markdown.draft(self.width, &self.theme).to_vec();
        self.lines(&rows)
    }

    /// Takes out the rest, with an empty line below it: nothing follows.
    pub fn finish(&mut self) -> String {
        let mut markdown = std::mem::take(&mut self.markdown);
        markdown.finish();
        let had_begun = markdown.has_begun();
        let text = self.lines(&markdown.take_settled(self.width, &self.theme));
        if had_begun || !text.is_empty() { text + "\n" } else { text }
    }

    fn lines(&self, rows: &[Row]) -> String {
        match self.voice {
            Voice::Seen => lines(rows),
            Voice::Spoken => lines(&rows.iter().filter_map(spoken).collect::<Vec<_>>()),
        }
    }
}

/// A row without what is only drawn; none where that is all there is.
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
        let mut hidden = 0;
        if row.joint == Joint::Tight && text.ends_with('\n') {
            text.pop();
            hidden = usize::from(row.lead);
        }
        let mut used = 0;
        for span in &row.line.spans {
            used += crate::text::columns(&span.content);
            if used > hidden {
                text.push_str(&styled(span.style, &span.content));
            }
        }
        text.push('\n');
    }
    text
}

/// A user's words, without the tag in which a program packs them for a model.
pub fn words(prompt: &str) -> &str {
    let inner = prompt.strip_prefix("<prompt>\n").and_then(|it| it.strip_suffix("\n</prompt>"));
    inner.filter(|words| !words.contains("</prompt>")).unwrap_or(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is settled after each piece, and at the end.
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
    fn blocks_settle_when_the_next_one_begins_and_stand_apart() {
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
    fn pieces_of_any_size_come_to_the_same() {
        let text = "# T\n\npara *one*\ntwo\n\n- a\n- b\n\n  c\n\n```py\nx = 1\n\n```\n| a |\n|---|\n| 1 |\n";
        let whole = settled(&[text], 40).concat();
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(settled(&pieces, 40).concat(), whole);
    }

    #[test]
    fn what_is_spoken_has_no_bars_and_rules() {
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
    fn the_draft_shows_what_is_not_settled() {
        let mut prose = Prose::new(40, Theme::unstyled());
        prose.push("one\n\nhalf a **sen");
        assert_eq!(prose.settled(), "one\n");
        assert_eq!(prose.draft(), "\nhalf a **sen\n");
        prose.push("tence**\n```\nlet x");
        assert_eq!(prose.settled(), "\nhalf a sentence\n\n");
        assert_eq!(prose.draft(), "│ let x\n");
        assert_eq!(prose.finish(), "│ let x\n\n");
        assert_eq!(prose.finish(), "", "nothing came since");
    }

    #[test]
    fn control_characters_never_get_through() {
        let all = settled(&["a\x1b[2Jb `c\x1b]0;x\x07`\n\n```\n\x1b[31m\n```\n"], 40).concat();
        assert!(!all.contains('\x1b'), "{all:?}");
    }

    #[test]
    fn styles_end_where_they_should() {
        let [_, _, sixteen, _] = Theme::built_in().try_into().expect("four themes");
        let mut prose = Prose::new(40, sixteen);
        prose.push("a `code` b");
        let text = prose.finish();
        assert!(text.contains("\x1b["), "{text:?}");
        assert!(text.ends_with(" b\n\n"), "{text:?}");
    }
}
