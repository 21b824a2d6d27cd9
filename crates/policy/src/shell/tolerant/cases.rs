//! Where a scan is within `case` and `[[`: their patterns name no programs and no files, and those of `case`
//! end with a parenthesis that closes nothing. Texts with `case` are read by their words as well, so that no command hides behind this.

use super::Piece;
use crate::shell::survey::is_reserved;

/// So many words may stand before a test.
const LEADING: usize = 8;

/// The `case` statements that are open in one level of nesting.
#[derive(Default)]
pub(super) struct Cases {
    open: usize,
    /// Where the word `case` stands in its segment, unquoted.
    case: Option<usize>,
    /// How many words at the beginning of the segment are known to say only how commands belong together.
    reserved: usize,
    /// Whether a pattern comes next.
    at_pattern: bool,
    /// Whether a test is open.
    in_test: bool,
}

impl Cases {
    /// Takes a word that follows `before` in its segment; in quotes it is like any other.
    pub(super) fn take(&mut self, before: &[Piece], word: &str, is_quoted: bool) {
        if before.is_empty() {
            self.case = None;
            self.reserved = 0;
        }
        let more = before.get(self.reserved..).unwrap_or_default();
        self.reserved += more.iter().take_while(|word| is_reserved(&word.text)).count();
        let leads = |leading: &[Piece]| leading.len() <= self.reserved;
        match (word, before) {
            _ if is_quoted => {}
            ("[[", leading) if leads(leading) => {
                self.in_test = true;
            }
            ("]]", _) => self.in_test = false,
            ("case", _) => self.case = Some(before.len()),
            ("in", [leading @ .., _, _])
                if !self.at_pattern && self.case == Some(leading.len()) && leads(leading) =>
            {
                self.open += 1;
                self.at_pattern = true;
            }
            ("esac", _) if self.open > 0 && (self.at_pattern || before.is_empty()) => {
                self.open -= 1;
                self.at_pattern = false;
            }
            _ => {}
        }
    }

    /// Whether a pattern comes next.
    pub(super) fn are_at_pattern(&self) -> bool {
        self.at_pattern
    }

    /// Whether a word that follows `before` in its segment is a part of a test, and so no file. A shell that
    /// knows no such tests runs what stands behind `||`, so that more must be known of it there.
    pub(super) fn are_in_test(&self, before: &[Piece]) -> bool {
        let is_compared = |before: &[Piece]| match before {
            [left, sign] => left.dynamic && matches!(sign.text.as_str(), "=" | "==" | "!=" | "=~"),
            _ => false,
        };
        let behind = match before {
            [first, rest @ ..] if first.text == "!" => rest,
            all => all,
        };
        // Little stands before a test.
        let mut leading = before.iter().take(LEADING);
        self.in_test && (leading.any(|word| word.text == "[[") || is_compared(behind))
    }

    /// Takes what ends a command, and so a test that nobody has closed.
    pub(super) fn end_test(&mut self) {
        self.in_test = false;
    }

    /// Takes the end of a pattern, or of the commands behind one.
    pub(super) fn end(&mut self, is_pattern: bool) {
        self.at_pattern = !is_pattern && self.open > 0;
    }
}
