//! Removal of characters that a person does not see and a model does.

use std::fmt::Write as _;

use contract::text::is_hidden;

/// How many hidden characters a report lists one by one.
const LISTED: usize = 5;

/// A text without hidden characters.
pub(crate) struct Stripped {
    /// What remains. Line numbers are those of the original.
    pub(crate) text: String,
    /// Which characters went and where, if any did.
    pub(crate) report: Option<String>,
}

/// What to do about hidden characters.
pub(crate) const HINT: &str =
    "look at the file with `cat -v`, then delete these characters or do not use the file";

/// Removes the hidden characters of `text`. The `\r` of a line's end goes without a report.
pub(crate) fn strip(text: &str) -> Stripped {
    let mut kept = String::with_capacity(text.len());
    let mut listed = String::new();
    let mut count = 0;
    let mut line = 1;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if c == '\r' && characters.peek() == Some(&'\n') {
            continue;
        }
        if is_hidden(c) {
            count += 1;
            if count <= LISTED {
                let comma = if count == 1 { "" } else { ", " };
                let _ = write!(listed, "{comma}U+{:04X} in line {line}", u32::from(c));
            }
            continue;
        }
        line += usize::from(c == '\n');
        kept.push(c);
    }
    let report = (count > 0).then(|| {
        let more =
            if count > LISTED { format!(" and {} more", count - LISTED) } else { String::new() };
        format!("hidden characters were removed: {listed}{more}")
    });
    Stripped { text: kept, report }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_go_and_are_listed_with_their_lines() {
        let stripped = strip("a\u{202e}b\nc\u{200b}\u{e0041}d\u{1b}");
        assert_eq!(stripped.text, "ab\ncd");
        assert_eq!(
            stripped.report.as_deref(),
            Some(
                "hidden characters were removed: U+202E in line 1, U+200B in line 2, \
                 U+E0041 in line 2, U+001B in line 2"
            )
        );
    }

    #[test]
    fn a_long_list_is_cut() {
        let report = strip(&"\u{200b}".repeat(9)).report.unwrap();
        assert!(report.ends_with("U+200B in line 1 and 4 more"), "{report}");
    }

    #[test]
    fn line_ends_of_both_kinds_are_no_finding() {
        let stripped = strip("a\r\nb\tc\n");
        assert_eq!(stripped.text, "a\nb\tc\n");
        assert!(stripped.report.is_none());
    }
}
