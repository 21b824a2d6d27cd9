//! The one place that reads the environment, the home directory and the working directory.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The environment of the process.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The variables that are valid text.
    pub variables: BTreeMap<String, String>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Where the program was started, with no link on the way.
    pub cwd: PathBuf,
    /// Where temporary files go.
    pub temp: PathBuf,
    /// This program, also after an upgrade has replaced its file.
    pub(crate) executable: PathBuf,
    pub terminal: Terminal,
}

/// The path of `--cwd`, which replaces `PWD`.
static ENTERED: OnceLock<String> = OnceLock::new();

/// Changes the working directory, as `cd` does.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn enter(directory: &Path) -> io::Result<()> {
    let path = std::env::current_dir()?.join(directory);
    std::env::set_current_dir(&path)?;
    ENTERED.get_or_init(|| path.display().to_string());
    Ok(())
}

/// Which of the standard streams are terminals.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

impl Terminal {
    /// Asks the operating system.
    pub fn read() -> Self {
        Self {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }
}

impl Environment {
    /// Reads all of it.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
    pub(crate) fn read() -> io::Result<Self> {
        let mut variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        variables.extend(ENTERED.get().map(|path| ("PWD".to_owned(), path.clone())));
        let home = variables.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        // What is kept in a home would lie in whichever project one works in.
        if let Some(home) = home.as_ref().filter(|home| home.is_relative()) {
            let text = format!("HOME is `{}`, and must be an absolute path", home.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(Self {
            home,
            cwd: here(std::env::current_dir()?)?,
            temp: std::env::temp_dir(),
            executable: own_executable()?,
            terminal: Terminal::read(),
            variables,
        })
    }

    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// InitRunner's directory of data; none if the user has no home.
    pub(crate) fn initrunner_home(&self) -> Option<PathBuf> {
        let variable = |name| self.variable(name).map(Path::new);
        let named = variable("INITRUNNER_HOME").map(Path::to_owned);
        let data = || variable("XDG_DATA_HOME").map(|data| data.join("initrunner"));
        named.or_else(data).or_else(|| Some(self.home.as_ref()?.join(".initrunner")))
    }

    /// The name of the user's account, for names of directories.
    pub fn user(&self) -> String {
        let number = rustix::process::getuid().as_raw().to_string();
        let name = self.variable("USER").or_else(|| self.variable("LOGNAME")).map(str::to_owned);
        let name = name.or_else(|| account(&number)).unwrap_or_default();
        let safe = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_' || *c == '.';
        let name: String = name.chars().filter(safe).collect();
        if name.is_empty() { number } else { name }
    }
}

/// The path of the directory that the program stands in, if it leads to that very directory without a link. A
/// confined process of a project above could put another in its place, or a link to one that it must not
/// enter, and would so choose what is a project.
fn here(path: PathBuf) -> io::Result<PathBuf> {
    let (own, found) = (std::fs::metadata(".")?, sandbox::directory_metadata(&path));
    if found.is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino())) {
        return Ok(path);
    }
    let text = format!(
        "the working directory is no longer the directory at {}, which was replaced; \
         enter the directory again",
        path.display()
    );
    Err(io::Error::other(text))
}

/// The name of the account with this number, where the machine's own list has one.
fn account(number: &str) -> Option<String> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    })
}

fn own_executable() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}
