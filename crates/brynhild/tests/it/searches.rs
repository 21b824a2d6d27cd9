//! Searches of whole folders: what a rule denies and what looks like a secret is not in them.

mod left_out;

use serde_json::json;
use testkit::{Project, Run};

use crate::git::shell;
use crate::project;

fn closed() -> Project {
    let project = project();
    project.config("permissions: {deny: ['Read(secret/**)']}\n");
    project
        .file("secret/k", "needle in a denied file\n")
        .file("server.pem", "needle in a key\n")
        .file(".env", "NEEDLE=needle in a secret\n")
        .file("src/a.txt", "needle in the open\n");
    std::os::unix::fs::symlink("secret/k", project.path().join("link")).unwrap();
    project
}

fn exec(project: &Project, tool: &str, input: &serde_json::Value) -> Run {
    project.brynhild(&["tools", "exec", tool, "--input", &input.to_string()])
}

#[test]
fn grep_leaves_out_what_is_denied_or_looks_secret_and_says_so() {
    let project = closed();
    let run = exec(&project, "Grep", &json!({"pattern": "needle"}));
    run.success();
    assert!(run.stdout.contains("needle in the open"), "{run}");
    assert!(!run.stdout.contains("denied file") && !run.stdout.contains("a key"), "{run}");
    assert!(run.stdout.contains("(2 files left out"), "{run}");
    let run = exec(&project, "Grep", &json!({"pattern": "needle", "glob": ".env"}));
    assert!(!run.success().stdout.contains("a secret"), "{run}");
    exec(&project, "Grep", &json!({"pattern": "needle", "path": "server.pem"})).code(3);
    exec(&project, "Grep", &json!({"pattern": "needle", "path": "secret"})).code(1);
    let named = json!({"pattern": "needle", "path": "server.pem"}).to_string();
    let run = project.brynhild(&["--yes", "tools", "exec", "Grep", "--input", &named]);
    assert!(run.success().stdout.contains("needle in a key"), "{run}");
}

#[test]
fn glob_leaves_out_what_is_denied() {
    let run = exec(&closed(), "Glob", &json!({"pattern": "**/*"}));
    assert!(run.success().stdout.contains("src/a.txt"), "{run}");
    assert!(!run.stdout.contains("secret/k"), "{run}");
}

#[test]
fn commands_that_search_above_a_denied_file_are_denied() {
    let project = closed();
    for command in
        ["grep -r needle .", "rg needle", "git show :secret/k", "cat link", "diff -r src ."]
    {
        for mode in ["normal", "yolo"] {
            let run = project.brynhild(&["--mode", mode, "policy", "check", "--", command]);
            run.code(1);
            assert!(run.stdout.contains("Read(secret/**)"), "{run}");
        }
    }
    let run = exec(&project, "Bash", &json!({"command": "grep -r needle . --include=k"}));
    run.code(1);
    assert!(!run.stdout.contains("denied file"), "{run}");
    project.brynhild(&["policy", "check", "--", "grep -r needle src"]).success();
    project.brynhild(&["policy", "check", "--", "git diff"]).code(3);
}

#[test]
fn what_rg_leaves_out_is_what_its_own_ignore_files_say() {
    let project = closed();
    let check = |command: &str| {
        project.brynhild(&["--mode", "yolo", "policy", "check", "--", command]).status.code()
    };
    // Outside of a repository a file of git says nothing to it.
    project.file(".gitignore", "secret/\n");
    assert_eq!(check("rg needle"), Some(1));
    shell(&project, "git init -q .");
    assert_eq!(check("rg needle"), Some(0));
    for command in ["rg -u needle", "rg --no-ignore-vcs needle", "rg needle secret"] {
        assert_eq!(check(command), Some(1), "{command}");
    }
    project.file(".rgignore", "!secret/\n");
    assert_eq!(check("rg needle"), Some(1));
    project.file(".rgignore", "secret/\n").file(".gitignore", "");
    assert_eq!(check("rg needle"), Some(0));
    // To git that file says nothing.
    assert_eq!(check("git grep --untracked needle"), Some(1));
    project.file(".rgignore", "").file(".ignore", "secret/\n");
    assert_eq!(check("rg needle"), Some(0));
    assert_eq!(check("git grep --untracked needle"), Some(1));
    // In a repository of its own what is said around it does not count.
    project.file(".ignore", "").file(".gitignore", "k\n");
    assert_eq!(check("rg needle"), Some(0));
    shell(&project, "git init -q secret");
    assert_eq!(check("rg needle"), Some(1));
}

