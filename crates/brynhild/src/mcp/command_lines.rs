//! Command lines of servers, read with the policy's shell reader.

use std::path::Path;

use ::mcp::config::{Command, CommandLine, Stands};

const _: () = assert!(policy::shell::UNKNOWN == ::mcp::config::UNKNOWN);

/// The commands that a server's command line runs.
pub(crate) fn read(words: &[String], directory: &Path, home: Option<&Path>) -> CommandLine {
    let line = policy::shell::command_line(words, directory, home);
    let commands = line.commands.into_iter();
    CommandLine {
        commands: commands
            .map(|(words, directories)| Command { words, stands: Stands::First, directories })
            .collect(),
        named: line.named.into_iter().collect(),
        is_followed: line.is_complete,
    }
}

#[cfg(test)]
mod tests;
