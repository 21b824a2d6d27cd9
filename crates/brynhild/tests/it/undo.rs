//! What turns changed in files is shown, taken back and made again; the user's own changes and
//! the repository are left alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::git::shell;
use crate::project_with;
use crate::python_plugins::{plugin, tool};

/// A model that runs the command or writes the file that the last prompt asks for, then is done.
fn worker() -> ModelServer {
    ModelServer::respond_with(|request| {
        let messages = request.body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        let words = last["content"].as_str().unwrap_or_default();
        if let Some(command) = words.strip_prefix("run: ") {
            Reply::calls([("Bash", json!({"command": command}))])
        } else if let Some(path) = words.strip_prefix("write: ") {
            Reply::calls([("Write", json!({"file_path": path, "content": "written\n"}))])
        } else {
            Reply::text("Done.")
        }
    })
}

fn work(project: &Project, prompt: &str) {
    project.brynhild(&["chat", "--yes", "--session", "s", prompt]).success();
}

fn session(project: &Project, words: &[&str]) -> Run {
    project.brynhild(&[&["session"], words].concat())
}

/// Everything in the project: permissions and bytes.
fn tree(project: &Project) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    fn visit(directory: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let bytes = match (metadata.is_dir(), metadata.is_symlink()) {
                (true, _) => {
                    visit(&path, found);
                    Vec::new()
                }
                (_, true) => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                _ => fs::read(&path).unwrap(),
            };
            found.insert(path, (metadata.permissions().mode(), bytes));
        }
    }
    let mut found = BTreeMap::new();
    visit(&project.path(), &mut found);
    found
}

#[test]
fn shell_command_is_undone_and_the_model_notified() {
    let server = worker();
    let project = project_with(&server);
    project.file("a.txt", "one\n").file("old/b.txt", "two\n").file("run.sh", "#!/bin/sh\n");
    let before = tree(&project);
    work(
        &project,
        "run: echo more >> a.txt; mv old new; chmod +x run.sh; mkdir -p made/deep; ln -s a.txt link",
    );
    let after = tree(&project);
    assert_ne!(before, after);
    let run = session(&project, &["undo"]);
    assert!(run.success().stdout.contains("turn 1: 5 files undone"), "{run}");
    assert_eq!(tree(&project), before);
    work(&project, "And now?");
    let last = server.chats().pop().unwrap();
    assert!(last.text.contains("The user took back the file changes of one turn"), "{}", last.text);
    assert!(last.text.contains("a.txt"), "{}", last.text);
    assert!(session(&project, &["redo", "s"]).success().stdout.contains("made again"));
    assert_eq!(tree(&project), after);
}

#[test]
fn turns_are_listed_with_their_changes() {
    let server = worker();
    let project = project_with(&server);
    project.file("a.txt", "one\n").file("gone.txt", "gone\n").file("name.txt", "the same\n");
    work(&project, "run: echo two >> a.txt; rm gone.txt; mv name.txt other.txt");
    work(&project, "Nothing to do.");
    work(&project, "write: made.txt");
    let run = session(&project, &["changes"]);
    let lines: Vec<&str> = run.success().stdout.lines().collect();
    assert!(lines[0].starts_with("turn 1 "), "{run}");
    assert!(lines[0].ends_with("run: echo two >> a.txt; rm gone.txt; mv name.txt other.txt"));
    assert_eq!(lines[1], "  modified  a.txt (+1 -0)");
    assert_eq!(lines[2], "  deleted   gone.txt (+0 -1)");
    assert_eq!(lines[3], "  renamed   name.txt to other.txt");
    assert!(lines[4].starts_with("turn 3 "), "{run}");
    assert_eq!(lines[5], "  created   made.txt (+1 -0)");
    let diff = session(&project, &["changes", "--diff", "--turns", "2"]);
    assert!(
        diff.stdout.contains("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+two\n"),
        "{diff}"
    );
    assert!(diff.stdout.contains("--- /dev/null\n+++ b/made.txt\n"), "{diff}");
    let data = session(&project, &["changes", "--json", "--turns", "1"]).success().json();
    assert_eq!(data[0]["turn"], 3);
    assert_eq!(data[0]["state"], "done");
    let file = json!({"path": "made.txt", "change": "created", "added": 1, "removed": 0});
    assert_eq!(data[0]["files"], json!([file]));
}