#[test]
fn what_fd_leaves_out_is_what_its_own_ignore_files_say() {
    let project = closed();
    let check = || {
        let command = ["--mode", "yolo", "policy", "check", "--", "fd . -x cat"];
        project.brynhild(&command).status.code()
    };
    shell(&project, "git init -q .");
    project.file(".gitignore", "secret/\n");
    assert_eq!(check(), Some(0));
    project.file(".fdignore", "!secret/\n");
    assert_eq!(check(), Some(1));
    project.file(".fdignore", "secret/\n").file(".gitignore", "");
    assert_eq!(check(), Some(0));
    // That of `rg` says nothing to it.
    project.file(".fdignore", "").file(".rgignore", "secret/\n");
    assert_eq!(check(), Some(1));
}

#[test]
fn commands_that_come_upon_a_secret_ask() {
    let project = closed();
    project.config("");
    for command in ["grep -r needle .", "rg needle", "rg --hidden -g .env needle"] {
        let run = project.brynhild(&["policy", "check", "--", command]);
        run.code(3);
        assert!(run.stdout.contains("holds a secret"), "{run}");
    }
    for command in ["grep -r needle src", "rg -g '*.txt' needle", "git diff", "ls"] {
        project.brynhild(&["policy", "check", "--", command]).success();
    }
}

#[test]
fn what_git_keeps_is_asked_about_by_whatever_way_it_is_shown() {
    let project = closed();
    let commit = "git init -q . && git add -A && git -c user.name=a -c user.email=b commit -qm x";
    shell(&project, commit);
    let hash = shell(&project, "git rev-parse HEAD:secret/k");
    let shown = format!("git cat-file -p {}", hash.trim());
    for command in ["git log -U0", "git log -p", "git diff --stat -p", &shown] {
        for mode in ["normal", "yolo"] {
            project.brynhild(&["--mode", mode, "policy", "check", "--", command]).code(3);
        }
    }
    shell(&project, "git config core.worktree \"$PWD/secret\"");
    project.brynhild(&["--mode", "yolo", "policy", "check", "--", "git blame k"]).code(3);
    shell(&project, "git config core.worktree \"$PWD\"");
    project.brynhild(&["--mode", "yolo", "policy", "check", "--", "git blame src/a.txt"]).success();
    // Without a rule it is the names of secrets in the index that ask.
    project.config("");
    for command in ["git grep needle", "git show HEAD", "git log -p", &shown] {
        let run = project.brynhild(&["policy", "check", "--", command]);
        assert!(run.code(3).stdout.contains("holds a secret"), "{run}");
    }
    for command in ["git log", "git grep needle -- src", "git status"] {
        project.brynhild(&["policy", "check", "--", command]).success();
    }
}

