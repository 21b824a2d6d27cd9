//! Bare processes that the tools of a plugin are compared with. They run outside of the sandbox, so
//! nothing that a plugin could have written is started.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::process::memory;

/// Reads and writes one JSON value a line.
const PYTHON_LOOP: &str = "\
import json, sys
i, o = sys.stdin.buffer, sys.stdout.buffer
for line in iter(i.readline, b''):
    o.write(json.dumps(json.loads(line)).encode() + b'\\n')
    o.flush()
";
const NODE_LOOP: &str = "require('readline').createInterface({input: process.stdin})\
    .on('line', line => console.log(JSON.stringify(JSON.parse(line))))";
const SHELL_LOOP: &str = "while IFS= read -r line; do printf '%s\\n' \"$line\"; done";

/// A bare process: one that ends at once, and one that answers each line.
#[derive(Debug)]
pub(super) struct Reference {
    start: (PathBuf, &'static [&'static str]),
    echo: (PathBuf, &'static [&'static str]),
}

impl Reference {
    /// The bare process for the program of a plugin. A program in one of the directories `own`, which
    /// the plugin may write, is compared with `true` and `cat`, as are those that are no interpreter.
    pub(super) fn new(program: &Path, own: &[&Path]) -> Self {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let is_own = own.iter().any(|directory| program.starts_with(directory));
        // The name may mean another file outside of the sandbox.
        let is_there = program.canonicalize().is_ok_and(|real| real == program);
        let name = if is_own || !is_there { "" } else { &*name };
        let (start, echo): (&[&str], &[&str]) = match name {
            "sh" | "bash" | "dash" | "zsh" => (&["-c", ":"], &["-c", SHELL_LOOP]),
            "node" => (&["-e", "0"], &["-e", NODE_LOOP]),
            _ if name.starts_with("python") => (&["-I", "-c", "pass"], &["-I", "-c", PYTHON_LOOP]),
            _ => return Self { start: ("true".into(), &[]), echo: ("cat".into(), &[]) },
        };
        Self { start: (program.to_owned(), start), echo: (program.to_owned(), echo) }
    }

    pub(super) fn shown(&self) -> String {
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let words =
            [name(&self.start.0)].into_iter().chain(self.start.1.iter().map(|&it| it.into()));
        words.collect::<Vec<String>>().join(" ")
    }

    /// Starts the process and waits for its end.
    pub(super) fn time_start(&self) -> io::Result<Duration> {
        let started = Instant::now();
        let status = command(&self.start).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        let time = started.elapsed();
        if status.success() {
            return Ok(time);
        }
        Err(io::Error::other(format!("`{}` failed: {status}", self.shown())))
    }

    /// Starts the process that answers lines.
    pub(super) fn echo(&self) -> io::Result<Echo> {
        let mut child = command(&self.echo).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("a pipe is missing"))?;
        Ok(Echo { child, input, output: BufReader::new(output) })
    }
}

/// A process that answers each line.
pub(super) struct Echo {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Echo {
    /// Sends a line, and waits for the answer.
    pub(super) fn time_round(&mut self, line: &str) -> io::Result<Duration> {
        let mut answer = String::new();
        let started = Instant::now();
        self.input.write_all(format!("{line}\n").as_bytes())?;
        if self.output.read_line(&mut answer)? == 0 {
            return Err(io::Error::other("the bare process ended"));
        }
        Ok(started.elapsed())
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn megabytes(&self) -> Option<f64> {
        memory(self.child.id())
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a bare process is the one without a sandbox")]
fn command((program, args): &(PathBuf, &[&str])) -> Command {
    let mut command = Command::new(program);
    command.args(*args).current_dir("/").stderr(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_written_interpreter_is_not_started() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let program = root.join("python3");
        std::fs::write(&program, "").unwrap();
        assert_eq!(Reference::new(&program, &[]).shown(), "python3 -I -c pass");
        assert_eq!(Reference::new(&program, &[&root]).shown(), "true");
        assert_eq!(Reference::new(&root.join("no/python3"), &[]).shown(), "true");
    }

    #[test]
    fn bare_processes_start_and_answer() {
        let reference = Reference::new(&Path::new("/bin/sh").canonicalize().unwrap(), &[]);
        reference.time_start().unwrap();
        let mut echo = reference.echo().unwrap();
        echo.time_round("{}").unwrap();
        assert!(echo.megabytes().is_some_and(|megabytes| megabytes > 0.0));
    }
}
