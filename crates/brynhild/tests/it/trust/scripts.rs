//! Trust covers the scripts that command lines name, and nothing that those scripts load.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::trust;
use crate::{has_bubblewrap, project, project_with};

const SERVER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py"));

fn executable(project: &Project, path: &str, text: &str) {
    project.file(path, text);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path().join(path), mode).unwrap();
}

/// Adds hooks of all kinds, each with a script of the project behind it.
fn hooks(project: &Project) {
    executable(project, "h.sh", "#!/bin/sh\n. ./lib.sh\ntouch ran-command\n");
    project
        .file("lib.sh", "true\n")
        .file("h2.py", "import side\nopen('ran-script', 'w').close()\n")
        .file("side.py", "")
        .file(
            ".brynhild/hooks.yaml",
            "hooks:\n  session_start:\n    - {name: a, type: command, command: ./h.sh}\n    \
             - {name: b, type: script, script: ../h2.py}\n",
        );
}

fn ran(project: &Project) -> (bool, bool) {
    let ran = |name: &str| fs::remove_file(project.path().join(name)).is_ok();
    (ran("ran-command"), ran("ran-script"))
}

#[test]
fn changed_hook_script_asks_again_and_library_does_not() {
    let project = project();
    hooks(&project);
    trust(&project);
    let question = project.brynhild(&["trust"]);
    for name in ["h.sh", "h2.py"] {
        assert!(question.stderr.contains(name) || question.stdout.contains(name), "{question}");
    }
    project.brynhild(&["hooks", "test", "session_start"]).success();
    assert_eq!(ran(&project), (true, true));
    for name in ["h.sh", "h2.py"] {
        let before = project.read(name);
        project.file(name, format!("{before}\n"));
        let run = project.brynhild(&["hooks", "test", "session_start"]);
        assert_eq!(ran(&project), (false, false), "{name}");
        assert!(run.stderr.contains("this project changed since you trusted it"), "{run}");
        project.brynhild(&["--require-trust", "hooks", "list"]).code(3);
        let shown = project.brynhild(&["trust", "--json"]);
        assert!(shown.stdout.contains(&format!("\"{name}\"")), "{shown}");
        project.file(name, before);
    }
    project.file("lib.sh", ": changed\n").file("side.py", "changed = 1\n").file("other.sh", "true");
    project.brynhild(&["hooks", "test", "session_start"]).success();
    assert_eq!(ran(&project), (true, true), "no command line names these");
}

#[test]
fn changed_script_of_a_server_asks_again() {
    let project = project();
    project.file("server.py", SERVER);
    let path = project.path().canonicalize().unwrap().join("server.py");
    let servers = json!({"mcpServers": {"m": {"command": "python3", "args": [path]}}});
    project.file(".mcp.json", servers.to_string());
    trust(&project);
    project.brynhild(&["mcp", "test", "m"]).success();
    project.file("server.py", format!("{SERVER}\nopen('ran', 'w')\n"));
    let run = project.brynhild(&["mcp", "test", "m"]);
    assert_ne!(run.status.code(), Some(0), "{run}");
    assert!(run.stderr.contains("this project changed since you trusted it"), "{run}");
}

#[test]
fn script_changed_by_the_model_does_not_run_in_that_session() {
    let write = json!({"command": "printf '\\ntouch evil\\n' >> h.sh"});
    let server = ModelServer::start([
        Reply::calls([("Bash", write)]),
        Reply::calls([("Bash", json!({"command": "true"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    executable(&project, "h.sh", "#!/bin/sh\ntouch ran\n");
    let hook = "hooks:\n  post_tool_use:\n    - {name: a, type: command, command: ./h.sh}\n";
    project.file(".brynhild/hooks.yaml", hook);
    trust(&project);
    let run = project.brynhild(&["chat", "--yes", "--mode", "yolo", "go"]);
    assert!(!project.path().join("evil").exists(), "{run}");
    assert!(run.stderr.contains("h.sh changed since you trusted"), "{run}");
}

/// Swaps two files in a loop until it is stopped.
fn exchanging(one: std::path::PathBuf, other: std::path::PathBuf) -> impl FnOnce() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = std::sync::Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        while !told.load(std::sync::atomic::Ordering::Relaxed) {
            renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            std::thread::yield_now();
        }
    });
    move || {
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        thread.join().unwrap();
    }
}

#[test]
fn script_swapped_in_a_loop_never_runs_as_another() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    executable(&project, "h.sh", "#!/bin/sh\ntouch good\n");
    executable(&project, "evil.sh", "#!/bin/sh\n: > evil\n");
    let hook = "hooks:\n  session_start:\n    - {name: a, type: command, command: ./h.sh}\n";
    project.file(".brynhild/hooks.yaml", hook);
    trust(&project);
    project.brynhild(&["hooks", "test", "session_start"]).success();
    assert!(project.path().join("good").exists(), "what is trusted runs");
    let stop = exchanging(project.path().join("h.sh"), project.path().join("evil.sh"));
    for _ in 0..20 {
        let run = project.brynhild(&["hooks", "test", "session_start"]);
        assert!(!project.path().join("evil").exists(), "{run}");
    }
    stop();
}

#[test]
fn scripts_of_slash_commands_are_shown_and_covered() {
    for (path, text) in [
        (".claude/commands/a.md", "Look:\n\n```!\nsh tools/see.sh\n```\n"),
        (".claude/commands/a.md", "Look: !`sh tools/see.sh`\n"),
        (".brynhild/commands/a.md", "---\nname: aa\ndescription: d\nrun: sh tools/see.sh\n---\n"),
    ] {
        let project = project();
        project.file(path, text).file("tools/see.sh", "echo good\n");
        let shown = project.brynhild(&["trust", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
        assert!(shown["commands"].to_string().contains("sh tools/see.sh"), "{path}: {shown}");
        assert!(shown["files"].to_string().contains("\"tools/see.sh\""), "{path}: {shown}");
    }
}
