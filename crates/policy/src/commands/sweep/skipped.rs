//! Files that a sweep leaves out by name, as far as that is certain: of whatever is not plain, nothing is left out.

use std::path::Path;

use super::left_out::{is_begun, is_packing_option};
use super::unpacked::has_letter;
use crate::glob::{Reading, meet};
use crate::shell::Piece;

/// What is left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Skip<'a> {
    /// Files with such a name.
    Named(&'a str),
    /// All below a path, as it is shown.
    Below(&'a str),
    /// All in folders of such a name, and what has the name itself.
    Within(&'a str),
}

impl Skip<'_> {
    /// Whether it leaves out a file that lies at `below` from the start, which is shown as `place`.
    pub(super) fn covers(&self, place: &str, below: &Path) -> bool {
        match self {
            Self::Named(pattern) => {
                let name = below.file_name().and_then(|name| name.to_str());
                name.is_some_and(|it| meet((pattern, Reading::Shell), (it, Reading::Literal)))
            }
            Self::Below(folder) => {
                let shown = format!("{}/{}", place.trim_end_matches('/'), below.display());
                shown == *folder || shown.strip_prefix(folder).is_some_and(|it| it.starts_with('/'))
            }
            Self::Within(name) => below.iter().any(|part| part == *name),
        }
    }
}

/// Whether a pattern means the same to all who read it.
fn is_plain(pattern: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-*?".contains(c);
    !pattern.is_empty() && pattern.chars().all(is_plain)
}

fn is_literal(name: &str) -> bool {
    is_plain(name) && !name.contains(['*', '?'])
}

/// The values of `--exclude`, where each of them is one for certain and plain.
fn excluded<'a>(args: &'a [Piece], bare: &str) -> Option<Vec<(usize, &'a str)>> {
    let mut values = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let value = match word.text.strip_prefix("--exclude") {
            Some("") => args.get(at + 1).filter(|next| !next.dynamic)?.text.as_str(),
            Some(rest) if rest.starts_with('=') => &rest[1..],
            Some(_) | None => continue,
        };
        if !is_packing_option(args, at, bare) {
            return None;
        }
        values.push((at, value));
    }
    Some(values)
}

/// What a recursive `grep` leaves out by `--exclude`. The last of contradicting options wins, and links are
/// followed by some.
pub(super) fn by_grep(args: &[Piece]) -> Vec<Skip<'_>> {
    let is_other = |word: &Piece| {
        word.dynamic || is_begun(word, "--include") || is_begun(word, "--dereference-recursive")
    };
    if args.iter().any(is_other) || has_letter(args, 'R') {
        return Vec::new();
    }
    let values = excluded(args, super::left_out::GREP).unwrap_or_default();
    values.into_iter().map(|(_, it)| it).filter(|it| is_plain(it)).map(Skip::Named).collect()
}

/// What `tar` and `rsync` leave out; none where something in their words may mean more, or less.
pub(super) fn by_packing<'a>(name: &str, args: &'a [Piece]) -> Option<Vec<Skip<'a>>> {
    let (letters, long): (&str, &[&str]) = match name {
        "tar" | "gtar" => {
            ("cvzjJf", &["--create", "--gzip", "--verbose", "--xz", "--zstd", "--file"])
        }
        "rsync" => (
            "avzrtpgoDnPhiu",
            &[
                "--archive",
                "--verbose",
                "--progress",
                "--dry-run",
                "--stats",
                "--compress",
                "--recursive",
                "--delete",
            ],
        ),
        _ => return None,
    };
    let is_known = |word: &Piece| {
        let text = word.text.as_str();
        let option = text.split('=').next().unwrap_or(text);
        let is_cluster = |letters_given: &str| letters_given.chars().all(|it| letters.contains(it));
        let is_short = || text.strip_prefix('-').is_some_and(is_cluster);
        !word.dynamic
            && (!text.starts_with('-')
                || option == "--exclude"
                || long.contains(&option)
                || is_short())
    };
    let values = excluded(args, &letters.replace('f', ""))?;
    let last = values.iter().map(|(at, _)| *at).max()?;
    // To `tar` they count only for what comes behind them.
    let is_ahead = |at: usize| {
        let before = at.checked_sub(1).map_or("", |at| args[at].text.as_str());
        args[at].text.starts_with('-') || at == 0 || before.ends_with('f') || before == "--exclude"
    };
    let first = args.first().map_or("", |word| word.text.as_str());
    let is_bundle =
        name == "rsync" || first.starts_with('-') || first.chars().all(|it| letters.contains(it));
    let is_sure = args.iter().all(is_known)
        && is_bundle
        && values.iter().all(|(_, value)| is_literal(value))
        && (name == "rsync" || (0..last).all(is_ahead));
    is_sure.then(|| values.into_iter().map(|(_, value)| Skip::Within(value)).collect())
}

