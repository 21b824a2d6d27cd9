//! Which files a commit may take: those beneath the workspace, reached without a symbolic link, that
//! belong to no repository but this one.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use contract::broker::BrokerError;

/// What a commit takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything in the repository, and what is staged already.
    Everything,
    /// These paths and nothing else; relative to the repository's root.
    Only(Vec<PathBuf>),
}

impl Scope {
    /// What `paths` mean in a `workspace` that is part of the repository at `root`.
    pub(crate) fn of(
        paths: &[PathBuf],
        workspace: &Path,
        root: &Path,
    ) -> Result<Self, BrokerError> {
        if paths.is_empty() && workspace == root {
            return Ok(Self::Everything);
        }
        let offset = workspace.strip_prefix(root).unwrap_or(Path::new(""));
        if paths.is_empty() {
            return Ok(Self::Only(vec![offset.to_owned()]));
        }
        let inner = paths.iter().map(|path| beneath(path, workspace));
        let inner = inner.collect::<Result<Vec<_>, _>>()?;
        if workspace == root && inner.iter().any(|path| path.as_os_str().is_empty()) {
            return Ok(Self::Everything);
        }
        Ok(Self::Only(inner.into_iter().map(|path| joined(offset, &path)).collect()))
    }

    /// The paths as arguments for git; none where it is everything.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Everything => &[],
            Self::Only(paths) => paths,
        }
    }

    /// The first of the paths that holds none of `names`.
    pub(crate) fn unmatched(&self, names: &[&[u8]]) -> Option<&Path> {
        let holds = |path: &Path, name: &[u8]| {
            let path = path.as_os_str().as_bytes();
            let rest = name.strip_prefix(path);
            path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        let paths = self.paths().iter().map(PathBuf::as_path);
        paths.into_iter().find(|path| !names.iter().any(|name| holds(path, name)))
    }
}

/// `Path::join` would add a slash for an empty path, which git reads as something else.
fn joined(folder: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { folder.to_owned() } else { folder.join(path) }
}

/// The path relative to the workspace.
fn beneath(path: &Path, workspace: &Path) -> Result<PathBuf, BrokerError> {
    let refuse = |why: &str| BrokerError::Refused(format!("{}: {why}", path.display()));
    let relative = if path.is_absolute() {
        path.strip_prefix(workspace)
            .map_err(|_| refuse("only files beneath the workspace can be committed"))?
    } else {
        path
    };
    let mut inner = PathBuf::new();
    for part in relative.components() {
        let Component::Normal(name) = part else {
            if part == Component::CurDir {
                continue;
            }
            return Err(refuse("`..` is not followed; name files beneath the workspace"));
        };
        if name.as_bytes().contains(&0) {
            return Err(refuse("a name cannot hold a NUL byte"));
        }
        if name.eq_ignore_ascii_case(".git") {
            return Err(refuse("what belongs to git itself cannot be committed"));
        }
        let parent = workspace.join(&inner);
        if fs::symlink_metadata(&parent).is_ok_and(|found| found.is_symlink()) {
            return Err(refuse("it leads through a symbolic link"));
        }
        if !inner.as_os_str().is_empty() && fs::symlink_metadata(parent.join(".git")).is_ok() {
            return Err(refuse("it belongs to another repository; submodules are not entered"));
        }
        inner.push(name);
    }
    Ok(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("w/a")).unwrap();
        fs::create_dir_all(tree.path().join("w/sub/.git")).unwrap();
        std::os::unix::fs::symlink("/etc", tree.path().join("w/link")).unwrap();
        tree
    }

    #[test]
    fn paths_are_taken_relative_to_the_repository() {
        let tree = tree();
        let (root, work) = (tree.path(), tree.path().join("w"));
        let of = |paths: &[PathBuf], root: &Path| Scope::of(paths, &work, root).unwrap();
        assert_eq!(of(&[], &work), Scope::Everything);
        assert_eq!(of(&["./.".into()], &work), Scope::Everything);
        assert_eq!(of(&[], root), Scope::Only(vec!["w".into()]));
        let both = ["a/b c".into(), work.join("link")];
        assert_eq!(of(&both, root), Scope::Only(vec!["w/a/b c".into(), "w/link".into()]));
        assert_eq!(of(&both, &work), Scope::Only(vec!["a/b c".into(), "link".into()]));
        assert_eq!(of(&["sub".into()], &work), Scope::Only(vec!["sub".into()]));
    }

    #[test]
    fn what_leads_out_is_refused() {
        let tree = tree();
        let work = tree.path().join("w");
        for path in
            ["../x", "a/../../x", "/etc/passwd", "link/passwd", ".git/config", "a/.GIT/x", "sub/f"]
        {
            let scope = Scope::of(&[path.into()], &work, &work);
            assert!(matches!(scope, Err(BrokerError::Refused(_))), "{path}: {scope:?}");
        }
    }

    #[test]
    fn a_path_that_names_nothing_is_found() {
        let scope = Scope::Only(vec!["a".into(), "bc".into()]);
        let names: [&[u8]; 2] = [b"a/x", b"bcd"];
        assert_eq!(scope.unmatched(&names), Some(Path::new("bc")));
        assert_eq!(scope.unmatched(&[b"a", b"bc/d"]), None);
    }
}
