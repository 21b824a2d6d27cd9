//! Guard hooks that change after the user trusted them: the calls that they guarded are refused, in
//! later prompts and later runs, until the user decides.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use super::trust;
use crate::{has_bubblewrap, project, project_with};

fn bash(project: &Project) -> Run {
    project.brynhild(&["tools", "exec", "Bash", "--input", r#"{"command": "ls"}"#])
}

fn glob(project: &Project) -> Run {
    project.brynhild(&["tools", "exec", "Glob", "--input", r#"{"pattern": "*"}"#])
}

/// Expects a guard of `Bash` alone to refuse until the user decides.
fn refuses(project: &Project, file: &str) {
    for _ in 0..2 {
        let run = bash(project);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert_ne!(run.status.code(), Some(0), "{run}");
        assert!(said.contains(file) && said.contains("changed since you trusted this"), "{run}");
        assert!(said.contains("run `brynhild trust`"), "{run}");
        glob(project).success();
    }
}

fn decides(project: &Project) {
    project.brynhild(&["trust", "--text-only"]).success();
    bash(project).success();
}

const HOOKS: &str = "hooks:\n  pre_tool_use:\n    - {name: guard, type: command, command: sh \
                     tools/guard.sh, match: {tool: Bash}}\n";

#[test]
fn changed_guard_refuses_its_calls_until_the_user_decides() {
    let project = project();
    project.file("tools/guard.sh", "exit 0\n").file(".brynhild/hooks.yaml", HOOKS);
    trust(&project);
    bash(&project).success();
    project.file("tools/guard.sh", "exit 0 # changed\n");
    refuses(&project, "tools/guard.sh");
    let shown = project.brynhild(&["trust"]);
    assert!(shown.stderr.contains("+exit 0 # changed"), "{shown}");
    decides(&project);
}

#[test]
fn removed_guard_refuses_its_calls_until_the_user_decides() {
    let project = project();
    project.file("tools/guard.sh", "exit 0\n").file(".brynhild/hooks.yaml", HOOKS);
    trust(&project);
    fs::remove_dir_all(project.path().join(".brynhild")).unwrap();
    refuses(&project, ".brynhild/hooks.yaml");
    trust(&project);
    bash(&project).success();
}

#[test]
fn changed_guard_of_a_plugin_refuses_its_calls() {
    let project = project();
    project
        .file(".brynhild/plugins/own/plugin.yaml", "name: own\nversion: '1'\nhooks: true\n")
        .file(".brynhild/plugins/own/hooks.yaml", HOOKS.replace("tools/", "../../tools/"))
        .file("tools/guard.sh", "exit 0\n");
    trust(&project);
    project.file(".brynhild/plugins/own/hooks.yaml", "hooks: {}\n");
    refuses(&project, ".brynhild/plugins/own/hooks.yaml");
    decides(&project);
}

#[test]
fn changed_guard_of_claude_settings_refuses_its_calls() {
    let hook = json!({"type": "command", "command": "sh .claude/hooks/guard.sh"});
    let hooks = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [hook]}],
        "UserPromptSubmit": [{"hooks": [hook]}],
    }});
    for file in [".claude/settings.json", ".brynhild/plugins/cl/hooks/hooks.json"] {
        let project = project();
        project
            .file(".brynhild/plugins/cl/.claude-plugin/plugin.json", r#"{"name": "cl"}"#)
            .file(".claude/hooks/guard.sh", "exit 0\n")
            .file(file, hooks.to_string());
        trust(&project);
        project.file(".claude/hooks/guard.sh", "exit 0 # changed\n");
        refuses(&project, ".claude/hooks/guard.sh");
        decides(&project);
    }
}

#[test]
fn changed_guard_of_a_chibi_plugin_refuses_its_calls() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let schema = json!({"name": "small", "description": "d", "hooks": ["pre_shell_exec"]});
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{schema}'; exit; fi\necho '{{}}'\n"
    );
    project.file(".brynhild/plugins/small", &script);
    let path = project.path().join(".brynhild/plugins/small");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    trust(&project);
    bash(&project).success();
    project.file(".brynhild/plugins/small", script + "# changed\n");
    refuses(&project, ".brynhild/plugins/small");
    decides(&project);
}

