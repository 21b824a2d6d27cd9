//! Resolves paths and decides if a tool may read or write there.
//!
//! A path is resolved completely (`~`, `..`, symlinks) before it is checked. Of the open and closed
//! directories that contain it, the nearest decides. The policy asks about a path that none of them
//! contains. Nothing here opens a file.

use std::path::{Path, PathBuf};

use contract::action::Action;
use files::protected::{names, protected};

use crate::Settings;
use crate::links::follow_links;
use crate::outcome::Stop;

const SECRET: &str =
    "It holds credentials or belongs to the system; to use it, call Bash with `outside: true`";

/// The directories that tools may read and write.
pub(crate) struct Paths {
    root: PathBuf,
    home: Option<PathBuf>,
    writable: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    closed_to_reading: Vec<PathBuf>,
    closed_to_writing: Vec<PathBuf>,
}

#[derive(PartialEq)]
enum Verdict<'a> {
    Open(&'a Path),
    Closed,
    Unlisted,
}

impl Paths {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut paths = Self {
            root: settings.root.clone(),
            home: settings.home.clone(),
            writable: Vec::new(),
            readable: Vec::new(),
            closed_to_reading: Vec::new(),
            closed_to_writing: Vec::new(),
        };
        let mut open = paths.resolve_all(settings.allowed_paths.iter());
        open.dedup();
        open.push(settings.root.clone());
        // Every path starts with an empty one.
        open.retain(|directory| directory.is_absolute());
        paths.readable = paths.resolve_all(settings.readable_paths.iter());
        paths.readable.extend(open.iter().cloned());
        paths.writable = open;

        let home = settings.home.iter().flat_map(|home| SECRETS.iter().map(|name| home.join(name)));
        let mut closed: Vec<_> = SYSTEM_SECRETS.iter().map(PathBuf::from).chain(home).collect();
        paths.closed_to_reading = paths.resolve_all(closed.iter());
        closed.extend(["/dev", "/sys"].map(PathBuf::from));
        paths.closed_to_writing = paths.resolve_all(closed.iter());
        paths
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path, if it may be read.
    pub(crate) fn readable(&self, given: &str) -> Result<PathBuf, Stop> {
        let path = self.resolve(given)?;
        if !self.may_read(&path) {
            return Err(denied("Read", given, SECRET));
        }
        Ok(path)
    }

    /// The actions of reading a path: the file itself, and each symlink of the project in the path,
    /// since rules and names of secrets apply to both.
    pub(crate) fn reads(&self, given: &str) -> Result<Vec<Action>, Stop> {
        let path = self.readable(given)?;
        let links = self.links(given, &path)?;
        Ok(std::iter::once(Action::Read { path }).chain(links).collect())
    }

    /// The actions of reading each symlink of the project in the path `given`, which leads to `path`.
    pub(crate) fn links(&self, given: &str, path: &Path) -> Result<Vec<Action>, Stop> {
        let way = self.way(given)?.into_iter().filter(|it| it != path);
        Ok(way.map(|path| Action::Read { path }).collect())
    }

    /// Resolves a path, if it may be written or the policy asks the user about it.
    pub(crate) fn writable(&self, given: &str) -> Result<PathBuf, Stop> {
        let path = self.resolve(given)?;
        Err(match judge(&path, &self.writable, &self.closed_to_writing) {
            Verdict::Unlisted => return Ok(path),
            Verdict::Open(directory) => match self.protection(&path, directory, given)? {
                None => return Ok(path),
                Some(name) if is_asked_about(&path, directory, name) => return Ok(path),
                Some(name) => denied(
                    "Write",
                    given,
                    &format!("Other programs run or obey what is in `{name}`"),
                ),
            },
            Verdict::Closed => denied("Write", given, SECRET),
        })
    }

    /// Returns true if a resolved path may be read.
    pub(crate) fn may_read(&self, path: &Path) -> bool {
        judge(path, &self.readable, &self.closed_to_reading) != Verdict::Closed
    }

    /// Returns true if a walk may enter a resolved directory: it is readable, or contains one that is.
    pub(crate) fn may_enter(&self, path: &Path) -> bool {
        self.may_read(path) || self.readable.iter().any(|open| open.starts_with(path))
    }

    /// Returns true if a resolved directory contains a closed one.
    pub(crate) fn holds_closed(&self, directory: &Path) -> bool {
        let mut closed = self.closed_to_reading.iter();
        closed.any(|closed| closed.starts_with(directory))
    }

