//! Git in the sandbox, in honest and in hostile repositories.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

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

/// The output of a script that must succeed.
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

/// Everything by which a repository can name a program, each with a mark of its own.
fn make_hostile(project: &Project) {
    let marks = marks(project).display().to_string();
    for directory in [".git/hooks", ".hooks"] {
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
            let path = format!("{directory}/{name}");
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
fn plain_git_runs_programs_of_a_hostile_repository() {
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
fn programs_of_a_hostile_repository_run_only_in_the_sandbox() {
    let project = project();
    repository(&project);
    make_hostile(&project);
    let commit = "git -c core.fsmonitor=false add -A; git commit -m x";
    project.brynhild(&["sandbox", "run", "--", "bash", "-c", commit]);
    let input = json!({"command": commit}).to_string();
    project.brynhild(&["tools", "exec", "Bash", "--input", &input, "--yes"]);
    project.brynhild(&["tools", "list"]).success();
    assert_eq!(fired(&project), Vec::<String>::new());
}

/// Git operations of the program itself: branch, snapshots, diff and undo.
#[test]
fn a_turn_and_its_undo_run_no_program_of_a_hostile_repository() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "echo three > a.txt; git add -A; git stash"}))]),
        Reply::calls([("Write", json!({"file_path": "b.txt", "content": "x\n"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    repository(&project);
    make_hostile(&project);
    project.brynhild(&["chat", "--yes", "--session", "s", "go"]).success();
    for words in [
        &["session", "changes", "--diff"][..],
        &["session", "undo"],
        &["session", "redo"],
        &["session", "undo", "--force"],
    ] {
        let run = project.brynhild(words);
        assert_eq!(fired(&project), Vec::<String>::new(), "{words:?}: {run}");
    }
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn bash_commits_with_the_identity_of_the_user() {
    let project = project();
    repository(&project);
    project.file("a.txt", "two\n");
    let input =
        json!({"command": "git add -A && git commit -qm two && git switch -qc x"}).to_string();
    let run = project.brynhild(&["tools", "exec", "Bash", "--input", &input, "--yes"]);
    run.success();
    assert_eq!(shell(&project, "git log -1 --format='%an|%s'"), "Una|two\n");
    assert_eq!(shell(&project, "git branch --show-current; git status --porcelain"), "x\n");
}
