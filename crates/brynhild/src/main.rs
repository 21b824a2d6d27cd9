//! The `brynhild` program: parses the command line and runs one command.

mod commands;
mod frontends;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use args::Cli;
use assemble::exit::{Exit, Problem};
use assemble::output;
use clap::Parser;
use clap::error::ErrorKind;
use contract::text::{is_hidden, visible};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // This comes before everything else: it is on the path of every confined command.
    if words.get(1).is_some_and(|word| word == sandbox::HELPER_COMMAND) {
        return sandbox::helper_main(&words[2..]);
    }
    sandbox::hide_process();
    if words.get(1).is_some_and(|word| word == documents::READER_COMMAND) {
        return documents::reader_main(&words[2..]);
    }
    line_ui::panics::install_hook();
    if let [_, help, topic] = &words[..]
        && help == "help"
        && let Some(guide) = topic.to_str().and_then(args::guide)
    {
        let written = output::text(guide).map(|()| Exit::Done).map_err(Problem::from);
        return written.map_or_else(|problem| report(&problem), Into::into);
    }
    let cli = match parse(words) {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output with 0, misuse to standard error with 2.
            show_usage(&error);
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(problem) => report(&problem),
    }
}

/// Parses the command line. `help COMMAND` is `COMMAND --help`, unless it is the topic of a guide.
fn parse(mut words: Vec<OsString>) -> Result<Cli, clap::Error> {
    Cli::rewrite_help(&mut words)?;
    Cli::try_parse_from(&words).or_else(|error| match error.kind() {
        // The full help takes longer to build, so only a request for it pays.
        ErrorKind::DisplayHelp => {
            Err(Cli::documented().try_get_matches_from(&words).err().unwrap_or(error))
        }
        // A group of commands that has a list shows it.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            words.push("list".into());
            Cli::try_parse_from(&words).map_err(|_| error)
        }
        _ => Err(error),
    })
}

fn report(problem: &Problem) -> ExitCode {
    if is_broken_pipe(&problem.error) {
        return Exit::PipeClosed.into();
    }
    output::error(&problem.message());
    if let Some(hint) = &problem.hint {
        output::hint(hint);
    }
    problem.exit.into()
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Prints an error in the command line, or the help.
fn show_usage(error: &clap::Error) {
    let plain = error.render().to_string();
    // Colors are kept if the text has no hidden characters. A closed output is ignored.
    let _ = if error.use_stderr() && plain.contains(is_hidden) {
        write!(io::stderr().lock(), "{}", visible(&plain))
    } else {
        error.print()
    };
}
