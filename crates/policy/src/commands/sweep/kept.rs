//! What git shows of the files that it keeps. Sees too many rather than too few.

use super::operands::operands;
use super::{Reach, Sweep, unpacked};
use crate::ground::Width;
use crate::programs::git::objects;
use crate::rules::Touch;
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

/// Fewer letters are not taken for a hash, or for an option.
const SHORTEST: usize = 4;

/// Subcommands that take words as paths only behind `--`, or after a colon.
const BY_REVISION: &[&str] = &[
    "archive",
    "bundle",
    "fast-export",
    "format-patch",
    "range-diff",
    "merge-tree",
    "unpack-file",
    "diff-tree",
    "diff-index",
    "request-pull",
    "bisect",
    "rebase",
    "am",
    "stash",
    "reflog",
];

/// Subcommands with `-p` or `-i` that show nothing of what is in files.
const OTHERWISE: &[&str] = &[
    "fetch",
    "pull",
    "push",
    "apply",
    "am",
    "rebase",
    "clean",
    "branch",
    "remote",
    "clone",
    "init",
    "merge",
    "blame",
    "annotate",
    "submodule",
    "worktree",
    "lfs",
    "grep",
    "config",
    "tag",
    "notes",
    "rm",
    "mv",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "rev-list",
    "shortlog",
    "describe",
    "gc",
    "prune",
    "repack",
    "maintenance",
    "credential",
    "cherry-pick",
    "revert",
];

/// The sweep that git with these arguments is.
pub(super) fn sweep(args: &[Piece]) -> Option<Sweep<'_>> {
    let at = split(args)?;
    let (subcommand, rest) = (args[at].text.as_str(), &args[at + 1..]);
    if let Some(applied) = unpacked::applied(subcommand, rest) {
        let here = Piece { text: String::from("."), ..Piece::default() };
        let places = if applied.places.is_empty() { vec![here] } else { applied.places };
        let goes_to = gone_to(&args[..at]);
        return Some(Sweep { places: moved(&args[..at], places), goes_to, ..applied });
    }
    if !shows(subcommand, rest) {
        return None;
    }
    let is_wide = names_hash(subcommand, rest) || has(rest, &["--full-diff"]);
    let places = if is_wide { Vec::new() } else { places(subcommand, rest) };
    let places = moved(&args[..at], places);
    // Programs take the beginning of an option for all of it.
    let is_foreign = |word: &Piece| {
        let text = word.text.as_str();
        text.len() > 4
            && ["--untracked", "--no-index"].iter().any(|option| option.starts_with(text))
    };
    let reach = if rest.iter().any(is_foreign) { Reach::Searched } else { Reach::Kept };
    let is_bare = has(rest, &["--no-exclude-standard", "--no-index"]);
    let width = if is_bare { Width::Everything } else { Width::Unignored };
    let goes_to = gone_to(&args[..at]);
    Some(Sweep { goes_to, width, ..Sweep::of(places, Touch::Read, reach) })
}

/// What a program is told to do, as far as its options are known.
pub(in crate::commands) fn subcommand<'a>(program: &str, args: &'a [Piece]) -> Option<&'a Piece> {
    let at = if program == "git" { split(args) } else { None };
    at.and_then(|at| args.get(at)).or(args.iter().find(|word| !word.text.starts_with('-')))
}

/// Where the subcommand stands.
pub(super) fn split(args: &[Piece]) -> Option<usize> {
    let mut at = 0;
    while args.get(at)?.text.starts_with('-') {
        at += if VALUED.contains(&args[at].text.as_str()) { 2 } else { 1 };
    }
    Some(at)
}

/// Whether one of these options is given.
fn has(words: &[Piece], names: &[&str]) -> bool {
    words.iter().any(|word| names.contains(&word.text.split('=').next().unwrap_or_default()))
}

