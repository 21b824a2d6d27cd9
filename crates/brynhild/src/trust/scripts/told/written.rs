//! Files that a text writes by a redirection or by `tee`: what is loaded from one of them later is nothing that
//! anybody looked at.

use std::collections::BTreeSet;
use std::path::Path;

use policy::script::{Piece, Word};

use super::super::{Entry, is_data};
use super::Place;
use super::languages::{First, Language, by_own};

/// Endings of what no interpreter loads unless its whole name is written out.
const ENDINGS: [&str; 4] = [".json", ".log", ".md", ".txt"];
/// What Node.js looks into for the name of what it loads.
pub(super) const PACKAGE: &str = "package.json";

/// The names with such endings that texts which no shell reads say, in small letters. Of a pattern it is what follows
/// the star, with that before it.
pub(super) fn said<'a>(entries: impl Iterator<Item = &'a Entry>) -> BTreeSet<String> {
    let shell = First::Language(Language::Shell);
    let is_read = |entry: &&Entry| {
        let path = &entry.part.path;
        let is_code = !is_data(path) && !by_own(path, &entry.bytes).contains(&shell);
        is_code || path.ends_with(PACKAGE)
    };
    let names = entries.filter(is_read).flat_map(|entry| {
        let text = String::from_utf8_lossy(&entry.bytes).to_ascii_lowercase();
        let names = text.split(is_sign).filter(|it| has_ending(it)).map(str::to_owned);
        // Node.js takes names for patterns only there.
        let patterns = text.split('*').skip(1).filter(|_| entry.part.path.ends_with(PACKAGE));
        let ends = patterns.filter_map(|it| it.split(is_sign).next()).filter(|it| !it.is_empty());
        names.chain(ends.map(|end| format!("*{end}"))).collect::<Vec<_>>()
    });
    names.collect()
}

/// The name of a file that is written, if nothing loads it by that, whatever folder it lies in.
pub(super) fn name_unless_loaded<'a>(word: &'a Word, said: &BTreeSet<String>) -> Option<&'a str> {
    let last = match word.pieces.as_slice() {
        [Piece::Text(text)] => text,
        [.., Piece::Text(text)] if text.contains('/') => text,
        _ => return None,
    };
    let last = last.rsplit('/').next().filter(|it| !it.starts_with('-'))?;
    // Some file systems do not tell letters of different case apart.
    let small = last.to_ascii_lowercase();
    let fits = |it: &String| it.strip_prefix('*').is_some_and(|end| small.ends_with(end));
    let is_said =
        said.contains(small.rsplit(is_sign).next().unwrap_or_default()) || said.iter().any(fits);
    let is_data = has_ending(&small) && small != PACKAGE;
    (is_data && !is_said).then_some(last)
}

/// Whether a file that is written is none that lies in a project.
pub(super) fn is_elsewhere(word: &Word, place: Place<'_>) -> bool {
    let Some(path) = word.literal() else { return false };
    // A project may lie in a folder of this one.
    let temporary =
        path.strip_prefix("/tmp/").filter(|_| place != Place::Project(Path::new("/tmp")));
    let is_temporary =
        temporary.is_some_and(|it| !it.contains('/') && !["", ".", ".."].contains(&it));
    ["/dev/null", "/dev/stderr"].contains(&path) || is_temporary
}

fn has_ending(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a letter is none of a name.
pub(super) fn is_sign(letter: char) -> bool {
    !letter.is_alphanumeric() && !['.', '-', '_'].contains(&letter)
}
