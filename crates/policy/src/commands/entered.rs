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
use staying::{is_setting, stays};

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

/// Of a longer text nothing is proven, since that takes as long as all else together.
const PROVEN: usize = 4096;

/// Programs that change nothing which matters to what comes behind them.
const BEFORE: &[&str] =
    &["ls", "pwd", "mkdir", "touch", "echo", "true", ":", "date", "test", "[", "cat", "which"];

/// What only shows each command before it runs.
const TRACING: &[&str] = &["set -x;", "set -x\n", "set -x &&"];

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

/// Programs that may put another folder, or a link, where one was.
const MOVING: &[&str] = &["mv", "cp", "ln", "git", "tar", "unzip", "rsync"];

/// The folders that `text`, run in `cwd`, is in: in one of its groups after the other, or for all that it does.
pub(super) fn all_entered<'a>(
    call: &Call<'_>,
    text: &'a str,
    cwd: &Path,
) -> Option<Vec<Entered<'a>>> {
    match entered(call, text, cwd) {
        Some(one) => Some(vec![one]),
        None => groups(text)?.into_iter().map(|group| entered(call, group, cwd)).collect(),
    }
}

/// The groups in parentheses of which a text consists: each begins in the folder of before, whatever others did.
fn groups(text: &str) -> Option<Vec<&str>> {
    let moves = |word: &str| MOVING.contains(&word);
    // A comment, a here-document and an escape may hide where a group ends.
    if text.len() > PROVEN
        || text.contains(['#', '\\', '`'])
        || text.contains("<<")
        || text.split(|c: char| !c.is_alphanumeric()).any(moves)
    {
        return None;
    }
    let mut groups = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && groups.len() < FOLLOWED {
        let inner = rest.strip_prefix('(')?;
        let mut ends = inner.match_indices(')').take(FOLLOWED).map(|(at, _)| at);
        let end = ends.find(|at| script::read(&inner[..*at]).is_ok())?;
        groups.push(&rest[..end + 2]);
        let behind = inner[end + 1..].trim_start_matches([' ', '\t']);
        let next = ["&&", "||", ";", "\n"].into_iter().find_map(|it| behind.strip_prefix(it));
        rest = next.or(behind.is_empty().then_some(""))?.trim_start();
    }
    (rest.is_empty() && groups.len() > 1).then_some(groups)
}

/// The folder that `text`, run in `cwd`, is in for all that it does once it is there.
fn entered<'a>(call: &Call<'_>, text: &'a str, cwd: &Path) -> Option<Entered<'a>> {
    let ground = call.ground.look()?;
    // Nothing else separates words for a shell.
    let is_strange = |c: char| c.is_whitespace() && ![' ', '\t', '\n'].contains(&c);
    if text.len() > PROVEN || text.contains(is_strange) {
        return None;
    }
    let start = without_return(strip_parentheses(without_background(text)));
    let First { mut rest, made, set } = without_first(start);
    let mut folder = normalize(cwd);
    let mut elsewhere = Vec::new();
    let mut is_gone = false;
    for _ in 0..FOLLOWED {
        let Some((target, sure, behind)) = goes(rest) else { break };
        let Some(there) = target.from(&folder, call.places.home.as_deref()) else { break };
        let is_there = is_folder(ground, &there)
            || (made.contains(&target.path) && !is_gone && may_be_made(ground, &there));
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
    if (is_split && chain.is_parallel) || !stays(rest, &chain.commands, &set) {
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

/// A folder as it is written.
struct Named<'a> {
    path: &'a str,
    is_in_home: bool,
}

impl Named<'_> {
    fn from(&self, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
        let base = if self.is_in_home { home? } else { folder };
        Some(normalize(&base.join(self.path)))
    }
}

/// The folder that the beginning of a text goes to, how sure that is, and what comes behind.
fn goes(text: &str) -> Option<(Named<'_>, Sure, &str)> {
    let text = text.trim_start();
    let text = text.strip_prefix("time ").unwrap_or(text).trim_start();
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
fn literal(text: &str) -> Option<(Named<'_>, &str)> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c));
    let inner = quote.map_or(text, |_| &text[1..]);
    let begun = |spellings: [&str; 2]| {
        let begun = spellings.into_iter().find_map(|it| inner.strip_prefix(it));
        begun.filter(|_| quote != Some('\''))
    };
    let here = begun(["$PWD/", "${PWD}/"]);
    let home = begun(["$HOME/", "${HOME}/"]);
    let home = home.or(inner.strip_prefix("~/").filter(|_| quote.is_none()));
    let inner = here.or(home).unwrap_or(inner);
    let is_inner = |c: char| is_plain(c) || (quote.is_some() && c == ' ');
    let (word, rest) = inner.split_at(inner.find(|c| !is_inner(c)).unwrap_or(inner.len()));
    let rest = quote.map_or(Some(rest), |quote| rest.strip_prefix(quote))?;
    let ends = rest.starts_with([' ', ';', '&', '|', '\n']);
    let is_below = (here.is_none() && home.is_none()) || !word.starts_with('/');
    let named = Named { path: word, is_in_home: home.is_some() };
    (ends && is_below && !word.is_empty() && !word.starts_with('-')).then_some((named, rest))
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

/// A text without the sign that puts all of it into the background.
fn without_background(text: &str) -> &str {
    let stripped = text.trim_end().strip_suffix('&').filter(|it| it.ends_with([' ', ')']));
    stripped.unwrap_or(text)
}

/// What a text says before all else that matters little to what follows.
struct First<'a> {
    rest: &'a str,
    /// The folders that it makes.
    made: Vec<&'a str>,
    /// The variables that it sets.
    set: Vec<&'a str>,
}

/// A text without comments, variables of its own and a few plain commands before all else.
fn without_first(text: &str) -> First<'_> {
    let mut first = First { rest: text.trim_start(), made: Vec::new(), set: Vec::new() };
    for _ in 0..FOLLOWED {
        let rest = first.rest;
        let behind = if rest.starts_with('#') {
            rest.split_once('\n').map(|(_, behind)| behind)
        } else if let Some(behind) = TRACING.iter().find_map(|it| rest.strip_prefix(it)) {
            Some(behind)
        } else if let Some((name, behind)) = sets(rest) {
            first.set.push(name);
            Some(behind)
        } else {
            let end = rest.find(|c| !is_plain(c) && !" :[]".contains(c)).unwrap_or(rest.len());
            let mut words = rest[..end].split(' ').filter(|word| !word.is_empty());
            let program = words.next().filter(|word| BEFORE.contains(word));
            first.made.extend(words.filter(|_| program == Some("mkdir")));
            program.and_then(|_| rest[end..].strip_prefix("&&"))
        };
        let Some(behind) = behind else { break };
        first.rest = behind.trim_start();
    }
    first
}

/// The variable that the beginning of a text sets to a plain value, and what comes behind.
fn sets(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("export ").unwrap_or(text).trim_start_matches(' ');
    let (name, value) = text.split_once('=').filter(|(name, _)| is_own_variable(name))?;
    let behind = value.trim_start_matches(is_plain).trim_start_matches(' ');
    let next = behind.strip_prefix("&&").or(behind.strip_prefix([';', '\n']))?;
    (!next.starts_with([';', '&'])).then_some((name, next))
}

/// Whether no program and no shell takes a variable for more than how much is said.
fn is_own_variable(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_short = name.len() == 1 && name.starts_with(|c: char| c.is_ascii_uppercase());
    let is_small = !name.is_empty() && name.chars().all(is_letter) && !name.starts_with("npm_");
    is_short || (is_small && name != "_") || is_setting(name)
}
