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
