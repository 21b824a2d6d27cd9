//! The folder that a text goes to before all else: where it runs nothing unless that has worked, only that
//! folder counts for what follows. Wherever it is not certain, all folders count.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::call::Call;
use crate::paths::normalize;

/// A text that is taken apart: what goes to a folder, that folder, and what runs there.
pub(super) struct Entered<'a> {
    pub(super) before: &'a str,
    pub(super) folder: PathBuf,
    pub(super) rest: &'a str,
}

/// What leads back to a folder of before, or lets `cd` go elsewhere.
const BACK: &[&str] = &[
    "OLDPWD",
    "~-",
    "~+",
    "CDPATH",
    "DIRSTACK",
    "cdable_vars",
    "autocd",
    "chdir",
    "parent",
    "dirname",
    "cwd",
];

/// What leads back in a text that something else runs.
const WITHIN: &[&str] = &["..", "cd", "pushd", "popd", "eval"];

/// Programs that go elsewhere, or have another folder appear in this one.
const LEAVING: &[&str] = &["cd", "pushd", "ln", "link", "mount", "symlink", "chroot", "unshare"];

/// Programs of the shell that may go anywhere, or do so later.
const WAYWARD: &[&str] = &[
    ".", "alias", "builtin", "command", "coproc", "eval", "exec", "function", "shopt", "source",
    "time", "trap", "case", "select",
];

/// Words behind which another command begins.
const RESERVED: &[&str] = &["!", "do", "then", "else", "elif", "if", "while", "until"];

/// The folder that `text`, run in `cwd`, is in for all that it does once it is there.
pub(super) fn entered<'a>(call: &Call<'_>, text: &'a str, cwd: &Path) -> Option<Entered<'a>> {
    let ground = call.ground.look()?;
    let mut rest = strip_parentheses(text);
    let start = rest;
    let mut folder = normalize(cwd);
    while let Some((target, sure, behind)) = goes(rest) {
        let there = normalize(&folder.join(target));
        // One that is no link, and is a folder.
        let is_there = ground.real(&there).is_some_and(|real| real == there)
            && ground.real(&there.join(".")).is_some();
        if !is_there || !is_followed(behind, sure) {
            break;
        }
        (folder, rest) = (there, behind);
    }
    let back = rest.trim_end().strip_suffix("popd").unwrap_or(rest);
    let goes_back =
        back.contains("popd") || BACK.iter().any(|it| rest.contains(it)) || leaves(rest);
    let before = &start[..start.len() - rest.len()];
    (!before.is_empty() && !rest.trim().is_empty() && !goes_back).then_some(Entered {
        before,
        folder,
        rest,
    })
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
    let (target, behind) = literal(after.trim_start_matches(' '))?;
    let behind = behind.trim_start_matches(' ');
    if let Some(rest) = behind.strip_prefix("&&") {
        return Some((target, Sure::Here, rest));
    }
    if let Some(rest) = behind.strip_prefix("|| exit") {
        let code = rest.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
        return Some((target, Sure::Everywhere, code.strip_prefix([';', '\n'])?));
    }
    let rest = behind.strip_prefix([';', '\n']).filter(|_| stops.is_some())?;
    (!rest.starts_with(';')).then_some((target, Sure::Everywhere, rest))
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

/// A word that is a path as it stands, and what comes behind it.
fn literal(text: &str) -> Option<(&str, &str)> {
    let is_plain = |c: char| c.is_alphanumeric() || "_./+@-".contains(c);
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c));
    let (word, rest) = match quote {
        Some(quote) => {
            let (word, rest) = text[1..].split_once(quote)?;
            (word.chars().all(|c| is_plain(c) || c == ' ').then_some(word)?, rest)
        }
        None => text.split_at(text.find(|c| !is_plain(c)).unwrap_or(text.len())),
    };
    let ends = rest.starts_with([' ', ';', '&', '|', '\n']);
    (ends && !word.is_empty() && !word.starts_with('-')).then_some((word, rest))
}

/// What stands between parentheses around the whole text.
fn strip_parentheses(text: &str) -> &str {
    let inner = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    inner.filter(|inner| is_followed(inner, Sure::Here)).unwrap_or(text)
}