#[test]
fn what_follows_a_change_of_folder_counts_where_it_runs() {
    let project = closed();
    project.config("permissions: {deny: ['Read(secret/**)', Read(.env), 'Write(secret/**)']}\n");
    project.file("src/deep/b.txt", "").file("led/x", "");
    std::os::unix::fs::symlink("../secret/k", project.path().join("led/k")).unwrap();
    shell(&project, "git init -q . && git add secret src");
    let check = |command: &str| {
        project.brynhild(&["--mode", "yolo", "policy", "check", "--", command]).status.code()
    };
    for command in [
        "cd src && grep -rn 'cd foo' . || true",
        "cd src && for f in *; do wc -l \"$f\"; done; echo done",
        "cd \"$PWD/src\" && find . -type f -exec sed -i s/a/b/ {} +",
        "mkdir -p build && cd build && rm -f *; cd ..",
        "git rm -r src",
        "find led -type f -exec cat {} +",
        "stat .env",
    ] {
        assert_eq!(check(command), Some(0), "{command}");
    }
    for command in [
        "cd src && ls; cat .env",
        "cd src/deep && cd .. && ls || cat ../.env",
        "cd src/deep && until [ -d .git ]; do cd ..; done; grep -rn needle .",
        "cd src/deep && ln -s ../.. up && grep -rn needle up/",
        "cd src && git rm -r :/secret",
        "git rm -r ':(top)secret'",
        "find led -exec cat {} +",
    ] {
        assert_eq!(check(command), Some(1), "{command}");
    }
    for command in
        ["cd src/deep && grep -rn needle $(git rev-parse --show-toplevel)", "git rm -r ':!src'"]
    {
        assert_ne!(check(command), Some(0), "{command}");
    }
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_asked_about() {
    let project = project();
    project.file("src/a.txt", "needle\n").file("secret/k", "needle\n");
    let commit = "git init -q . && git add -A && git -c user.name=a -c user.email=b commit -qm x";
    shell(&project, commit);
    let check = |mode: &str, command: &str| {
        project.brynhild(&["--mode", mode, "policy", "check", "--", command]).status.code()
    };
    assert_eq!(check("normal", "git show HEAD"), Some(0));
    shell(&project, "git sparse-checkout set --cone --sparse-index src && test ! -e secret/k");
    let shown = ["git show HEAD", "git log -p", "git grep --cached needle"];
    for command in shown {
        // Nobody knows whether one of these is a secret.
        assert_eq!(check("normal", command), Some(3), "{command}");
    }
    assert_eq!(check("normal", "git status"), Some(0));
    project.config("permissions: {deny: ['Read(secret/k)']}\n");
    for command in shown {
        assert_eq!(check("yolo", command), Some(3), "{command}");
    }
}

/// Nobody writes into these pipes: whoever opens one waits without end.
#[test]
fn no_search_waits_for_an_ignore_file_that_is_a_pipe() {
    let project = closed();
    project
        .file(".ignore", "left-out\n")
        .file("sub/left-out/f", "needle in what is ignored\n")
        .file("sub/f", "needle below\n");
    for name in [".gitignore", "sub/.gitignore", "sub/.ignore", ".rgignore", "sub/.rgignore"] {
        shell(&project, &format!("mkfifo {name}"));
    }
    shell(&project, "mkdir -p .git/info sub/.git; mkfifo .git/info/exclude");
    shell(&project, "mkdir devices; ln -s /dev/zero devices/.ignore; mkfifo devices/.git");
    let run = exec(&project, "Grep", &json!({"pattern": "needle"}));
    run.success();
    assert!(run.stdout.contains("needle in the open"), "{run}");
    assert!(run.stdout.contains("needle below"), "{run}");
    assert!(!run.stdout.contains("what is ignored"), "{run}");
    assert!(run.stdout.contains("(an ignore file did not count"), "{run}");
    let run = exec(&project, "Glob", &json!({"pattern": "**/f"}));
    let told = "(an ignore file did not count: it is no regular file, or too large)";
    assert_eq!(run.success().stdout, format!("sub/f\n{told}\n"));
    // What an unread one says is not known, so that nothing counts as left out.
    for command in ["rg needle sub", "rg needle"] {
        let run = project.brynhild(&["policy", "check", "--", command]);
        assert_ne!(run.status.code(), Some(0), "{run}");
    }
}
