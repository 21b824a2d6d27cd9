//! The program that the kit works for: the user, the sandbox and the settings.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The errors of a host.
pub trait HostError: From<io::Error> + From<serde_json::Error> {
    /// The user must put something right first.
    fn misuse(text: String) -> Self;
    fn failed(text: String) -> Self;
    /// The user did not agree.
    fn declined(text: String) -> Self;
    #[must_use]
    fn hint(self, hint: String) -> Self;
}

pub trait Host {
    type Error: HostError;
    /// The directory of Python packages, below that of the configuration.
    const PACKAGE_DIRECTORY: &'static str;

    fn config_dir(&self) -> &Path;
    fn cwd(&self) -> &Path;
    /// Prints `data` as JSON if that is wanted, and `text` otherwise.
    fn report(&self, data: &Value, text: &str) -> io::Result<()>;
    fn show(&self, text: &str) -> io::Result<()>;
    fn warn(&self, text: &str);
    fn hint(&self, text: &str);
    fn confirm(&self, question: &str) -> io::Result<bool>;
    /// Writes an entry into the audit log.
    fn note(&self, action: &str, detail: &str);
    /// Runs a program in a directory that it may write to. Returns its standard output.
    fn run(
        &self,
        job: Job<'_>,
        directory: &Path,
    ) -> impl Future<Output = Result<String, Self::Error>>;
    /// The Python interpreter that plugins run with, and the directories that it needs.
    fn interpreter(&self) -> impl Future<Output = Result<(String, Vec<PathBuf>), Self::Error>>;
    /// Compares the servers of a plugin with the lock file, and records the tools that the user
    /// agreed to. Without `on_change` no server is started: cached tools are recorded.
    fn review_servers(
        &self,
        plugin: &str,
        on_change: Option<OnChange>,
    ) -> impl Future<Output = Result<(), Self::Error>>;
}

/// A program to run.
pub struct Job<'a> {
    pub name: &'a str,
    pub program: &'a str,
    pub args: Vec<String>,
    pub read: Vec<PathBuf>,
}

/// The treatment of a server whose tools differ from the lock file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OnChange {
    Ask,
    Refuse,
}
