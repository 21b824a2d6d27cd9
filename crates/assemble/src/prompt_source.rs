//! Reads the files and the standard input of a prompt.

use std::io::Read;
use std::path::PathBuf;

pub use ::tui::prompt_source::PromptSource;

use crate::exit::Problem;
use crate::named_file;
use crate::run_context::RunContext;

/// Reads prompt files.
pub fn read_files(run: &RunContext, paths: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, Problem> {
    let read = |path: &PathBuf| {
        let bytes = std::fs::read(named_file::place(run, path)?).map_err(|error| {
            Problem::misuse(format!("cannot read prompt file {}: {error}", path.display()))
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Problem::misuse(format!("prompt file {} is not UTF-8 text", path.display()))
                .hint("convert it, or name the file in the prompt and let the model read it")
        })?;
        Ok((path.clone(), text))
    };
    paths.iter().map(read).collect()
}

/// Reads a prompt from standard input.
pub fn read_stdin() -> Result<String, Problem> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| {
        Problem::misuse("standard input is not UTF-8 text")
            .hint("convert it, or save it as a file and let the model read that")
    })
}
