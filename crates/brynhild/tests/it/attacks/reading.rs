//! Commands that are known to only read, in a project made so that they do more.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::ruling;
use crate::git::shell;
use crate::project;

#[test]
fn reading_outside_the_workspace_asks_in_ask_mode() {
    let project = project();
    project.file("src/main.rs", "fn main() {}").file("opts", "/etc/passwd");
    for command in ["cat src/main.rs", "cat src/*.rs", "cd src && ls", "rg main"] {
        assert_eq!(ruling(&project, "ask", command), 0, "{command}");
    }
    for command in [
        "cat /etc/passwd",
        "cat ../x",
        "head < ../x",
        "cd .. && ls",
        "grep -R root: .",
        "rg -L root: .",
        "find -L . -name x",
        "strings @opts",
    ] {
        assert_eq!(ruling(&project, "ask", command), 3, "{command}");
    }
}

#[test]
fn symlink_does_not_expose_the_home_directory() {
    let project = project();
    fs::write(project.home().join("secret"), "s3cret").unwrap();
    symlink(project.home().join("secret"), project.path().join("file")).unwrap();
    symlink(project.home(), project.path().join("directory")).unwrap();
    for command in ["cat file", "head < file", "cat directory/secret", "cd directory && cat secret"]
    {
        let input = json!({"command": command}).to_string();
        let run = project.brynhild(&["tools", "exec", "Bash", "--input", &input, "--yes"]);
        assert!(!format!("{run}").contains("s3cret"), "{command}: {run}");
    }
}

#[test]
fn repository_programs_cannot_write_during_git_status() {
    let project = project();
    shell(&project, "git init -q . && git config core.fsmonitor 'touch fooled; false'");
    project.file(".git/hooks/post-index-change", "#!/bin/sh\ntouch fooled\n");
    for mode in ["read-only", "ask", "normal"] {
        for command in ["git status", "git diff", "git -C . status -s"] {
            let input = json!({"command": command}).to_string();
            let words = ["--mode", mode, "tools", "exec", "Bash", "--input", &input];
            let run = project.brynhild(&words);
            assert!(!project.path().join("fooled").exists(), "{mode} {command}: {run}");
        }
    }
}
