//! The permission hooks, in both protocols.

use std::fs;

use serde_json::{Value, json};
use testkit::Reply;

use super::hooks::{hook_payloads, hooked, playing, result};

const POINTS: [&str; 4] = ["pre_file_read", "pre_file_write", "pre_shell_exec", "pre_fetch_url"];

/// The result of a call and the payloads of the hooks that answer with `answers`.
fn judged(call: (&str, Value), answers: &Value) -> (String, Vec<(String, Value)>) {
    let (project, server) = playing([Reply::calls([call]), Reply::text("ok")]);
    fs::write(project.home().join("outside.txt"), "from outside\n").unwrap();
    project.file("inside.txt", "from inside\n");
    hooked(&project, "guard", &POINTS, answers);
    project.brynhild(&["chat", "--yes", "go"]);
    (result(&server.chats()[1]), hook_payloads(&project, "guard"))
}

#[test]
fn a_write_is_refused_in_both_protocols() {
    let call = || ("Write", json!({"file_path": "a.txt", "content": "words"}));
    for (answer, reason) in [
        (json!({"denied": true, "reason": "not there"}), "not there"),
        (json!({"denied": true}), "denied by plugin"),
        (json!({"approved": false}), "denied by plugin"),
    ] {
        let (read, told) = judged(call(), &json!({"pre_file_write": answer}));
        assert_eq!(read, format!("Permission denied: {reason}"));
        let payload = json!({"tool_name": "write_file", "path": "a.txt", "content": "words"});
        assert_eq!(told, [("pre_file_write".to_owned(), payload)]);
    }
    for answer in [json!({"approved": true}), json!({"denied": false}), json!("text")] {
        let (read, _) = judged(call(), &json!({"pre_file_write": answer}));
        assert!(read.contains("Wrote 5 bytes"), "{read}");
    }
}

#[test]
fn edit_is_described_to_the_gate() {
    let edit = json!({"file_path": "inside.txt", "old_string": "inside", "new_string": "within"});
    let (read, told) = judged(("Edit", edit), &json!({"pre_file_write": {"denied": true}}));
    assert_eq!(read, "Permission denied: denied by plugin");
    assert_eq!(told[0].1["tool_name"], "file_edit");
    assert_eq!(told[0].1["operation"], "replace_string");
}

#[test]
fn refused_command_shows_only_the_reason() {
    let call = ("Bash", json!({"command": "echo hi"}));
    let answers = json!({"pre_shell_exec": {"denied": true, "reason": "no shell today"}});
    assert_eq!(judged(call, &answers).0, "no shell today");
}

#[test]
fn gate_judges_the_call_after_later_hooks() {
    let (project, server) =
        playing([Reply::calls([("Bash", json!({"command": "echo x"}))]), Reply::text("ok")]);
    hooked(&project, "guard", &["pre_shell_exec"], &json!({}));
    let directory = super::directory(&project).join("later");
    fs::create_dir_all(&directory).unwrap();
    let later = "from lmao.plugins import PLUGIN_API_VERSION\n\
                 PLUGIN = {'name': 'later', 'description': 'd', 'is_destructive': False, \
                 'api_version': PLUGIN_API_VERSION, 'hooks': {'pre_tool_execution': 'change'}}\n\
                 def change(ctx):\n    ctx.tool_args = {'command': 'echo changed'}\n\
                 def run(target, args, base, extra_roots, skill_roots, task_manager=None, \
                 debug_logger=None):\n    return ''\n";
    fs::write(directory.join("tool.py"), later).unwrap();
    let run = project.brynhild(&["chat", "--yes", "go"]);
    assert!(result(&server.chats()[1]).contains("changed"), "{run}");
    let told = hook_payloads(&project, "guard");
    let commands: Vec<&str> =
        told.iter().filter_map(|(_, payload)| payload["command"].as_str()).collect();
    assert_eq!(commands, ["echo x", "echo changed"], "{told:?}");
}

#[test]
fn read_gate_is_asked_only_outside_the_project() {
    let answers = json!({"pre_file_read": {"denied": true, "reason": "private"}});
    let (read, told) = judged(("Read", json!({"file_path": "inside.txt"})), &answers);
    assert!(read.contains("from inside") && told.is_empty(), "{read} {told:?}");
    let (read, told) = judged(("Read", json!({"file_path": "/etc/passwd"})), &answers);
    assert_eq!(read, "Permission denied: private", "{told:?}");
    assert_eq!(told[0].1["path"], "/etc/passwd");
}

#[test]
fn plugin_approval_does_not_override_rules() {
    let (project, server) =
        playing([Reply::calls([("Bash", json!({"command": "touch made"}))]), Reply::text("ok")]);
    hooked(&project, "guard", &POINTS, &json!({"pre_shell_exec": {"approved": true}}));
    project.brynhild(&["chat", "--mode", "ask", "go"]);
    assert!(result(&server.chats()[1]).contains("nobody can be asked"));
    assert!(!project.path().join("made").exists());
}

#[test]
fn role_tools_are_gated_by_their_actions() {
    let tools = json!([
        {"type": "shell"}, {"type": "python"}, {"type": "filesystem", "read_only": false},
        {"type": "http", "base_url": "http://127.0.0.1:9/", "allowed_methods": ["GET"]},
    ]);
    let refuse = |why: &str| json!({"denied": true, "reason": why});
    let answers = json!({
        "pre_shell_exec": refuse("no shell"), "pre_file_write": refuse("no file"),
        "pre_fetch_url": refuse("no net"),
    });
    for (tool, args, wanted) in [
        ("run_shell", json!({"command": "touch made"}), "no shell"),
        ("run_python", json!({"code": "open('made', 'w')"}), "no shell"),
        ("write_file", json!({"path": "made", "content": "x"}), "Permission denied: no file"),
        ("http_request", json!({"method": "GET", "path": "x"}), "Permission denied: no net"),
    ] {
        let (project, server) = playing([Reply::calls([(tool, args)]), Reply::text("ok")]);
        project.file("role.yaml", format!("name: r\nprompt: x\ntools: {tools}\n"));
        hooked(&project, "guard", &POINTS, &answers);
        project.brynhild(&["run", "role.yaml", "-p", "go", "--yes"]).success();
        assert_eq!(result(&server.chats()[1]), wanted, "{tool}");
        assert_eq!(hook_payloads(&project, "guard")[0].1["tool_name"], tool);
        assert!(!project.path().join("made").exists(), "{tool}");
    }
}
