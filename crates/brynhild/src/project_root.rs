//! Finds the project's root without starting a program or reading a file's content.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use config::expansion::Expansion;
use config::origin::shown;
use config::schema::switch;
use sandbox::EscapingSymlink;

const REPOSITORY: &str = ".git";
const OWN: &str = ".brynhild";

const MARKERS: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "Cargo.toml", "package.json", "go.mod", OWN];

#[rustfmt::skip]
const TOO_WIDE: &[&str] = &[
    "/", "/home", "/Users", "/var", "/etc", "/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp",
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoProject {
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
        "{pwd} leads to {place} by the link {link}: a command could have made it; if it is yours, enter \
         where it leads (`cd {place}`), or set BRYNHILD_PROJECT_ROOT={place}",
        pwd = shown(named),
        place = shown(&astray.real),
        link = shown(&astray.link)
    )]
    Symlink { named: PathBuf, astray: EscapingSymlink },
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
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::TooWide { root }
            | Self::Secrets { root, .. }
            | Self::GoneSymlink { root, .. } => root,
            Self::Symlink { astray, .. } => &astray.real,
        }
    }
}

/// The root of the project that contains `start`. No symlink is followed: a confined process could
/// put one there at any time. The user's own `allow_home_directory` is for the caller, who reads
/// the configuration: the error holds the root.
pub(crate) fn project_root(
    start: &Path,
    home: Option<&Path>,
    env: &BTreeMap<String, String>,
) -> Result<PathBuf, NoProject> {
    let expansion = Expansion { env, home };
    let is_allowed = expansion
        .variable("BRYNHILD_ALLOW_HOME_DIRECTORY")
        .is_some_and(|value| switch(&value.into()) == Some(true));
    let is_too_wide = too_wide(home);
    let named = expansion.variable("BRYNHILD_PROJECT_ROOT");
    // A relative path does not say which directory is meant.
    let is_in_full = named.map(Path::new).is_some_and(|it| it.is_absolute() || it.starts_with("~"));
    let root = if let Some(named) = named {
        let named = shell_path(start, &expansion).join(expansion.expand(named));
        resolve(&named, &expansion)?.unwrap_or(named)
    } else {
        let own = start.ancestors().take_while(|directory| is_own(directory));
        marked(&own, &is_too_wide).unwrap_or(start).to_owned()
    };
    if !is_in_full {
        check_shell_path(start, &expansion)?;
    }
    let secrets = home.and_then(|home| sandbox::secrets_around(&root, home));
    if let Some(secrets) = secrets.filter(|_| !is_in_full) {
        return Err(NoProject::Secrets { root, secrets });
    }
    if is_too_wide(&root) && !is_allowed {
        return Err(NoProject::TooWide { root });
    }
    Ok(root)
}

fn sandbox_state(expansion: &Expansion) -> PathBuf {
    expansion.config_dir().unwrap_or_default().join("sandbox")
}

/// The real path of one that exists. Fails if a symlink on it may have been made by a command.
fn resolve(path: &Path, expansion: &Expansion) -> Result<Option<PathBuf>, NoProject> {
    sandbox::project_at(path, &sandbox_state(expansion))
        .map_err(|astray| NoProject::Symlink { named: path.to_owned(), astray })
}

/// Checks the path by which the shell entered `start`. `PWD` may be unset or stale; it matters only
/// if it is below a directory that commands may write, since one of them may have put a symlink
/// there.
fn check_shell_path(start: &Path, expansion: &Expansion) -> Result<(), NoProject> {
    let pwd = expansion.variable("PWD").map(Path::new).filter(|pwd| pwd.is_absolute());
    let Some(pwd) = pwd else { return Ok(()) };
    match resolve(pwd, expansion) {
        Err(error) if is_same(error.root(), start) => return Err(error),
        Ok(_) if is_same(pwd, start) => return Ok(()),
        Ok(_) | Err(_) => {}
    }
    let (named, root) = (pwd.to_owned(), start.to_owned());
    let within = sandbox::cwd_moved_out(pwd, start, &sandbox_state(expansion));
    within.map_or(Ok(()), |within| Err(NoProject::GoneSymlink { named, root, within }))
}

/// The path by which the shell entered `start`, else `start` itself.
fn shell_path<'a>(start: &'a Path, expansion: &'a Expansion) -> &'a Path {
    let pwd = expansion.variable("PWD").map(Path::new);
    pwd.filter(|pwd| pwd.is_absolute() && is_same(pwd, start)).unwrap_or(start)
}

fn is_same(directory: &Path, other: &Path) -> bool {
    let number =
        |directory: &Path| directory.metadata().map(|found| (found.dev(), found.ino())).ok();
    number(directory).is_some_and(|found| Some(found) == number(other))
}

/// The path by which the shell entered the project, if symlinks are on it.
pub(crate) fn entered_by(root: &Path, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let pwd = Path::new(env.get("PWD")?);
    let below = pwd.canonicalize().ok()?.strip_prefix(root).ok()?.to_owned();
    let name = pwd.ancestors().nth(below.components().count())?;
    (name.is_absolute() && name != root && is_same(name, root)).then(|| name.to_owned())
}

/// The directory above `root` that would be the project if no other user could write it.
pub(crate) fn passed_over(root: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let nearest = marked(&root.ancestors(), &too_wide(home));
    nearest.filter(|directory| *directory != root).map(Path::to_owned)
}