#[test]
fn undo_keeps_user_changes_unless_forced() {
    let server = worker();
    let project = project_with(&server);
    project.file("a.txt", "one\n").file("b.txt", "one\n");
    work(&project, "run: echo two > a.txt; echo two > b.txt");
    project.file("b.txt", "the user's\n");
    let dry = session(&project, &["undo", "--dry-run", "--json"]);
    dry.code(1);
    assert_eq!(dry.json()["kept"], json!([{"path": "b.txt", "why": "changed since"}]));
    assert_eq!(project.read("a.txt"), "two\n");
    let run = session(&project, &["undo"]);
    run.code(1);
    assert!(run.stdout.contains("not restored  b.txt: changed since"), "{run}");
    assert_eq!(
        (project.read("a.txt"), project.read("b.txt")),
        ("one\n".into(), "the user's\n".into())
    );
    session(&project, &["undo", "--force"]).success();
    assert_eq!(project.read("b.txt"), "one\n");
    session(&project, &["redo"]).success();
    assert_eq!(project.read("b.txt"), "the user's\n");
}

#[test]
fn turns_are_undone_and_redone_by_number() {
    let server = worker();
    let project = project_with(&server);
    project.file("a.txt", "0\n");
    let lines = "run: echo 1 > a.txt\nrun: echo 2 > a.txt\nrun: cp a.txt b.txt\n\
                 /changes\n/undo\n/undo 2\n/redo\n/diff\n/undo nonsense\nHello\n";
    let run = project.command(&["--plain", "--yes", "--session", "s"]).stdin(lines).run();
    assert_eq!(project.read("a.txt"), "2\n");
    assert!(!project.path().join("b.txt").exists());
    for words in ["turn 3: 1 file undone", "turns 1, 2: 1 file undone", "made again", "+2\n"] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    assert!(run.stderr.contains("`nonsense` is not a number of turns"), "{run}");
    let last = server.chats().pop().unwrap();
    assert!(last.text.contains("took back the file changes of 2 turns"), "{}", last.text);
    assert!(last.text.contains("made again the file changes of 2 turns"), "{}", last.text);
    // The session on disk tells the same.
    let data = session(&project, &["changes", "s", "--json"]).success().json();
    let states: Vec<&Value> = data.as_array().unwrap().iter().map(|turn| &turn["state"]).collect();
    assert_eq!(states, ["done", "done", "undone"]);
}

#[test]
fn undo_restores_ignored_files_and_lists_the_rest() {
    let server = worker();
    let project = project_with(&server);
    project.config_more("undo: {max_file_mb: 1}\n");
    project.file(".gitignore", ".env\n*.db\nnode_modules/\n").file("a.txt", "1\n");
    project.file(".env", "KEY=1\n").file("local.db", "SQLite format 3\0rows");
    project.file("node_modules/x/index.js", "x\n").file("large.bin", "x".repeat(2 << 20));
    shell(&project, "git init -q && git add a.txt .gitignore");
    let remove = "rm -r .env node_modules large.bin; echo x > local.db; echo 2 > a.txt";
    work(&project, &format!("run: {remove}"));
    let run = session(&project, &["undo"]);
    assert!(run.code(1).stdout.contains("turn 1: 3 files undone"), "{run}");
    assert_eq!((project.read(".env"), project.read("a.txt")), ("KEY=1\n".into(), "1\n".into()));
    assert_eq!(project.read("local.db"), "SQLite format 3\0rows");
    assert!(run.stdout.contains("not restored  large.bin: it was too large"), "{run}");
    assert!(run.stdout.contains("not restored  node_modules: undo does not cover it"), "{run}");
}

#[test]
fn undo_restores_branch_index_and_stash_after_git_commands() {
    let server = worker();
    let project = project_with(&server);
    let identity = "git config user.name A && git config user.email a@b.example";
    project.file("a.txt", "1\n");
    shell(
        &project,
        &format!("git init -q -b main && {identity} && git add a.txt && git commit -qm 1"),
    );
    let state = || {
        let state = "git symbolic-ref HEAD; git for-each-ref; git ls-files -s; git stash list; git log -1 --format=%s; cat a.txt";
        shell(&project, state)
    };
    let before = state();
    for command in [
        "git switch -c topic; echo 2 > a.txt; git commit -aqm 2",
        "echo 2 > a.txt; git stash",
        "git rm -q a.txt",
    ] {
        work(&project, &format!("run: {command}"));
        assert_ne!(shell(&project, "git for-each-ref; git ls-files -s"), before);
        let run = session(&project, &["undo"]);
        run.success();
        assert_eq!(state(), before, "{command}: {run}");
    }
}

