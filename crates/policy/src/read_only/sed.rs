//! `sed` with scripts that only print.

use super::options::Grammar;
use super::{Doubt, Looked, Operand};
use crate::shell::Word;

const SED: Grammar<'static> = Grammar {
    short: "nErsuze:",
    long: &["\
            quiet silent regexp-extended separate unbuffered null-data expression= posix sandbox"],
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
