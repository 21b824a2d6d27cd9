//! A program of the user's own choice on their terminal, such as an editor: not confined, because
//! nobody but the user chose it and nothing of the model's reaches its command line.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a program on this terminal to its end. Says whether it went well.
#[expect(clippy::disallowed_methods, reason = "this crate starts processes")]
pub fn foreground(program: &str, args: &[String], cwd: &Path) -> io::Result<bool> {
    Ok(Command::new(program).args(args).current_dir(cwd).status()?.success())
}

/// How long a program that is fed may take.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs a program of the user's that reads a text and shows nothing. Says whether it went well.
#[expect(clippy::disallowed_methods, reason = "this crate starts processes")]
pub fn feed(program: &str, args: &[&str], cwd: &Path, text: &[u8]) -> io::Result<bool> {
    let mut child = Command::new(program)
        .args(args)
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Who reads nothing is not waited for: the text is given on a thread of its own.
    let stdin = child.stdin.take();
    let text = text.to_vec();
    std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&text)));
    let until = Instant::now() + PROGRAM_TIMEOUT;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}