/// A repository with the branches `main` and `side`.
const REPOSITORY: &str = "git init -q -b main && git config user.name A && \
    git config user.email a@b.example && git add a.txt && git commit -qm 1 && \
    git switch -qc side && git commit -q --allow-empty -m 2 && git switch -q main";

#[test]
fn undo_reports_commits_that_a_command_removed() {
    let server = worker();
    let prune = "git update-ref -d refs/heads/side; \
        git reflog expire --expire=now --expire-unreachable=now --all; git gc -q --prune=now";
    let whole = "not restored  .git/objects: the commits were removed and cannot be restored";
    let side = "not restored  .git: the commits of `side` were removed and cannot be restored";
    for (command, line) in [
        ("find .git -delete", whole),
        ("find . -delete", whole),
        ("find .git/objects -delete; git gc -q --prune=now", whole),
        (prune, side),
    ] {
        let project = project_with(&server);
        project.file("a.txt", "1\n");
        shell(&project, REPOSITORY);
        work(&project, &format!("run: {command}"));
        let run = session(&project, &["undo"]);
        assert!(run.code(1).stdout.contains(line), "{command}: {run}");
        assert_eq!(project.read("a.txt"), "1\n");
        assert!(project.path().join(".git/refs/heads/side").exists(), "{command}: {run}");
    }
}

#[test]
fn undo_restores_the_state_of_a_linked_worktree() {
    let server = worker();
    let project = project_with(&server);
    let main = tempfile::tempdir().unwrap();
    fs::write(main.path().join("a.txt"), "1\n").unwrap();
    let main = main.path().display();
    // The project becomes the worktree; a new one must be empty.
    let add = "git worktree add -q --no-checkout -b work x";
    let adopt = "git worktree repair \"$OLDPWD\"; cd -; git reset -q --hard";
    let add = format!("cd {main} && {REPOSITORY} && {add} && mv x/.git \"$OLDPWD\" && {adopt}");
    shell(&project, &add);
    let state = || {
        let commands = "git symbolic-ref HEAD; git for-each-ref; git ls-files -s; git stash list";
        shell(&project, commands)
    };
    let before = state();
    for command in [
        "echo 2 > a.txt; git commit -aqm 2; git tag v2; git switch -q -c topic",
        "git switch -q -d side",
        "echo 2 > a.txt; git stash -q",
    ] {
        work(&project, &format!("run: {command}"));
        assert_ne!(state(), before, "{command}");
        let run = session(&project, &["undo"]);
        run.success();
        assert_eq!(state(), before, "{command}: {run}");
        assert_eq!(project.read("a.txt"), "1\n");
    }
}

#[test]
fn undo_follows_no_git_file_to_a_foreign_repository() {
    let server = worker();
    let project = project_with(&server);
    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join("a.txt"), "1\n").unwrap();
    let path = foreign.path().display();
    shell(&project, &format!("cd {path} && {REPOSITORY}"));
    project.file(".git", format!("gitdir: {path}/.git\n")).file("b.txt", "1\n");
    let branch = foreign.path().join(".git/refs/heads/new");
    work(&project, "run: echo 2 > b.txt");
    fs::copy(foreign.path().join(".git/refs/heads/main"), &branch).unwrap();
    session(&project, &["undo"]).success();
    assert!(branch.exists());
    assert_eq!(project.read("b.txt"), "1\n");
}

#[test]
fn undo_leaves_unrestorable_moves() {
    let server = worker();
    let project = project_with(&server);
    project.config_more("undo: {max_file_mb: 1}\n").file("large", "x".repeat(2 << 20));
    work(&project, "run: mv large moved");
    for flags in [&["undo"][..], &["undo", "--force"]] {
        let run = session(&project, flags);
        assert!(!run.code(1).stdout.contains("`--force`"), "{run}");
        assert!(project.path().join("moved").exists(), "{run}");
    }
}

