use std::os::unix::fs::symlink;

use super::*;

struct Project {
    _directory: tempfile::TempDir,
    root: PathBuf,
    tree: Tree,
}

impl Project {
    fn new(files: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let tracker = Arc::new(ChangeTracker::new(root.clone()));
        let tree = Tree::new(root.clone(), tracker);
        let project = Self { _directory: directory, root, tree };
        for file in files {
            project.write(file, "mine");
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs `act` as a command, with mounts or without, and returns what was undone.
    fn command(&self, is_mounted: bool, act: impl FnOnce()) -> Vec<String> {
        let mounts = self.tree.begin().unwrap();
        act();
        let mounts = if is_mounted { mounts } else { ProtectedMounts::default() };
        let outcome = self.tree.finish(&mounts, &[]);
        assert!(outcome.failed.is_empty(), "{outcome:?}");
        let paths = outcome.quarantined.iter().map(|(path, _)| path).chain(&outcome.restored);
        let short = |path: &PathBuf| path.strip_prefix(&self.root).unwrap().display().to_string();
        let mut paths: Vec<String> = paths.map(short).collect();
        paths.sort();
        paths
    }

    fn repository(&self, directory: &str) {
        for name in ["HEAD", "config", "hooks/pre-commit", "info/exclude", "objects/x", "refs/x"] {
            self.write(&format!("{directory}{name}"), "[core]\n\tbare = false\n");
        }
    }
}

#[test]
fn new_protected_names_and_repositories_are_quarantined() {
    let project = Project::new(&["src/a"]);
    let moved = project.command(true, || {
        for name in [".mcp.json", ".vscode/tasks.json", "a/b/.envrc", ".Claude/x", "src/a"] {
            project.write(name, "evil");
        }
        project.repository("sub/.git/");
        project.repository("bare/");
        symlink("/etc", project.path("src/.cursor")).unwrap();
    });
    let wanted = [".Claude", ".mcp.json", ".vscode", "a/b/.envrc", "bare/HEAD", "src/.cursor"];
    assert_eq!(moved, [wanted.as_slice(), &["sub/.git"]].concat());
    assert_eq!(project.read("src/a"), "evil");
    assert!(!project.path("sub/.git").exists() && !project.path("bare/HEAD").exists());
    assert!(project.command(true, || project.write("src/b", "x")).is_empty());
}

#[test]
fn changes_outside_of_commands_are_the_users_own() {
    let project = Project::new(&["a"]);
    assert!(project.command(true, || ()).is_empty());
    project.write(".mcp.json", "mine");
    project.repository(".git/");
    let mounts = project.tree.begin().unwrap();
    assert_eq!(mounts.pinned, [project.path(".git")]);
    let wanted = [".git/config", ".git/hooks", ".git/info", ".mcp.json"];
    assert_eq!(mounts.read_only, wanted.map(|name| project.path(name)));
    assert!(project.tree.finish(&mounts, &[]).quarantined.is_empty());
    assert_eq!(project.read(".mcp.json"), "mine");
}

#[test]
fn without_mounts_changed_files_are_restored() {
    let project = Project::new(&[".mcp.json", "deep/.vscode/a"]);
    project.repository(".git/");
    let undone = project.command(false, || {
        project.write(".mcp.json", "evil");
        project.write(".git/config", "evil");
        project.write(".git/hooks/post-commit", "evil");
        project.write(".git/commondir", "evil");
        project.write(".git/index", "new");
        fs::remove_dir_all(project.path("deep/.vscode")).unwrap();
    });
    let wanted =
        [".git/commondir", ".git/config", ".git/hooks/post-commit", ".mcp.json", "deep/.vscode"];
    assert_eq!(undone, wanted);
    assert_eq!(
        (project.read(".mcp.json"), project.read("deep/.vscode/a")),
        ("mine".into(), "mine".into())
    );
    assert_eq!((project.read(".git/config").len(), project.read(".git/index")), (21, "new".into()));
}

#[test]
fn nested_repository_may_move_but_not_change() {
    let project = Project::new(&["a"]);
    project.repository("sub/.git/");
    let rename = |from: &str, to: &str| fs::rename(project.path(from), project.path(to)).unwrap();
    assert!(project.command(true, || rename("sub", "moved")).is_empty());
    assert!(project.path("moved/.git/config").exists());
    let undone = project.command(true, || {
        rename("moved", "gone");
        project.repository("moved/.git/");
        project.write("moved/.git/config", "[core]\n\tfsmonitor = evil\n");
    });
    assert_eq!(undone, ["moved/.git/config"]);
    assert!(!project.read("moved/.git/config").contains("evil"));
}

#[test]
fn worktrees_and_modules_of_the_repository_are_accepted() {
    let project = Project::new(&["a"]);
    project.repository(".git/");
    project.repository(".git/modules/lib/");
    let undone = project.command(true, || {
        let git = project.path(".git/worktrees/tree");
        project.write(".git/worktrees/tree/commondir", "../..\n");
        project.write("tree/.git", &format!("gitdir: {}\n", git.display()));
        project.write("lib/.git", "gitdir: ../.git/modules/lib\n");
        project.write(".git/worktrees/evil/commondir", "/tmp/evil\n");
        project.write("evil/.git", "gitdir: ../.git/worktrees/evil\n");
        project.repository(".git/modules/bad/");
    });
    assert_eq!(undone, [".git/modules/bad", ".git/worktrees/evil", "evil/.git"]);
    assert!(project.path("tree/.git").exists() && project.path("lib/.git").exists());
}

#[test]
fn nested_mounts_are_limited_and_the_rest_is_compared() {
    let names: Vec<String> = (0..20).map(|number| format!("d{number}/.envrc")).collect();
    let project = Project::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mounts = project.tree.begin().unwrap();
    assert_eq!(mounts.read_only.len(), NESTED_MOUNTS);
    let open = names.iter().find(|name| !mounts.read_only.contains(&project.path(name))).unwrap();
    project.write(open, "evil");
    let outcome = project.tree.finish(&mounts, &[]);
    assert_eq!(outcome.restored, [project.path(open)]);
    assert_eq!(project.read(open), "mine");
}

#[test]
fn a_symlink_at_a_protected_name_is_refused() {
    let project = Project::new(&["a"]);
    symlink("/etc", project.path(".vscode")).unwrap();
    let error = project.tree.begin().unwrap_err().to_string();
    assert!(error.contains(".vscode is a symlink"), "{error}");
}

#[test]
fn private_paths_are_not_examined() {
    let project = Project::new(&["a"]);
    let mounts = project.tree.begin().unwrap();
    project.write(".claude/own.md", "x");
    let outcome =
        project.tree.finish(&mounts, &[project.path(".claude/own.md"), project.path(".claude")]);
    assert!(outcome.quarantined.is_empty());
}
