//! Commands that are known to only look, in a project made so that they do more: links that lead out,
//! and repositories that name programs to git.

use std::fs;
use std::os::unix::fs::symlink;

use testkit::Project;

use super::ruling;
use crate::project;

fn check(project: &Project, commands: &[&str], wanted: i32) {
    for command in commands {
        assert_eq!(ruling(project, command), wanted, "{command:?}");
    }
}

#[test]
fn a_link_out_of_the_project_is_asked_about_in_commands_too() {
    let project = project();
    project.file("src/main.rs", "fn main() {}").file("opts", "/etc/passwd").file("sub/a", "");
    let root = project.path();
    symlink("main.rs", root.join("src/inner.rs")).unwrap();
    check(&project, &["cat src/main.rs", "cat src/inner.rs", "cat src/*.rs", "cd src && ls"], 0);
    symlink("/etc", root.join("etclink")).unwrap();
    symlink("/etc/passwd", root.join("src/evil.rs")).unwrap();
    let asked = [
        "cat etclink/passwd",
        "cat src/evil.rs",
        "cat src/*.rs",
        "cat s*/e*.rs",
        "head < src/evil.rs",
        "cd etclink && cat passwd",
        "ls etclink/",
        "wc -l etclink/passwd",
        "grep -R root: .",
        "rg -L root: .",
        "rg root: etclink",
        "find -L . -name x",
        "diff -r src sub",
        "strings @opts",
    ];
    check(&project, &asked, 3);
    check(&project, &["cat src/main.rs", "cat src/m*.rs", "grep -r main src", "rg main"], 0);
}

#[test]
fn git_is_asked_about_where_the_repository_names_a_program() {
    const LOOKING: [&str; 5] =
        ["git status", "git diff", "git log -p", "git -C . show HEAD", "cd src && git status -s"];
    let project = project();
    project.file("src/main.rs", "").file(".git/HEAD", "ref: refs/heads/main\n");
    fs::create_dir_all(project.path().join(".git/objects")).unwrap();
    fs::create_dir_all(project.path().join(".git/refs")).unwrap();
    let plain = "[core]\n\trepositoryformatversion = 0\n\thooksPath = .husky\n[remote \"origin\"]\n\
                 \turl = https://example.org/x\n[alias]\n\tst = status\n";
    project.file(".git/config", plain);
    let before: Vec<i32> = LOOKING.iter().map(|command| ruling(&project, command)).collect();
    assert_eq!(before[..3], [0, 0, 0]);
    for evil in [
        "[core]\n\tfsmonitor = ./fsm\n",
        "[diff]\n\texternal = ./x\n",
        "[diff \"tc\"]\n\ttextconv = ./x\n",
        "[filter \"f\"]\n\tclean = ./x\n",
        "[gpg]\n\tprogram = ./x\n",
        "[include]\n\tpath = ../evil\n",
        "[core]\n\tworktree = /etc\n",
    ] {
        project.file(".git/config", format!("{plain}{evil}"));
        check(&project, &LOOKING, 3);
    }
    project.file(".git/config", plain).file(".husky/post-index-change", "#!/bin/sh\n");
    check(&project, &LOOKING, 3);
}
