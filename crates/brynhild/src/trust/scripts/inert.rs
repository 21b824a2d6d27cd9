//! What a text says to programs that run nothing, whatever they are given: no name in it is loaded or run by
//! that, so a file that a hook only looks at, or leaves behind by its own run, is no script of it.

use super::shell::{self, Command, Kind, Script, Word};

/// Programs that run nothing, whatever they are given, and words of a shell that do not.
#[rustfmt::skip]
pub(super) const INERT: [&str; 103] = [
    ":", "afplay", "aplay", "base64", "basename", "bc", "black", "break", "cat", "chmod", "cksum",
    "clang-format", "clear", "cmp", "column", "comm", "continue", "curl", "cut", "date", "df", "diff",
    "dirname", "du", "echo", "egrep", "envsubst", "exit", "expr", "false", "fgrep", "file", "fold", "free",
    "getent", "gofmt", "grep", "groups", "hadolint", "head", "hostname", "id", "iconv", "isort",
    "join", "jq", "kill", "logger", "ls", "md5sum", "mkdir",
    "mktemp", "nl", "notify-send", "nproc", "od", "paplay", "paste", "pgrep", "popd", "printenv", "ps",
    "pwd", "readlink", "realpath", "return", "rev", "rm", "rmdir", "ruff",
    "rustfmt", "say", "seq", "set", "sha1sum", "sha256sum", "shellcheck", "shfmt", "shift", "sleep", "stat",
    "sum", "sync", "tac", "tail", "taplo", "tee", "touch", "tput", "tr", "true", "tty", "type",
    "umask", "uname", "uniq", "wc", "which", "who", "whoami", "xxd", "yamllint", "yes",
];

/// Words by which one of these names could mean another program.
const OTHERS: [&str; 4] = ["alias", "enable", "hash", "unalias"];
/// Texts that are given to shells within texts for them.
const DEEPEST: usize = 4;

/// A text for a shell with blanks in the place of what is said to such programs.
pub(super) fn without_inert(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    blank(text, 0, 0, &mut bytes);
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Blanks out what a part of the text says to them, which begins there.
fn blank(text: &str, start: usize, depth: usize, bytes: &mut [u8]) {
    let Ok(script) = shell::read(text) else { return };
    let sets_path = |command: &Command| {
        let words = command.words.iter().filter_map(Word::setting);
        words
            .chain(command.settings.iter().cloned())
            .any(|it| ["PATH", "path"].contains(&it.name.as_str()))
    };
    let is_other =
        |command: &Command| program(command).is_some_and(|it| OTHERS.contains(&it.as_str()));
    if depth == DEEPEST || script.commands.iter().any(|it| sets_path(it) || is_other(it)) {
        return;
    }
    let heard = listeners(&script);
    for (number, command) in script.commands.iter().enumerate() {
        if is_unheard(&script, &heard, number) {
            for word in command.words.iter().skip(1).chain(&command.inputs).chain(&command.targets)
            {
                let is_plain =
                    word.pieces.iter().all(|it| !matches!(it, shell::Piece::Commands { .. }));
                if is_plain {
                    bytes[start + word.range.start..start + word.range.end].fill(b' ');
                }
            }
        }
        let is_shell = program(command).is_some_and(|it| it.ends_with("sh"));
        for pair in command.words.windows(2).filter(|_| is_shell) {
            let written = &text[pair[1].range.clone()];
            let inner = written.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
            if let Some(inner) =
                inner.filter(|it| pair[0].literal().as_deref() == Some("-c") && !it.contains('\''))
            {
                blank(inner, start + pair[1].range.start + 1, depth + 1, bytes);
            }
        }
    }
}

fn program(command: &Command) -> Option<String> {
    let name = command.words.first().and_then(Word::literal)?;
    let own = ["/usr/bin/", "/bin/"].iter().find_map(|it| name.strip_prefix(it));
    Some(own.map_or_else(|| name.clone(), str::to_owned))
}

/// Of each command, the one that reads what it prints.
fn listeners(script: &Script) -> Vec<Option<usize>> {
    let mut heard = vec![None; script.commands.len()];
    for (number, command) in script.commands.iter().enumerate() {
        if let Some(producer) = command.fed {
            heard[producer] = Some(number);
        }
    }
    heard
}

/// Whether a command is such a program, and nothing else reads what it prints.
fn is_unheard(script: &Script, heard: &[Option<usize>], number: usize) -> bool {
    let mut next = Some(number);
    while let Some(number) = next {
        let command = &script.commands[number];
        let is_inert = program(command).is_some_and(|it| {
            (INERT.contains(&it.as_str()) || it == "[" || it == "test")
                && !script.functions.contains(&it)
        });
        if command.kind != Kind::Simple
            || !is_inert
            || (command.is_heard && heard[number].is_none())
        {
            return false;
        }
        next = heard[number];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_looked_at_or_written_is_told_from_what_is_run_as_well() {
        for (text, is_said) in [
            ("touch x", false),
            ("touch -a .stamp x", false),
            ("echo a | tee -a x", false),
            ("if true; then mkdir -p x; fi", false),
            ("sh -c 'touch x'", false),
            ("/usr/bin/touch x; touch x", false),
            ("curl -o x https://h", false),
            ("grep -q a x && exit 1 || exit 0", false),
            ("wc -l x | tail -1", false),
            ("[ -f x ] || exit 1", false),
            ("sh x", true),
            ("touch x; sh x", true),
            ("touch x; sh ./x", true),
            ("touch x; sh \"\"x", true),
            ("touch x; sh \\x", true),
            ("touch x; . \"$here\"/x", true),
            ("sh touch x", true),
            ("cat x | sh", true),
            ("cat x | sort | sh", true),
            ("{ cat x; } | sh", true),
            ("cat x | while read a; do sh $a; done", true),
            ("eval \"$(cat x)\"", true),
            ("touch() { sh $1; }; touch x", true),
            ("PATH=b touch x", true),
            ("touch $(sh x)", true),
            ("sh \\\n touch x", true),
            ("./touch x", true),
            ("touch 'x", true),
        ] {
            let left = without_inert(text);
            let left: Vec<&str> = left.split(|c: char| !c.is_alphanumeric()).collect();
            assert_eq!(left.contains(&"x"), is_said, "{text}");
        }
    }
}
