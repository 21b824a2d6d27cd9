//! `sed` with scripts that only print.

use std::collections::HashSet;

use super::options::Grammar;
use super::{Doubt, Looked, Operand};
use crate::shell::Word;

const SED: Grammar<'static> = Grammar {
    short: "nErsuze:",
    long: &[&[
        "quiet",
        "silent",
        "regexp-extended",
        "separate",
        "unbuffered",
        "null-data",
        "expression=",
        "posix",
        "sandbox",
    ]],
    numbers: false,
};

/// Checks options, script and files.
pub(crate) fn check(args: &[Word]) -> Result<Looked, Doubt> {
    let read = SED.read(args)?;
    let mut operands = read.operands.iter();
    let mut scripts: Vec<&str> = read.values(&["e", "expression"]).collect();
    if scripts.is_empty() {
        match operands.next() {
            Some(script) if !script.glob => scripts.push(&script.text),
            Some(_) => return Err(Doubt::new("its script is not quoted")),
            None => return Err(Doubt::new("it has no script")),
        }
    }
    for script in scripts {
        if script_prints(script).is_none() {
            return Err(Doubt::new(
                "its script may do more than print: only addresses and the commands p, d, q, n, \
                 g, h, x, =, l, s and y are known",
            ));
        }
    }
    Ok(Looked { contents: operands.map(|word| Operand::from(*word)).collect(), names: Vec::new() })
}

/// Whether a script is understood, and only edits what it prints.
pub(crate) fn only_edits(script: &str) -> bool {
    script_prints(script).is_some()
}

/// More of a part of a script is not looked at.
const LONG: usize = 4096;

/// No more of a command is taken out of a script, the words of which are looked at anyway.
const RUN: usize = 1024;

/// The scripts among the arguments of `sed`.
pub(crate) fn scripts<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let mut scripts = Vec::new();
    let mut operand = None;
    let mut is_given = false;
    let mut words = args.iter().copied();
    while let Some(word) = words.next() {
        let Some((kind, value)) = valued(word) else {
            let is_option = word.starts_with('-') && word.len() > 1;
            operand = operand.or(Some(word).filter(|_| !is_option));
            continue;
        };
        let value = value.or_else(|| words.next());
        scripts.extend(value.filter(|_| kind == Kind::Script));
        is_given |= kind != Kind::Other;
    }
    scripts.extend(operand.filter(|_| !is_given));
    scripts
}

/// Whether scripts are read from a file.
pub(crate) fn reads_script(args: &[&str]) -> bool {
    args.iter().any(|word| valued(word).is_some_and(|(kind, _)| kind == Kind::File))
}

/// What the value of an option is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Script,
    /// A file with a script.
    File,
    Other,
}

/// What an option takes as its value, and that value if it is attached.
fn valued(word: &str) -> Option<(Kind, Option<&str>)> {
    if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
        let (name, value) =
            long.split_once('=').map_or((long, None), |(name, it)| (name, Some(it)));
        let options =
            [("expression", Kind::Script), ("file", Kind::File), ("line-length", Kind::Other)];
        let kind = options.into_iter().find(|(option, _)| option.starts_with(name))?.1;
        return Some((kind, value));
    }
    let letters = word.strip_prefix('-')?;
    let at = letters.find(['e', 'f', 'l', 'i', 'I'])?;
    let kind = match letters.as_bytes()[at] {
        b'e' => Kind::Script,
        b'f' => Kind::File,
        b'l' => Kind::Other,
        // What is attached is the ending of copies.
        _ => return None,
    };
    Some((kind, Some(&letters[at + 1..]).filter(|value| !value.is_empty())))
}

/// The names of files that a script could read or write, sooner too many than too few.
pub(crate) fn files(script: &str) -> impl Iterator<Item = &str> {
    let script = if only_edits(script) { "" } else { script };
    script.match_indices(['r', 'R', 'w', 'W']).filter_map(move |(at, letter)| {
        let name = line(&script[at + letter.len()..]).trim();
        (!name.is_empty() && name.len() < LONG).then_some(name)
    })
}

/// What a script runs, sooner too much than too little.
#[derive(Default)]
pub(crate) struct Runs<'a> {
    /// Texts of commands.
    pub(crate) texts: Vec<&'a str>,
    /// Whether it runs the lines that it reads.
    pub(crate) lines: bool,
}

/// What a script runs; any text may be one.
pub(crate) fn runs(script: &str) -> Runs<'_> {
    let mut runs = Runs::default();
    if only_edits(script) {
        return runs;
    }
    let escaped: HashSet<char> =
        script.match_indices('\\').filter_map(|(at, _)| script[at + 1..].chars().next()).collect();
    let mut replacements = Vec::new();
    for (at, letter) in script.match_indices(['e', 's']) {
        let rest = &script[at + 1..];
        if letter == "s" {
            if let Some((replacement, is_run)) = replacement(rest) {
                runs.lines |= is_run;
                replacements.push(replacement);
            }
            continue;
        }
        // Letters before a command end an address.
        let ends_address =
            |c: char| !c.is_alphabetic() || matches!(c, 'I' | 'M') || escaped.contains(&c);
        if script[..at].chars().next_back().is_none_or(ends_address) {
            let text = line(rest).trim();
            if text.is_empty() || text.starts_with(['}', ';', '#']) {
                runs.lines = true;
            } else {
                runs.texts.push(contract::text::head(text, RUN));
            }
        }
    }
    // A line that is run may be what was put in before.
    runs.texts.extend(replacements.into_iter().filter(|_| runs.lines));
    runs
}

