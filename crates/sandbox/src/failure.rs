//! Reasons why a process was not started.

use std::fmt;
use std::io;
use std::path::Path;

use contract::sandbox::SandboxError;

/// Why a backend does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The obstacle.
    pub what: String,
    /// The action that helps; empty if none does.
    pub remedy: String,
}

impl Cause {
    pub(crate) fn new(what: &str, remedy: &str) -> Self {
        Self { what: what.to_owned(), remedy: remedy.to_owned() }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

/// Why a backend did not start a process.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The backend does not work on this machine; another might.
    Setup(Cause),
    /// No backend would do better.
    Fatal(SandboxError),
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::Fatal(error)
    }
}

/// The error of a program that did not start.
pub(crate) fn start_error(program: &Path, source: io::Error) -> SandboxError {
    SandboxError::Start { program: program.display().to_string(), source }
}
