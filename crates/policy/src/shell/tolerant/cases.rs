//! Where a scan is within `case`: its patterns name no programs, and end with a parenthesis that closes
//! nothing. Texts with `case` are read by their words as well, so that no command hides behind this.

use super::Piece;
use crate::shell::survey::is_reserved;

/// The `case` statements that are open in one level of nesting.
#[derive(Default)]
pub(super) struct Cases {
    open: usize,
    /// Where the word `case` stands in its segment, unquoted.
    case: Option<usize>,
    /// Whether a pattern comes next.
    at_pattern: bool,
}

impl Cases {
    /// Takes a word that follows `before` in its segment; in quotes it is like any other.
    pub(super) fn take(&mut self, before: &[Piece], word: &str, is_quoted: bool) {
        if before.is_empty() {
            self.case = None;
        }
        match (word, before) {
            _ if is_quoted => {}
            ("case", _) => self.case = Some(before.len()),
            ("in", [leading @ .., _, _])
                if !self.at_pattern
                    && self.case == Some(leading.len())
                    && leading.iter().all(|word| is_reserved(&word.text)) =>
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

    /// Takes the end of a pattern, or of the commands behind one.
    pub(super) fn end(&mut self, is_pattern: bool) {
        self.at_pattern = !is_pattern && self.open > 0;
    }
}
