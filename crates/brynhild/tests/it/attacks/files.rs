//! Attacks on files: protected names in other spellings, symlinks, paths with the project as a
//! prefix, prepared temporary files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::{bash, exec};
use crate::{project, project_with};

/// A directory that no tool may touch: neither the project nor a place for temporary files.
fn outside() -> tempfile::TempDir {
    let directory =
        tempfile::Builder::new().prefix("brynhild-test-").tempdir_in("/var/tmp").unwrap();
    fs::write(directory.path().join("canary.txt"), "untouched\n").unwrap();
    directory
}

fn is_untouched(directory: &Path) -> bool {
    let names = fs::read_dir(directory).unwrap().count();
    names == 1 && fs::read_to_string(directory.join("canary.txt")).unwrap() == "untouched\n"
}

#[test]
fn protected_files_are_not_written_in_any_spelling() {
    let project = project();
    project.file(".brynhild/config.yaml", "").file(".git/config", "[core]\n").file("a.txt", "x");
    let home = project.config_directory();
    fs::create_dir_all(&home).unwrap();
    let own = home.join("config.yaml").display().to_string();
    let mut spellings: Vec<String> = [
        ".brynhild/config.yaml",
        ".brynhild/new",
        ".BRYNHILD/new",
        ".brynhild/./new",
        ".brynhild//new",
        "./.brynhild/new",
        "a/../.brynhild/new",
        ".Git/hooks/pre-commit",
        ".git/config",
        "sub/.git/config",
        ".mcp.json",
        ".MCP.json",
        ".vscode/tasks.json",
        ".envrc",
        ".claude/settings.json",
        ".git /config",
        ".git./config",
        "git~1/config",
        ".g\u{200c}it/config",
        ".bashrc",
        ".cursor/mcp.json",
    ]
    .map(String::from)
    .to_vec();
    spellings.extend([own, home.join("trust.jsonl").display().to_string()]);
    for spelling in &spellings {
        let write = exec(&project, "Write", &json!({"file_path": spelling, "content": "evil"}));
        assert_ne!(write.status.code(), Some(0), "{spelling}: {write}");
        project.file("a.txt", "x");
        let ways = ["echo evil > ", "cp a.txt ", "mv a.txt "];
        bash(&project, &format!("{}'{spelling}'", ways[spelling.len() % ways.len()]));
    }
    // The judge sees no path in here; the sandbox has to.
    let planting = "for path in sys.argv[1:]:\n try:\n  os.makedirs(os.path.dirname(path) or '.', \
                    exist_ok=True); open(path, 'w').write('evil')\n except OSError: pass";
    let quoted: Vec<String> = spellings.iter().map(|path| format!("'{path}'")).collect();
    let python = format!("python3 -c \"import os, sys\n{planting}\" {}", quoted.join(" "));
    bash(&project, &python);
    let edit = json!({"file_path": ".git/config", "old_string": "[core]", "new_string": "[evil]"});
    assert_ne!(exec(&project, "Edit", &edit).status.code(), Some(0));
    assert_eq!(project.read(".git/config"), "[core]\n");
    assert_eq!(project.read(".brynhild/config.yaml"), "");
    for name in [".mcp.json", ".vscode", ".envrc", ".claude", ".bashrc", ".brynhild/new", ".cursor"]
    {
        let planted = project.path().join(name);
        let holds = planted.is_file() && fs::metadata(&planted).unwrap().len() > 0;
        assert!(!holds, "{name} was written");
    }
    assert!(!home.join("config.yaml").exists() && !home.join("trust.jsonl").exists());
}

#[test]
fn symlinks_do_not_take_tools_out_of_the_project() {
    let project = project();
    let outside = outside();
    let target = outside.path().join("canary.txt");
    project.file("real.txt", "text\n");
    symlink(&target, project.path().join("file")).unwrap();
    symlink(outside.path(), project.path().join("directory")).unwrap();
    symlink(outside.path().join("new.txt"), project.path().join("dangling")).unwrap();
    symlink("/proc/self/cwd", project.path().join("magic")).unwrap();
    fs::create_dir(project.path().join("middle")).unwrap();
    symlink("../directory", project.path().join("middle/again")).unwrap();
    for path in [
        "file",
        "directory/canary.txt",
        "directory/new.txt",
        "dangling",
        "middle/again/canary.txt",
        "middle/again/new.txt",
        "magic/../../../../../../var/tmp/x",
        "middle/../directory/new.txt",
    ] {
        let write = exec(&project, "Write", &json!({"file_path": path, "content": "evil"}));
        assert_ne!(write.status.code(), Some(0), "{path}: {write}");
        let edit = json!({"file_path": path, "old_string": "untouched", "new_string": "evil"});
        assert_ne!(exec(&project, "Edit", &edit).status.code(), Some(0), "{path}");
        for (tool, input) in [
            ("Read", json!({"file_path": path})),
            ("Grep", json!({"pattern": "untouched", "path": path, "output_mode": "content"})),
        ] {
            // Without a question nothing outside is shown.
            let input = input.to_string();
            let run = project.brynhild(&["tools", "exec", tool, "--input", &input]);
            assert!(!run.stdout.contains("untouched"), "{tool} {path}: {run}");
        }
        bash(&project, &format!("echo evil > {path}; rm -f {path}; cp real.txt {path}"));
        assert!(is_untouched(outside.path()), "{path}");
    }
}

