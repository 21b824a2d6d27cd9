use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};

use contract::sandbox::{Access, Channel, Fixed, Limits, Network, Profile, Spawn, Stdin};

use super::*;

/// Rules that know whole paths, and names that count anywhere.
#[derive(Debug)]
struct Plain {
    root: PathBuf,
    hidden: Vec<&'static str>,
    read_only: Vec<&'static str>,
    names: Vec<&'static str>,
}

impl Plain {
    fn is_below(&self, paths: &[&str], path: &Path) -> bool {
        paths.iter().any(|it| path.starts_with(self.root.join(it)))
    }

    fn is_named(&self, path: &Path) -> bool {
        path.iter().any(|part| self.names.iter().any(|name| part == *name))
    }
}

impl FileRules for Plain {
    fn hides(&self, path: &Path) -> bool {
        self.is_named(path) || self.is_below(&self.hidden, path)
    }

    fn denies_write(&self, path: &Path) -> bool {
        self.is_below(&self.read_only, path)
    }

    fn binds(&self, path: &Path) -> bool {
        !self.is_named(path)
    }

    fn may_mean_below(&self, directory: &Path) -> bool {
        let spelled = self.starts();
        !self.names.is_empty()
            || spelled.iter().any(|it| it.starts_with(directory) || directory.starts_with(it))
    }

    fn starts(&self) -> Vec<PathBuf> {
        self.hidden.iter().chain(&self.read_only).map(|it| self.root.join(it)).collect()
    }
}

struct World {
    _directory: tempfile::TempDir,
    root: PathBuf,
    profile: Profile,
}

impl World {
    fn new(files: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap().join("w");
        for file in files {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        let profile = Profile {
            workspace: root.clone(),
            access: Access::Workspace,
            read: Vec::new(),
            write: Vec::new(),
            own: Vec::new(),
            fixed: Vec::new(),
            network: Network::None,
            env: BTreeMap::new(),
            limits: Limits::default(),
        };
        Self { _directory: directory, root, profile }
    }

    fn rules(&self) -> Plain {
        Plain { root: self.root.clone(), hidden: vec![], read_only: vec![], names: vec![] }
    }

    fn find(&self, rules: &Arc<dyn FileRules>, cwd: &str) -> Result<DeniedPaths, SandboxError> {
        let spawn = Spawn {
            program: PathBuf::from("true"),
            args: Vec::new(),
            cwd: self.root.join(cwd),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: None,
        };
        let settings = Settings {
            helper: "/bin/true".into(),
            state: self.root.clone(),
            home: None,
            backend: None,
            notice: None,
            on_proxy_request: None,
            rules: Some(Arc::clone(rules)),
            hosts: None,
            host_env: BTreeMap::new(),
            tracker: None,
            signs_commits: false,
        };
        DeniedPaths::find(
            &Request::check(&spawn, &self.profile, None, &crate::symlinks::Writable::default())?,
            &settings,
        )
    }

    fn found(&self, rules: Plain) -> DeniedPaths {
        self.find(&(Arc::new(rules) as Arc<dyn FileRules>), ".").unwrap()
    }

    fn paths(&self, paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(|path| self.root.join(path)).collect()
    }
}

#[test]
fn denied_names_are_found_in_every_directory() {
    let world = World::new(&[".env", "a/b/.env", "secret/k", "tests/x/t.rs", "src/main.rs"]);
    let rules = Plain {
        hidden: vec!["secret"],
        read_only: vec!["tests"],
        names: vec![".env"],
        ..world.rules()
    };
    let found = world.found(rules);
    assert_eq!(found.hidden, world.paths(&[".env", "a/b/.env", "secret"]));
    // A directory covers everything in it, and names denied anywhere may be moved.
    assert_eq!((found.read_only, found.fixed_parents), (world.paths(&["tests"]), BTreeSet::new()));
}

#[test]
fn parents_of_a_denied_path_cannot_be_moved() {
    let world = World::new(&["a/b/key", "a/b/other", "c/d/key"]);
    let found = world.found(Plain { hidden: vec!["a/b/key"], ..world.rules() });
    assert_eq!(found.hidden, world.paths(&["a/b/key"]));
    assert_eq!(found.fixed_parents, world.paths(&["a", "a/b"]));
}

#[test]
fn read_only_access_needs_no_write_protection() {
    let mut world = World::new(&["tests/t.rs", "a/b/k"]);
    world.profile.access = Access::ReadOnly;
    let rules = Plain { hidden: vec!["a/b/k"], read_only: vec!["tests"], ..world.rules() };
    let found = world.found(rules);
    assert_eq!((found.hidden, found.read_only), (world.paths(&["a/b/k"]), BTreeSet::new()));
    // A mount that keeps a directory from being moved could be written.
    assert_eq!(found.fixed_parents, BTreeSet::new());
}

#[test]
fn symlinks_to_denied_paths_are_resolved() {
    let world = World::new(&["real/key", "deep/v1/key"]);
    symlink("real/key", world.root.join(".env")).unwrap();
    symlink("deep/v1", world.root.join("current")).unwrap();
    let rules = Plain { hidden: vec!["current/key"], names: vec![".env"], ..world.rules() };
    let found = world.found(rules);
    assert_eq!(found.hidden, world.paths(&["real/key", "deep/v1/key"]));
    // A symlink to the workspace itself hides nothing.
    let world = World::new(&["a"]);
    symlink(".", world.root.join(".env")).unwrap();
    let found = world.found(Plain { names: vec![".env"], ..world.rules() });
    assert_eq!(found, DeniedPaths::default());
}

#[test]
fn dependencies_are_searched_only_for_explicit_paths() {
    let world = World::new(&["node_modules/a/.env", "node_modules/b/key"]);
    let found = world.found(Plain { names: vec![".env"], ..world.rules() });
    assert_eq!(found, DeniedPaths::default());
    let found = world.found(Plain { hidden: vec!["node_modules/b/key"], ..world.rules() });
    assert_eq!(found.hidden, world.paths(&["node_modules/b/key"]));
}

#[test]
fn later_changes_are_found_by_cached_rules() {
    let world = World::new(&["a/b/x"]);
    let rules = Plain { names: vec![".env"], ..world.rules() };
    let rules: Arc<dyn FileRules> = Arc::new(rules);
    let hidden = || world.find(&rules, ".").unwrap().hidden;
    fs::write(world.root.join("later"), "").unwrap();
    assert!(hidden().is_empty() && hidden().is_empty());
    fs::write(world.root.join("a/b/.env"), "").unwrap();
    assert_eq!(hidden(), world.paths(&["a/b/.env"]));
    fs::rename(world.root.join("a"), world.root.join("c")).unwrap();
    assert_eq!(hidden(), world.paths(&["c/b/.env"]));
}

#[test]
fn start_in_a_hidden_directory_is_refused() {
    let world = World::new(&["secret/deep/k"]);
    let rules: Arc<dyn FileRules> = Arc::new(Plain { hidden: vec!["secret"], ..world.rules() });
    let error = world.find(&rules, "secret/deep").unwrap_err().to_string();
    assert!(error.contains("a rule denies reading") && error.contains("/secret"), "{error}");
}

#[test]
fn trusted_scripts_in_a_hidden_directory_stay_visible() {
    let mut world = World::new(&["secret/in/hook.sh", "secret/in/k", "secret/k", "secret/far/k"]);
    let place = world.root.join("secret/in/hook.sh");
    world.profile.fixed.push(Fixed { place, bytes: b"x".as_slice().into(), mode: 0o755 });
    let found = world.found(Plain { hidden: vec!["secret"], ..world.rules() });
    assert_eq!(found.hidden, world.paths(&["secret/in/k", "secret/k", "secret/far"]));
}

#[test]
fn unreadable_directory_is_hidden_whole() {
    let world = World::new(&["shut/.env"]);
    let shut = world.root.join("shut");
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o311)).unwrap();
    let found = world.found(Plain { names: vec![".env"], ..world.rules() });
    // Root can read everything.
    let expected = if fs::read_dir(&shut).is_ok() { "shut/.env" } else { "shut" };
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(found.hidden, world.paths(&[expected]));
}