#[test]
fn plugin_changes_are_undone() {
    let server = ModelServer::respond_with(|request| {
        if request.text.contains("\"tool\"") {
            Reply::text("Done.")
        } else {
            Reply::calls([("painter", json!({}))])
        }
    });
    let project = project_with(&server);
    project.file("wall.txt", "white\n");
    let file = project.config_directory().join("plugins/painter");
    let script = "#!/bin/sh\nif [ \"$1\" = --schema ]; then\n  \
                  echo '{\"name\": \"painter\", \"description\": \"Paints.\", \"parameters\": \
                  {\"type\": \"object\", \"properties\": {}}}'\nelse\n  echo red > wall.txt\n  \
                  echo brush > brush.txt\nfi\n";
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    project.config_more("plugins: {painter: {sandbox: {write: ['.']}}}\n");
    work(&project, "Paint.");
    assert_eq!(project.read("wall.txt"), "red\n");
    session(&project, &["undo"]).success();
    assert_eq!(project.read("wall.txt"), "white\n");
    assert!(!project.path().join("brush.txt").exists());
}

#[test]
fn force_is_offered_only_if_it_helps() {
    let server = worker();
    let project = project_with(&server);
    project.config_more("undo: {max_file_mb: 1}\n");
    project.file("large", "x".repeat(2 << 20));
    work(&project, "run: echo more >> large");
    for flags in [&["undo"][..], &["undo", "--force"]] {
        let run = session(&project, flags);
        assert!(run.code(1).stdout.contains("not restored  large"), "{run}");
        assert!(!run.stdout.contains("--force"), "{run}");
    }
}

#[test]
fn changes_before_a_kill_are_undone_only_by_force() {
    let server = worker();
    let project = project_with(&server);
    project.file("a.txt", "1\n");
    let prompt = "run: echo 2 > a.txt; echo now-$((20 + 22)); sleep 60";
    let words = ["chat", "--yes", "--output-format", "stream-json", "--session", "s", prompt];
    let running = project.command(&words).stdin("").spawn();
    running.wait_for_stdout("now-42");
    running.kill();
    running.wait();
    assert_eq!(project.read("a.txt"), "2\n");
    let run = session(&project, &["undo"]);
    run.code(1);
    assert!(
        run.stdout.contains("not restored  a.txt: another program may have changed it"),
        "{run}"
    );
    session(&project, &["undo", "s", "--force"]).success();
    assert_eq!(project.read("a.txt"), "1\n");
    work(&project, "Go on.");
}

#[test]
fn killed_undo_leaves_whole_files_and_can_be_repeated() {
    let strace = "/usr/bin/strace";
    let server = worker();
    let words = ["-qq", "-o", "/dev/null", "-e", "trace=none", "true"];
    let can_trace = Path::new(strace).exists()
        && Project::with_binary(strace).brynhild(&words).status.success();
    if !can_trace {
        let words = b"SKIPPED: strace is not here or may not trace\n";
        std::io::Write::write_all(&mut std::io::stderr(), words).unwrap();
        return;
    }
    for (call, number) in
        [("renameat,renameat2", 1), ("renameat,renameat2", 2), ("unlinkat", 1), ("fsync", 2)]
    {
        let project = project_with(&server);
        project.file("a.txt", "1\n").file("b.txt", "1\n").file("c/d.txt", "1\n");
        let before = tree(&project);
        work(&project, "run: echo 2 > a.txt; echo 2 > b.txt; rm -r c; echo new > n.txt");
        let after = tree(&project);
        let inject = format!("inject={call}:signal=KILL:when={number}");
        let tracer = Project::with_binary(strace);
        let binary = env!("CARGO_BIN_EXE_brynhild");
        let words = ["-f", "-qq", "-o", "/dev/null", "-e", &inject, binary, "session", "undo", "s"];
        let run = tracer.command(&words).env("HOME", project.home()).cwd(project.path()).run();
        assert!(run.status.code().is_none(), "{call} {number}: {run}");
        for (path, state) in &tree(&project) {
            let is_temporary = path.to_string_lossy().ends_with(".tmp");
            let is_whole = before.get(path) == Some(state) || after.get(path) == Some(state);
            assert!(is_whole || is_temporary, "{call} {number}: {}", path.display());
        }
        session(&project, &["undo"]).success();
        let mut found = tree(&project);
        found.retain(|path, _| !path.to_string_lossy().ends_with(".tmp"));
        assert_eq!(found, before, "{call} {number}");
        session(&project, &["redo", "s"]).success();
        let mut found = tree(&project);
        found.retain(|path, _| !path.to_string_lossy().ends_with(".tmp"));
        assert_eq!(found, after, "{call} {number}");
    }
}

