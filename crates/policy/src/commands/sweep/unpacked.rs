//! What patches, archives and copies of folders write: files whose names stand in them, and which nobody has
//! seen. Sees too many rather than too few.

use super::{Reach, Sweep};
use crate::ground::Width;
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
        "cp" | "gcp" | "rsync" => return copied(name, args),
        _ => false,
    };
    // Some archives are unpacked with the whole paths that they name.
    let is_wide = name == "cpio" || has_letter(args, 'P') || has(args, &["--absolute-names"]);
    writes.then(|| below(places(args, name), is_wide))
}

/// What a copy of all that is in a folder writes into another one.
fn copied<'a>(name: &str, args: &[Piece]) -> Option<Sweep<'a>> {
    let mut operands = args.iter().filter(|word| !word.text.starts_with('-'));
    let into = values(args, "-t", "--target-directory");
    let target = if into.is_empty() { operands.next_back().cloned() } else { None };
    let is_deep = name == "rsync" || "rRa".chars().any(|it| has_letter(args, it));
    let is_deep = is_deep || has(args, &["--recursive", "--archive"]);
    let end = if name == "rsync" { "/" } else { "/." };
    let takes_all = |word: &Piece| word.glob || word.text == "." || word.text.ends_with(end);
    let places = into.into_iter().chain(target).collect();
    (is_deep && operands.any(takes_all)).then(|| below(places, false))
}

/// The sweep that git is which takes a patch, or removes what it keeps.
pub(super) fn applied<'a>(subcommand: &str, rest: &'a [Piece]) -> Option<Sweep<'a>> {
    match subcommand {
        "apply" if has(rest, &["--apply"]) || !has(rest, TELLING) => {
            Some(below(places(rest, "git"), false))
        }
        "rm" if !has(rest, &["--cached", "-n", "--dry-run"]) => {
            let operands = rest.iter().filter(|word| !word.text.starts_with('-'));
            Some(below(operands.cloned().collect(), false))
        }
        // These are named from the top of the repository.
        "am" if !has(rest, &["--show-current-patch"]) => Some(below(Vec::new(), true)),
        _ => None,
    }
}

fn below(places: Vec<Piece>, is_wide: bool) -> Sweep<'static> {
    let (width, touch) = (Width::Everything, Touch::Write);
    let (only, never) = (Vec::new(), Vec::new());
    Sweep { places, width, touch, reach: Reach::Named, is_wide, only, never }
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
