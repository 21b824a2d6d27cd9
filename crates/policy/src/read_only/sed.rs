//! `sed` with scripts that only print.

use std::sync::LazyLock;

use regex::Regex;

use super::options::Grammar;
use super::{NotReadOnly, Operand, ReadPaths};
use crate::shell::Word;

const SED: Grammar<'static> = Grammar {
    short: "nErsuze:",
    long: &["\
            quiet silent regexp-extended separate unbuffered null-data expression= posix sandbox"],
    numbers: false,
};

/// Checks options, script and files.
pub(crate) fn check(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let read = SED.read(args)?;
    let mut operands = read.operands.iter();
    let mut scripts: Vec<&str> = read.values(&["e", "expression"]).collect();
    if scripts.is_empty() {
        match operands.next() {
            Some(script) if !script.glob => scripts.push(&script.text),
            Some(_) => return Err(NotReadOnly::new("its script is not quoted")),
            None => return Err(NotReadOnly::new("it has no script")),
        }
    }
    for script in scripts {
        if !script_prints(script) {
            return Err(NotReadOnly::new(
                "its script may do more than print: only addresses and the commands p, d, q, n, \
                 g, h, x, =, l, s and y are known",
            ));
        }
    }
    Ok(ReadPaths {
        contents: operands.map(|word| Operand::from(*word)).collect(),
        names: Vec::new(),
    })
}

/// Returns true if a script has nothing but commands that print.
fn script_prints(script: &str) -> bool {
    static SCRIPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let between = |delimiter: &str| {
            // Programs differ in how they read a set with `]`, `\` or the delimiter in it.
            let set = format!(r"\[\^?(?:\[:[a-z]+:\]|[^\]\[\\\n{delimiter}])+\]");
            format!(r"(?:[^{delimiter}\\\[\n]|\\[^\n]|{set})*{delimiter}")
        };
        let address = format!(r"(?:\d+(?:~\d+)?|\$|/{}[IM]*)", between(r"\/"));
        let substitutes = [r"\/", r"\|", r"\#", r"\,", r"\:", r"\@", r"\%"].map(|delimiter| {
            let part = between(delimiter);
            format!("s{delimiter}{part}{part}[0-9gpiI]*|y{delimiter}{part}{part}")
        });
        let command = format!(r"(?:[pdPDnNgGhHx=]|[qQl][0-9 ]*|{})", substitutes.join("|"));
        let range = format!(r"(?:{address}\s*(?:,\s*(?:[+~]\d+|{address}))?)?");
        Regex::new(&format!(r"^(?:[ ;]*{range}\s*!?\s*{command}\s*(?:;|$))*[ ;]*$")).ok()
    });
    SCRIPT.as_ref().is_some_and(|pattern| pattern.is_match(script))
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
            assert!(script_prints(script), "{script}");
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
            assert!(!script_prints(script), "{script}");
        }
    }
}
