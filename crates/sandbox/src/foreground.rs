//! A program of the person's own choice on their terminal, such as an editor: not confined, because
//! nobody but the person chose it and nothing of the model's reaches its command line.

use std::io;
use std::path::Path;
use std::process::Command;

/// Runs a program on this terminal to its end. Says whether it went well.
#[expect(clippy::disallowed_methods, reason = "this crate starts processes")]
pub fn foreground(program: &str, args: &[String], cwd: &Path) -> io::Result<bool> {
    Ok(Command::new(program).args(args).current_dir(cwd).status()?.success())
}
