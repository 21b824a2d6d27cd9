//! Links that a confined process could have made. Where one stands on the way to what is granted, it must
//! not decide what that is: a command that puts a link to the home in the place of a directory would be shown
//! the home by the next.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use contract::sandbox::SandboxError;

use crate::contents::private_directory;

/// So many links the kernel follows on one way.
const LINKS: usize = 40;

/// The directories that confined processes may write, or once could.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writable(Vec<PathBuf>);

impl Writable {
    /// Those of which a record is kept in `state`.
    pub(crate) fn known(state: &Path) -> Self {
        let bytes = fs::read(record(state)).unwrap_or_default();
        let paths = bytes.split(|&byte| byte == 0).filter(|path| !path.is_empty());
        Self(paths.map(|path| PathBuf::from(OsString::from_vec(path.to_vec()))).collect())
    }

    /// Keeps `roots` in mind, for whoever is granted something in them later.
    pub(crate) fn note(&self, state: &Path, roots: &[PathBuf]) -> Result<(), SandboxError> {
        let new: Vec<&PathBuf> = roots.iter().filter(|root| !self.0.contains(root)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let lines: Vec<u8> =
            new.iter().flat_map(|root| [root.as_os_str().as_bytes(), b"\0"].concat()).collect();
        append(state, &lines).map_err(|error| {
            let file = record(state).display().to_string();
            SandboxError::Refused(format!("cannot write {file}: {error}"))
        })
    }

    pub(crate) fn with(&self, more: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(self.0.iter().cloned().chain(more).collect())
    }

    /// Returns true if one of them contains a path.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    /// Where a path leads, if it is there. Refused where a link in one of them leads out of it, and not
    /// into one of the `open` directories.
    pub(crate) fn real(
        &self,
        path: &Path,
        open: &[PathBuf],
    ) -> Result<Option<PathBuf>, SandboxError> {
        self.resolve(path, open).map_err(|EscapingSymlink { link, real }| {
            SandboxError::Refused(format!(
                "{0} is granted, but {1} is a link by which it leads to {2}: a command could have \
                 made it; if it is yours, name {2} instead",
                path.display(),
                link.display(),
                real.display()
            ))
        })
    }

    fn resolve(&self, path: &Path, open: &[PathBuf]) -> Result<Option<PathBuf>, EscapingSymlink> {
        let Some((real, links)) = followed(path) else { return Ok(None) };
        let is_below = |link: &Path, root: &Path| link != root && link.starts_with(root);
        let escapes = |link: &PathBuf| {
            self.0.iter().any(|root| is_below(link, root) && !real.starts_with(root))
        };
        let is_open = open.iter().any(|root| real.starts_with(root));
        match links.into_iter().find(|link| !is_open && escapes(link)) {
            None => Ok(Some(real)),
            Some(link) => Err(EscapingSymlink { link, real }),
        }
    }
}

/// A link that a confined process could have made, and where a path leads by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscapingSymlink {
    /// The link.
    pub link: PathBuf,
    /// Where the path ends.
    pub real: PathBuf,
}

/// Where a path leads by which the user enters or names a project, if it is there: a link on the way that
/// a confined process could have made must not choose the project.
pub fn project_at(path: &Path, state: &Path) -> Result<Option<PathBuf>, EscapingSymlink> {
    Writable::known(state).resolve(path, &[])
}

/// Where a path leads that the user names for a file, if it is there: a link that a confined process could have
/// made, or that stands in `workspace`, must not lead it out.
pub fn file_at(
    path: &Path,
    workspace: &Path,
    state: &Path,
) -> Result<Option<PathBuf>, EscapingSymlink> {
    let workspace = workspace.to_owned();
    Writable::known(state).with([workspace.clone()]).resolve(path, &[workspace])
}