#[test]
fn a_fork_can_undo_and_a_deleted_session_leaves_no_snapshots() {
    let server = worker();
    let project = project_with(&server);
    project.file("a.txt", "1\n");
    work(&project, "run: echo 2 > a.txt");
    project.brynhild(&["chat", "--resume", "s", "--fork", "Hello"]).success();
    session(&project, &["rename", "s", "t"]).success();
    session(&project, &["delete", "t", "--yes"]).success();
    session(&project, &["undo", "s-fork-1"]).success();
    assert_eq!(project.read("a.txt"), "1\n");
    session(&project, &["delete", "s-fork-1", "--yes"]).success();
    let kept = project.config_directory().join("sessions/snapshots");
    let turns = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path().join("turns"));
    for turns in turns {
        assert_eq!(fs::read_dir(turns).unwrap().count(), 0);
    }
}

#[test]
fn undo_without_changes_reports_nothing_to_undo() {
    let server = worker();
    let project = project_with(&server);
    session(&project, &["undo"]).code(2);
    work(&project, "Hello");
    assert!(!project.config_directory().join("sessions/snapshots").exists());
    let run = session(&project, &["undo"]);
    assert!(run.success().stdout.starts_with("There is nothing to undo"), "{run}");
    assert!(session(&project, &["redo"]).success().stdout.starts_with("Nothing to redo"));
    assert_eq!(session(&project, &["changes"]).success().stdout, "No turn changed a file.\n");
    project.config_more("undo: {enabled: false}\n");
    work(&project, "run: echo 1 > a.txt");
    assert!(!project.config_directory().join("sessions/snapshots").exists());
    let run = project.command(&["--plain", "--session", "s"]).stdin("/undo\n").run();
    assert!(run.stderr.contains("undo is not available in this conversation"), "{run}");
    let run = project.brynhild(&["chat", "/undo"]);
    run.code(2);
    assert!(run.stderr.contains("`brynhild session undo`"), "{run}");
}

#[test]
fn writes_of_a_read_only_tool_are_undone() {
    let server = ModelServer::respond_with(|request| {
        if request.text.contains("\"tool\"") {
            Reply::text("Done.")
        } else {
            Reply::calls([("sly", json!({}))])
        }
    });
    let project = project_with(&server);
    let body = "open('sly.txt', 'w').write('x')\nreturn ToolResult(success=True, output='looked')";
    let files = [("tools/sly.py", tool("sly", body))];
    plugin(&project, "sly", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    project.config_more("plugins: {sly: {sandbox: {write: ['.']}}}\n");
    work(&project, "Look.");
    assert_eq!(project.read("sly.txt"), "x");
    let run = session(&project, &["changes", "last"]);
    assert!(run.success().stdout.contains("sly.txt"), "{run}");
    session(&project, &["undo"]).success();
    assert!(!project.path().join("sly.txt").exists());
}

#[test]
fn undo_does_not_follow_replaced_files() {
    let server = worker();
    let project = project_with(&server);
    let outside = project.home().join("outside");
    fs::create_dir(&outside).unwrap();
    for name in ["link", "hard", "in"] {
        fs::write(outside.join(name), "mine\n").unwrap();
    }
    project
        .file("link", "one\n")
        .file("hard", "one\n")
        .file("directory", "one\n")
        .file("sub/in", "one\n");
    work(&project, "run: for f in link hard directory sub/in; do echo mine > $f; done");
    let root = project.path();
    for name in ["link", "hard", "directory", "sub/in"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    symlink(outside.join("link"), root.join("link")).unwrap();
    fs::hard_link(outside.join("hard"), root.join("hard")).unwrap();
    project.file("directory/kept", "kept\n");
    fs::remove_dir(root.join("sub")).unwrap();
    symlink(&outside, root.join("sub")).unwrap();
    for flags in [&["undo"][..], &["undo", "--force"]] {
        let run = session(&project, flags);
        for name in ["link", "hard", "in"] {
            assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), "mine\n", "{name}: {run}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 3, "{run}");
        if flags.len() == 1 {
            for name in ["link", "directory", "sub/in"] {
                assert!(run.stdout.contains(name), "{name} is not told: {run}");
            }
            assert_eq!(project.read("directory/kept"), "kept\n", "{run}");
        }
    }
}
