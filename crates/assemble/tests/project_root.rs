//! The root of the project, found from the environment.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use assemble::project_root::{NoProject, passed_over, project_root};
use trust::project_root::entered_by;

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
    for name in ["pyproject.toml", "setup.py", "Cargo.toml", "package.json", "go.mod"] {
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
        assert_eq!(entered_by(&root, &base.join(way)), name.map(|name| base.join(name)), "{way}");
    }
}

#[test]
fn secret_directories_are_no_project_unless_named() {
    let tree = tree();
    fs::create_dir_all(tree.path().join("home/.aws/cli/cache")).unwrap();
    fs::create_dir_all(tree.path().join("home/.awsome")).unwrap();
    for start in ["home/.aws", "home/.aws/cli/cache"] {
        let error = find(tree.path(), start, &[]).unwrap_err().to_string();
        assert!(error.contains("where secrets are kept") && error.contains("home/.aws"), "{error}");
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