/// The writable directory of confined processes that contains `shell_cwd` and not `real_cwd`: a process could have
/// moved the shell out of it by a symlink that it removed again.
pub fn cwd_moved_out(shell_cwd: &Path, real_cwd: &Path, state: &Path) -> Option<PathBuf> {
    let Writable(roots) = Writable::known(state);
    // Of the path itself nothing may be left.
    let above: Vec<PathBuf> =
        shell_cwd.ancestors().skip(1).filter_map(|above| fs::canonicalize(above).ok()).collect();
    let is_within = |root: &&PathBuf| above.iter().any(|above| above.starts_with(root));
    roots.iter().find(|root| is_within(root) && !real_cwd.starts_with(root)).cloned()
}

/// The paths that are granted for work in `workspace`, each with where it really lies, and why some are
/// not: what a link leads to that a confined process could have made. Those that are not there yet stay as
/// they are.
pub fn granted_paths(
    paths: &[PathBuf],
    workspace: &Path,
    state: &Path,
) -> (Vec<(PathBuf, PathBuf)>, Vec<String>) {
    let workspace = workspace.to_owned();
    let known = Writable::known(state).with([workspace.clone()]);
    let (mut granted, mut refused) = (Vec::new(), Vec::new());
    for path in paths {
        match known.real(path, std::slice::from_ref(&workspace)) {
            Ok(real) => granted.push((path.clone(), real.unwrap_or_else(|| path.clone()))),
            Err(SandboxError::Refused(why)) => refused.push(why),
            Err(other) => refused.push(other.to_string()),
        }
    }
    (granted, refused)
}

fn record(state: &Path) -> PathBuf {
    state.join("roots")
}

fn append(state: &Path, lines: &[u8]) -> io::Result<()> {
    private_directory(state)?;
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(record(state))?;
    file.write_all(lines)
}

/// Where an absolute path leads, and the links by which it does; none where nothing is there.
pub(crate) fn followed(path: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    resolve_links(path).filter(|(real, _)| fs::symlink_metadata(real).is_ok())
}

/// The real path, whether or not it exists, and the symlinks on the path; none if they form a cycle.
pub(crate) fn resolve_links(path: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    let (mut real, mut links) = (PathBuf::from("/"), Vec::new());
    let mut rest: VecDeque<OsString> = parts(path).collect();
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(part);
        let Ok(target) = fs::read_link(&next) else {
            real = next;
            continue;
        };
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        links.push(next);
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            rest.push_front(part);
        }
        if links.len() > LINKS {
            return None;
        }
    }
    Some((real, links))
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    let is_step = |part: &Component| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(is_step).map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn symlink_that_a_command_may_have_made_grants_nothing() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let path = |name: &str| base.join(name);
        for directory in ["home/key", "n/docs", "n/a", "other", "state"] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        symlink("../home/key", path("n/led")).unwrap();
        symlink(path("home"), path("n/a/up")).unwrap();
        symlink("docs", path("n/within")).unwrap();
        symlink("../other", path("n/open")).unwrap();
        symlink("n", path("mine")).unwrap();
        Writable::default().note(&path("state"), &[path("n")]).unwrap();
        let known = Writable::known(&path("state"));
        let real = |name: &str| known.real(&path(name), &[path("other")]);
        for name in ["n/led", "n/a/up/key", "mine/led", "n/docs/../led"] {
            let error = real(name).unwrap_err().to_string();
            assert!(error.contains("a command could have made it"), "{name}: {error}");
        }
        for (name, wanted) in [
            ("n/docs", "n/docs"),
            ("n/within", "n/docs"),
            ("mine/docs", "n/docs"),
            ("n/open", "other"),
        ] {
            assert_eq!(real(name).unwrap(), Some(path(wanted)), "{name}");
        }
        assert_eq!(real("n/absent").unwrap(), None);
        // The user's own links lead where they like.
        assert_eq!(Writable::default().real(&path("n/led"), &[]).unwrap(), Some(path("home/key")));
    }
}
