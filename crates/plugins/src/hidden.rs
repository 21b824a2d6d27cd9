//! Removal of characters that a user does not see and a model does. What joins the parts of an emoji
//! or the letters of a word, or asks for the emoji of a sign, is seen by what it does.

use std::fmt::Write as _;

use contract::text::is_hidden;

const LISTED: usize = 5;

/// Signs with an emoji outside of the ranges of emoji: ©, ®, ‼, ⁉, ™, ℹ, 〰, 〽, ㊗, ㊙.
const SIGNS: &str = "\u{a9}\u{ae}\u{203c}\u{2049}\u{2122}\u{2139}\u{3030}\u{303d}\u{3297}\u{3299}";

/// Text without hidden characters.
pub struct Stripped {
    /// Line numbers are those of the original.
    pub text: String,
    pub report: Option<String>,
}

pub(crate) const HINT: &str =
    "look at the file with `cat -v`, then delete these characters or do not use the file";

pub fn places(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(|&(at, c)| match c {
        '\u{fe0f}' => !draws(text, at),
        _ => is_hidden(c) && !joins(text, at, c),
    })
}

/// Returns true if the variation selector at a place stands behind what can be an emoji.
fn draws(text: &str, at: usize) -> bool {
    match text[..at].chars().next_back() {
        Some('0'..='9' | '#' | '*') => text[at..].chars().nth(1) == Some('\u{20e3}'),
        Some(c) => Joined::of(c) == Joined::Emoji || SIGNS.contains(c),
        None => false,
    }
}

/// Returns true if a joiner stands within an emoji, or within a word of a script that joins its letters.
fn joins(text: &str, at: usize, joiner: char) -> bool {
    let mut back = text[..at].chars().rev();
    let before = match back.next() {
        // It asks for the emoji of what it stands behind, and is seen nowhere else.
        Some('\u{fe0f}') => back.next().map(Joined::of).filter(|it| *it == Joined::Emoji),
        other => other.map(Joined::of),
    };
    let after = text[at..].chars().nth(1).map(Joined::of);
    let is_joiner = matches!(joiner, '\u{200c}' | '\u{200d}');
    is_joiner && before == after && before.is_some_and(|it| it != Joined::Nothing)
}

#[derive(PartialEq, Eq)]
enum Joined {
    Letters,
    Emoji,
    Nothing,
}

impl Joined {
    fn of(c: char) -> Self {
        match c {
            _ if is_hidden(c) => Self::Nothing,
            // Arabic to Malayalam, Myanmar, Khmer and Mongolian.
            '\u{600}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}' => {
                Self::Letters
            }
            '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => Self::Emoji,
            _ => Self::Nothing,
        }
    }
}

/// Removes hidden characters, and lists them.
pub fn strip(text: &str) -> Stripped {
    let mut kept = String::with_capacity(text.len());
    let mut listed = String::new();
    let mut count = 0;
    let mut line = 1;
    let mut end = 0;
    for (at, c) in places(text) {
        kept.push_str(&text[end..at]);
        line += text[end..at].matches('\n').count();
        end = at + c.len_utf8();
        if c == '\r' && text[end..].starts_with('\n') {
            continue;
        }
        count += 1;
        if count <= LISTED {
            let comma = if count == 1 { "" } else { ", " };
            let _ = write!(listed, "{comma}U+{:04X} in line {line}", u32::from(c));
        }
    }
    kept.push_str(&text[end..]);
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
    fn hidden_characters_are_removed_and_listed() {
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
    fn joiners_stay_only_between_emoji_and_letters() {
        let joined = "🧑\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 می\u{200c}خواهم क्\u{200d}ष";
        assert_eq!(strip(joined).text, joined);
        assert!(strip(joined).report.is_none());
        let hiding =
            "a\u{200d}b \u{200c}д\u{200d}р 🧑\u{200d} x \u{200d}م\u{200b}م 💻\u{200d}\u{200d}💻";
        assert_eq!(strip(hiding).text, "ab др 🧑 x مم 💻💻");
    }

    #[test]
    fn joiners_among_hidden_characters_are_removed() {
        for (hiding, left) in [
            ("ig\u{61c}\u{200d}\u{61c}nore", "ignore"),
            ("x\u{17b4}\u{200c}\u{17b5}y", "xy"),
            ("x\u{2800}\u{200d}\u{2800}y", "xy"),
            ("a\u{fe0f}\u{200d}\u{fe0f}\u{200c}\u{fe0f}b", "ab"),
            ("💻\u{200d}\u{fe0f}💻", "💻💻"),
            ("م\u{fe0f}\u{200d}م", "مم"),
        ] {
            assert_eq!(strip(hiding).text, left, "{hiding:?}");
        }
    }

    #[test]
    fn emoji_selectors_stay_only_after_emoji() {
        let asking = "❤\u{fe0f} ⚠\u{fe0f}! 1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} ©\u{fe0f} ℹ\u{fe0f} 🅰\u{fe0f}";
        assert_eq!(strip(asking).text, asking);
        assert!(strip(asking).report.is_none());
        for (hiding, left) in [
            ("\u{fe0f}x", "x"),
            ("a\u{fe0f}b \u{fe0f}1\u{fe0f}2", "ab 12"),
            ("❤\u{fe0f}\u{fe0f}\u{fe0f}", "❤\u{fe0f}"),
            ("\u{2800}\u{fe0f}", ""),
        ] {
            let stripped = strip(hiding);
            assert_eq!(stripped.text, left, "{hiding:?}");
            assert!(stripped.report.unwrap().contains("U+FE0F in line 1"), "{hiding:?}");
        }
    }

    #[test]
    fn a_long_list_is_cut() {
        let report = strip(&"\u{200b}".repeat(9)).report.unwrap();
        assert!(report.ends_with("U+200B in line 1 and 4 more"), "{report}");
    }

    #[test]
    fn line_endings_are_not_reported() {
        let stripped = strip("a\r\nb\tc\n");
        assert_eq!(stripped.text, "a\nb\tc\n");
        assert!(stripped.report.is_none());
    }
}
