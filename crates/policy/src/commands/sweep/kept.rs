//! What git shows of the files that it keeps. Sees too many rather than too few.

use super::Sweep;
use crate::ground::Width;
use crate::shell::Piece;

/// Options of git itself that take the next word.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--config-env",
    "--attr-source",
    "--super-prefix",
];

/// Options that show differences in full, whatever else is asked for.
const PATCHES: &[&str] = &[
    "--patch",
    "--patch-with-stat",
    "--patch-with-raw",
    "--unified",
    "--binary",
    "--check",
    "--cc",
    "--dd",
    "--remerge-diff",
    "--diff-merges",
];

/// Options that only list files, where none of the others is given.
const LISTS: &[&str] =
    &["--stat", "--numstat", "--shortstat", "--name-only", "--name-status", "--no-patch", "-s"];

/// Fewer letters are not taken for a hash.
const SHORTEST: usize = 4;

/// The sweep that git with these arguments is.
pub(super) fn sweep(args: &[Piece]) -> Option<Sweep<'_>> {
    let mut at = 0;
    while args.get(at)?.text.starts_with('-') {
        at += if VALUED.contains(&args[at].text.as_str()) { 2 } else { 1 };
    }
    let (subcommand, rest) = (args[at].text.as_str(), &args[at + 1..]);
    if !shows(subcommand, rest) {
        return None;
    }
    let has = |names: &[&str]| {
        rest.iter().any(|word| names.contains(&word.text.split('=').next().unwrap_or_default()))
    };
    // Of an object such as `HEAD:src` it is the path that matters.
    let place = |word: &Piece| match word.text.split_once(':') {
        Some((_, path)) => Piece { text: path.to_owned(), ..word.clone() },
        None => word.clone(),
    };
    let operands = rest.iter().filter(|word| !word.text.starts_with('-'));
    // Without a place it is everything that git keeps.
    let is_narrow = !names_hash(subcommand, rest) && !operands.clone().any(is_pattern);
    let places = operands.filter(|_| is_narrow).map(place).collect();
    // Programs take the beginning of an option for all of it.
    let is_foreign = |word: &Piece| {
        let text = word.text.as_str();
        text.len() > 4
            && ["--untracked", "--no-index"].iter().any(|option| option.starts_with(text))
    };
    let kept = !rest.iter().any(is_foreign);
    let is_bare = has(&["--no-exclude-standard", "--no-index"]);
    let width = if is_bare { Width::Everything } else { Width::Unignored };
    Some(Sweep { places, width, kept, only: Vec::new(), never: Vec::new() })
}

/// Whether a subcommand shows what is in files.
fn shows(subcommand: &str, rest: &[Piece]) -> bool {
    let has = |names: &[&str]| {
        rest.iter().any(|word| names.contains(&word.text.split('=').next().unwrap_or_default()))
    };
    let shows_patch = || rest.iter().any(is_patch);
    match subcommand {
        "grep" | "archive" | "fast-export" | "bundle" | "range-diff" | "difftool"
        | "merge-tree" | "unpack-file" => true,
        "diff" | "show" | "format-patch" | "diff-tree" | "diff-index" | "diff-files" => {
            shows_patch() || !has(LISTS)
        }
        "stash" => shows_patch() || !(has(LISTS) || has(&["list"])),
        "log" | "reflog" | "whatchanged" => shows_patch(),
        "status" | "commit" => rest.iter().any(is_verbose),
        "cat-file" => {
            let is_batch = rest.iter().any(|word| word.text.starts_with("--"));
            let names_file = rest.iter().any(|word| word.text.contains(':'));
            let says_little = has(&["-t", "-s", "-e"]);
            !says_little && (is_batch || names_file || names_hash(subcommand, rest))
        }
        _ => false,
    }
}

/// Whether an option makes git show differences in full.
fn is_patch(word: &Piece) -> bool {
    let text = word.text.as_str();
    if text.starts_with("--") {
        let name = text.split('=').next().unwrap_or_default();
        let is_begun = |option: &str| name.len() > SHORTEST - 1 && option.starts_with(name);
        return PATCHES.iter().any(|option| *option == name || is_begun(option));
    }
    // What follows these letters is their value.
    let letters = text.strip_prefix('-').unwrap_or_default();
    let letters = letters.split(['S', 'G', 'n', 'O', 'I', 'l']).next().unwrap_or_default();
    letters.contains(['p', 'u', 'U', 'c', 'L'])
}

/// Whether an option makes git add the differences to what it says of the state.
fn is_verbose(word: &Piece) -> bool {
    let text = word.text.as_str();
    match text.strip_prefix("--") {
        Some(name) => !name.is_empty() && "verbose".starts_with(name),
        None => text.strip_prefix('-').is_some_and(|letters| {
            let own = letters.split(['u', 'm', 'F', 'C', 'c', 't', 'S']).next();
            own.unwrap_or_default().contains('v')
        }),
    }
}

/// Whether a word could name an object by its hash: then it may be any file or folder.
fn names_hash(subcommand: &str, rest: &[Piece]) -> bool {
    let is_given = |word: &Piece| {
        let text = word.text.as_str();
        text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'f'])
    };
    let has_pattern = subcommand == "grep" && !rest.iter().any(is_given);
    let revisions = rest.iter().take_while(|word| word.text != "--");
    let operands = revisions.filter(|word| !word.text.starts_with('-'));
    operands.skip(usize::from(has_pattern)).any(|word| word.dynamic || is_hash(&word.text))
}

fn is_hash(text: &str) -> bool {
    text.split("..").any(|part| {
        let part = part.trim_start_matches(['.', '^']);
        let end = part.find(['^', '~', '@', ':', '{']).unwrap_or(part.len());
        // As `git describe` writes it.
        let name = part[..end].rsplit_once("-g").map_or(&part[..end], |(_, hash)| hash);
        name.len() >= SHORTEST && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether git reads a word as more than one path: a pattern that no shell has seen, or one with
/// words of its own before it, which may also mean all other files.
fn is_pattern(word: &Piece) -> bool {
    let is_magic = [":(", ":!", ":^", ":/"].iter().any(|mark| word.text.starts_with(mark));
    is_magic || (!word.glob && word.text.contains(['*', '?', '[']))
}

#[cfg(test)]
mod tests {
    use super::is_hash;

    #[test]
    fn hashes_are_known_in_every_form_of_a_revision() {
        for text in ["1234abcd", "abcd^{tree}", "^1234", "a..1234abcd", "v1-2-g1234", "1234:k"] {
            assert!(is_hash(text), "{text}");
        }
        for text in ["HEAD", "main~3", "v1.2.3", "abc", "src/feed.rs", "HEAD:1234"] {
            assert!(!is_hash(text), "{text}");
        }
    }
}