/// What is put in place of something, behind the `s` of a script, and whether that is run at once.
fn replacement(text: &str) -> Option<(&str, bool)> {
    let delimiter = text.chars().next().filter(|c| !matches!(c, '\n' | '\\'))?;
    let part = |text: &str| {
        let mut is_escaped = false;
        text.char_indices().take(LONG).find_map(|(at, c)| {
            let is_end = c == delimiter && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end.then_some(at)
        })
    };
    let pattern = &text[delimiter.len_utf8()..];
    let replacement = &pattern[part(pattern)? + delimiter.len_utf8()..];
    let end = part(replacement)?;
    let flags = &replacement[end + delimiter.len_utf8()..];
    let mut flags = flags.chars().take_while(|c| c.is_ascii_digit() || "gpiImMe".contains(*c));
    Some((&replacement[..end], flags.any(|flag| flag == 'e')))
}

fn line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// Reads a whole script; none where anything is not understood.
fn script_prints(script: &str) -> Option<()> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', ';']);
        if rest.is_empty() {
            return Some(());
        }
        rest = address(rest)?;
        if let Some(after) = rest.trim_start().strip_prefix(',') {
            let after = after.trim_start();
            rest = if let Some(count) = after.strip_prefix(['+', '~']) {
                number(count)?
            } else {
                address(after).filter(|end| end.len() < after.len())?
            };
        }
        rest = rest.trim_start();
        rest = rest.strip_prefix('!').unwrap_or(rest).trim_start();
        rest = command(rest)?;
        rest = rest.trim_start();
        if !rest.is_empty() && !rest.starts_with(';') {
            return None;
        }
    }
}

/// Skips `5`, `$`, `1~2` or `/regex/`, if there is one.
fn address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(rest) = text.strip_prefix('/') {
        let rest = delimited(rest, '/')?;
        return Some(rest.trim_start_matches(['I', 'M']));
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let rest = number(text)?;
        return match rest.strip_prefix('~') {
            Some(step) => number(step),
            None => Some(rest),
        };
    }
    Some(text)
}

fn number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

fn command(text: &str) -> Option<&str> {
    let mut rest = text.chars();
    let kind = rest.next()?;
    let rest = rest.as_str();
    match kind {
        'p' | 'd' | '=' | 'P' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' => Some(rest),
        'q' | 'Q' | 'l' => Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')),
        's' | 'y' => {
            let delimiter = rest.chars().next()?;
            if delimiter.is_alphanumeric()
                || delimiter.is_whitespace()
                || ";\\[]".contains(delimiter)
            {
                return None;
            }
            let rest = delimited(&rest[delimiter.len_utf8()..], delimiter)?;
            let rest = delimited(rest, delimiter)?;
            match kind {
                's' => Some(
                    rest.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiI".contains(c)),
                ),
                _ => Some(rest),
            }
        }
        _ => None,
    }
}

/// Skips to behind the next `delimiter`. Where programs differ in how they read a set (`[...]`),
/// the text is refused.
fn delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\n' => return None,
            c if c == delimiter => return Some(after),
            '\\' => {
                let escaped = after.chars().next().filter(|c| *c != '\n')?;
                &after[escaped.len_utf8()..]
            }
            '[' => set(after, delimiter)?,
            _ => after,
        };
    }
    None
}

/// Skips a set behind its opening bracket; none where it holds anything but plain characters,
/// ranges and classes.
fn set(text: &str, delimiter: char) -> Option<&str> {
    let mut rest = text.strip_prefix('^').unwrap_or(text);
    if rest.starts_with(']') {
        return None;
    }
    loop {
        if let Some(class) = rest.strip_prefix("[:") {
            let end = class.find(":]")?;
            if !class[..end].bytes().all(|b| b.is_ascii_lowercase()) {
                return None;
            }
            rest = &class[end + 2..];
            continue;
        }
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match c {
            ']' => return Some(rest),
            '[' | '\\' | '\n' => return None,
            c if c == delimiter => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::script_prints;

    #[test]
    fn scripts_that_print_are_understood() {
        for script in [
            "1,40p",
            "p",
            "$p",
            "/fn main/,/^}/p",
            "s/a/b/g",
            "1d;$d",
            "5q",
            "/x/!d",
            "10,+3p",
            "s|a/b|c|",
            "s/[[:space:]]*$//",
            "/[a-z]/p",
            "y/abc/def/",
            "1~2p",
            "/a/I,$p",
            "=",
            "G",
            "N;P;D",
            "$!N;h;x",
        ] {
            assert!(script_prints(script).is_some(), "{script}");
        }
    }

    #[test]
    fn scripts_that_write_or_run_are_refused() {
        for script in [
            "s/x/id/e",
            "w out",
            "1w out",
            "s/a/b/w out",
            "e id",
            "1e",
            "r /etc/passwd",
            "R x",
            "s/[/]/x/e",
            "s/[]/]/x/",
            "s/[[:x:]/]/p",
            "s/[\\]/]/x/",
            "s/a/b/gw x",
            "W x",
            "{p;e}",
            "a\\\nfoo",
            "s/a\n/b/",
            "1,p",
            "b x",
            "s/a/b/;e id",
            "p w x",
            "s/a/b/ge",
        ] {
            assert!(script_prints(script).is_none(), "{script}");
        }
    }
}
