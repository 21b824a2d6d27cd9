//! What patches, archives and copies of folders write: files whose names stand in them, and which nobody has
//! seen. Sees too many rather than too few.

use super::kept::is_pattern;
use super::{Reach, Sweep};
use crate::rules::Touch;
use crate::shell::{Piece, base_name};

/// Options of git's `apply` with which it only says what it would do.
const TELLING: &[&str] = &["--check", "--stat", "--numstat", "--summary", "--cached"];

/// The sweep that a program which guessed something is.
pub(super) fn sweep(words: &[Piece]) -> Option<Sweep<'_>> {
    let (program, args) = words.split_first()?;
    let name = base_name(&program.text);
    let first = args.first().map_or("", |word| word.text.as_str());
    let writes = match name {
        "patch" => !has(args, &["--dry-run"]),
        "tar" | "gtar" | "bsdtar" | "star" => {
            has_letter(args, 'x') || first.contains('x') || has(args, &["--extract", "--get"])
        }
        "unzip" => !"lvZtpzc".chars().any(|letter| has_letter(args, letter)),
        "cpio" => {
            let is_list = has_letter(args, 't') || has(args, &["--list"]);
            let reads = "ip".chars().any(|letter| has_letter(args, letter));
            !is_list && (reads || has(args, &["--extract", "--pass-through"]))
        }
        "7z" | "7za" | "7zr" | "7zz" | "unrar" | "rar" => matches!(first, "x" | "e"),
        "ar" | "jar" => first.contains('x'),
        "cp" | "gcp" | "rsync" => return copies(name, args),
        _ => false,
    };
    // Some archives are unpacked with the whole paths that they name.
    let is_bundled = name.ends_with("tar") && !first.starts_with('-') && first.contains('P');
    let is_wide =
        name == "cpio" || is_bundled || has_letter(args, 'P') || has(args, &["--absolute-names"]);
    writes.then(|| below(places(args, name), is_wide))
}

/// What a copy of all that is in a folder writes into another one.
fn copies<'a>(name: &str, args: &[Piece]) -> Option<Sweep<'a>> {
    let (sources, targets) = copied(name, args);
    let is_deep = name == "rsync" || "rRa".chars().any(|it| has_letter(args, it));
    let is_deep = is_deep || has(args, &["--recursive", "--archive"]);
    let end = if name == "rsync" { "/" } else { "/." };
    let takes_all = |word: &&Piece| word.glob || word.text == "." || word.text.ends_with(end);
    (is_deep && sources.iter().any(takes_all)).then(|| below(targets, false))
}

/// What a copy reads, and where to: an option of `cp` names that, or else the last word.
pub(super) fn copied<'a>(name: &str, args: &'a [Piece]) -> (Vec<&'a Piece>, Vec<Piece>) {
    let is_option = |word: &Piece| word.text.starts_with('-');
    let mut sources: Vec<&Piece> = args.iter().filter(|word| !is_option(word)).collect();
    // The beginning of an option is as good as all of it.
    let is_long = |text: &str| text.len() > 3 && "--target-directory".starts_with(text);
    let mut targets = Vec::new();
    for (word, next) in args.iter().zip(args.iter().skip(1).map(Some).chain([None])) {
        if !matches!(name, "cp" | "gcp") || !is_option(word) {
            continue;
        }
        let (long, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
        let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let attached = letters.and_then(|letters| letters.split_once('t')).map(|(_, rest)| rest);
        let attached = attached.or(is_long(long).then_some(value));
        match attached {
            Some("") => {
                sources.retain(|source| !next.is_some_and(|next| std::ptr::eq(*source, next)));
                targets.extend(next.cloned());
            }
            Some(folder) => targets.push(Piece { text: folder.to_owned(), ..word.clone() }),
            None => {}
        }
    }
    if targets.is_empty() {
        targets.extend(sources.pop().cloned());
    }
    (sources, targets)
}

/// The sweep that git is which takes a patch, or removes what it keeps.
pub(super) fn applied<'a>(subcommand: &str, rest: &'a [Piece]) -> Option<Sweep<'a>> {
    match subcommand {
        "apply" if has(rest, &["--apply"]) || !has(rest, TELLING) => {
            Some(below(places(rest, "git"), false))
        }
        "rm" if !has(rest, &["--cached", "-n", "--dry-run"]) => {
            let operands = rest.iter().filter(|word| !word.text.starts_with('-'));
            let is_wide = operands.clone().any(is_pattern);
            Some(below(operands.cloned().collect(), is_wide))
        }
        // These are named from the top of the repository.
        "am" if !has(rest, &["--show-current-patch"]) => Some(below(Vec::new(), true)),
        _ => None,
    }
}

fn below(places: Vec<Piece>, is_wide: bool) -> Sweep<'static> {
    Sweep { is_wide, ..Sweep::of(places, Touch::Write, Reach::Named) }
}

/// The folders that options name; none where that is the working folder.
fn places(args: &[Piece], name: &str) -> Vec<Piece> {
    let letter = match name {
        "patch" | "unzip" => "-d",
        "cpio" => "-D",
        "7z" | "7za" | "7zr" | "7zz" => "-o",
        "git" => "--directory",
        _ => "-C",
    };
    values(args, letter, "--directory")
}

/// The values of an option, attached or in the word after.
fn values(args: &[Piece], letter: &str, long: &str) -> Vec<Piece> {
    let mut values = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let long = word.text.strip_prefix(long).map(|rest| rest.strip_prefix('=').unwrap_or(rest));
        match long.or_else(|| word.text.strip_prefix(letter)) {
            Some("") => values.extend(args.get(at + 1).cloned()),
            Some(value) => values.push(Piece { text: value.to_owned(), ..word.clone() }),
            None => {}
        }
    }
    values
}

/// Whether one of these options is given.
pub(super) fn has(args: &[Piece], names: &[&str]) -> bool {
    args.iter().any(|word| names.contains(&word.text.split('=').next().unwrap_or_default()))
}

/// Whether a letter is among the options.
pub(super) fn has_letter(args: &[Piece], letter: char) -> bool {
    let mut clusters = args.iter().filter_map(|word| word.text.strip_prefix('-'));
    clusters.any(|cluster| !cluster.starts_with('-') && cluster.contains(letter))
}