    /// The protected name of a file in an open directory: its own, that of a symlink in its path, or
    /// that of a symlink to a directory that contains it.
    fn protection(
        &self,
        path: &Path,
        directory: &Path,
        given: &str,
    ) -> Result<Option<&'static str>, Stop> {
        let below = |path: &Path| path.strip_prefix(directory).ok().and_then(protected);
        let way = self.way(given)?;
        if let Some(name) =
            std::iter::once(path).chain(way.iter().map(PathBuf::as_path)).find_map(below)
        {
            return Ok(Some(name));
        }
        let leads_there = |link: &Path| {
            std::fs::read_link(link).is_ok()
                && follow_links(link, &mut |_| ())
                    // A symlink to the directory itself would protect all of it.
                    .is_ok_and(|end| path.starts_with(&end) && !directory.starts_with(&end))
        };
        let mut directories = path.ancestors().skip(1).take_while(|it| it.starts_with(directory));
        Ok(directories.find_map(|above| names().find(|name| leads_there(&above.join(name)))))
    }

    /// The symlinks of the project in a path, each with the rest of the path.
    fn way(&self, given: &str) -> Result<Vec<PathBuf>, Stop> {
        let mut way = Vec::new();
        self.follow(given, &mut |link| way.push(link))?;
        way.retain(|link| link.starts_with(&self.root));
        Ok(way)
    }

    /// Makes a path absolute, without `..` and symlinks. Parts that do not exist stay.
    pub(crate) fn resolve(&self, given: &str) -> Result<PathBuf, Stop> {
        self.follow(given, &mut |_| ())
    }

    fn follow(&self, given: &str, passed: &mut dyn FnMut(PathBuf)) -> Result<PathBuf, Stop> {
        if given.contains('\0') {
            return Err("a path cannot hold a NUL byte".to_owned().into());
        }
        let start = match (given.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            (Some(rest), None) if rest.is_empty() || rest.starts_with('/') => {
                return Err(
                    format!("cannot expand `~` in {given}: no home directory is known").into()
                );
            }
            _ => self.root.join(given),
        };
        follow_links(&start, passed).map_err(|error| Stop::Failed(format!("{given}: {error}")))
    }

    fn resolve_all<'a>(&self, given: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
        let resolve = |path: &PathBuf| self.resolve(&path.to_string_lossy()).ok();
        given.filter_map(resolve).collect()
    }
}

fn denied(access: &str, given: &str, why: &str) -> Stop {
    Stop::Denied(format!("{access} access denied: {given} is in a protected location. {why}"))
}

/// The path, if it is the one that was checked: a symlink may have changed since.
pub(crate) fn judged(path: PathBuf, actions: &[Action], given: &str) -> Result<PathBuf, Stop> {
    let is_it = |action: &Action| match action {
        Action::Read { path: judged } | Action::Write { path: judged, .. } => *judged == path,
        Action::Run { .. }
        | Action::Connect { .. }
        | Action::LeaveSandbox { .. }
        | Action::Opaque { .. } => false,
    };
    if actions.is_empty() || actions.iter().any(is_it) {
        return Ok(path);
    }
    Err(format!("{given} pointed to another file when this was decided; call again").into())
}

/// Returns true if the policy asks about a file by its protected name: it sees the name in the
/// resolved path, and refuses only the first two.
fn is_asked_about(path: &Path, directory: &Path, name: &str) -> bool {
    let is_in_path = path.strip_prefix(directory).ok().and_then(protected) == Some(name);
    is_in_path && !matches!(name, ".git" | ".brynhild")
}

fn judge<'a>(path: &Path, open: &'a [PathBuf], closed: &[PathBuf]) -> Verdict<'a> {
    let depth = |directory: &&PathBuf| directory.components().count();
    let opened = open.iter().filter(|directory| path.starts_with(directory));
    let closing = closed.iter().filter(|directory| path.starts_with(directory));
    match (opened.max_by_key(depth), closing.max_by_key(depth)) {
        (Some(open), Some(closed)) if depth(&closed) > depth(&open) => Verdict::Closed,
        (Some(open), _) => Verdict::Open(open),
        (None, Some(_)) => Verdict::Closed,
        (None, None) => Verdict::Unlisted,
    }
}

/// Paths in a home directory that stay closed even if the project is that directory.
const SECRETS: &[&str] = &[
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/brynhild",
    ".config/gcloud",
    ".config/gh",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pypirc",
    ".ssh",
];

/// Paths of the system that stay closed. `/proc` shows the environment of this process with its keys.
const SYSTEM_SECRETS: &[&str] =
    &["/proc", "/run/secrets", "/run/user", "/etc/shadow", "/etc/gshadow", "/etc/ssl/private"];

#[cfg(test)]
mod tests;
