//! Rules that allow a program: they do not mean the words with which it starts others, nor what a repository
//! names that came with the project.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::Project;

use crate::git::shell;
use crate::project;

/// Commands that start `./mark`, which no rule for their program means.
const STARTING: &[&str] = &[
    "git -c core.fsmonitor=./mark status",
    "git -c alias.x='!./mark' x",
    "git grep -O./mark one",
    "git clone -u ./mark . made",
    "git ls-remote --upload-pack=./mark .",
    "git rebase -x ./mark HEAD~1",
    "git push ./evil.git HEAD",
    "git -C evil.git fetch ssh://h/x",
    "cd evil.git && git fetch ssh://h/x",
    "make SHELL=./mark",
    "make -- SHELL=./mark",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=./mark a.txt",
    "find a.txt -exec ./mark {} +",
    "split --filter=./mark a.txt",
];
/// The same of programs that not every machine has, or that need a terminal or another one to get there.
const MORE: &[&str] = &[
    "git -c core.pager=./mark log",
    "git --exec-path=. status",
    "npm exec -c ./mark",
    "npm x -c ./mark",
    "npm exec -- ./mark",
    "npm explore . -- ./mark",
    "npm config set script-shell ./mark --location=project",
    "npm --script-shell=./mark test",
    "ssh -o ProxyCommand=./mark h",
    "rsync -e ./mark a.txt h:b",
];
const RULES: &str = "permissions: {allow: ['Bash(git:*)', 'Bash(make:*)', 'Bash(tar:*)', 'Bash(find:*)', \
                     'Bash(split:*)', 'Bash(npm:*)', 'Bash(ssh:*)', 'Bash(rsync:*)']}\n";

/// A project with a program that leaves a mark, and a repository that lies in it as ordinary files.
fn marked() -> Project {
    let project = project();
    let mark = format!("#!/bin/sh\ntouch '{}'\n", project.path().join("ran").display());
    let identity = "[user]\n\tname = Una\n\temail = una@example.org\n";
    fs::write(project.home().join(".gitconfig"), identity).unwrap();
    project.config(RULES).file("mark", &mark).file("a.txt", "one\n");
    project.file("Makefile", "all:\n\techo made\n");
    shell(&project, "git init -qb main && git add . && git commit -qm first");
    shell(&project, "git init -q --bare evil.git");
    project.file("evil.git/hooks/pre-receive", &mark);
    for program in ["mark", "evil.git/hooks/pre-receive"] {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(project.path().join(program), mode).unwrap();
    }
    shell(
        &project,
        "git -C evil.git config core.sshCommand \"$PWD/mark\" && git add -A && git commit -qm all",
    );
    project
}

#[test]
fn a_rule_for_a_program_starts_no_other() {
    for command in STARTING {
        let project = marked();
        let ran = project.path().join("ran");
        let input = json!({"command": command}).to_string();
        let run = project.brynhild(&["tools", "exec", "Bash", "--input", &input]);
        run.code(3);
        assert!(!ran.exists(), "{command}: {run}");
        project.brynhild(&["policy", "check", "--", command]).code(3);
        // On its own it does, whatever it says of that.
        shell(&project, &format!("{command} || true"));
        assert!(ran.exists(), "{command} starts nothing");
    }
    let project = marked();
    for command in MORE {
        project.brynhild(&["policy", "check", "--", command]).code(3);
    }
}

#[test]
fn a_rule_for_a_program_means_what_people_do_with_it() {
    let project = marked();
    for command in [
        "git stash list",
        "git add a.txt",
        "git push",
        "make -j2 all",
        "tar cf x a.txt",
        "npm test",
    ] {
        project.brynhild(&["policy", "check", "--", command]).success();
    }
    let input = json!({"command": "make"}).to_string();
    let run = project.brynhild(&["tools", "exec", "Bash", "--input", &input]);
    assert!(run.success().stdout.contains("made\n"), "{run}");
}
