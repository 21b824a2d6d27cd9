//! Text from outside: made safe to show on a terminal, cut, and matched with known words.

use std::borrow::Cow;

/// Replaces characters that could steer a terminal or deceive a reader, but not `\n` and `\t`.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, text.char_indices().filter(|(_, c)| is_hidden(*c)))
}

/// Text from outside that cannot pretend to be several lines.
pub fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

/// Returns `text` with the characters at some places, in their order, replaced by visible escapes.
pub fn escaped(text: &str, places: impl IntoIterator<Item = (usize, char)>) -> Cow<'_, str> {
    let (mut shown, mut end) = (String::new(), 0);
    for (at, c) in places {
        shown.push_str(&text[end..at]);
        shown.extend(c.escape_unicode());
        end = at + c.len_utf8();
    }
    if end == 0 { Cow::Borrowed(text) } else { Cow::Owned(shown + &text[end..]) }
}

/// Returns true if a character is invisible on a terminal, moves its cursor, or reorders its text.
#[rustfmt::skip]
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' |
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' |
        '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' |
        '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' |
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

/// Returns true for hidden characters and for blanks that are not ASCII.
pub fn is_deceptive(c: char) -> bool {
    let is_odd = matches!(c, '\u{fe0f}' | '\u{fff0}'..='\u{ffff}');
    is_hidden(c) || (!c.is_ascii() && c.is_whitespace()) || is_odd
}

/// The longest prefix of `text` that is at most `limit` bytes and ends on a character boundary.
pub fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The longest suffix of `text` that is at most `limit` bytes and starts on a character boundary.
pub fn tail(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// Returns the candidate that is most similar to `word`, if one is: the likely meaning of a typing error.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const MAX_WORD_BYTES: usize = 64;
    let word = (word.len() <= MAX_WORD_BYTES).then(|| word.to_lowercase())?;
    let limit = (word.chars().count() / 3).max(1);
    let distance = |other: &str| strsim::osa_distance(&word, &other.to_lowercase());
    let near = candidates.into_iter().map(|candidate| (distance(candidate), candidate));
    let near = near.filter(|(distance, _)| *distance <= limit);
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_finds_the_misspelled_word() {
        let words = ["max_tokens", "mode", "verbose", "tools"];
        assert_eq!(closest("max_token", words), Some("max_tokens"));
        assert_eq!(closest("vebrose", words), Some("verbose"));
        assert_eq!(closest("MODE", words), Some("mode"));
        assert_eq!(closest("Tool", words), Some("tools"));
        assert_eq!(closest("color", words), None);
        assert_eq!(closest(&"x".repeat(1000), words), None);
    }

    #[test]
    fn control_and_bidirectional_characters_become_visible() {
        assert_eq!(visible("a\x1b[31mb\u{202e}c\rd"), "a\\u{1b}[31mb\\u{202e}c\\u{d}d");
        assert!(matches!(visible("tab\tline\nüñ漢"), Cow::Borrowed(_)));
    }

    #[test]
    fn unusual_blanks_are_deceptive_but_not_hidden() {
        let blanks = "\u{a0}\u{2003}\u{3000}\u{fe0f}";
        assert!(blanks.chars().all(is_deceptive));
        assert!(matches!(visible(blanks), Cow::Borrowed(_)));
    }

    #[test]
    fn invisible_characters_are_hidden() {
        let nothing = "\u{34f}\u{115f}\u{e0100}\u{17b4}\u{180b}\u{2800}\u{3164}\u{fe00}\u{fe0e}";
        assert!(nothing.chars().chain("\u{ffa0}\u{fff0}\u{1bca3}\u{1d173}".chars()).all(is_hidden));
        assert!(!"\u{2764}\u{fe0f} ✔ é 漢 \u{a0}".contains(is_hidden));
    }

    #[test]
    fn head_and_tail_never_split_a_character() {
        assert_eq!(head("aé漢", 2), "a");
        assert_eq!(tail("aé漢", 4), "漢");
        assert_eq!(tail("ab", 9), "ab");
    }
}