/// Whether a text is plain to read, and goes on in the same folder: with `&&` and `|` alone where it is sure only as
/// far, so that nothing of it runs where its beginning failed.
fn is_followed(text: &str, sure: Sure) -> bool {
    let read = without_document(text.trim_end());
    let (mut rest, mut depth, mut begins) = (read.as_ref(), 0_usize, true);
    while let Some(c) = rest.chars().next() {
        if begins && !c.is_whitespace() && c != '(' {
            let Some((used, goes_on)) = program(rest) else { return false };
            (rest, begins) = (&rest[used..], goes_on);
            continue;
        }
        let Some(used) = step(rest).filter(|used| *used < 3 || !leads_back(&rest[..*used])) else {
            return false;
        };
        let ends = matches!(&rest[..used], ";" | "&" | "||" | "\n");
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            _ => {}
        }
        if ends && depth == 0 && sure == Sure::Here {
            return false;
        }
        begins |= ends || matches!(&rest[..used], "(" | "&&" | "|");
        rest = &rest[used..];
    }
    depth == 0
}

/// The length of the word that begins a command, and whether that begins behind it; none where it could lead
/// anywhere.
fn program(text: &str) -> Option<(usize, bool)> {
    let end = text.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c)).unwrap_or(text.len());
    let word = &text[..end];
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || "_./+-[]=:,@%!".contains(c));
    let is_change = ["cd", "pushd", "chdir"].contains(&word);
    let is_literal =
        || literal(&format!("{} ", text[end..].lines().next()?.trim_start())).map(|_| ());
    if word.is_empty()
        || !is_plain
        || WAYWARD.contains(&word)
        || (is_change && is_literal().is_none())
    {
        return None;
    }
    Some((end, RESERVED.contains(&word) || word.contains('=')))
}

/// The length of what stands first in a text: a character, a quoted text or an operator.
fn step(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let (first, next) = (chars.next()?, chars.next());
    match first {
        '\\' => Some(1 + next.map_or(0, char::len_utf8)),
        '\'' => text[1..].find('\'').map(|end| end + 2),
        '"' => plain_quoted(&text[1..]).map(|end| end + 2),
        '$' if matches!(next, Some('\'' | '"' | '{')) => None,
        '`' | '#' | '{' | '}' => None,
        '<' if next == Some('<') => None,
        '&' | '>' | '<' if is_descriptor(text) => Some(2),
        '&' | '|' if next == Some(first) => Some(2),
        '|' if next == Some('&') => Some(2),
        first => Some(first.len_utf8()),
    }
}

/// Whether a redirection of descriptors begins a text: `>&2`, `&>file`, `<&3`.
fn is_descriptor(text: &str) -> bool {
    [">&", "&>", "<&"].iter().any(|sign| text.starts_with(sign))
}

/// The length of what stands before the next double quote, where nothing in it is read in another way.
fn plain_quoted(text: &str) -> Option<usize> {
    let end = text.find('"')?;
    let inner = &text[..end];
    (!inner.contains(['\\', '`']) && !inner.contains("$(") && !inner.contains("${")).then_some(end)
}

/// Whether a text names a program that leaves the folder, however it is quoted.
fn leaves(text: &str) -> bool {
    let bare = text.replace(['\'', '"', '\\'], "");
    let is_name = |c: char| c.is_alphanumeric() || "_-".contains(c);
    bare.split(|c| !is_name(c)).any(|word| LEAVING.contains(&word))
}

/// Whether a text that is given to something else could lead out of the folder.
fn leads_back(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || "_.".contains(c);
    text.contains("..") || text.split(|c| !is_name(c)).any(|word| WITHIN.contains(&word))
}

/// A text without the here-document that its first line opens, where that is quoted, takes all other lines and leads
/// nowhere.
fn without_document(text: &str) -> Cow<'_, str> {
    let opened = || {
        let (line, body) = text.split_once('\n')?;
        let (before, opened) = line.split_once("<<'")?;
        let (name, after) = opened.split_once('\'')?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let ends = body.lines().position(|line| line == name)? + 1 == body.lines().count();
        let is_plain = !before.contains(['\'', '"', '\\', '`', '#', '$', '(', ')']);
        let is_known = !name.is_empty() && name.bytes().all(is_name) && is_plain;
        (is_known && ends && !leads_back(body)).then(|| Cow::Owned(format!("{before}{after}")))
    };
    opened().unwrap_or(Cow::Borrowed(text))
}
