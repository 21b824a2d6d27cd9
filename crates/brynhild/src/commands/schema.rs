//! Files generated from the program itself: the events' schema, completions, the manual, and the
//! Python packages that plugins import. Reads no configuration.

use std::io;
use std::path::Path;

use args::{Cli, Global, OutputFormat};
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use clap::CommandFactory as _;
use clap_complete::Shell;
use contract::event::{Event, Input};
use serde_json::json;

/// Prints the schema of events or inputs.
pub(crate) fn print(inputs: bool) -> Outcome {
    let schema = if inputs { schemars::schema_for!(Input) } else { schemars::schema_for!(Event) };
    output::json(&schema)?;
    Ok(Exit::Done)
}

pub(crate) fn completions(shell: Shell) -> Outcome {
    // The generator panics if standard output is closed, so it writes to memory.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "brynhild", &mut text);
    io::Write::write_all(&mut io::stdout().lock(), &text)?;
    Ok(Exit::Done)
}

pub(crate) fn manual() -> Outcome {
    let mut text = Vec::new();
    let command_line = Cli::command().version(env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command_line).render(&mut text)?;
    io::Write::write_all(&mut io::stdout().lock(), &text)?;
    Ok(Exit::Done)
}

/// Writes the Python packages that plugins import, so that authors can test plugins without us.
pub(crate) fn stubs(global: &Global, directory: &Path) -> Outcome {
    let files = python_host::write_stubs(directory).map_err(|error| {
        Problem::failed(format!("cannot write to {}: {error}", directory.display()))
            .hint("name a directory that you may write to")
    })?;
    let shown = directory.display().to_string();
    if global.format() == Some(OutputFormat::Json) {
        output::json(&json!({"path": shown, "files": files.len()}))?;
        return Ok(Exit::Done);
    }
    output::text(format_args!("{} files are in {shown}.", files.len()))?;
    output::hint(&format!("`PYTHONPATH={shown} python3 test_my_tool.py` finds them"));
    Ok(Exit::Done)
}
