//! The folder that a text goes to before all else: what runs only if that has worked runs there and nowhere else,
//! and what follows may run without the rest. Wherever it is not certain, all folders count.

mod handed;
mod programs;
mod staying;

use std::path::{Path, PathBuf};

use crate::call::Call;
use crate::ground::Look;
use crate::paths::normalize;
use crate::script;
use staying::stays;

/// A text that is taken apart: what goes to a folder, that folder, and what runs there.
pub(super) struct Entered<'a> {
    pub(super) before: &'a str,
    pub(super) folder: PathBuf,
    pub(super) rest: &'a str,
    /// The end of the text, which runs elsewhere where nothing before it has run.
    pub(super) tail: &'a str,
    /// The folders in which that may be.
    pub(super) elsewhere: Vec<PathBuf>,
}

/// More changes of folder one after the other are not followed, and no more commands before them.
const FOLLOWED: usize = 4;

/// Programs that change nothing which matters to what comes behind them.
const BEFORE: &[&str] =
    &["ls", "pwd", "mkdir", "touch", "echo", "true", ":", "date", "test", "[", "cat", "which"];

/// What ends a text and goes back.
const ENDINGS: &[&str] = &[
    "popd",
    "popd >/dev/null",
    "popd > /dev/null",
    "cd ..",
    "cd -",
    "cd - >/dev/null",
    "cd - > /dev/null",
    "cd ../..",
];

/// The folder that `text`, run in `cwd`, is in for all that it does once it is there.
pub(super) fn entered<'a>(call: &Call<'_>, text: &'a str, cwd: &Path) -> Option<Entered<'a>> {
    let ground = call.ground.look()?;
    // Nothing else separates words for a shell.
    if text.contains(|c: char| c.is_whitespace() && ![' ', '\t', '\n'].contains(&c)) {
        return None;
    }
    let start = without_return(strip_parentheses(text));
    let (mut rest, made) = without_first(start);
    let mut folder = normalize(cwd);
    let mut elsewhere = Vec::new();
    let mut is_gone = false;
    for _ in 0..FOLLOWED {
        let Some((target, sure, behind)) = goes(rest) else { break };
        let there = normalize(&folder.join(target));
        let is_there = is_folder(ground, &there)
            || (made.contains(&target) && !is_gone && may_be_made(ground, &there));
        // Where the folder before was not reached, nothing stops what follows.
        if !is_there || (sure == Sure::Everywhere && !elsewhere.is_empty()) {
            break;
        }
        let before = std::mem::replace(&mut folder, there);
        if sure == Sure::Here && !elsewhere.contains(&before) {
            elsewhere.push(before);
        }
        (rest, is_gone) = (behind, true);
    }
    if !is_gone || rest.trim().is_empty() {
        return None;
    }
    let chain = script::chain(rest).ok()?;
    let is_split = !elsewhere.is_empty();
    if (is_split && chain.is_parallel) || !stays(rest, &chain.commands) {
        return None;
    }
    let tail = chain.rest.filter(|_| is_split).map_or("", |at| &rest[at..]);
    let before = &start[..start.len() - rest.len()];
    Some(Entered { before, folder, rest, tail, elsewhere })
}

/// Whether a path is that of a folder, and of no link.
fn is_folder(ground: &dyn Look, path: &Path) -> bool {
    ground.real(path).is_some_and(|real| real == path) && ground.real(&path.join(".")).is_some()
}

/// Whether a folder that is not there yet would be made in its place.
fn may_be_made(ground: &dyn Look, path: &Path) -> bool {
    let above = path.ancestors().skip(1).find(|it| ground.real(it).is_some());
    ground.real(path).is_none() && above.is_some_and(|above| is_folder(ground, above))
}

/// How far what follows runs only if the folder was gone to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sure {
    /// As far as `&&` goes on.
    Here,
    /// To the end.
    Everywhere,
}

