//! Finds the project's root without starting a program or reading a file's content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::check::switch;
use super::node::shown;
use super::paths::Surroundings;

const MARKERS: &[&str] = &[
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "Cargo.toml",
    "package.json",
    "go.mod",
    ".brynhild",
];

const TOO_WIDE: &[&str] = &["/", "/home", "/Users", "/var", "/etc", "/tmp", "/private/tmp"];

/// A root that holds more than a project.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the project root {} is too wide: everything below it would be open to the model; start in a \
     project's folder, name one with BRYNHILD_PROJECT_ROOT, or set \
     BRYNHILD_ALLOW_HOME_DIRECTORY=true",
    shown(root)
)]
pub(crate) struct RootTooWide {
    /// The root that was found.
    pub(crate) root: PathBuf,
}

/// The root of the project that `start` lies in. The person's own `allow_home_directory` is for the
/// caller, who reads the configuration: the error holds the root.
pub(crate) fn project_root(
    start: &Path,
    home: Option<&Path>,
    env: &BTreeMap<String, String>,
) -> Result<PathBuf, RootTooWide> {
    let surroundings = Surroundings { env, home };
    let is_allowed = surroundings
        .variable("BRYNHILD_ALLOW_HOME_DIRECTORY")
        .is_some_and(|value| switch(&value.into()) == Some(true));
    let home = home.map(real);
    let is_too_wide = |root: &Path| {
        TOO_WIDE.iter().any(|wide| root == Path::new(wide)) || home.as_deref() == Some(root)
    };
    let root = match surroundings.variable("BRYNHILD_PROJECT_ROOT") {
        Some(named) => real(&start.join(surroundings.expand(named))),
        None => marked(&real(start), &is_too_wide),
    };
    if is_too_wide(&root) && !is_allowed {
        return Err(RootTooWide { root });
    }
    Ok(root)
}

/// The nearest folder with a mark of a project; folders that are too wide are never one.
fn marked(start: &Path, is_too_wide: &dyn Fn(&Path) -> bool) -> PathBuf {
    let with = |markers: &[&str]| {
        start
            .ancestors()
            .filter(|folder| !is_too_wide(folder))
            .find(|folder| markers.iter().any(|marker| folder.join(marker).exists()))
    };
    with(&[".git"]).or_else(|| with(MARKERS)).unwrap_or(start).to_owned()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for folder in ["home/code/repo/.git", "home/code/repo/a/b", "home/bare/x", "home/py/src"] {
            fs::create_dir_all(tree.path().join(folder)).unwrap();
        }
        for file in ["home/code/repo/a/Cargo.toml", "home/py/setup.py"] {
            fs::write(tree.path().join(file), "").unwrap();
        }
        tree
    }

    fn find(tree: &Path, start: &str, env: &[(&str, &str)]) -> Result<PathBuf, RootTooWide> {
        let tree = tree.canonicalize().unwrap();
        let env = env.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        project_root(&tree.join(start), Some(&tree.join("home")), &env)
            .map(|root| root.strip_prefix(&tree).unwrap_or(&root).to_owned())
    }

    #[test]
    fn the_nearest_repository_wins_over_nearer_marker_files() {
        let tree = tree();
        assert_eq!(find(tree.path(), "home/code/repo/a/b", &[]), Ok("home/code/repo".into()));
        assert_eq!(find(tree.path(), "home/py/src", &[]), Ok("home/py".into()));
        assert_eq!(find(tree.path(), "home/bare/x", &[]), Ok("home/bare/x".into()));
    }

    #[test]
    fn a_repository_in_the_home_directory_does_not_swallow_what_lies_below() {
        let tree = tree();
        fs::create_dir(tree.path().join("home/.git")).unwrap();
        assert_eq!(find(tree.path(), "home/bare/x", &[]), Ok("home/bare/x".into()));
    }

    #[test]
    fn home_and_system_folders_are_too_wide_unless_allowed() {
        let tree = tree();
        assert!(find(tree.path(), "home", &[]).is_err());
        assert!(find(tree.path(), "/", &[]).is_err());
        assert!(find(tree.path(), "/etc", &[]).is_err());
        let allowed = [("BRYNHILD_ALLOW_HOME_DIRECTORY", "true")];
        assert_eq!(find(tree.path(), "home", &allowed), Ok("home".into()));
    }

    #[test]
    fn a_named_root_wins_and_is_judged_too() {
        let tree = tree();
        let named = [("BRYNHILD_PROJECT_ROOT", "~/py")];
        assert_eq!(find(tree.path(), "home/bare/x", &named), Ok("home/py".into()));
        let wide = [("BRYNHILD_PROJECT_ROOT", "~")];
        let error = find(tree.path(), "home/bare/x", &wide).unwrap_err();
        assert!(error.to_string().contains("BRYNHILD_ALLOW_HOME_DIRECTORY=true"), "{error}");
    }
}