#[test]
fn hidden_directory_needs_no_mounts_inside() {
    let world = World::new(&["aa/bb/key", "aa/.env", "b/.env"]);
    let rules = Plain {
        hidden: vec!["aa", "aa/bb/key"],
        read_only: vec!["aa/bb"],
        names: vec![".env"],
        ..world.rules()
    };
    let found = world.found(rules);
    assert_eq!(found.hidden, world.paths(&["aa", "b/.env"]));
    assert_eq!((found.read_only, found.fixed_parents), (BTreeSet::new(), BTreeSet::new()));
}

#[test]
fn rule_that_denies_the_whole_project_refuses_the_start() {
    let world = World::new(&["a"]);
    let rules: Arc<dyn FileRules> = Arc::new(Plain { hidden: vec![""], ..world.rules() });
    let error = world.find(&rules, "").unwrap_err().to_string();
    assert!(error.contains("a rule denies reading"), "{error}");
}

#[test]
fn rule_for_a_symlink_to_a_symlink_hides_its_target() {
    let world = World::new(&["real/f"]);
    symlink("real", world.root.join("sec")).unwrap();
    symlink("./sec", world.root.join("led")).unwrap();
    let found = world.found(Plain { hidden: vec!["led"], ..world.rules() });
    assert_eq!(found.hidden, world.paths(&["real"]));
}

#[test]
fn rules_that_match_too_many_files_refuse_the_start() {
    let many: Vec<String> = (0..=MOUNTS).map(|number| format!("a{number}/.env")).collect();
    let world = World::new(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let rules: Arc<dyn FileRules> = Arc::new(Plain { names: vec![".env"], ..world.rules() });
    let error = world.find(&rules, ".").unwrap_err().to_string();
    assert!(error.contains("more than 300 files"), "{error}");
}
