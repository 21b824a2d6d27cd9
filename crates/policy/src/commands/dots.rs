//! Patterns that stand for the folder above: `.?`, `.[a.]` and `.*` fit `..` in Bash before 5.2 and in dash, which do not
//! leave it out as others do. Sees too many rather than too few.

use super::Read;
use crate::ground::is_wild;
use crate::shell::Piece;

/// More words are not made of one.
const WORDS: usize = 32;

/// What a word with wildcards also means where `..` and `.` are among the names that they fit. Where that is more than
/// can be followed, it is noted.
pub(super) fn led_back(word: &Piece, read: &Read<'_>) -> Vec<Piece> {
    if !word.glob || !word.text.split('/').any(|part| is_wild(part) && begins_so(part)) {
        return Vec::new();
    }
    let parts: Vec<&str> = word.text.split('/').collect();
    // All choices for those parts alone that have one, so that a long path is put together only once for each.
    let mut all: Vec<Vec<(usize, &str)>> = vec![Vec::new()];
    for (at, part) in parts.iter().enumerate().filter(|(_, part)| is_wild(part)) {
        let others = meant_by(part);
        if all.len() * (others.len() + 1) > WORDS {
            read.ends.cut_short();
            return Vec::new();
        }
        let chosen = |choice: &&'static str| {
            all.iter().map(|it| [it.as_slice(), &[(at, *choice)]].concat()).collect::<Vec<_>>()
        };
        let further: Vec<Vec<(usize, &str)>> = others.iter().flat_map(chosen).collect();
        all.extend(further);
    }
    all.into_iter().skip(1).map(|choices| chosen(word, &parts, &choices)).collect()
}

/// A word with other parts in some places.
fn chosen(word: &Piece, parts: &[&str], choices: &[(usize, &str)]) -> Piece {
    let mut parts = parts.to_vec();
    for (at, part) in choices {
        parts[*at] = part;
    }
    let text = parts.join("/");
    Piece { glob: is_wild(&text), text, ..word.clone() }
}

/// Whether a name begins with a dot, or with what some shells may take for one.
fn begins_so(part: &str) -> bool {
    part.starts_with('.') || part.contains('(')
}

/// The folders themselves that a pattern for names fits.
fn meant_by(part: &str) -> Vec<&'static str> {
    // What some shells alone understand may be anything.
    if part.contains('(') && part.contains('.') {
        return vec!["..", "."];
    }
    let Some(rest) = part.strip_prefix('.') else { return Vec::new() };
    let one = rest.trim_matches('*');
    match one {
        "" => vec!["..", "."],
        "?" | "." => vec![".."],
        _ if holds_dot(one) => vec![".."],
        _ => Vec::new(),
    }
}

/// Whether a pattern is one set of characters in which there is a dot.
fn holds_dot(pattern: &str) -> bool {
    let Some(set) = pattern.strip_prefix('[').and_then(|it| it.strip_suffix(']')) else {
        return false;
    };
    let is_negated = set.starts_with(['!', '^']);
    let set = set.trim_start_matches(['!', '^']);
    // Of classes only those of letters and digits hold none for certain.
    let lacks = ["[:alpha:]", "[:alnum:]", "[:digit:]", "[:lower:]", "[:upper:]", "[:xdigit:]"];
    let plain = lacks.iter().fold(set.to_owned(), |set, class| set.replace(class, ""));
    if plain.contains('[') {
        return true;
    }
    let letters: Vec<char> = plain.chars().collect();
    let spans = |it: &[char]| it[1] == '-' && it[0] <= '.' && '.' <= it[2];
    (letters.contains(&'.') || letters.windows(3).any(spans)) != is_negated
}

#[cfg(test)]
mod tests {
    use super::meant_by;

    #[test]
    fn only_what_fits_two_dots_leads_back() {
        for pattern in [".?", ".[.]", ".[a.]", ".[!a]", ".[+-9]", ".[[:punct:]]", ".?*", ".@(.)"] {
            assert!(meant_by(pattern).contains(&".."), "{pattern}");
        }
        for pattern in
            [".[!.]*", ".[^.]*", ".[a-z]", ".??*", ".*rc", ".[[:alpha:]]*", "*", "?.", ".e*"]
        {
            assert!(meant_by(pattern).is_empty(), "{pattern}");
        }
        assert_eq!(meant_by(".*"), ["..", "."]);
    }
}
