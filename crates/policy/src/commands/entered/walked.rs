//! A walk through a text that runs in one folder: whether it is plain to read, where that ends which runs only if all
//! before it has worked, and whether anything in it could lead elsewhere.

use std::borrow::Cow;

/// What was seen on the way.
pub(super) struct Walked {
    /// Where what follows may run though nothing before it has.
    pub(super) tail: Option<usize>,
    /// Whether something before that runs beside what follows.
    pub(super) is_parallel: bool,
    /// Whether all programs only look at files, and none of them runs anything.
    only_looks: bool,
    /// Whether a text that is given to something else could lead out of the folder.
    leads_back: bool,
}

/// What leads back to a folder of before, or lets `cd` go elsewhere, wherever the shell reads it.
const BACK: &[&str] = &["OLDPWD", "~-", "~+", "CDPATH", "DIRSTACK", "cdable_vars", "autocd"];

/// What does so in the text of another program.
const TOLD: &[&str] = &["chdir", "parent", "dirname", "cwd"];

/// What leads back in a text that something else runs.
const WITHIN: &[&str] = &["..", "cd", "pushd", "popd", "eval"];

/// Programs that go elsewhere, or have another folder appear in this one.
const LEAVING: &[&str] =
    &["cd", "pushd", "popd", "ln", "link", "mount", "symlink", "chroot", "unshare"];

/// Programs of the shell that may go anywhere, or do so later.
const WAYWARD: &[&str] = &[
    ".", "alias", "builtin", "command", "coproc", "eval", "exec", "function", "shopt", "source",
    "time", "trap", "case", "select",
];

/// Programs whose words are nothing but files, patterns and texts to show.
#[rustfmt::skip]
const LOOKING: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "cat", "head", "tail", "wc", "uniq", "cut", "tr", "nl", "ls", "echo", "printf",
    "true", "false", ":", "exit", "test", "[", "pwd", "date", "stat", "file", "du", "diff", "cmp", "find",
];

/// Further programs of which it is known that they print no path of another folder.
const PRINTING: &[&str] =
    &["nproc", "basename", "sort", "seq", "whoami", "id", "uname", "hostname", "git"];

/// What git prints no such path for.
#[rustfmt::skip]
const GIT_PRINTING: &[&str] = &[
    "ls-files", "diff", "log", "describe", "branch", "status", "rev-list", "rev-parse HEAD", "rev-parse --short",
    "rev-parse --abbrev-ref",
];

/// What closes a substitution: any other group ends with a parenthesis alone.
const SUBSTITUTION: &str = "$)";

/// Words behind which another command begins.
const RESERVED: &[&str] = &["!", "do", "then", "else", "elif"];

/// Words that open a compound command, and what ends it.
const COMPOUND: &[(&str, &str)] =
    &[("if", "fi"), ("while", "done"), ("until", "done"), ("for", "done"), ("{", "}")];

impl Walked {
    /// Whether anything in the text, which is the one walked through, could leave the folder.
    pub(super) fn may_leave(&self, text: &str) -> bool {
        let names = |words: &[&str]| words.iter().any(|word| text.contains(word));
        // Words of a search are no commands, but for those of what it runs.
        let is_shown = self.only_looks && !names(&["-exec", "-ok", "--pre"]);
        names(BACK) || (!is_shown && (self.leads_back || names(TOLD) || leaves(text)))
    }
}

/// Walks through `text`; none where it is not plain to read.
pub(super) fn walked(text: &str) -> Option<Walked> {
    let read = without_document(text.trim_end());
    let text = read.as_ref();
    let mut seen = Walked { tail: None, is_parallel: false, only_looks: true, leads_back: false };
    let mut open: Vec<&str> = Vec::new();
    // Whether a command begins, and whether a word does.
    let (mut rest, mut begins, mut is_apart) = (text, true, true);
    while let Some(c) = rest.chars().next() {
        if begins && !c.is_whitespace() && !matches!(c, '(' | '#') {
            let (used, goes_on) = program(rest, &mut open, &mut seen)?;
            (rest, begins, is_apart) = (&rest[used..], goes_on, false);
            continue;
        }
        let before = &text[..text.len() - rest.len()];
        let used = if c == '#' && is_apart {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            step(rest, before)?
        };
        let taken = &rest[..used];
        seen.leads_back |= used > 2 && leads_back(taken);
        let is_put = open.contains(&SUBSTITUTION);
        // What is changed on the way may become the folder above.
        if is_put && (rest.starts_with("..") || c == '|') {
            return None;
        }
        let ends = matches!(taken, ";" | "&" | "||" | "\n") && !begins;
        match taken {
            "(" if before.ends_with('$') => open.push(SUBSTITUTION),
            "(" => open.push(")"),
            ")" if !matches!(open.pop(), Some(")" | SUBSTITUTION)) => return None,
            _ => {}
        }
        rest = &rest[used..];
        if ends && open.is_empty() && seen.tail.is_none() {
            seen.is_parallel |= taken == "&";
            seen.tail = Some(text.len() - rest.len());
        }
        begins |= ends || matches!(taken, "(" | "&&" | "|" | "|&");
        is_apart = c.is_whitespace() || (ends && used == 1);
    }
    // What stands behind a document is not told apart.
    let is_whole = matches!(read, Cow::Borrowed(_)) || seen.tail.is_none();
    (open.is_empty() && is_whole).then_some(seen)
}