#[test]
fn changed_guard_of_an_lmao_plugin_refuses_its_calls() {
    if !has_bubblewrap() {
        return;
    }
    let plugin = "from lmao.plugins import PLUGIN_API_VERSION\n\
        PLUGIN = {'name': 'watch', 'description': 'd', 'is_destructive': False,\n\
        \x20         'api_version': PLUGIN_API_VERSION}\n\
        def run(target, args, base, extra_roots, skill_roots, **rest):\n    return '{}'\n\
        def see(ctx):\n    pass\n\
        HOOKS = {'pre_tool_execution': 'see'}\n";
    let project = project();
    let file = ".brynhild/plugins/watch/tool.py";
    project.file(file, plugin);
    trust(&project);
    bash(&project).success();
    project.file(file, format!("{plugin}# changed\n"));
    for _ in 0..2 {
        let run = bash(&project);
        assert_ne!(run.status.code(), Some(0), "{run}");
        assert!(run.stderr.contains(file), "{run}");
    }
    decides(&project);
}

#[test]
fn changed_file_that_guards_nothing_refuses_nothing() {
    let project = project();
    let hooks = "hooks:\n  post_tool_use:\n    - {name: a, type: command, command: sh go.sh}\n";
    project.file("go.sh", "exit 0\n").file(".brynhild/hooks.yaml", hooks);
    trust(&project);
    project.file("go.sh", "exit 1\n");
    let run = bash(&project);
    assert!(run.success().stderr.contains("this project changed since you trusted it"), "{run}");
}

/// A model that has `change` run and then something else.
fn model(change: &str) -> ModelServer {
    ModelServer::start([
        Reply::calls([("Bash", json!({"command": change}))]),
        Reply::calls([("Bash", json!({"command": "touch happened"}))]),
        Reply::text("done"),
    ])
}

fn chat(project: &Project, more: &[&str]) -> Run {
    let words = [&["--yes", "--mode", "yolo"], more, &["chat", "go"]].concat();
    project.brynhild(&words)
}

#[test]
fn guard_whose_script_is_removed_in_a_turn_refuses() {
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
        assert!(!project.path().join("happened").exists(), "the guarded call ran: {run}");
        let last = server.chats()[2].body["messages"].to_string();
        assert!(last.contains("could not be asked"), "{change} {last}");
    }
    let server = model("rm own/guard.py");
    let project = project_with(&server);
    project
        .file("own/plugin.yaml", "name: own\nversion: '1'\nhooks: true\n")
        .file("own/hooks.yaml", script("guard.py"))
        .file("own/guard.py", "import sys\n");
    let run = chat(&project, &["--plugin-dir", "own"]);
    assert!(!project.path().join("happened").exists(), "the guarded call ran: {run}");
    let last = server.chats()[2].body["messages"].to_string();
    assert!(last.contains("could not be asked"), "{last}");
}

#[test]
fn guard_changed_between_two_prompts_refuses_the_second() {
    let call = || Reply::calls([("Bash", json!({"command": "ls"}))]);
    let replies = [call(), Reply::text("first done"), call(), Reply::text("second done")];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    project.file("tools/guard.sh", "exit 0\n").file(".brynhild/hooks.yaml", HOOKS);
    trust(&project);
    let mut running = project.command(&["--plain", "--yes"]).spawn();
    running.send("one\n");
    running.wait_for_stdout("first done");
    project.file("tools/guard.sh", "exit 0 # changed\n");
    running.send("two\n");
    running.close_stdin();
    let run = running.wait();
    let result = |chat: usize| server.chats()[chat].body["messages"].to_string();
    assert!(!result(1).contains("tools/guard.sh changed"), "{run}");
    assert!(result(3).contains("tools/guard.sh changed since you trusted"), "{run}");
}
