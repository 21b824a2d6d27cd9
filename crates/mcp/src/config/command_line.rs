//! What a command line runs, as whoever uses this crate reads it: shells, wrappers and what they make
//! of words are none of its business.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What stands in a word for something that only a running shell knows.
pub const UNKNOWN: char = '\0';

/// Reads the words of a program and its arguments, as run in a directory by somebody with a home.
pub type CommandReader = fn(&[String], &Path, Option<&Path>) -> CommandLine;

/// All that a command line would run; rather more than less.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    /// Its commands, those included that others run in their place.
    pub commands: Vec<Command>,
    /// Variables that are set on the way, as `NAME=value`, and files that are read as input.
    pub named: BTreeSet<String>,
    /// Whether the commands are all that runs, as far as words can tell.
    pub is_followed: bool,
}

/// A command of a command line.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its words, each with an [`UNKNOWN`] for what a shell puts in.
    pub words: Vec<String>,
    /// Which of them is its program.
    pub stands: Stands,
    /// The directories that it could run in.
    pub directories: Vec<PathBuf>,
}

/// Which word of a command is its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// The first.
    First,
    /// The first too, which runs another one that stands somewhere behind it.
    Behind,
    /// Any of them.
    Anywhere,
}

/// The name of a program, without its directory and what its file ends with.
pub(crate) fn name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let ends = [".exe", ".cmd", ".bat"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

/// Reads a line as one command, and knows nothing that runs another.
#[cfg(test)]
pub(crate) fn plain(words: &[String], directory: &Path, _home: Option<&Path>) -> CommandLine {
    let (words, directories) = (words.to_vec(), vec![directory.to_owned()]);
    let commands = vec![Command { words, stands: Stands::First, directories }];
    CommandLine { commands, is_followed: true, ..CommandLine::default() }
}