/// The folder that the beginning of a text goes to, how sure that is, and what comes behind.
fn goes(text: &str) -> Option<(&str, Sure, &str)> {
    let text = text.trim_start();
    let stops = stops_at_failure(text);
    let text = stops.unwrap_or(text);
    let after = ["cd ", "pushd "].into_iter().find_map(|word| text.strip_prefix(word))?;
    let after = after.trim_start_matches(' ');
    let (target, behind) = literal(after.strip_prefix("-- ").unwrap_or(after))?;
    let behind = unheard(behind.trim_start_matches(' '));
    if let Some(rest) = behind.strip_prefix("&&") {
        return Some((target, Sure::Here, rest));
    }
    if let Some(rest) = behind.strip_prefix("|| exit") {
        let code = rest.trim_start_matches(' ');
        let behind = code.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_word = code.len() < rest.len() || behind.len() == code.len();
        let behind = behind.trim_start_matches(' ').strip_prefix([';', '\n']);
        return Some((target, Sure::Everywhere, behind.filter(|_| is_word)?));
    }
    let rest = behind.strip_prefix([';', '\n']).filter(|_| stops.is_some())?;
    (!rest.starts_with(';')).then_some((target, Sure::Everywhere, rest))
}

/// What comes behind a redirection that only keeps `pushd` from saying where it is.
fn unheard(text: &str) -> &str {
    let behind = [">/dev/null ", "> /dev/null "].into_iter().find_map(|it| text.strip_prefix(it));
    behind.map_or(text, |it| it.trim_start_matches(' '))
}

/// What comes behind `set -e`.
fn stops_at_failure(text: &str) -> Option<&str> {
    let options = text.strip_prefix("set -")?;
    let (letters, rest) = options.split_once([';', '\n'])?;
    let (letters, name) = letters.trim().split_once(' ').unwrap_or((letters.trim(), "pipefail"));
    let is_known = letters.contains('e')
        && letters
            .bytes()
            .all(|letter| b"eux".contains(&letter) || (letter == b'o' && letters.ends_with('o')))
        && name.trim() == "pipefail";
    is_known.then(|| rest.trim_start())
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_./+@-".contains(c)
}

/// A word that is a path as it stands, from the folder that it is in, and what comes behind it.
fn literal(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c));
    let inner = quote.map_or(text, |_| &text[1..]);
    let here = ["$PWD/", "${PWD}/"].into_iter().find_map(|it| inner.strip_prefix(it));
    let inner = here.filter(|_| quote != Some('\'')).unwrap_or(inner);
    let is_inner = |c: char| is_plain(c) || (quote.is_some() && c == ' ');
    let (word, rest) = inner.split_at(inner.find(|c| !is_inner(c)).unwrap_or(inner.len()));
    let rest = quote.map_or(Some(rest), |quote| rest.strip_prefix(quote))?;
    let ends = rest.starts_with([' ', ';', '&', '|', '\n']);
    let is_below = here.is_none() || !word.starts_with('/');
    (ends && is_below && !word.is_empty() && !word.starts_with('-')).then_some((word, rest))
}

/// What stands between parentheses around the whole text.
fn strip_parentheses(text: &str) -> &str {
    let inner = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    inner.filter(|inner| script::read(inner).is_ok()).unwrap_or(text)
}

/// A text without a last command that goes back, behind which nothing runs.
fn without_return(text: &str) -> &str {
    let trimmed = text.trim_end();
    let before = ENDINGS.iter().find_map(|it| trimmed.strip_suffix(it));
    let before = before.map(|it| it.trim_end_matches([' ', '\t']));
    let stripped = before.and_then(|it| it.strip_suffix("&&").or(it.strip_suffix([';', '\n'])));
    stripped.filter(|it| !it.ends_with([';', '&', '\\', '|'])).unwrap_or(text)
}

/// A text without comments and a few plain commands before all else, and the folders that these make.
fn without_first(text: &str) -> (&str, Vec<&str>) {
    let (mut rest, mut made) = (text.trim_start(), Vec::new());
    for _ in 0..FOLLOWED {
        let behind = if rest.starts_with('#') {
            rest.split_once('\n').map(|(_, behind)| behind)
        } else {
            let end = rest.find(|c| !is_plain(c) && !" :[]".contains(c)).unwrap_or(rest.len());
            let mut words = rest[..end].split(' ').filter(|word| !word.is_empty());
            let program = words.next().filter(|word| BEFORE.contains(word));
            made.extend(words.filter(|_| program == Some("mkdir")));
            program.and_then(|_| rest[end..].strip_prefix("&&"))
        };
        let Some(behind) = behind else { break };
        rest = behind.trim_start();
    }
    (rest, made)
}