#[test]
fn hard_linked_file_is_replaced() {
    let project = project();
    let elsewhere = project.home().join("original.txt");
    fs::write(&elsewhere, "untouched\n").unwrap();
    for (name, tool, input) in [
        ("one", "Write", json!({"file_path": "one", "content": "evil"})),
        (
            "two",
            "Edit",
            json!({"file_path": "two", "old_string": "untouched", "new_string": "evil"}),
        ),
    ] {
        fs::hard_link(&elsewhere, project.path().join(name)).unwrap();
        exec(&project, "Read", &json!({"file_path": name}));
        exec(&project, tool, &input);
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched\n", "{tool}");
    }
}

#[test]
fn path_with_the_project_as_prefix_is_outside() {
    let project = project();
    let root = project.path().canonicalize().unwrap();
    let name = root.file_name().unwrap().to_str().unwrap().to_owned();
    for other in [format!("{name}-secrets"), format!("{name}x")] {
        fs::create_dir(root.with_file_name(&other)).unwrap();
        fs::write(root.with_file_name(&other).join("x"), "hidden").unwrap();
        for command in [
            format!("cat ../{other}/x"),
            format!("cat {}/x", root.with_file_name(&other).display()),
        ] {
            let check = project.brynhild(&["--mode", "ask", "policy", "check", &command]);
            assert_eq!(check.status.code(), Some(3), "{command}: {check}");
        }
    }
}

#[test]
fn prepared_temporary_files_are_not_followed() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "seq 1 200000"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let (temp, trap) = (project.home().join("temp"), project.home().join("trap"));
    fs::create_dir(&temp).unwrap();
    fs::create_dir(&trap).unwrap();
    for name in ["brynhild-logs-me", "brynhild-output-me", "brynhild-sandbox-me"] {
        symlink(&trap, temp.join(name)).unwrap();
    }
    let run = project.command(&["chat", "count"]).env("TMPDIR", &temp).env("USER", "me").run();
    assert!(run.status.code().is_some(), "{run}");
    let planted: Vec<_> = fs::read_dir(&trap).unwrap().collect();
    assert!(planted.is_empty(), "{planted:?}\n{run}");
}

#[test]
fn stored_files_are_private_with_any_umask() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "seq 1 200000"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let temp = project.home().join("temp");
    fs::create_dir(&temp).unwrap();
    let run = super::secrets::with_open_mask(&project, &["chat", "count"], &temp);
    assert!(run.status.success(), "{run:?}");
    let mut seen = 0;
    let stored = ["sessions", "logs"].map(|name| project.config_directory().join(name));
    for directory in stored.into_iter().chain([temp]) {
        super::secrets::each_file(&directory, &mut |path| {
            let mode = fs::symlink_metadata(path).unwrap().mode();
            assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
            seen += 1;
        });
    }
    assert!(seen >= 2, "only {seen} files were kept");
}

/// Git resolves the hook path in any spelling.
#[test]
fn hook_directory_is_protected_in_any_spelling() {
    for value in [".husky", ".husky # shared", ".hus\"ky\"", "\".husky\" ; x", ".hus\\\nky"] {
        let project = project();
        let settings = format!("[color][core] hooksPath = {value}\n");
        project.file(".git/config", settings).file(".git/HEAD", "ref: refs/heads/main\n");
        project.file(".husky/pre-commit", "mine");
        let script = "echo evil > .husky/pre-commit; echo evil > .husky/pre-push; true";
        project.brynhild(&["sandbox", "run", "--", "sh", "-c", script]).success();
        let left = fs::read_to_string(project.path().join(".husky/pre-commit")).unwrap();
        assert_eq!(left, "mine", "{value}");
        assert!(!project.path().join(".husky/pre-push").exists(), "{value}");
    }
}

