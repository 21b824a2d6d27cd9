//! Characters in a text that could deceive whoever decides about it: hidden ones, blanks that are none, letters
//! that look like others, and gaps that push something out of sight.

use std::borrow::Cow;

use contract::text::{escaped, is_deceptive};

use crate::text::counted;

/// So many spaces in a row may push the rest of a command out of sight.
const WIDE_GAP: usize = 20;

/// Returns `text` with every character that could deceive its reader replaced by its visible escape. Line
/// feeds and tabs stay.
pub fn unmasked(text: &str) -> Cow<'_, str> {
    let mut masks = imitations(text);
    masks.extend(text.char_indices().filter(|(_, c)| is_deceptive(*c)));
    masks.sort_unstable();
    escaped(text, masks)
}

/// Notes on the characters that [`unmasked`] replaces, and on wide gaps in a text.
pub fn cautions(text: &str) -> Vec<String> {
    let mut cautions = Vec::new();
    let hidden = text.chars().filter(|c| is_deceptive(*c)).count();
    if hidden > 0 {
        let hidden = counted(
            hidden,
            "hidden character or unusual space is",
            "hidden characters or unusual spaces are",
        );
        cautions.push(format!("{hidden} shown as \\u{{…}}"));
    }
    let alike = imitations(text).len();
    if alike > 0 {
        let letters = counted(alike, "look-alike letter is", "look-alike letters are");
        cautions.push(format!("{letters} shown as \\u{{…}}"));
    }
    let is_gap = |c: char| c == '\t' || (c.is_whitespace() && c != '\n');
    let inner = text.split('\n').map(|line| line.trim_start_matches(is_gap));
    let gaps = inner.flat_map(|line| line.split(|c| !is_gap(c))).map(|gap| gap.chars().count());
    let widest = gaps.max().unwrap_or(0);
    if widest >= WIDE_GAP {
        cautions.push(format!("more text follows after {widest} spaces"));
    }
    cautions
}

/// The letters that look like others, and where they are, in words that also have the letters they look
/// like: a word of one script alone is what it seems to be.
fn imitations(text: &str) -> Vec<(usize, char)> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let (mut start, mut is_plain) = (0, false);
    for (at, c) in text.char_indices() {
        if is_between_words(c) {
            found.truncate(if is_plain { found.len() } else { start });
            (start, is_plain) = (found.len(), false);
        } else if looks_alike(c) {
            found.push((at, c));
        }
        is_plain |= c.is_ascii_alphabetic();
    }
    found.truncate(if is_plain { found.len() } else { start });
    found
}

fn is_between_words(c: char) -> bool {
    let is_punctuation =
        matches!(c, '\u{ab}' | '\u{bb}' | '\u{2010}'..='\u{205e}' | '\u{3001}'..='\u{303f}');
    c.is_ascii_punctuation() || c.is_whitespace() || is_punctuation
}

/// Returns true if a character of Cyrillic, Greek, Armenian or the wide forms looks like one of
/// ASCII. The marks that Chinese and Japanese put between words are not meant to.
#[rustfmt::skip]
fn looks_alike(c: char) -> bool {
    matches!(c,
        // Greek
        '\u{391}' | '\u{392}' | '\u{395}'..='\u{397}' | '\u{399}' | '\u{39a}' | '\u{39c}' | '\u{39d}' |
        '\u{39f}' | '\u{3a1}' | '\u{3a4}' | '\u{3a5}' | '\u{3a7}' | '\u{3b9}' | '\u{3ba}' | '\u{3bd}' |
        '\u{3bf}' | '\u{3c1}' | '\u{3c5}' | '\u{3f2}' | '\u{3f3}' | '\u{3f9}' |
        // Cyrillic
        '\u{405}' | '\u{406}' | '\u{408}' | '\u{410}' | '\u{412}' | '\u{415}' | '\u{41a}' |
        '\u{41c}'..='\u{41e}' | '\u{420}'..='\u{423}' | '\u{425}' | '\u{430}' | '\u{433}' | '\u{435}' |
        '\u{43a}' | '\u{43e}'..='\u{441}' | '\u{443}' | '\u{445}' | '\u{44c}' | '\u{455}' | '\u{456}' |
        '\u{458}' | '\u{474}' | '\u{475}' | '\u{4ae}' | '\u{4ba}' | '\u{4bb}' | '\u{4c0}' | '\u{4cf}' |
        '\u{501}' | '\u{50c}' | '\u{51a}'..='\u{51d}' |
        // Armenian
        '\u{53c}' | '\u{54d}' | '\u{54f}' | '\u{555}' | '\u{566}' | '\u{56c}' | '\u{570}' | '\u{578}' |
        '\u{57d}' | '\u{581}' | '\u{584}' | '\u{585}' |
        // Wide forms
        '\u{ff02}'..='\u{ff07}' | '\u{ff0a}' | '\u{ff0b}' | '\u{ff0d}'..='\u{ff19}' |
        '\u{ff1b}'..='\u{ff1e}' | '\u{ff20}'..='\u{ff5e}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_blanks_are_escaped() {
        let blanks = "rm\u{a0}-rf\u{2003}x \u{3000}\u{fe0f}";
        assert_eq!(unmasked(blanks), r"rm\u{a0}-rf\u{2003}x \u{3000}\u{fe0f}");
        assert_eq!(cautions(blanks), ["4 hidden characters or unusual spaces are shown as \\u{…}"]);
    }

    #[test]
    fn gaps_and_hidden_characters_are_pointed_out() {
        assert!(cautions("    indented\n\tline").is_empty());
        let padded = format!("ls{}; rm x", " ".repeat(300));
        assert_eq!(cautions(&padded), ["more text follows after 300 spaces"]);
        assert_eq!(cautions("ls\r\x1b[2K").len(), 1);
    }

    #[test]
    fn lookalike_letters_are_escaped_in_mixed_words() {
        for (text, shown) in [
            ("\u{441}at a; rm", r"\u{441}at a; rm"),
            ("ls ./\u{455}rc", r"ls ./\u{455}rc"),
            ("s\u{3bf}rt x", r"s\u{3bf}rt x"),
            ("\u{570}ead", r"\u{570}ead"),
            ("\u{ff43}url", r"\u{ff43}url"),
            ("echo a\u{ff1b}id", r"echo a\u{ff1b}id"),
            ("c\u{200b}\u{430}t", r"c\u{200b}\u{430}t"),
        ] {
            assert_eq!(unmasked(text), shown);
            assert!(cautions(text).iter().any(|it| it.contains("look-alike")), "{text}");
        }
    }

    #[test]
    fn words_of_one_script_are_not_escaped() {
        for text in [
            "git commit -m 'исправил ошибку в файле README.md'",
            "echo καλημέρα > a.txt; git-репозиторий; «Git»—система",
            "Δt = 3 μs; naïve façade; 运行 git，然后（再）make。",
            "բարեւ world",
        ] {
            assert!(matches!(unmasked(text), Cow::Borrowed(_)), "{text}");
            assert!(cautions(text).is_empty(), "{text}");
        }
    }
}
