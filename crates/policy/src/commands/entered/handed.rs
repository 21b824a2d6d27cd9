//! Names that one program prints and `xargs` hands to another, where they end with a null byte: such a name is never
//! split, and lies below the folders that the first program was given.

use super::programs::runs_nothing;
use crate::script::{Command, Kind, Word};

/// What else than a name `find` prints, or runs, or writes.
const FIND: &[&str] = &["-printf", "-print", "-exec", "-ok", "-fprint", "-fls", "-ls"];

/// Whether the command of this number is `xargs` that is handed such names, and only these.
pub(super) fn is_handed(text: &str, commands: &[Command], number: usize) -> bool {
    let words = &commands[number].words;
    let [xargs, zero, run @ ..] = words.as_slice() else { return false };
    let is_xargs = xargs.literal() == Some("xargs") && zero.literal() == Some("-0");
    // Whatever else it could read is said by a redirection.
    let is_fed = text.contains("<<")
        || commands.iter().any(|it| it.kind != Kind::Loop && !it.inputs.is_empty());
    let feeds = |it: &&Command| it.readers.iter().any(|readers| readers.contains(&number));
    let mut feeding = commands.iter().filter(feeds).peekable();
    is_xargs
        && !is_fed
        && runs_nothing(run)
        && feeding.peek().is_some()
        && feeding.all(prints_names)
}

fn prints_names(command: &Command) -> bool {
    let words: Option<Vec<&str>> = command.words.iter().map(Word::literal).collect();
    let Some(words) = words.filter(|_| command.kind == Kind::Simple) else { return false };
    match words.as_slice() {
        ["find", tests @ .., "-print0"] => {
            !tests.iter().any(|it| FIND.iter().any(|option| it.starts_with(option)))
        }
        ["grep", args @ ..] => {
            let has = |letters: &[char]| {
                args.iter()
                    .any(|it| it.starts_with('-') && !it.starts_with("--") && it.contains(letters))
            };
            // A long option may be the one that gives another name to what is read.
            let is_named = args.iter().any(|it| it.starts_with("--l"));
            has(&['l', 'L']) && has(&['Z']) && !is_named
        }
        _ => false,
    }
}
