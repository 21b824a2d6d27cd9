//! What a text says to programs that run nothing, whatever they are given: no name in it is loaded or run by
//! that, so a file that a hook only looks at, or leaves behind by its own run, is no script of it.

use policy::script::{self, Command, Kind, Word};

use super::told::runs_nothing;

/// Words by which one of these names could mean another program.
const OTHERS: [&str; 4] = ["alias", "enable", "hash", "unalias"];

/// A text for a shell with blanks in the place of what is said to such programs.
pub(super) fn without_inert(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let commands = script::read(text).unwrap_or_default();
    let sets_path = |command: &Command| {
        command.settings.iter().any(|(name, _)| ["PATH", "path"].contains(&name.as_str()))
    };
    let is_other = |command: &Command| program(command).is_some_and(|it| OTHERS.contains(&it));
    let is_function = |command: &Command| command.kind == Kind::Function;
    if commands.iter().any(|it| sets_path(it) || is_other(it) || is_function(it)) {
        return text.to_owned();
    }
    for command in commands.iter().filter(|it| is_unheard(&commands, it)) {
        let args = command.words.iter().skip(1);
        for word in args.chain(&command.inputs).chain(&command.targets) {
            // A command in a word may be another program.
            if !text[word.range.clone()].contains("$(") && !text[word.range.clone()].contains('`') {
                bytes[word.range.clone()].fill(b' ');
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

pub(super) fn program(command: &Command) -> Option<&str> {
    let name = command.words.first().and_then(Word::literal)?;
    let own = ["/usr/bin/", "/bin/"].iter().find_map(|it| name.strip_prefix(it));
    Some(own.unwrap_or(name))
}

/// Whether a command is such a program, and nothing else reads what it prints.
fn is_unheard(commands: &[Command], command: &Command) -> bool {
    let is_known = |it: &Command| match it.kind {
        Kind::Test | Kind::Group | Kind::Sum => true,
        Kind::Simple => {
            program(it).is_some_and(|name| name == "tee" || runs_nothing(name, &it.words[1..]))
        }
        Kind::Loop | Kind::Function => false,
    };
    let mut readers = command.readers.iter().flat_map(|range| &commands[range.clone()]);
    let is_said = ![Kind::Group, Kind::Sum].contains(&command.kind);
    is_known(command) && is_said && !command.is_in_word && readers.all(is_known)
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
            ("/usr/bin/touch x; touch x", false),
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
            ("touch `sh x`", true),
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
