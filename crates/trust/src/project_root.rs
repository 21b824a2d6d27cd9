//! Finds the project's root without starting a program or reading a file's content.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use contract::text::visible;

const REPOSITORY: &str = ".git";
const OWN: &str = ".brynhild";

const MARKERS: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "Cargo.toml", "package.json", "go.mod", OWN];

#[rustfmt::skip]
const TOO_WIDE: &[&str] = &[
    "/", "/home", "/Users", "/var", "/etc", "/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp",
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProject {
    #[error(
        "{} is not a project directory: everything below it would be open to the model; start in a \
         project's directory, name one with `--cwd DIR` or BRYNHILD_PROJECT_ROOT, or set \
         BRYNHILD_ALLOW_HOME_DIRECTORY=true",
        shown(root)
    )]
    TooWide { root: PathBuf },
    #[error(
        "the project root {place} lies in {around}, where secrets are kept; start in a project's directory, or, \
         if the model is to work there, set BRYNHILD_PROJECT_ROOT={place}",
        place = shown(root),
        around = shown(secrets)
    )]
    Secrets { root: PathBuf, secrets: PathBuf },
    #[error(
        "{pwd} resolves to {place} through the symlink {link}: a command could have made it; if it is yours, enter \
         where it leads (`cd {place}`), or set BRYNHILD_PROJECT_ROOT={place}",
        pwd = shown(named),
        place = shown(root),
        link = shown(link)
    )]
    Symlink { named: PathBuf, link: PathBuf, root: PathBuf },
    #[error(
        "PWD is {pwd}, but this is {place}: a command that may write {around} could have led here by a link that is \
         gone; if you want to work here, enter it by its own path (`cd {place}`), or set \
         BRYNHILD_PROJECT_ROOT={place}",
        pwd = shown(named),
        place = shown(root),
        around = shown(within)
    )]
    GoneSymlink { named: PathBuf, root: PathBuf, within: PathBuf },
}

impl NoProject {
    pub fn root(&self) -> &Path {
        match self {
            Self::TooWide { root }
            | Self::Secrets { root, .. }
            | Self::Symlink { root, .. }
            | Self::GoneSymlink { root, .. } => root,
        }
    }
}

/// The facts by which a project is found.
pub struct Search<'a> {
    pub start: &'a Path,
    pub home: Option<&'a Path>,
    /// The path by which the shell entered the working directory. It may be stale.
    pub pwd: Option<&'a Path>,
    /// The root that the user names, as written and with `~` and variables replaced.
    pub named: Option<(&'a str, String)>,
    /// True if the home directory may be the project.
    pub allows_home: bool,
    pub sandbox: &'a dyn SandboxFacts,
}

/// The facts that the sandbox knows about paths.
pub trait SandboxFacts {
    /// The real path of one that exists. Fails with the symlink and its target if a command may have
    /// made a symlink on the path.
    fn project_at(&self, path: &Path) -> Result<Option<PathBuf>, (PathBuf, PathBuf)>;
    /// The writable directory from which a command may have moved `cwd`, entered as `pwd`.
    fn cwd_moved_out(&self, pwd: &Path, cwd: &Path) -> Option<PathBuf>;
    /// The directory of secrets that a path is in.
    fn secrets_around(&self, path: &Path) -> Option<PathBuf>;
}