/// Returns a test for directories that hold more than a project.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for directory in
            ["home/code/repo/.git/objects", "home/code/repo/a/b", "home/bare/x", "home/py/src"]
        {
            fs::create_dir_all(tree.path().join(directory)).unwrap();
        }
        for file in ["home/code/repo/a/Cargo.toml", "home/py/setup.py"] {
            fs::write(tree.path().join(file), "").unwrap();
        }
        tree
    }

    fn find(tree: &Path, start: &str, env: &[(&str, &str)]) -> Result<PathBuf, NoProject> {
        let tree = tree.canonicalize().unwrap();
        let env = env.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        project_root(&tree.join(start), Some(&tree.join("home")), &env)
            .map(|root| root.strip_prefix(&tree).unwrap_or(&root).to_owned())
    }

    #[test]
    fn sandbox_placeholders_are_no_markers() {
        let tree = tempfile::tempdir().unwrap();
        let base = tree.path().canonicalize().unwrap();
        for directory in ["above/.git", "above/.brynhild", "above/project/src"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        let root = |start: &str| project_root(&base.join(start), None, &BTreeMap::new()).unwrap();
        assert_eq!(root("above/project"), base.join("above/project"));
        fs::write(base.join("above/project/package.json"), "{}").unwrap();
        assert_eq!(root("above/project/src"), base.join("above/project"));
        fs::write(base.join("above/.git/HEAD"), "ref: refs/heads/main").unwrap();
        assert_eq!(root("above/project/src"), base.join("above"));
    }

    #[test]
    fn directory_named_like_a_marker_file_is_no_marker() {
        let tree = tree();
        for name in MARKERS.iter().filter(|name| **name != OWN) {
            fs::create_dir_all(tree.path().join("home/bare").join(name).join("x")).unwrap();
        }
        assert_eq!(find(tree.path(), "home/bare/x", &[]), Ok("home/bare/x".into()));
    }

    #[test]
    fn project_root_keeps_the_entered_name() {
        let tree = tree();
        let base = tree.path().canonicalize().unwrap();
        let root = base.join("home/code/repo");
        std::os::unix::fs::symlink(&root, base.join("home/r")).unwrap();
        std::os::unix::fs::symlink(root.join("a/b"), base.join("home/b")).unwrap();
        for (way, name) in [
            ("home/r", Some("home/r")),
            ("home/r/a/b", Some("home/r")),
            ("home/code/repo/a", None),
            ("home/b", None),
            ("home/py", None),
            ("nowhere", None),
        ] {
            let env = [("PWD".to_owned(), base.join(way).display().to_string())].into();
            assert_eq!(entered_by(&root, &env), name.map(|name| base.join(name)), "{way}");
        }
    }

    #[test]
    fn secret_directories_are_no_project_unless_named() {
        let tree = tree();
        fs::create_dir_all(tree.path().join("home/.aws/cli/cache")).unwrap();
        fs::create_dir_all(tree.path().join("home/.awsome")).unwrap();
        for start in ["home/.aws", "home/.aws/cli/cache"] {
            let error = find(tree.path(), start, &[]).unwrap_err().to_string();
            assert!(
                error.contains("where secrets are kept") && error.contains("home/.aws"),
                "{error}"
            );
        }
        let named = [("BRYNHILD_PROJECT_ROOT", "~/.aws")];
        assert_eq!(find(tree.path(), "home/.aws", &named), Ok("home/.aws".into()));
        assert_eq!(find(tree.path(), "home/.awsome", &[]), Ok("home/.awsome".into()));
    }

    #[test]
    fn the_nearest_repository_wins_over_nearer_marker_files() {
        let tree = tree();
        assert_eq!(find(tree.path(), "home/code/repo/a/b", &[]), Ok("home/code/repo".into()));
        assert_eq!(find(tree.path(), "home/py/src", &[]), Ok("home/py".into()));
        assert_eq!(find(tree.path(), "home/bare/x", &[]), Ok("home/bare/x".into()));
    }

    #[test]
    fn repository_in_the_home_does_not_cover_subdirectories() {
        let tree = tree();
        fs::create_dir(tree.path().join("home/.git")).unwrap();
        assert_eq!(find(tree.path(), "home/bare/x", &[]), Ok("home/bare/x".into()));
    }

    #[test]
    fn home_and_system_directories_are_too_wide_unless_allowed() {
        let tree = tree();
        assert!(find(tree.path(), "home", &[]).is_err());
        assert!(find(tree.path(), "/", &[]).is_err());
        assert!(find(tree.path(), "/etc", &[]).is_err());
        let allowed = [("BRYNHILD_ALLOW_HOME_DIRECTORY", "true")];
        assert_eq!(find(tree.path(), "home", &allowed), Ok("home".into()));
    }

    #[test]
    fn named_root_wins_and_is_checked() {
        let tree = tree();
        let named = [("BRYNHILD_PROJECT_ROOT", "~/py")];
        assert_eq!(find(tree.path(), "home/bare/x", &named), Ok("home/py".into()));
        let wide = [("BRYNHILD_PROJECT_ROOT", "~")];
        let error = find(tree.path(), "home/bare/x", &wide).unwrap_err();
        assert!(error.to_string().contains("BRYNHILD_ALLOW_HOME_DIRECTORY=true"), "{error}");
    }

    #[test]
    fn world_writable_directory_ends_the_search() {
        let tree = tree();
        let shared = tree.path().join("home/code/repo/a");
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(find(tree.path(), "home/code/repo/a/b", &[]), Ok("home/code/repo/a/b".into()));
        let real = tree.path().canonicalize().unwrap();
        let passed = passed_over(&real.join("home/code/repo/a/b"), Some(&real.join("home")));
        assert_eq!(passed, Some(real.join("home/code/repo")));
        assert_eq!(passed_over(&real.join("home/bare/x"), Some(&real.join("home"))), None);
        // On some systems everything is open to everybody, and is the user's all the same.
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(find(tree.path(), "home/code/repo/a/b", &[]), Ok("home/code/repo".into()));
    }
}
