//! Tests of what a path means and who may use it.

use std::os::unix::fs::symlink;

use super::*;
use crate::tests::fixture;

struct Place {
    _directory: tempfile::TempDir,
    base: PathBuf,
    paths: Paths,
}

/// A project inside a home, with a shared directory beside it.
fn place() -> Place {
    let directory = fixture::directory();
    let base = directory.path().to_owned();
    for name in ["home/project/src", "home/.ssh", "shared"] {
        std::fs::create_dir_all(base.join(name)).unwrap();
    }
    let paths = Paths::new(&Settings {
        root: base.join("home/project"),
        home: Some(base.join("home")),
        allowed_paths: vec![base.join("home/extra"), PathBuf::from("~/more")],
        readable_paths: vec![base.join("home/spilled")],
        ..Settings::default()
    });
    Place { _directory: directory, base, paths }
}

fn failure<T>(result: Result<T, Stop>) -> String {
    match result {
        Err(Stop::Failed(message) | Stop::Denied(message)) => message,
        Err(Stop::Cancelled) => panic!("cancelled"),
        Ok(_) => panic!("allowed"),
    }
}

#[test]
fn a_path_is_resolved_before_it_is_judged() {
    let place = place();
    let project = place.base.join("home/project");
    symlink("src", project.join("link")).unwrap();
    symlink("/nowhere/at/all", project.join("dangling")).unwrap();
    let resolved = |given: &str| place.paths.resolve(given).unwrap();
    assert_eq!(resolved("a/b.rs"), project.join("a/b.rs"));
    assert_eq!(resolved("./link/x"), project.join("src/x"));
    assert_eq!(resolved("link/../x"), project.join("x"));
    assert_eq!(resolved("dangling/x"), Path::new("/nowhere/at/all/x"));
    assert_eq!(resolved("missing/../../x"), place.base.join("home/x"));
    assert_eq!(resolved("~"), place.base.join("home"));
    assert_eq!(resolved("~/x"), place.base.join("home/x"));
    assert_eq!(resolved("~x"), project.join("~x"));
    assert_eq!(resolved("/../../etc"), Path::new("/etc"));
    assert!(place.paths.resolve("a\0b").is_err());
}

#[test]
fn symlink_loop_is_an_error() {
    let place = place();
    let project = place.base.join("home/project");
    symlink("two", project.join("one")).unwrap();
    symlink("one", project.join("two")).unwrap();
    let message = failure(place.paths.resolve("one"));
    assert_eq!(message, "one: too many symbolic links");
}

#[test]
fn only_secrets_cannot_be_read() {
    let place = place();
    let asked_about = ["~/notes", "../notes", "/root/x", "/home/x"];
    for open in ["src/main.rs", "/etc/hosts", "~/extra/a"].into_iter().chain(asked_about) {
        assert!(place.paths.readable(open).is_ok(), "{open}");
    }
    for closed in ["~/.ssh/id", "~/.netrc", "/proc/self/environ", "/etc/shadow"] {
        let message = failure(place.paths.readable(closed));
        let start = format!("Read access denied: {closed} is in a protected location. ");
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn only_secrets_and_devices_cannot_be_written() {
    let place = place();
    let asked_about = ["~/.bashrc", "/etc/passwd", "../x", "/unheard/of"];
    for open in ["src/new/main.rs", "~/extra/a", "/tmp/none/c"].into_iter().chain(asked_about) {
        assert!(place.paths.writable(open).is_ok(), "{open}");
    }
    for closed in ["~/.ssh/authorized_keys", "/proc/self/mem", "/dev/sda", "/sys/x"] {
        let message = failure(place.paths.writable(closed));
        let start = format!("Write access denied: {closed} is in a protected location. ");
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn symlink_is_judged_as_its_target() {
    let place = place();
    let project = place.base.join("home/project");
    let (keys, target) = (place.base.join("home/.ssh"), place.base.join("home/.bashrc"));
    symlink(keys, project.join("keys")).unwrap();
    symlink(&target, project.join("harmless.txt")).unwrap();
    assert!(place.paths.readable("keys/id").is_err());
    assert!(place.paths.writable("keys/authorized_keys").is_err());
    assert_eq!(place.paths.writable("harmless.txt").ok(), Some(target.clone()));
    assert_eq!(place.paths.readable("harmless.txt").ok(), Some(target));
}

#[test]
fn repository_and_own_files_cannot_be_written() {
    let place = place();
    let project = place.base.join("home/project");
    std::fs::create_dir(project.join(".git")).unwrap();
    symlink(".git", project.join("innocent")).unwrap();
    symlink("target.json", project.join(".mcp.json")).unwrap();
    let names = [
        ".git/config",
        ".git",
        "sub/.git/hooks/pre-commit",
        ".GIT/config",
        ".git./config",
        ".g\u{200c}it/config",
        "innocent/config",
        ".brynhild/config.yaml",
        ".mcp.json",
        "target.json",
        "~/extra/.git/config",
    ];
    for name in names {
        let message = failure(place.paths.writable(name));
        let start = format!("Write access denied: {name} is in a protected location. ");
        assert!(message.starts_with(&start), "{message}");
    }
    for name in [".gitignore", ".github/workflows/ci.yml", "git/x", ".git/../x"] {
        assert!(place.paths.writable(name).is_ok(), "{name}");
    }
}

#[test]
fn other_protected_names_are_left_to_the_policy() {
    let place = place();
    for name in [".mcp.json", ".vscode/tasks.json", ".envrc", "sub/.GitHub/Hooks/a.json"] {
        assert!(place.paths.writable(name).is_ok(), "{name}");
    }
}

#[test]
fn secrets_stay_closed_if_the_project_is_the_home() {
    let directory = fixture::directory();
    let paths = Paths::new(&Settings {
        root: directory.path().to_owned(),
        home: Some(directory.path().to_owned()),
        ..Settings::default()
    });
    assert!(paths.readable("notes.txt").is_ok());
    assert!(paths.readable(".ssh/id_ed25519").is_err());
    assert!(paths.writable(".ssh/authorized_keys").is_err());
    assert!(paths.holds_closed(directory.path()));
}

#[test]
fn home_at_the_root_closes_nothing() {
    let directory = fixture::directory();
    let paths = Paths::new(&Settings {
        root: directory.path().to_owned(),
        home: Some(PathBuf::from("/")),
        ..Settings::default()
    });
    assert!(paths.readable("/usr/include/stdio.h").is_ok());
}

#[test]
fn a_walk_enters_no_closed_directory() {
    let place = place();
    let home = place.base.join("home");
    assert!(place.paths.may_enter(&home) && place.paths.holds_closed(&home));
    assert!(!place.paths.may_enter(&home.join(".ssh")));
    assert!(!place.paths.holds_closed(&home.join("project")));
}