/// The paths to which words narrow what git shows; none where that is everything that it keeps. Words
/// before `--` are revisions, whatever else has their name. Without it git refuses a word that is both.
fn places(subcommand: &str, rest: &[Piece]) -> Vec<Piece> {
    // Of an object such as `HEAD:src` it is the path that matters.
    let object = |word: &Piece| {
        let path = objects::path(&word.text)?;
        Some(Piece { text: path.to_owned(), ..word.clone() })
    };
    let dashes = rest.iter().position(|word| word.text == "--");
    let (before, after) = rest.split_at(dashes.unwrap_or(rest.len()));
    let after = after.get(1..).unwrap_or_default();
    let pattern = usize::from(has_pattern(subcommand, rest));
    let words = || before.iter().filter(|word| !word.text.starts_with('-'));
    let Some(known) = operands(subcommand, before) else {
        // Any of them may be a revision, of which all is shown, or say nothing at all.
        let is_narrow = !after.is_empty() && !words().chain(after).any(is_pattern);
        let all = words().filter_map(object).chain(after.iter().cloned());
        return if is_narrow { all.collect() } else { Vec::new() };
    };
    let operands = || known.iter().copied().skip(pattern);
    if operands().chain(after).any(is_pattern) {
        return Vec::new();
    }
    let objects = operands().filter_map(object);
    if !after.is_empty() {
        return objects.chain(after.iter().cloned()).collect();
    }
    let count = objects.clone().count();
    if count > 0 {
        // Beside an object a revision is shown as a whole.
        return if count == operands().count() { objects.collect() } else { Vec::new() };
    }
    if dashes.is_some() || BY_REVISION.contains(&subcommand) {
        return Vec::new();
    }
    operands().cloned().collect()
}

/// The folder where git itself goes first, by the options before its subcommand.
pub(super) fn gone_to(options: &[Piece]) -> Option<Piece> {
    let folders = options.iter().zip(options.iter().skip(1)).filter(|(it, _)| it.text == "-C");
    folders.fold(None, |folder: Option<Piece>, (_, next)| match folder {
        Some(before) if before.dynamic => Some(before),
        Some(before) if !next.dynamic && !next.home && !next.text.starts_with('/') => {
            Some(Piece { text: format!("{}/{}", before.text, next.text), ..before })
        }
        Some(_) | None => Some(next.clone()),
    })
}

/// The places as they are from the folder where git itself goes first; none where that is not known.
pub(super) fn moved(options: &[Piece], places: Vec<Piece>) -> Vec<Piece> {
    let Some(folder) = gone_to(options) else { return places };
    if folder.dynamic {
        return Vec::new();
    }
    let within = |place: Piece| {
        if place.home || place.text.starts_with('/') {
            return place;
        }
        let text = format!("{}/{}", folder.text, place.text);
        Piece { text, home: folder.home, ..place }
    };
    places.into_iter().map(within).collect()
}

/// Whether a subcommand shows what is in files.
pub(in crate::commands) fn shows(subcommand: &str, rest: &[Piece]) -> bool {
    let shows_patch = || rest.iter().any(|word| is_patch(word) || is_search(word));
    match subcommand {
        "grep" | "archive" | "fast-export" | "bundle" | "range-diff" | "difftool"
        | "merge-tree" | "unpack-file" => true,
        "diff" | "show" | "format-patch" | "diff-tree" | "diff-index" | "diff-files" => {
            shows_patch() || !has(rest, LISTS)
        }
        "stash" => shows_patch() || !(has(rest, LISTS) || has(rest, &["list"])),
        "log" | "reflog" | "whatchanged" => shows_patch(),
        "status" => rest.iter().any(is_verbose),
        "commit" => rest.iter().any(|word| is_verbose(word) || is_by_parts(subcommand, word)),
        "rerere" => rest.iter().any(|word| word.text == "diff"),
        "cat-file" => {
            let is_batch = rest.iter().any(|word| word.text.starts_with("--"));
            let names_file = rest.iter().any(|word| word.text.contains(':'));
            let says_little = has(rest, &["-t", "-s", "-e"]);
            !says_little && (is_batch || names_file || names_hash(subcommand, rest))
        }
        _ => rest.iter().any(|word| is_by_parts(subcommand, word)),
    }
}

