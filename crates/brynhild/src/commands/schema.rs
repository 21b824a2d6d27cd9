//! What is generated from the program itself: the events' schema, completions, the manual.

use std::io;

use clap_complete::Shell;
use contract::event::Event;

use super::command_line;
use crate::exit::{Exit, Outcome};
use crate::output;

/// Prints the JSON Schema of an event.
pub(crate) fn events() -> Outcome {
    output::json(&schemars::schema_for!(Event))?;
    Ok(Exit::Done)
}

/// Prints completions for a shell.
pub(crate) fn completions(shell: Shell) -> Outcome {
    // The generator panics where the output is gone, so it writes to memory.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command_line(), "brynhild", &mut text);
    io::Write::write_all(&mut io::stdout().lock(), &text)?;
    Ok(Exit::Done)
}

/// Prints the manual page.
pub(crate) fn manual() -> Outcome {
    let mut text = Vec::new();
    let command_line = command_line().version(env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command_line).render(&mut text)?;
    io::Write::write_all(&mut io::stdout().lock(), &text)?;
    Ok(Exit::Done)
}
