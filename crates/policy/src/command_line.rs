//! The commands that a line of words would run, for others who decide by them. It says more than will
//! run rather than less, and whether all of it was followed. Decides nothing itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::shell::wrappers::is_assignment;
use crate::shell::{Fit, Found, GAP, Grammar, Piece, Reach, base_name, quote, survey};

/// What stands in a word for something that only the running shell knows.
pub const UNKNOWN: char = GAP;

/// All that a line of words would run.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// Its commands, those included that others run in their place.
    pub commands: Vec<Command>,
    /// Variables that are set on the way, as `NAME=value`, and files that are read as input.
    pub named: BTreeSet<String>,
    /// Whether the commands are all that runs, as far as words can tell.
    pub is_followed: bool,
}

/// A command that a line would run.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its words, without quotes, each with an [`UNKNOWN`] for what a shell puts in.
    pub words: Vec<String>,
    /// Which of them is its program.
    pub program: Program,
    /// The folders that it could run in.
    pub folders: Vec<PathBuf>,
}

/// Which word of a command is its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The first.
    First,
    /// The first too, which runs another one that stands somewhere behind it.
    Behind,
    /// Any of them: they are the words of a text.
    Any,
}

/// Reads the words of a program and its arguments, which no shell has to split, as they would be
/// run in `cwd` by somebody whose home is `home`.
pub fn command_line(words: &[String], cwd: &Path, home: Option<&Path>) -> CommandLine {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let survey = survey(&quoted.join(" "), (cwd, home), Grammar::Sound, Reach::Here);
    let mut named = BTreeSet::new();
    for found in &survey.commands {
        let settings = found.before().iter().filter(|word| is_assignment(&word.text));
        named.extend(settings.map(|word| told(word, home)));
    }
    let inputs = survey.redirections.iter().map(|it| &it.target);
    let inputs = inputs.filter(|target| !target.writes && !target.is_descriptor);
    named.extend(inputs.map(|target| told(&target.word, home)));
    // The rest of their commands is what they read.
    let gathers = |found: &Found| {
        let name = found.argv().first().map_or("", |word| base_name(&word.text));
        ["xargs", "parallel"].contains(&name)
    };
    CommandLine {
        is_followed: survey.is_followed() && !survey.commands.iter().any(gathers),
        commands: survey.commands.iter().map(|found| command(found, home)).collect(),
        named,
    }
}

fn command(found: &Found, home: Option<&Path>) -> Command {
    let (program, words) = match (found.fit, found.before().last()) {
        (Fit::Exact | Fit::Handed, _) => (Program::First, None),
        (Fit::Loose, Some(runner)) => (Program::Behind, Some(runner)),
        (Fit::Loose, None) => (Program::Any, None),
    };
    let words = words.into_iter().chain(found.argv()).map(|word| told(word, home));
    let more = (found.fit == Fit::Handed).then(|| UNKNOWN.to_string());
    Command { words: words.chain(more).collect(), program, folders: found.folders.to_vec() }
}

/// A word with its home, and with a mark for all that is not known of it.
fn told(word: &Piece, home: Option<&Path>) -> String {
    let mut text = word.marked();
    if let (true, Some(home), Some(rest)) = (word.home, home, text.strip_prefix('~')) {
        text = format!("{}{rest}", home.display());
    }
    // The name of a test is no pattern.
    if word.glob && word.text != "[" {
        text = text.replace(['*', '?', '['], &UNKNOWN.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> CommandLine {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        command_line(&words, Path::new("/w"), Some(Path::new("/h")))
    }

    fn certain(line: &CommandLine) -> Vec<String> {
        let certain = line.commands.iter().filter(|it| it.program == Program::First);
        certain.map(|it| it.words.join(" ").replace(UNKNOWN, "?")).collect()
    }

    #[test]
    fn commands_within_commands_are_told_with_their_folders_and_what_is_set() {
        let script = "cd ~/d && X=1 exec node \"$HOME/a\" \"$b\" <in 2>out";
        let line = read(&["env", "-C", "/e", "sh", "-c", script]);
        assert!(line.is_followed);
        assert!(certain(&line).contains(&"node /h/a ?".to_owned()), "{line:?}");
        let node = line.commands.iter().find(|it| it.words[0] == "node").unwrap();
        assert!(node.folders.contains(&PathBuf::from("/h/d")), "{node:?}");
        assert!(line.named.contains("X=1") && line.named.contains("in"), "{line:?}");
        assert!(!line.named.contains("out"), "{line:?}");
    }

    #[test]
    fn what_stands_behind_an_unknown_option_is_told_with_what_runs_it() {
        let line = read(&["setpriv", "--strange", "node", "x"]);
        let behind = line.commands.iter().find(|it| it.program == Program::Behind).unwrap();
        assert_eq!(behind.words, ["setpriv", "--strange", "node", "x"]);
        // What another machine makes of its words is nothing of this one.
        let line = read(&["docker", "run", "-e", "A=don't $(x)", "image"]);
        assert!(line.is_followed && certain(&line).len() == 1, "{line:?}");
    }

    #[test]
    fn what_cannot_be_followed_is_known() {
        for script in ["$x", "a 'b", "curl x | sh", "echo x | xargs env", "np? a", ". \"$x\""] {
            assert!(!read(&["sh", "-c", script]).is_followed, "{script}");
        }
        for script in ["a \"$x\" *", "[ -f x ] && . ./x", "export A=$B; node x 2>>\"$C\""] {
            assert!(read(&["sh", "-c", script]).is_followed, "{script}");
        }
        assert!(!read(&["sh"]).is_followed);
    }
}