/// What an expression of `find` leaves out of the files that it finds below `places`: by `! -name` and its like, and
/// by leading words such as `-path x -prune -o`.
pub(super) fn by_find<'a>(places: &[Piece], words: &'a [Piece]) -> Vec<Skip<'a>> {
    let is_plain_place = |it: &Piece| is_path(it.text.strip_prefix('/').unwrap_or(&it.text));
    let is_open = |it: &Piece| it.dynamic || it.glob;
    if places.iter().any(|it| is_open(it) || !is_plain_place(it))
        || words.iter().any(|it| it.dynamic)
    {
        return Vec::new();
    }
    let all: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let mut skips = Vec::new();
    let mut rest = all.as_slice();
    while let [test, pattern, "-prune", "-o" | "-or", behind @ ..] = rest {
        match (*test, pattern.strip_prefix("*/").unwrap_or(pattern)) {
            ("-name", name) if is_literal(name) => skips.push(Skip::Within(name)),
            ("-path" | "-wholename", name) if is_literal(name) && name != *pattern => {
                skips.push(Skip::Within(name));
            }
            ("-path" | "-wholename", path) if is_path(path) => skips.push(Skip::Below(path)),
            _ => {}
        }
        rest = behind;
    }
    let acts = rest.iter().position(|it| ACTIONS.contains(it)).unwrap_or(rest.len());
    let (tests, action) = rest.split_at(acts);
    // Without an action what is pruned is printed too, and what is deleted is gone through from the depth.
    if matches!(action, [] | ["-delete"]) {
        skips.clear();
    }
    let Some(negated) = negated(tests).filter(|_| is_last(action)) else { return Vec::new() };
    for (test, pattern) in negated {
        let folder = pattern.strip_suffix("/*").unwrap_or_default();
        match test {
            "-name" if is_plain(pattern) => skips.push(Skip::Named(pattern)),
            "-path" | "-wholename" if folder.strip_prefix("*/").is_some_and(is_literal) => {
                skips.push(Skip::Within(&folder[2..]));
            }
            "-path" | "-wholename" if is_path(folder) => skips.push(Skip::Below(folder)),
            _ => {}
        }
    }
    skips
}

/// What `find` does with the files that it finds.
const ACTIONS: &[&str] = &["-print", "-print0", "-delete", "-exec", "-execdir"];

/// Whether an action is one, and nothing comes behind it.
fn is_last(action: &[&str]) -> bool {
    match action {
        ["-exec" | "-execdir", program @ .., ";" | "+"] => {
            !program.iter().any(|it| [";", "+"].contains(it))
        }
        [] | [_] => true,
        _ => false,
    }
}

/// The tests that must not hold, with their patterns; none where not all of them are known, or where what they
/// let through may be a link: that could have any name.
fn negated<'a>(tests: &[&'a str]) -> Option<Vec<(&'a str, &'a str)>> {
    let mut negated = Vec::new();
    let (mut rest, mut is_file) = (tests, false);
    loop {
        rest = match rest {
            [] => return is_file.then_some(negated),
            ["-type", "f", rest @ ..] => {
                is_file = true;
                rest
            }
            [
                "-name" | "-iname" | "-path" | "-wholename" | "-size" | "-mtime" | "-mmin"
                | "-newer" | "-maxdepth",
                _,
                rest @ ..,
            ] => rest,
            [
                "!" | "-not",
                test @ ("-name" | "-iname" | "-path" | "-wholename"),
                pattern,
                rest @ ..,
            ] => {
                negated.push((*test, *pattern));
                rest
            }
            _ => return None,
        };
    }
}

/// Whether a path has nothing in it that is read in another way, or that `find` shows otherwise.
fn is_path(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| is_literal(part) && part != "..")
}