impl Search<'_> {
    /// The root of the project that contains `start`. No symlink is followed: a confined process
    /// could put one there at any time. The user's own `allow_home_directory` is for the caller, who
    /// reads the configuration: the error holds the root.
    pub fn root(&self) -> Result<PathBuf, NoProject> {
        let is_too_wide = too_wide(self.home);
        // A relative path does not say which directory is meant.
        let named = self.named.as_ref().map(|(written, _)| Path::new(written));
        let is_in_full = named.is_some_and(|it| it.is_absolute() || it.starts_with("~"));
        let root = if let Some((_, named)) = &self.named {
            let named = self.shell_path().join(named);
            self.resolve(&named)?.unwrap_or(named)
        } else {
            let own = self.start.ancestors().take_while(|directory| is_own(directory));
            marked(&own, &is_too_wide).unwrap_or(self.start).to_owned()
        };
        if !is_in_full {
            self.check_shell_path()?;
        }
        if let Some(secrets) = self.sandbox.secrets_around(&root).filter(|_| !is_in_full) {
            return Err(NoProject::Secrets { root, secrets });
        }
        if is_too_wide(&root) && !self.allows_home {
            return Err(NoProject::TooWide { root });
        }
        Ok(root)
    }

    fn resolve(&self, path: &Path) -> Result<Option<PathBuf>, NoProject> {
        self.sandbox.project_at(path).map_err(|(link, root)| NoProject::Symlink {
            named: path.to_owned(),
            link,
            root,
        })
    }

    /// Checks the path by which the shell entered `start`. It matters only if it is below a directory
    /// that commands may write, since one of them may have put a symlink there.
    fn check_shell_path(&self) -> Result<(), NoProject> {
        let Some(pwd) = self.pwd.filter(|pwd| pwd.is_absolute()) else { return Ok(()) };
        match self.resolve(pwd) {
            Err(error) if is_same(error.root(), self.start) => return Err(error),
            Ok(_) if is_same(pwd, self.start) => return Ok(()),
            Ok(_) | Err(_) => {}
        }
        let (named, root) = (pwd.to_owned(), self.start.to_owned());
        let within = self.sandbox.cwd_moved_out(pwd, self.start);
        within.map_or(Ok(()), |within| Err(NoProject::GoneSymlink { named, root, within }))
    }

    fn shell_path(&self) -> &Path {
        self.pwd.filter(|pwd| pwd.is_absolute() && is_same(pwd, self.start)).unwrap_or(self.start)
    }
}

fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

fn is_same(directory: &Path, other: &Path) -> bool {
    let number =
        |directory: &Path| directory.metadata().map(|found| (found.dev(), found.ino())).ok();
    number(directory).is_some_and(|found| Some(found) == number(other))
}

/// The path by which the shell entered the project, if symlinks are on it.
pub fn entered_by(root: &Path, pwd: &Path) -> Option<PathBuf> {
    let below = pwd.canonicalize().ok()?.strip_prefix(root).ok()?.to_owned();
    let name = pwd.ancestors().nth(below.components().count())?;
    (name.is_absolute() && name != root && is_same(name, root)).then(|| name.to_owned())
}

/// The directory above `root` that would be the project if no other user could write it.
pub fn passed_over(root: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let nearest = marked(&root.ancestors(), &too_wide(home));
    nearest.filter(|directory| *directory != root).map(Path::to_owned)
}

fn too_wide(home: Option<&Path>) -> impl Fn(&Path) -> bool + use<> {
    let home = home.map(real);
    move |root: &Path| {
        TOO_WIDE.iter().any(|wide| root == Path::new(wide)) || home.as_deref() == Some(root)
    }
}

/// The first directory with a mark of a project; directories that are too wide are never one.
fn marked<'a>(
    directories: &(impl Iterator<Item = &'a Path> + Clone),
    is_too_wide: &dyn Fn(&Path) -> bool,
) -> Option<&'a Path> {
    let with = |markers: &[&str]| {
        directories
            .clone()
            .filter(|directory| !is_too_wide(directory))
            .find(|directory| markers.iter().any(|marker| is_mark(directory, marker)))
    };
    with(&[REPOSITORY]).or_else(|| with(MARKERS))
}

/// Returns true if a name marks a project; a directory is no `package.json`. While a command runs,
/// the sandbox puts empty directories in place of a missing `.git` or `.brynhild`; they mark
/// nothing.
fn is_mark(directory: &Path, marker: &str) -> bool {
    let is_empty = |name: &str| {
        directory.join(name).read_dir().is_ok_and(|mut entries| entries.next().is_none())
    };
    let mark = directory.join(marker);
    match marker {
        REPOSITORY => mark.exists() && !is_empty(REPOSITORY),
        OWN => mark.exists() && !(is_empty(OWN) && is_empty(REPOSITORY)),
        _ => mark.is_file(),
    }
}

/// Returns true if only the user and the system decide that a directory is a project: they own it
/// and the marks in it, and not everybody may write it. The nearest one for which this is false
/// ends the search, since what is above is no longer the user's choice.
fn is_own(directory: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let is_ours = |owner: u32| owner == user || owner == 0;
    let Ok(found) = directory.metadata() else { return false };
    let is_sticky = found.mode() & 0o1000 != 0;
    let is_shared = found.mode() & 0o002 != 0 && (is_sticky || found.uid() != user);
    let mut marks = MARKERS.iter().chain([&REPOSITORY]);
    let is_foreign = |marker: &&str| {
        directory.join(marker).symlink_metadata().is_ok_and(|mark| !is_ours(mark.uid()))
    };
    is_ours(found.uid()) && !is_shared && !marks.any(is_foreign)
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
