//! Command lines of servers, read as the policy reads commands: one reader for what runs.

use std::path::Path;

use ::mcp::config::{Command, CommandLine, Stands};
use policy::Program;

const _: () = assert!(policy::UNKNOWN == ::mcp::config::UNKNOWN);

/// What a server's command line would run.
pub(crate) fn read(words: &[String], folder: &Path, home: Option<&Path>) -> CommandLine {
    let policy::CommandLine { commands, named, is_followed } =
        policy::command_line(words, folder, home);
    let command = |command: policy::Command| Command {
        words: command.words,
        stands: match command.program {
            Program::First => Stands::First,
            Program::Behind => Stands::Behind,
            Program::Any => Stands::Anywhere,
        },
        folders: command.folders,
    };
    CommandLine { commands: commands.into_iter().map(command).collect(), named, is_followed }
}

#[cfg(test)]
mod tests;
