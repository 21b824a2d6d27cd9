//! Commits: by the command, by the model's tool, in honest and in hostile repositories.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use crate::{project, project_with};

/// Runs a script of plain git and shell in the project.
#[expect(clippy::disallowed_methods, reason = "a test looks at repositories with plain git")]
fn try_shell(project: &Project, script: &str) -> std::process::Output {
    std::process::Command::new("/bin/bash")
        .args(["-c", script])
        .current_dir(project.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", project.home())
        .env("MARKS", marks(project))
        .output()
        .unwrap()
}

/// What a script prints that must succeed.
pub(crate) fn shell(project: &Project, script: &str) -> String {
    let output = try_shell(project, script);
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn marks(project: &Project) -> std::path::PathBuf {
    let marks = project.home().join("marks");
    fs::create_dir_all(&marks).unwrap();
    marks
}

/// The names of the programs that ran and left a mark.
fn fired(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(marks(project)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Makes the project a repository with one commit, and gives its user a name.
fn repository(project: &Project) {
    let identity = "[user]\n\tname = Una\n\temail = una@example.org\n";
    fs::write(project.home().join(".gitconfig"), identity).unwrap();
    shell(project, "git init -q -b main && echo one > a.txt && git add . && git commit -qm first");
}

fn commit(project: &Project, words: &[&str]) -> Run {
    project.brynhild(&[&["git", "commit"], words].concat())
}

#[test]
fn the_command_commits_everything_or_what_is_named() {
    let project = project();
    repository(&project);
    project.file("a.txt", "two\n").file("src/b c.txt", "b\n").file("other", "o\n");
    let run = commit(&project, &["-m", "Change a", "-m", "And why", "a.txt"]);
    run.success();
    let id = shell(&project, "git rev-parse --short=12 HEAD");
    assert_eq!(run.stdout, format!("[main {}] Change a\n  a.txt\n", id.trim_end()));
    assert_eq!(run.stderr, "");
    assert_eq!(shell(&project, "git log -1 --format='%an|%B'"), "Una|Change a\n\nAnd why\n\n");
    let run = commit(&project, &["--message", "Rest", "--json"]);
    run.success();
    let id = shell(&project, "git rev-parse HEAD");
    let files = json!(["other", "src/b c.txt"]);
    let expected = json!({"commit": id.trim_end(), "branch": "main", "files": files, "notes": []});
    assert_eq!(run.json(), expected);
    assert_eq!(shell(&project, "git status --porcelain; git fsck --strict --no-dangling"), "");
}

#[test]
fn paths_are_relative_to_where_they_are_typed() {
    let project = project();
    repository(&project);
    project.file("sub/x", "x").file("sub/y", "y").file("a.txt", "two\n");
    let words = ["git", "commit", "-m", "here", "x", "../a.txt"];
    project.command(&words).cwd("sub").run().success();
    assert_eq!(shell(&project, "git show --format= --name-only"), "a.txt\nsub/x\n");
    for path in ["../../../../etc/passwd", "/etc/passwd", "../.git/config"] {
        let run = project.command(&["git", "commit", "-m", "out", path]).cwd("sub").run();
        run.code(2);
        assert!(run.stderr.starts_with("error: ") && run.stdout.is_empty(), "{run}");
    }
    commit(&project, &["-m", "dash", "--", "-x"]).code(2);
    commit(&project, &["paths only"]).code(2);
}

#[test]
fn what_stands_in_the_way_is_told() {
    let project = project();
    let run = commit(&project, &["-m", "x"]);
    run.code(2);
    assert!(run.stderr.contains("is not in a git repository"), "{run}");
    repository(&project);
    let run = commit(&project, &["-m", "x"]);
    run.code(1);
    assert!(run.stderr.contains("nothing to commit"), "{run}");
    project.file("a.txt", "two\n");
    for (words, told) in [
        (&["-m", " "][..], "the message is empty"),
        (&["-m", "x", "missing"], "there is no such file"),
    ] {
        let run = commit(&project, words);
        run.code(2);
        assert!(run.stderr.contains(told), "{run}");
    }
    commit(&project, &["-m", "x", "--mode", "read-only"]).code(1);
    project.file(".git/index.lock", "");
    let run = commit(&project, &["-m", "x", "--json"]);
    run.code(1);
    assert!(run.json()["error"].as_str().unwrap().contains("index.lock exists"), "{run}");
    fs::remove_file(project.path().join(".git/index.lock")).unwrap();
    fs::remove_file(project.home().join(".gitconfig")).unwrap();
    shell(&project, "git config user.name Mallory; git config user.email m@example.org");
    let run = commit(&project, &["-m", "x"]);
    run.code(2);
    assert!(run.stderr.contains("git config --global"), "{run}");
    assert_eq!(shell(&project, "git log --format=%s"), "first\n");
}

#[test]
fn an_interrupt_leaves_the_repository_as_it_was() {
    let project = project();
    repository(&project);
    // Git waits for somebody to write to it.
    shell(&project, "mkfifo .gitignore; echo two > a.txt");
    let running = project.command(&["git", "commit", "-m", "x"]).spawn();
    let lock = project.path().join(".git/index.lock");
    while !lock.exists() {
        std::thread::yield_now();
    }
    running.interrupt();
    let run = running.wait();
    run.code(130);
    assert!(run.stderr.contains("nothing was committed"), "{run}");
    assert!(!lock.exists());
    let state = project.config_folder().join("sandbox");
    assert_eq!(fs::read_dir(state).unwrap().count(), 0);
    shell(&project, "rm .gitignore");
    commit(&project, &["-m", "after"]).success();
}

/// Everything by which a repository can name a program, each with a mark of its own.
fn make_hostile(project: &Project) {
    let marks = marks(project).display().to_string();
    for folder in [".git/hooks", ".hooks"] {
        for name in [
            "applypatch-msg",
            "pre-applypatch",
            "post-applypatch",
            "pre-commit",
            "commit-msg",
            "pre-merge-commit",
            "prepare-commit-msg",
            "post-commit",
            "pre-rebase",
            "post-checkout",
            "post-merge",
            "pre-push",
            "pre-receive",
            "update",
            "post-receive",
            "post-update",
            "reference-transaction",
            "push-to-checkout",
            "pre-auto-gc",
            "post-rewrite",
            "fsmonitor-watchman",
            "post-index-change",
        ] {
            let path = format!("{folder}/{name}");
            project.file(&path, format!("#!/bin/sh\ntouch '{marks}/{name}'\n"));
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(project.path().join(path), mode).unwrap();
        }
    }
    shell(
        project,
        r#"
        for key in core.fsmonitor core.sshCommand core.pager core.editor core.askPass \
            sequence.editor credential.helper diff.external diff.x.textconv diff.x.command \
            merge.x.driver filter.x.clean filter.x.smudge filter.x.process gpg.program \
            gpg.ssh.program pager.commit pager.config pager.diff-files interactive.diffFilter; do
            git config "$key" "touch '$MARKS/$key'; cat; false"
        done
        for name in add commit update-index write-tree commit-tree diff-files ls-files config; do
            git config "alias.$name" "!touch '$MARKS/alias.$name'"
        done
        git config commit.gpgSign true
        git config attr.tree HEAD
        git config core.hooksPath .hooks
        printf '[core]\n\tfsmonitor = touch "%s/included"; false\n' "$MARKS" > .git/more
        git config include.path more
        echo '* filter=x diff=x merge=x' | tee .gitattributes > .git/info/attributes
        echo two > a.txt"#,
    );
}

#[test]
fn plain_git_falls_for_a_hostile_repository() {
    let project = project();
    repository(&project);
    make_hostile(&project);
    try_shell(&project, "git add -A; git -c commit.gpgSign=false commit -m x");
    let fired = fired(&project);
    for name in ["included", "filter.x.process", "pre-commit", "post-index-change"] {
        assert!(fired.iter().any(|mark| mark == name), "{name} did not fire: {fired:?}");
    }
}

#[test]
fn a_hostile_repository_gets_its_commit_and_nothing_else() {
    let project = project();
    repository(&project);
    make_hostile(&project);
    let run = commit(&project, &["-m", "by the command"]);
    run.success();
    for words in ["not signed", "no hooks", "without filters: x"] {
        assert!(run.stderr.contains(words), "{run}");
    }
    project.file("a.txt", "three\n");
    let input = json!({"message": "by the tool", "paths": ["a.txt"]}).to_string();
    let run = project.brynhild(&["tools", "exec", "GitCommit", "--input", &input, "--yes"]);
    run.success();
    project.brynhild(&["tools", "list"]).success();
    assert_eq!(fired(&project), Vec::<String>::new());
    let log = "git --git-dir=.git -c core.pager=cat log --format=%s | cat";
    shell(&project, "rm .git/config && git init -q");
    assert_eq!(shell(&project, log), "by the tool\nby the command\nfirst\n");
    assert_eq!(shell(&project, "git status --porcelain; git fsck --strict"), "");
}

#[test]
fn git_reads_nothing_outside_of_the_repository_whatever_leads_there() {
    let project = project();
    repository(&project);
    let reports = project.brynhild(&["sandbox", "doctor", "--json"]).json();
    let is_usable =
        |report: &serde_json::Value| report["rung"] == "landlock" && report["usable"] == true;
    if !reports.as_array().unwrap().iter().any(is_usable) {
        crate::crashes::skip("walls around git: there is no Landlock here");
        return;
    }
    let packs = project.home().join("packs").display().to_string();
    let script = format!(
        "git gc -q && mv .git/objects/pack '{packs}' && mkdir .git/objects/pack && \
         ln -s '{packs}'/* .git/objects/pack/ && echo two > a.txt && git fsck"
    );
    shell(&project, &script);
    commit(&project, &["-m", "x"]).code(1);
    shell(&project, &format!("rm .git/objects/pack/* && mv '{packs}'/* .git/objects/pack/"));
    commit(&project, &["-m", "x"]).success();
}

#[test]
fn a_model_commits_by_its_tool_after_git_itself_has_failed() {
    if !crate::has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "echo two > a.txt && git commit -qam x"}))]),
        Reply::calls([("GitCommit", json!({"message": "Change a", "paths": ["a.txt"]}))]),
        Reply::text("committed"),
    ]);
    let project = project_with(&server);
    repository(&project);
    project.file("other", "o\n");
    project.brynhild(&["chat", "--yes", "change it and commit"]).success();
    let chats = server.chats();
    let told = |number: usize| {
        let messages = chats[number].body["messages"].as_array().unwrap().clone();
        messages.last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert!(told(1).contains("commit with the GitCommit tool"), "{}", told(1));
    assert!(told(2).contains("] Change a\n  a.txt"), "{}", told(2));
    assert_eq!(shell(&project, "git log --format=%s"), "Change a\nfirst\n");
    assert_eq!(shell(&project, "git status --porcelain"), "?? other\n");
}

