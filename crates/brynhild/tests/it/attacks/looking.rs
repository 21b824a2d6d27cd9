//! Commands that are known to only look, in a project made so that they do more: links that lead out,
//! and repositories that name programs to git.

use std::fs;
use std::os::unix::fs::symlink;

use testkit::Project;

use super::ruling;
use crate::git::shell;
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
        "[log]\n\tdiffMerges = remerge\n",
        "[merge \"x\"]\n\tdriver = ./x\n",
        "[format]\n\tpretty = %G?\n",
        "[include]\n\tpath = ../evil\n",
        "[core]\n\tworktree = /etc\n",
    ] {
        project.file(".git/config", format!("{plain}{evil}"));
        check(&project, &LOOKING, 3);
    }
    project.file(".git/config", plain).file(".husky/post-index-change", "#!/bin/sh\n");
    check(&project, &LOOKING, 3);
}

/// Git reads that file only where another setting says so, and otherwise takes the usual folder.
#[test]
fn git_is_asked_about_a_hook_that_another_setting_seems_to_replace() {
    let project = project();
    shell(&project, "git init -q . && mkdir -p .git/hooks");
    project.file(".git/config.worktree", "[core]\n\thooksPath = none\n");
    check(&project, &["git status"], 0);
    project.file(".git/hooks/post-index-change", "#!/bin/sh\n");
    check(&project, &["git status"], 3);
}

/// The same in the spellings that git understands.
#[test]
fn git_is_asked_about_however_its_settings_are_written() {
    let project = project();
    shell(&project, "git init -q .");
    project.file(".husky/post-index-change", "#!/bin/sh\n");
    for evil in [
        "[color][core] fsmonitor = \"echo x; false\"\n",
        "[user] [core]\n\tfsmonitor = x\n",
        "[color \"x\"] [core] fsmonitor = x\n",
        "[core]\n\teditor = \"x\\\n[user]\"\n\tfsmonitor = x\n",
        "[core]\n\tnotesref = x \\\n[color]\n\tfsmonitor = x\n",
        "[core]\n\thooksPath = .husky # shared\n",
        "[core]\n\thooksPath = .hus\"ky\"\n",
    ] {
        let plain = "[core]\n\trepositoryformatversion = 0\n\thooksPath = hooks # none\n";
        project.file(".git/config", plain);
        check(&project, &["git status"], 0);
        project.file(".git/config", format!("{plain}{evil}"));
        check(&project, &["git status"], 3);
    }
}

/// Repositories that git takes and that lie where a quick look does not find them.
#[test]
fn git_is_asked_about_whichever_repository_it_takes() {
    const PROGRAM: &str = "config core.fsmonitor 'echo x; false'";
    for (script, command) in [
        // One without a `.git`, nearer than that of the project.
        ("git init -q --bare sub && git -C sub PROGRAM", "git -C sub status"),
        ("git init -q --bare sub && git -C sub PROGRAM", "cd sub && git log"),
        ("git init -q --bare sub && git -C sub PROGRAM", "git -C sub/refs log"),
        ("git init -q --bare sub && git -C sub config core.worktree /etc", "git -C sub log"),
        // A `.git` that git goes past.
        ("git PROGRAM && mkdir -p sub/.git", "git -C sub status"),
        ("git PROGRAM && mkdir -p sub/.git", "cd sub && git status"),
        // Settings that are shared, by a name that is no text, and by a pipe.
        (
            "git init -q --bare $'.git/ev\\xff' && git -C $'.git/ev\\xff' PROGRAM \
             && printf 'ev\\xff' > .git/commondir",
            "git status",
        ),
        ("mkfifo .git/commondir", "git status"),
        // A submodule that the index names in another way than git writes it.
        (
            "git init -q sub && git -C sub -c user.name=a -c user.email=b commit -qm x --allow-empty \
             && git add sub && git -C sub PROGRAM \
             && python3 -c 'import hashlib; data = open(\".git/index\", \"rb\").read()[:-20]; \
             data = data[:36] + b\"\\1\\0\\xe1\\xed\" + data[40:]; \
             open(\".git/index\", \"wb\").write(data + hashlib.sha1(data).digest())' \
             && test \"$(git status --porcelain -- sub)\"",
            "git status",
        ),
        // A path that begins with a blank.
        (
            "git init -q --bare sub/g && git init -q --bare 'sub/ g' && git -C 'sub/ g' PROGRAM \
             && echo 'gitdir:  g' > sub/.git",
            "git -C sub status",
        ),
    ] {
        let project = project();
        shell(&project, "git init -q . && mkdir plain");
        check(&project, &["git status", "git -C plain status"], 0);
        shell(&project, &script.replace("PROGRAM", PROGRAM));
        for mode in ["normal", "read-only"] {
            let run = project.brynhild(&["--mode", mode, "policy", "check", "--", command]);
            assert_ne!(run.status.code(), Some(0), "{script}: {run}");
        }
    }
}
