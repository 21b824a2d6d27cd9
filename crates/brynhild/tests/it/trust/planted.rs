//! What a model puts where something trusted would find it: that does not run, and what the trusted
//! hook guarded does not happen either.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use super::trust;
use crate::{has_bubblewrap, project, project_with};

/// A model that has `change` run and then something else.
fn model(change: &str) -> ModelServer {
    ModelServer::start([
        Reply::calls([("Bash", json!({"command": change}))]),
        Reply::calls([("Bash", json!({"command": "touch happened"}))]),
        Reply::text("done"),
    ])
}

fn executable(project: &Project, path: &str) {
    let path = project.path().join(path);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn hooks(command: &str) -> String {
    let hook = json!({"name": "guard", "type": "command", "command": command});
    json!({"version": 1, "hooks": {"pre_tool_use": [hook]}}).to_string()
}

fn chat(project: &Project, more: &[&str]) -> Run {
    let words = [&["--yes", "--mode", "yolo"], more, &["chat", "go"]].concat();
    project.brynhild(&words)
}

#[test]
fn what_python_would_find_first_runs_in_no_trusted_hook() {
    if !has_bubblewrap() {
        return;
    }
    let evil = |path: &str| format!("mkdir -p vend; echo \"open('evil', 'w')\" > {path}");
    for (command, script, planted) in [
        ("python3 -m tools.check", "tools/check.py", "json.py"),
        ("python3 -c 'import tools.check'", "tools/check.py", "json.py"),
        ("./tools/check", "tools/check", "tools/json.py"),
        ("PYTHONPATH=vend python3 tools/check.py", "tools/check.py", "vend/json.py"),
    ] {
        let server = model(&evil(planted));
        let project = project_with(&server);
        project.file(script, "#!/usr/bin/env python3\nimport json\nopen('ran', 'w')\n");
        executable(&project, script);
        project.file(".brynhild/hooks.yaml", hooks(command));
        trust(&project);
        let run = chat(&project, &[]);
        let is_there = |name: &str| project.path().join(name).exists();
        assert!(is_there("ran"), "{command} {run}");
        assert!(is_there(planted) && !is_there("evil"), "{command} {run}");
        assert!(!is_there("happened"), "what it guards passes: {command} {run}");
        let last = server.chats()[2].body["messages"].to_string();
        assert!(last.contains("came to scripts that you trust"), "{command} {last}");
    }
}

/// A guard that ran once, then the file `planted`, which would run `evil` in it.
fn assert_kept_out((command, script, text): (&str, &str, &str), planted: &str, evil: &str) {
    let server = model(&format!("mkdir -p $(dirname {planted}); echo \"{evil}\" > {planted}"));
    let project = project_with(&server);
    project.file(script, text).file(".brynhild/hooks.yaml", hooks(command));
    for number in 0..30 {
        project.file(format!("d{number}/notes.txt"), "x");
    }
    trust(&project);
    let run = chat(&project, &[]);
    let is_there = |name: &str| project.path().join(name).exists();
    assert!(is_there("ran"), "{command} {run}");
    assert!(is_there(planted) && !is_there("evil"), "{planted} {run}");
    assert!(!is_there("happened"), "what it guards passes: {planted} {run}");
    let last = server.chats()[2].body["messages"].to_string();
    assert!(last.contains("came to scripts that you trust"), "{planted} {last}");
}

#[test]
fn what_a_trusted_hook_looks_for_in_vain_must_not_come() {
    if !has_bubblewrap() {
        return;
    }
    let python = "open('evil', 'w')";
    let lines = |start: char, numbers: std::ops::Range<u32>| {
        let lines = numbers.map(|number| format!(": {start}{number}\n"));
        lines.collect::<Vec<_>>().concat()
    };
    let (words, folders) = (lines('a', 100..200), lines('d', 0..30));
    let import = "python3 -c 'try: import opt\nexcept ImportError: pass'\ntouch ran\n";
    let optional = "try:\n    import extra.more\nexcept ImportError:\n    open('ran', 'w')\n";
    let library = "import pickle\nopen('ran', 'w')\n";
    let sourced = "if [ -f ./local.sh ]; then . ./local.sh; fi\ntouch ran\n";
    let required = ": 'try { require(\"./opt\") } catch (e) {}'\ntouch ran\n";
    let searched = format!("{words}export PYTHONPATH=zlibs; {import}");
    let many = format!("{folders}export PYTHONPATH=zlibs; {import}");
    for (guard, planted, evil) in [
        (("python3 h.py", "h.py", optional), "extra/more.py", python),
        (("python3 h.py", "h.py", library), "org/python/core.py", python),
        (("sh h.sh", "h.sh", sourced), "local.sh", "touch evil"),
        (("sh h.js", "h.js", required), "opt.js", "touch evil"),
        (("sh h.sh", "h.sh", &searched), "zlibs/opt.py", python),
        (("sh h.sh", "h.sh", &many), "zlibs/opt.py", python),
    ] {
        assert_kept_out(guard, planted, evil);
    }
}

#[test]
fn what_no_trusted_hook_would_find_stops_none() {
    if !has_bubblewrap() {
        return;
    }
    let server = model(
        "mkdir -p docs src/deep __pycache__; echo x > docs/a.md; echo x > src/deep/x.rs; \
         echo x > notes.txt; echo x > __pycache__/json.cpython-312.pyc",
    );
    let project = project_with(&server);
    project.file("h.py", "import json\nopen('ran', 'a').write('x')\n");
    project.file(".brynhild/hooks.yaml", hooks("python3 h.py"));
    trust(&project);
    let run = chat(&project, &[]);
    assert!(project.path().join("happened").exists(), "{run}");
    assert_eq!(project.read("ran"), "xx", "{run}");
}

#[test]
fn the_script_of_a_guard_that_is_removed_takes_no_guard_away() {
    if !has_bubblewrap() {
        return;
    }
    let guard = "import sys\nopen('ran', 'w')\n";
    let script = |path: &str| {
        let hook = json!({"name": "guard", "type": "script", "script": path});
        json!({"version": 1, "hooks": {"pre_tool_use": [hook]}}).to_string()
    };
    for change in ["rm tools/guard.py", "mv tools/guard.py tools/other"] {
        let server = model(change);
        let project = project_with(&server);
        project
            .file("tools/guard.py", guard)
            .file(".brynhild/hooks.yaml", script("tools/guard.py"));
        trust(&project);
        let run = chat(&project, &[]);
        assert!(!project.path().join("happened").exists(), "what it guards passes: {run}");
        let last = server.chats()[2].body["messages"].to_string();
        assert!(last.contains("could not be asked"), "{change} {last}");
    }
    let server = model("rm own/guard.py");
    let project = project_with(&server);
    project
        .file("own/plugin.yaml", "name: own\nversion: '1'\nhooks: true\n")
        .file("own/hooks.yaml", script("guard.py"))
        .file("own/guard.py", "import sys\n");
    project.brynhild(&["trust", "--plugin-dir", "own", "--yes"]).success();
    let run = chat(&project, &["--plugin-dir", "own"]);
    assert!(!project.path().join("happened").exists(), "what it guards passes: {run}");
    let last = server.chats()[2].body["messages"].to_string();
    assert!(last.contains("could not be asked"), "{last}");
}

#[test]
fn a_module_beside_a_script_without_an_ending_takes_the_trust() {
    let project = project();
    project.file("tools/check", "#!/usr/bin/env python3\nimport json\n");
    executable(&project, "tools/check");
    project.file(".brynhild/hooks.yaml", hooks("./tools/check"));
    trust(&project);
    project.brynhild(&["--require-trust", "hooks", "list"]).success();
    project.file("tools/gettext.py", "");
    project.brynhild(&["--require-trust", "hooks", "list"]).code(3);
}

#[test]
fn a_script_of_any_language_in_a_trusted_plugin_s_folder_is_compared_when_it_runs() {
    if !has_bubblewrap() {
        return;
    }
    let server = model("echo 'touch evil' > plug/hook.sh");
    let project = project_with(&server);
    let hook = json!({"type": "command", "command": "sh ${CLAUDE_PLUGIN_ROOT}/hook.sh"});
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}});
    project
        .file("plug/.claude-plugin/plugin.json", r#"{"name": "plug", "version": "1.0.0"}"#)
        .file("plug/hooks/hooks.json", hooks.to_string())
        .file("plug/hook.sh", ". ${CLAUDE_PLUGIN_ROOT}/lib.sh\n")
        .file("plug/lib.sh", "true\n");
    project.brynhild(&["trust", "--plugin-dir", "plug", "--yes"]).success();
    let run = chat(&project, &["--plugin-dir", "plug"]);
    let last = server.chats()[2].body["messages"].to_string();
    assert!(last.contains("is not what you trusted any more"), "{last} {run}");
    assert!(!project.path().join("evil").exists(), "{run}");
    assert!(!project.path().join("happened").exists(), "what it guards passes: {run}");
}

#[test]
fn a_file_that_a_plugin_of_the_project_names_elsewhere_is_compared_when_it_runs() {
    if !has_bubblewrap() {
        return;
    }
    let shout = || ("shout", json!({}));
    let change = json!({"command": "echo 'echo CHANGED' > tools/helper.sh"});
    let server = ModelServer::start([
        Reply::calls([shout()]),
        Reply::calls([("Bash", change)]),
        Reply::calls([shout()]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let schema = json!({"name": "shout", "description": "d"});
    let shout = format!(
        "#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{schema}'; exit; fi\nsh tools/helper.sh\n"
    );
    project.file(".brynhild/plugins/shout", shout).file("tools/helper.sh", "echo agreed\n");
    executable(&project, ".brynhild/plugins/shout");
    trust(&project);
    let run = chat(&project, &[]);
    let said = |chat: usize| server.chats()[chat].body["messages"].to_string();
    assert!(said(1).contains("agreed"), "{run}");
    assert!(!said(3).contains("CHANGED\\n"), "{run}");
    assert!(said(3).contains("is not what you trusted any more"), "{} {run}", said(3));
}
