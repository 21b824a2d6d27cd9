//! Markdown on a terminal as it arrives: what more text cannot change, and a draft of the rest.

mod page;

use super::style::Palette;
use page::{code_line, language_line, render};

/// Takes Markdown in pieces and gives back what can be shown.
pub(crate) struct Markdown {
    /// Columns of the terminal.
    pub(crate) width: usize,
    palette: Palette,
    pending: String,
    /// The block of code that has begun; its lines are shown one by one.
    fence: Option<Fence>,
}

impl Markdown {
    /// A renderer for a terminal of `width` columns.
    pub(crate) fn new(width: usize, palette: Palette) -> Self {
        Self { width, palette, pending: String::new(), fence: None }
    }

    /// Takes more text.
    pub(crate) fn push(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    /// Takes out what more text cannot change, rendered: whole blocks, and whole lines of code.
    pub(crate) fn settled(&mut self) -> String {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_str();
        let mut out = String::new();
        while let Some(length) = self.settle_one(rest, &mut out) {
            rest = &rest[length..];
        }
        rest.clone_into(&mut self.pending);
        out
    }

    /// The rest, rendered as if nothing followed.
    pub(crate) fn draft(&self) -> String {
        match &self.fence {
            Some(fence) if fence.may_become_end(&self.pending) => String::new(),
            Some(_) => code_line(&self.pending, self.palette),
            None => render(&self.pending, self.width, self.palette),
        }
    }

    /// Takes out the rest, rendered: nothing follows.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = self.settled();
        let rest = std::mem::take(&mut self.pending);
        match self.fence.take() {
            Some(fence) if rest.is_empty() || fence.is_ended_by(&rest) => out.push('\n'),
            Some(_) => {
                out.push_str(&code_line(&rest, self.palette));
                out.push('\n');
            }
            None => out.push_str(&render(&rest, self.width, self.palette)),
        }
        out
    }

    /// Renders the beginning of `rest` if it is final. Returns how much of it that was.
    fn settle_one(&mut self, rest: &str, out: &mut String) -> Option<usize> {
        let length = rest.find('\n')? + 1;
        let line = &rest[..length];
        if let Some(fence) = &self.fence {
            if fence.is_ended_by(line) {
                self.fence = None;
                out.push('\n');
            } else {
                out.push_str(&code_line(line.trim_end_matches(['\n', '\r']), self.palette));
            }
            return Some(length);
        }
        if let Some((fence, language)) = Fence::begun_by(line)
            && fence.is_outermost()
        {
            out.push_str(&language_line(language, self.palette));
            self.fence = Some(fence);
            return Some(length);
        }
        let length = end_of_block(rest)?;
        out.push_str(&render(&rest[..length], self.width, self.palette));
        Some(length)
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
            {
                return Some(end);
            }
            if is_complete && let Some((begun, _)) = Fence::begun_by(line) {
                if begun.is_outermost() {
                    return Some(at);
                }
                fence = Some(begun);
            }
        }
        at += line.len();
    }
    None
}

/// The line that begins a block of code, and what ends it.
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

impl Fence {
    /// The fence that a line begins, with the language it names.
    fn begun_by(line: &str) -> Option<(Self, &str)> {
        let text = line.trim_start_matches(' ');
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let language = text.trim_start_matches(mark);
        let length = text.len() - language.len();
        let is_code_in_text = mark == '`' && language.contains('`');
        let fence = Self { mark, length, indent: line.len() - text.len() };
        (length >= 3 && !is_code_in_text).then_some((fence, language.trim()))
    }

    /// Whether no list or quote is around it.
    fn is_outermost(&self) -> bool {
        self.indent == 0
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is settled after each piece, and at the end.
    fn settled(pieces: &[&str]) -> Vec<String> {
        let mut markdown = Markdown::new(40, Palette::plain());
        let mut all: Vec<String> = pieces
            .iter()
            .map(|piece| {
                markdown.push(piece);
                markdown.settled()
            })
            .collect();
        all.push(markdown.finish());
        all
    }

    #[test]
    fn blocks_settle_when_the_next_one_begins() {
        assert_eq!(
            settled(&["one", " two\n", "\n", "three"]),
            ["", "", "", "one two\n\n", "three\n\n"]
        );
        assert_eq!(
            settled(&["- a\n\n", "  more of a\n\n", "b"])[..3],
            ["", "", "• a\n  more of a\n\n"]
        );
    }

    #[test]
    fn lines_of_code_settle_one_by_one() {
        let pieces = ["Look:\n```rust\nfn a() {", "\n\n", "    1\n}\n`", "``\nAfter"];
        let wanted =
            ["Look:\n\n  rust\n", "  │ fn a() {\n  │ \n", "  │     1\n  │ }\n", "\n", "After\n\n"];
        assert_eq!(settled(&pieces), wanted);
    }

    #[test]
    fn only_the_fence_itself_ends_a_block_of_code() {
        let text = "````\n```\ninner\n```rust\n~~~\n````\nout";
        let all = settled(&[text]).concat();
        assert_eq!(all, "  │ ```\n  │ inner\n  │ ```rust\n  │ ~~~\n\nout\n\n");
        assert_eq!(settled(&["```\nnever ended"]).concat(), "  │ never ended\n\n");
    }

    #[test]
    fn code_in_a_list_stays_in_the_list() {
        let all = settled(&["- a\n\n  ```\n  x\n\n  y\n  ```\n\n", "next"]);
        assert_eq!(all[0], "");
        assert!(all[1].starts_with("• a\n") && all[1].contains("│ x\n"), "{all:?}");
        assert_eq!(all[2], "next\n\n");
    }

    #[test]
    fn pieces_of_any_size_come_to_the_same() {
        let text = "# T\n\npara *one*\ntwo\n\n- a\n- b\n\n  c\n\n```py\nx = 1\n\n```\n| a |\n|---|\n| 1 |\n";
        let whole = settled(&[text]).concat();
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(settled(&pieces).concat(), whole);
    }

    #[test]
    fn the_draft_shows_what_is_not_settled() {
        let mut markdown = Markdown::new(40, Palette::plain());
        markdown.push("one\n\nhalf a **sen");
        markdown.settled();
        assert_eq!(markdown.draft(), "half a **sen\n\n");
        markdown.push("tence**\n```\nlet x");
        assert_eq!(markdown.settled(), "half a sentence\n\n");
        assert_eq!(markdown.draft(), "  │ let x\n");
        markdown.push("\n``");
        markdown.settled();
        assert_eq!(markdown.draft(), "");
    }
}
