//! Every path that one word could mean: itself, the value of an option, a file behind a mark. Sees too
//! many rather than too few; never used to allow.

use crate::programs::sed;
use crate::shell::{Piece, base_name};

/// What stands before a path in a word, or after it: `--file=x`, `f=@x`, `x:/in`, `a,b`.
const MARKS: &[char] = &['=', '@', ':', ',', '<'];
/// More parts of one word are not tried.
const PARTS: usize = 8;
/// Of a longer word fewer are tried: it is hardly a path.
const LONG: usize = 512;
/// A value may begin behind so many letters of options.
const LETTERS: usize = 6;

/// The parts of a word that could each be a path.
pub(crate) fn meanings(word: &str) -> impl Iterator<Item = &str> {
    let most = match word.len() > LONG {
        // A mark in a class of characters is none, and a pattern with one means no path behind a mark.
        _ if word.contains("[:") => 0,
        true => 1,
        false => PARTS,
    };
    let marks = word.match_indices(MARKS).take(most);
    let behind = marks.map(|(at, mark)| &word[at + mark.len()..]);
    let between = word.split(MARKS).take(most).filter(move |part| part.len() < word.len());
    let first = between.clone().next().unwrap_or_default();
    let parts = std::iter::once(word).chain(behind).chain(between);
    parts.chain(attached(word)).chain(attached(first)).filter(|part| !part.is_empty())
}

/// Whether a word could be no other path than itself: quick to tell of most words.
pub(crate) fn is_single(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./".contains(&byte);
    word.bytes().next().is_some_and(|first| !ARCHIVE.contains(&first)) && word.bytes().all(is_plain)
}

/// Letters of archivers that may stand without a dash.
const ARCHIVE: &[u8] = b"cxtruvzjJf";

/// What could be a value that is attached to letters of options before it. For archives they may stand
/// without a dash: `cflocked/x`.
fn attached(word: &str) -> impl Iterator<Item = &str> {
    let is_dashed = word.starts_with('-') && !word.starts_with("--");
    let starts = word.char_indices().map(|(at, _)| at).skip(1).take(LETTERS);
    let is_start = move |at: &usize| {
        let letters = &word[..*at];
        let is_bundle = letters.bytes().skip(1).all(|b| b.is_ascii_alphanumeric());
        let is_archive = letters.ends_with('f') && letters.bytes().all(|b| ARCHIVE.contains(&b));
        (is_dashed && is_bundle) || is_archive
    };
    starts.filter(is_start).map(|at| &word[at..])
}

/// The files that scripts among the words of a command name, where there is no sign before them.
pub(crate) fn in_scripts(words: &[Piece]) -> impl Iterator<Item = &str> {
    let is_editor = |word: &Piece| matches!(base_name(&word.text), "sed" | "gsed");
    let args = words.iter().position(is_editor).map_or(&[][..], |at| &words[at + 1..]);
    let args: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    sed::scripts(&args).into_iter().flat_map(sed::files)
}

/// Whether a part of a word may begin within letters of options, and so be any text.
pub(crate) fn is_cluster(word: &str) -> bool {
    attached(word).nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use super::meanings;

    #[test]
    fn values_are_found_behind_letters_and_marks() {
        for (word, path) in [
            ("-fsecret/k", "secret/k"),
            ("-ofsecret/k", "secret/k"),
            ("cflocked/x", "locked/x"),
            ("--file=secret/k", "secret/k"),
            ("f=@secret/k", "secret/k"),
            ("@secret/k", "secret/k"),
            ("f=<secret/k", "secret/k"),
            ("HEAD:secret", "secret"),
            ("-v./secret:/s", "./secret"),
            ("type=bind,source=secret,target=/s", "secret"),
        ] {
            assert!(meanings(word).any(|it| it == path), "{word}");
        }
        assert!(!meanings("cfg/secret").any(|it| it == "secret"));
        assert_eq!(meanings("src/main.rs").collect::<Vec<_>>(), ["src/main.rs"]);
    }

    #[test]
    fn of_a_hostile_word_no_more_than_some_parts_are_tried() {
        assert!(meanings(&"-a=@:,".repeat(5000)).count() < 40);
    }
}