#[test]
fn the_tool_is_judged_like_every_other() {
    let project = project();
    assert!(!project.brynhild(&["tools", "list"]).stdout.contains("GitCommit"));
    repository(&project);
    let listed = project.brynhild(&["tools", "list", "--json"]).json();
    let tool = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "GitCommit");
    assert_eq!(tool.unwrap()["requires_permission"], true);
    project.file("a.txt", "two\n");
    let input = json!({"message": "x"}).to_string();
    let exec = |flags: &[&str]| {
        let words = ["tools", "exec", "GitCommit", "--input", &input];
        project.brynhild(&[&words[..], flags].concat())
    };
    exec(&[]).code(3);
    exec(&["--mode", "read-only", "--yes"]).code(1);
    let words = ["policy", "explain", "--tool", "GitCommit", "--input", &input, "--json"];
    let run = project.brynhild(&words);
    run.code(3);
    assert!(run.stdout.contains("commit to git: main: everything that changed: x"), "{run}");
    assert_eq!(shell(&project, "git log --format=%s"), "first\n");
    let outside = json!({"message": "x", "paths": ["../../.ssh/id"]}).to_string();
    let run = project.brynhild(&["tools", "exec", "GitCommit", "--input", &outside, "--yes"]);
    run.code(1);
    exec(&["--mode", "yolo"]).success();
    project.config("tools:\n  disabled:\n    GitCommit: true\n");
    assert!(!project.brynhild(&["tools", "list"]).stdout.contains("GitCommit"));
}

#[test]
fn what_a_killed_commit_left_is_removed_by_the_next_and_no_lock_of_gits_own() {
    let project = project();
    repository(&project);
    project.file("a.txt", "two\n");
    shell(&project, "mkfifo .gitignore");
    let running = project.command(&["git", "commit", "-m", "killed"]).spawn();
    // Git reads the list while the index is locked, so it is when somebody opens the other end.
    let pipe = fs::File::options().write(true).open(project.path().join(".gitignore")).unwrap();
    running.kill();
    running.wait();
    drop(pipe);
    shell(&project, "rm .gitignore && test -e .git/index.lock");
    let state = project.config_folder().join("sandbox");
    let folders = || {
        let names = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("git-")).count()
    };
    assert_eq!(folders(), 1);
    commit(&project, &["-m", "after"]).success();
    assert_eq!((folders(), shell(&project, "git status --porcelain")), (0, String::new()));
    project.file("a.txt", "three\n").file(".git/index.lock", "");
    let run = commit(&project, &["-m", "locked"]);
    run.code(1);
    assert!(run.stderr.contains("index.lock exists"), "{run}");
}
