//! What git writes into the working tree by itself: files of another revision, or those that were put aside. Sees
//! too many rather than too few.

use super::kept::{gone_to, is_pattern, moved, split};
use super::unpacked::{has, has_letter};
use super::{Reach, Sweep};
use crate::rules::Touch;
use crate::shell::{Piece, base_name};

/// What is written of what git keeps.
enum Written {
    /// What differs, at these places or everywhere.
    Changed(Vec<Piece>),
    /// All that another revision has at these places, whether it is kept here or not.
    Taken(Vec<Piece>),
}

/// The sweep that git is which writes what it keeps or has kept.
pub(super) fn sweep(words: &[Piece]) -> Option<Sweep<'static>> {
    let (program, args) = words.split_first()?;
    if base_name(&program.text) != "git" {
        return None;
    }
    let at = split(args)?;
    let (places, reach) = match written(&args[at].text, &args[at + 1..])? {
        Written::Changed(places) => (places, Reach::Kept),
        Written::Taken(places) => (places, Reach::Named),
    };
    // What only the running shell knows is mostly not everything.
    let is_known = |word: &Piece| !word.dynamic || reach == Reach::Kept;
    if !places.is_empty() && !places.iter().any(is_known) {
        return None;
    }
    let places: Vec<Piece> = places.into_iter().filter(is_known).collect();
    let is_wide = places.iter().any(is_pattern);
    let places = moved(&args[..at], places);
    let goes_to = gone_to(&args[..at]);
    Some(Sweep { goes_to, is_wide, ..Sweep::of(places, Touch::Write, reach) })
}

fn written(subcommand: &str, rest: &[Piece]) -> Option<Written> {
    let operands = || rest.iter().filter(|word| !word.text.starts_with('-'));
    let first = operands().next().map_or("", |word| word.text.as_str());
    let everywhere = || Some(Written::Changed(Vec::new()));
    let dashes = rest.iter().position(|word| word.text == "--");
    let after = dashes.map_or(&[][..], |at| &rest[at + 1..]);
    match subcommand {
        "checkout" => checked_out(rest),
        "restore" if is_staged(rest) => None,
        "restore" => Some(Written::Taken(operands().cloned().collect())),
        "switch" if makes_branch(rest) => None,
        "stash" if !after.is_empty() => Some(Written::Changed(after.to_vec())),
        "stash" if matches!(first, "list" | "show" | "drop" | "clear" | "create" | "store") => None,
        "bisect" if matches!(first, "log" | "terms" | "view" | "visualize") => None,
        "switch" | "stash" | "bisect" | "merge" | "pull" | "rebase" | "cherry-pick" | "revert"
        | "checkout-index" => everywhere(),
        "submodule" if first == "update" => everywhere(),
        "reset" if has(rest, &["--hard", "--merge", "--keep"]) => everywhere(),
        "read-tree" if has_letter(rest, 'u') => everywhere(),
        _ => None,
    }
}

/// What `git checkout` writes: words behind `--` are paths, and so are those behind a revision. One word alone is
/// a path only if it is there.
fn checked_out(rest: &[Piece]) -> Option<Written> {
    let dashes = rest.iter().position(|word| word.text == "--");
    let after = dashes.map_or(&[][..], |at| &rest[at + 1..]);
    if !after.is_empty() {
        return Some(Written::Taken(after.to_vec()));
    }
    if makes_branch(rest) {
        return None;
    }
    let operands: Vec<Piece> =
        rest.iter().filter(|word| !word.text.starts_with('-')).cloned().collect();
    match operands.len() {
        // A branch is made of another one.
        2.. if is_making(rest) => Some(Written::Changed(Vec::new())),
        0 if !has(rest, &["--pathspec-from-file"]) => None,
        0 | 1 => Some(Written::Changed(operands)),
        _ => Some(Written::Taken(operands)),
    }
}

fn is_making(rest: &[Piece]) -> bool {
    let letters = "bBcC".chars().any(|letter| has_letter(rest, letter));
    letters || has(rest, &["--orphan", "--create", "--force-create"])
}

/// Whether a branch is made of what is there already.
fn makes_branch(rest: &[Piece]) -> bool {
    is_making(rest) && rest.iter().filter(|word| !word.text.starts_with('-')).count() < 2
}

/// Whether only the index is restored.
fn is_staged(rest: &[Piece]) -> bool {
    let has_either = |letter, long| has_letter(rest, letter) || has(rest, &[long]);
    has_either('S', "--staged") && !has_either('W', "--worktree")
}