/// The length of the word that begins a command, and whether another one begins behind it; none where it could lead
/// anywhere.
fn program(text: &str, open: &mut Vec<&str>, seen: &mut Walked) -> Option<(usize, bool)> {
    let end = text.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c)).unwrap_or(text.len());
    let word = &text[..end];
    if let Some((_, ends)) = COMPOUND.iter().find(|(opens, _)| *opens == word) {
        open.push(ends);
        return Some((end, word != "for"));
    }
    if COMPOUND.iter().any(|(_, ends)| *ends == word) {
        return (open.pop() == Some(word)).then_some((end, false));
    }
    if RESERVED.contains(&word) {
        return Some((end, true));
    }
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || "_./+-[]=:,@%!".contains(c));
    if word.is_empty() || !is_plain || WAYWARD.contains(&word) {
        return None;
    }
    let looks = LOOKING.contains(&word);
    // What is printed there may be a folder to go to.
    if open.contains(&SUBSTITUTION) && !looks && !prints_no_path(word, &text[end..]) {
        return None;
    }
    seen.only_looks &= looks;
    Some((end, word.contains('=')))
}

/// Whether a program with what follows it prints no path of another folder.
fn prints_no_path(program: &str, args: &str) -> bool {
    let is_known = |it: &&str| args.trim_start().starts_with(*it);
    PRINTING.contains(&program) && (program != "git" || GIT_PRINTING.iter().any(is_known))
}

/// The length of what stands first in a text: a character, a quoted text or an operator.
fn step(text: &str, before: &str) -> Option<usize> {
    let mut chars = text.chars();
    let (first, next) = (chars.next()?, chars.next());
    match first {
        '\\' => Some(1 + next.map_or(0, char::len_utf8)),
        '\'' => text[1..].find('\'').map(|end| end + 2),
        '"' => quoted(&text[1..]).map(|end| end + 2),
        '$' if next == Some('{') => variable(text),
        '$' if text.starts_with("$((") => sum(text),
        '$' if matches!(next, Some('\'' | '"')) => None,
        '{' => braces(text, before),
        '`' | '#' | '}' => None,
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

/// The length of what stands before the next double quote, where nothing in it is run or cut.
fn quoted(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        at += match rest.chars().next()? {
            '"' => return Some(at),
            '`' => return None,
            '$' if rest.starts_with("$(") => return None,
            '$' if rest.starts_with("${") => variable(rest)?,
            '\\' => 1 + rest[1..].chars().next()?.len_utf8(),
            c => c.len_utf8(),
        };
    }
}

/// The length of a variable in braces that is taken as it is.
fn variable(text: &str) -> Option<usize> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !name.is_empty()).then_some(name.len() + 3)
}

/// The length of a sum of plain numbers and variables.
fn sum(text: &str) -> Option<usize> {
    let (inner, _) = text.strip_prefix("$((")?.split_once("))")?;
    let is_plain = inner.chars().all(|c| c.is_ascii_alphanumeric() || " _$+-*/%".contains(c));
    is_plain.then_some(inner.len() + 5)
}

/// The length of braces that stand for what was found, or for endings of names.
fn braces(text: &str, before: &str) -> Option<usize> {
    if text.starts_with("{}") {
        return Some(2);
    }
    let (endings, _) = text[1..].split_once('}')?;
    let is_plain = endings.chars().all(|c| c.is_ascii_alphanumeric() || c == ',');
    (before.ends_with("*.") && is_plain).then_some(endings.len() + 2)
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
