//! The command line: flags, misuse, help, and the commands that only look.

mod directories;
mod lists;
mod misuse;
mod prompts;
mod queries;

use testkit::{Project, Run};

/// Runs the program with the arguments of a line.
fn run(project: &Project, line: &str) -> Run {
    let words: Vec<&str> = line.split_whitespace().collect();
    project.brynhild(&words)
}

/// Every command that does something by itself, with arguments that make it succeed.
const LOOKING: &[&str] = &[
    "config",
    "config show",
    "config path",
    "api providers",
    "models aliases",
    "session list",
    "tools list",
    "tools schema Read",
    "logs list",
    "skill list",
    "skill show commit-helper",
    "rules show",
    "profile list",
    "profile show default",
    "profile resolve",
    "sandbox doctor",
    "schema",
    "completions bash",
    "man",
];
