//! A project and a home of a test's own, and the shipped executable at work in them, with nothing
//! of the machine's environment but the search path.

mod run;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::Terminal;

pub use run::{Run, Running};

/// A temporary project directory and home. Both are deleted when it is dropped.
pub struct Project {
    directory: TempDir,
    binary: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
}

impl Project {
    /// Makes an empty project and an empty home.
    pub fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("brynhild-test-").tempdir();
        let directory = directory.expect("a temporary directory");
        let project = Self { directory, binary: None, env: Vec::new() };
        fs::create_dir(project.path()).expect("the project's directory");
        fs::create_dir(project.home()).expect("the home");
        project
    }

    /// Makes an empty project in which `binary` is run: `env!("CARGO_BIN_EXE_brynhild")`.
    pub fn with_binary(binary: impl Into<PathBuf>) -> Self {
        Self { binary: Some(binary.into()), ..Self::new() }
    }

    /// The project's directory.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// The home.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// Brynhild's directory in the home.
    pub fn config_directory(&self) -> PathBuf {
        self.home().join(".config/brynhild")
    }

    /// Writes a file of the project; directories are made as needed.
    pub fn file(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> &Self {
        write(&self.path().join(path), text.as_ref());
        self
    }

    /// Writes the user's configuration.
    pub fn config(&self, yaml: &str) -> &Self {
        write(&self.config_directory().join("config.yaml"), yaml.as_bytes());
        self
    }

    /// Adds to the user's configuration.
    pub fn config_more(&self, yaml: &str) -> &Self {
        let path = self.config_directory().join("config.yaml");
        let before = fs::read_to_string(&path).unwrap_or_default();
        self.config(&format!("{before}{yaml}"))
    }

    /// Sets a variable for everything that is run here.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let variable = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.env.push(variable);
        self
    }

    /// The text of a file of the project.
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.path().join(path);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
    }

    /// Runs the executable with these arguments to its end.
    pub fn brynhild<A: AsRef<OsStr>>(&self, args: &[A]) -> Run {
        self.command(args).run()
    }

    /// The executable with these arguments, to be set up further.
    pub fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Invocation {
        let binary = self.binary.clone();
        self.program(binary.expect("a project made by `Project::with_binary`"), args)
    }

    /// Another program, in the same environment.
    pub fn program<A: AsRef<OsStr>>(&self, program: impl Into<PathBuf>, args: &[A]) -> Invocation {
        Invocation {
            program: program.into(),
            args: args.iter().map(|arg| arg.as_ref().to_owned()).collect(),
            env: self.environment(),
            cwd: self.path(),
            stdin: None,
            patience: run::PATIENCE,
        }
    }

    /// Runs the executable with these arguments on a terminal of so many columns and rows.
    pub fn terminal<A: AsRef<OsStr>>(&self, args: &[A], size: (u16, u16)) -> Terminal {
        let mut invocation = self.command(args);
        if invocation.env.iter().all(|(name, _)| name != "TERM") {
            invocation = invocation.env("TERM", "xterm-256color");
        }
        Terminal::start(
            &invocation.program,
            &invocation.args,
            &invocation.env,
            &invocation.cwd,
            size,
        )
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a test runs programs of the machine, which the search path finds"
    )]
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let mut env = vec![
            ("PATH".into(), path),
            ("HOME".into(), self.home().into()),
            ("LANG".into(), "C.UTF-8".into()),
            // Tests fetch nothing from the network.
            ("PIP_NO_INDEX".into(), "1".into()),
        ];
        env.extend(self.env.iter().cloned());
        env
    }
}

impl Default for Project {
    fn default() -> Self {
        Self::new()
    }
}

/// A run that is being set up.
#[must_use]
pub struct Invocation {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    stdin: Option<Vec<u8>>,
    patience: Duration,
}

impl Invocation {
    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let variable = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.env.push(variable);
        self
    }

    /// Gives it this text to read; without it there is nothing to read.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Waits this long for it before it is killed; a minute where nothing is said.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts it in another directory, relative to the project.
    pub fn cwd(mut self, path: impl AsRef<Path>) -> Self {
        self.cwd.push(path);
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Run {
        self.spawn().wait()
    }

    /// Starts it.
    pub fn spawn(self) -> Running {
        Running::start(self)
    }
}

fn write(path: &Path, text: &[u8]) {
    let directory = path.parent().expect("a path with a directory");
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(path, text))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
