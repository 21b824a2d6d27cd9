//! Which words before `--` are operands of git, and which are values of options: a value narrows nothing.

use crate::shell::Piece;

/// Letters of `git grep` that take no value.
const GREP: &str = "acEFGhHiIlLnopPqrvwWz0123456789";
/// Those that take one.
const GREP_VALUED: &str = "ABCefm";
/// Letters of `git diff`, `git log` and their like that take no value, or only one that is attached; that of
/// `-L` ends with a path.
const DIFF: &str = "abBcCDgiLmMpqrRstuwWzX0123456789";
/// Those that take one.
const DIFF_VALUED: &str = "GIlnOSU";

/// Options that take no value, or only one that is attached.
#[rustfmt::skip]
const BARE: &[&str] = &[
    "abbrev", "abbrev-commit", "all", "all-match", "and", "basic-regexp", "binary", "boundary", "branches",
    "break", "cached", "cc", "check", "cherry", "cherry-mark", "cherry-pick", "color", "color-moved",
    "color-words", "column", "combined-all-paths", "compact-summary", "count", "date-order", "decorate",
    "dirstat", "exclude-standard", "exit-code", "ext-diff", "extended-regexp", "files-with-matches",
    "files-without-match", "find-copies", "find-copies-harder", "find-renames", "first-parent",
    "fixed-strings", "follow", "full-diff", "full-history", "full-index", "full-name", "function-context",
    "graph", "heading", "histogram", "ignore-all-space", "ignore-blank-lines", "ignore-case",
    "ignore-cr-at-eol", "ignore-space-at-eol", "ignore-space-change", "ignore-submodules",
    "indent-heuristic", "invert-match", "irreversible-delete", "ita-invisible-in-index", "left-right",
    "line-number", "merge", "merge-base", "merges", "minimal", "name-only", "name-status", "no-abbrev",
    "no-abbrev-commit", "no-color", "no-color-moved", "no-decorate", "no-exclude-standard",
    "no-ext-diff", "no-index", "no-merges", "no-notes", "no-patch", "no-prefix", "no-recursive",
    "no-renames", "no-textconv", "not", "notes", "null", "numstat", "oneline", "only-matching", "or",
    "patch", "patch-with-raw", "patch-with-stat", "patience", "perl-regexp", "pickaxe-all",
    "pickaxe-regex", "pretty", "quiet", "raw", "recurse-submodules", "recursive", "relative",
    "relative-date", "remerge-diff", "remotes", "reverse", "shortstat", "show-function",
    "show-signature", "simplify-merges", "source", "staged", "stat", "submodule", "summary", "tags",
    "text", "textconv", "topo-order", "untracked", "walk-reflogs", "word-diff", "word-regexp",
];

/// Options that take one.
#[rustfmt::skip]
const VALUED: &[&str] = &[
    "after", "after-context", "anchored", "author", "before", "before-context", "color-moved-ws",
    "committer", "context", "date", "diff-algorithm", "diff-filter", "encoding", "exclude", "find-object",
    "format", "glob", "grep", "grep-reflog", "inter-hunk-context", "line-prefix", "max-count", "max-depth",
    "max-parents", "min-parents", "output", "since", "since-as-filter", "skip", "threads", "until",
    "word-diff-regex",
];

/// Whether an option takes the word behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Next,
    Unknown,
}

/// The operands among the words before `--`; none where a word may be one or the value of an option.
pub(super) fn operands<'a>(subcommand: &str, before: &'a [Piece]) -> Option<Vec<&'a Piece>> {
    let mut operands = Vec::new();
    let mut last = Takes::Nothing;
    for word in before {
        let is_option = word.text.starts_with('-') && word.text.len() > 1;
        match last {
            Takes::Next => last = Takes::Nothing,
            Takes::Unknown if !is_option => return None,
            Takes::Nothing | Takes::Unknown if is_option => last = takes(subcommand, &word.text),
            Takes::Nothing | Takes::Unknown => operands.push(word),
        }
    }
    Some(operands)
}

fn takes(subcommand: &str, option: &str) -> Takes {
    if let Some(long) = option.strip_prefix("--") {
        return match long {
            _ if long.contains('=') || BARE.contains(&long) => Takes::Nothing,
            _ if VALUED.contains(&long) => Takes::Next,
            _ => Takes::Unknown,
        };
    }
    let (bare, valued) =
        if subcommand == "grep" { (GREP, GREP_VALUED) } else { (DIFF, DIFF_VALUED) };
    let letters = option.trim_start_matches('-');
    match letters.find(|letter| !bare.contains(letter)) {
        None => Takes::Nothing,
        Some(at) if !letters[at..].starts_with(|letter| valued.contains(letter)) => Takes::Unknown,
        // What is attached to such a letter is its value.
        Some(at) if at + 1 < letters.len() => Takes::Nothing,
        Some(_) => Takes::Next,
    }
}
