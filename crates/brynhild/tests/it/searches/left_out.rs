//! What a search leaves out for certain is none of what a rule denies, what only looks left out is; and a search
//! that follows links comes upon what they lead to.

use serde_json::json;
use testkit::Project;

use crate::git::shell;
use crate::project;

const OPEN: &str = "open to all";
const DENIED: &str = "CANARY";

fn closed() -> Project {
    let project = project();
    project.config("permissions: {deny: [Read(.env), 'Read(secret/**)']}\n");
    project
        .file(".env", "K=CANARY\n")
        .file("secret/k", "K=CANARY\n")
        .file("src/a", "K=open to all\n")
        .file("l/b", "K=open to all\n")
        .file("made.d/c", "");
    for (link, target) in [("l/file", "../.env"), ("l/folder", "../secret")] {
        std::os::unix::fs::symlink(target, project.path().join(link)).unwrap();
    }
    project
}

/// What a command comes to without Brynhild: its own words, and what it leaves behind.
fn found(project: &Project, command: &str) -> String {
    let left = "cat ./made* made.d/* made.d/*/* ./--exclude* 2>&1";
    shell(project, &format!("{{ {command}; }} 2>&1; {left}; true"))
}

fn judged(project: &Project, command: &str) -> Option<i32> {
    project.brynhild(&["--mode", "yolo", "policy", "check", "--", command]).status.code()
}

fn ran(project: &Project, command: &str) -> String {
    let input = json!({"command": command}).to_string();
    let run = project.brynhild(&["--mode", "yolo", "tools", "exec", "Bash", "--input", &input]);
    format!("{}{}", run.stdout, run.stderr)
}

#[test]
fn a_search_that_leaves_the_denied_files_out_is_made() {
    for command in [
        "find . -type f ! -name .env ! -path './secret/*' -exec cat {} +",
        "find . -path ./secret -prune -o -name .env -prune -o -type f -print | xargs cat",
        "grep -rn K . --exclude=.env --exclude-dir=secret",
        "grep -rn --exclude '.env*' --exclude-dir secret K .",
        "tar cf - --exclude=.env --exclude=secret .",
        "tar -cf made.tar --exclude .env --exclude secret . && cat made.tar",
    ] {
        let project = closed();
        let said = found(&project, command);
        assert!(said.contains(OPEN) && !said.contains(DENIED), "{command}: {said}");
        let project = closed();
        assert_eq!(judged(&project, command), Some(0), "{command}");
        let said = ran(&project, command);
        assert!(said.contains(OPEN) && !said.contains(DENIED), "{command}: {said}");
    }
}

#[test]
fn a_search_that_only_seems_to_leave_them_out_is_not_made() {
    are_denied(&[
        "find . -type f ! -name .env -exec cat {} +",
        "find .// -type f ! -name .env ! -path './secret/*' -exec cat {} +",
        "find .// -path ./secret -prune -o -name .env -prune -o -type f -exec cat {} +",
        "find . -name secret -prune -o -name .env -prune -o -mindepth 2 -type f -exec cat {} +",
        "find . -mindepth 2 -name secret -prune -o -name .env -prune -o -type f -print | xargs cat",
        "find . ! -type f ! -name .env ! -path './secret/*' -exec cat {} +",
        "find . -type f ! -name .env ! -path './secret/*' -exec true \\; , -exec cat {} +",
        "find . -type f ! -name .env ! -path './secret/*' -o -exec cat {} +",
        "grep -rn K . --exclude=.env",
        "grep -rn K . --exclude=.env --exclude-dir=secret --inc='.e*'",
        "grep --rec K .",
        "grep --der K .",
        "grep --dir=recurse K .",
        "tar fc --exclude=.env --exclude=secret .",
        "tar cfv --exclude=.env --exclude=secret .",
        "tar cf - --exclude=secret .",
    ]);
}

#[test]
fn a_search_that_follows_links_comes_upon_what_is_denied() {
    are_denied(&[
        "find -L l -type f -exec cat {} +",
        "find l -follow -type f -exec cat {} +",
        "find -L l -type f | xargs cat",
        "cp -rL l made.d",
        "cp -r --deref l made.d",
        "tar chf made.tar l",
        "tar -c --dereference -f made.tar l",
        "grep -R K l",
    ]);
    let project = closed();
    for command in [
        "rsync -aL l/ made.d",
        "rg -L K l",
        "zip -r made.zip l",
        "fd -L . l -x cat",
        "scp -r l h:x",
    ] {
        assert_eq!(judged(&project, command), Some(1), "{command}");
    }
    // Where they are not followed, they do not matter.
    for command in ["find l -type f -exec cat {} +", "grep -r K l", "tar cf - l"] {
        let said = found(&project, command);
        assert!(said.contains(OPEN) && !said.contains(DENIED), "{command}: {said}");
        assert_eq!(judged(&project, command), Some(0), "{command}");
    }
}

/// Checks of each command that it shows what is denied, and that it is not let.
fn are_denied(commands: &[&str]) {
    for command in commands {
        let project = closed();
        // Denied, or asked about where even that is not certain.
        assert_ne!(judged(&project, command), Some(0), "{command}");
        let said = ran(&project, command);
        assert!(!said.contains(DENIED), "{command}: {said}");
        let said = found(&project, command);
        assert!(said.contains(DENIED), "{command}: {said}");
    }
}