/// With the files of another directory a repository writes there, once the user uses git in it.
#[test]
fn repository_with_a_foreign_worktree_is_quarantined() {
    const MAKE: &str = "git init -q sub && cd sub && git config core.worktree";
    let project = project();
    let run = |tree: &str| {
        let script = format!("{MAKE} {tree}");
        project.brynhild(&["sandbox", "run", "--", "sh", "-c", &script])
    };
    for tree in ["..", "/etc", "../..", "\"$HOME\""] {
        let run = run(tree);
        assert!(run.stderr.contains("sub/.git"), "{tree}: {run}");
        assert!(!project.path().join("sub/.git").exists(), "{tree}");
    }
}

#[test]
fn quarantined_repository_is_reported_once() {
    let project = project();
    let script = "git init -q z; mkdir -p z/.git/worktrees/w zz
        printf ../.. > z/.git/worktrees/w/commondir
        printf '[core]\\nfsmonitor = x\\n' > z/.git/worktrees/w/config.worktree
        echo 'gitdir: ../z/.git/worktrees/w' > zz/.git";
    let run = project.brynhild(&["sandbox", "run", "--", "sh", "-c", script]);
    assert!(!project.path().join("zz/.git").exists(), "{run}");
    assert!(run.stderr.contains("moved to") && !run.stderr.contains("could not"), "{run}");
}

#[test]
fn file_changed_during_the_question_is_not_overwritten() {
    let write = ("Write", json!({"file_path": "f", "content": "x\n"}));
    let edit = json!({"file_path": "f", "old_string": "two", "new_string": "2"});
    let edited = ("Edit", edit);
    // The last one is far from the edit: the change that was shown is the same.
    let far = |first: &str| format!("{first}\n{}two\n", "-\n".repeat(20));
    for (call, before, meanwhile) in [
        (write.clone(), "one\ntwo\n".to_owned(), "evil\ntwo\nmore\n".to_owned()),
        (write, String::new(), "more\n".to_owned()),
        (edited.clone(), "one\ntwo\n".to_owned(), "evil\ntwo\nmore\n".to_owned()),
        (edited, far("one"), far("evil")),
    ] {
        let server = ModelServer::start([Reply::calls([call.clone()]), Reply::text("done")]);
        let project = project_with(&server);
        project.file("f", &before);
        let terminal = project.terminal(&["--mode", "ask", "chat", "do it"], (100, 45));
        terminal.wait_for("Answer [");
        project.file("f", &meanwhile);
        terminal.send("y\r");
        assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
        assert_eq!(project.read("f"), meanwhile, "{call:?}");
        let told = server.chats()[1].body.to_string();
        assert!(
            told.contains("f changed after this call was decided")
                && told.contains("read it again"),
            "{told}"
        );
    }
}

#[test]
fn parent_directory_of_another_user_is_no_project() {
    let project = project();
    let shared = project.path().join("shared");
    let work = shared.join("work");
    fs::create_dir_all(&work).unwrap();
    fs::write(shared.join("AGENTS.md"), "INJECTED\n").unwrap();
    let look = || project.command(&["rules", "show"]).cwd(&work).run();
    let is_passed_over = |mark: &str| {
        let run = look();
        let told = run.stderr.matches("set BRYNHILD_PROJECT_ROOT=").count();
        assert!(!run.stdout.contains("INJECTED") && told == 1, "{mark}: {run}");
    };
    for mark in [".git", ".brynhild"] {
        fs::create_dir_all(shared.join(mark).join("objects")).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        let own = look();
        assert!(own.success().stdout.contains("INJECTED"), "{mark}: {own}");
        assert!(!own.stderr.contains("BRYNHILD_PROJECT_ROOT"), "{mark}: {own}");
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
        is_passed_over(mark);
        // Only root can create a file of another user.
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        if chown(shared.join(mark), Some(4242), None).is_ok() {
            is_passed_over(mark);
        }
        fs::remove_dir_all(shared.join(mark)).unwrap();
    }
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::create_dir(shared.join(".git")).unwrap();
    let root = shared.to_str().unwrap();
    let named = project.command(&["rules", "show"]).cwd(&work).env("BRYNHILD_PROJECT_ROOT", root);
    let named = named.run();
    assert!(named.success().stdout.contains("INJECTED"), "{named}");
    assert!(!named.stderr.contains("BRYNHILD_PROJECT_ROOT"), "{named}");
}