/// Whether an option makes git show differences part by part, so that one may choose.
fn is_by_parts(subcommand: &str, word: &Piece) -> bool {
    let text = word.text.as_str();
    if text.starts_with("--") {
        let name = text.split('=').next().unwrap_or_default();
        let is_begun = |option: &str| name.len() > SHORTEST && option.starts_with(name);
        let may_show = name.starts_with("--sh") && matches!(subcommand, "am" | "rebase");
        let is_other = OTHERWISE.contains(&subcommand) && !may_show;
        let options = ["--patch", "--interactive", "--show-current-patch"];
        return !is_other && options.into_iter().any(is_begun);
    }
    // What follows these letters is their value.
    let letters = text.strip_prefix('-').unwrap_or_default();
    let letters = letters.split(['m', 'F', 'C', 'c', 't', 'S', 'u', 'b', 'B']).next();
    let wanted: &[char] =
        if matches!(subcommand, "add" | "stage") { &['p', 'i', 'e'] } else { &['p'] };
    letters.unwrap_or_default().contains(wanted) && !OTHERWISE.contains(&subcommand)
}

/// Whether an option tells commits apart by what is in files.
fn is_search(word: &Piece) -> bool {
    let text = word.text.as_str();
    ["-S", "-G"].iter().any(|option| text.starts_with(option)) || text.starts_with("--pickaxe")
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

/// Whether the first operand is what is searched for.
fn has_pattern(subcommand: &str, rest: &[Piece]) -> bool {
    let is_given = |word: &Piece| {
        let text = word.text.as_str();
        text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'f'])
    };
    subcommand == "grep" && !rest.iter().any(is_given)
}

/// Subcommands that print no names of files.
const NAMELESS: &[&str] = &[
    "rev-parse",
    "rev-list",
    "describe",
    "branch",
    "tag",
    "config",
    "remote",
    "merge-base",
    "symbolic-ref",
    "for-each-ref",
    "show-ref",
    "ls-remote",
    "name-rev",
    "hash-object",
    "write-tree",
    "commit-tree",
    "shortlog",
    "worktree",
    "var",
    "version",
    "--version",
    "help",
];

/// Whether git with these arguments may print the names of files that it keeps.
pub(super) fn prints_names(args: &[Piece]) -> bool {
    let Some((subcommand, rest)) = split(args).map(|at| (args[at].text.as_str(), &args[at + 1..]))
    else {
        return false;
    };
    match subcommand {
        "log" | "reflog" | "stash" => {
            has(rest, LISTS) || has(rest, &["--raw", "--dirstat", "--summary", "--compact-summary"])
        }
        "rev-list" => has(rest, &["--objects"]),
        _ => !NAMELESS.contains(&subcommand),
    }
}

/// The paths to which git narrows the names that it prints; none where it does not.
pub(super) fn named_places(args: &[Piece]) -> Vec<Piece> {
    let Some(at) = split(args) else { return Vec::new() };
    moved(&args[..at], places(&args[at].text, &args[at + 1..]))
}

/// Whether a word could name an object by its hash: then it may be any file or folder.
fn names_hash(subcommand: &str, rest: &[Piece]) -> bool {
    let has_pattern = has_pattern(subcommand, rest);
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
pub(super) fn is_pattern(word: &Piece) -> bool {
    let marks = [":(", ":!", ":^", ":/", "::"];
    let is_magic = word.text == ":" || marks.iter().any(|mark| word.text.starts_with(mark));
    // A backslash that a shell has left there is a pattern to git, whatever the shell makes of the rest.
    let is_wild = word.text.contains('\\') || (!word.glob && word.text.contains(['*', '?', '[']));
    is_magic || is_wild
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
