//! Hooks of chibi plugins: the payload of each point and the effect of each answer.

use std::fs;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Recorded, Reply};

use super::{directory, script};
use crate::project_with;

/// A plugin that wants these points, writes down what it is told, and answers with `answers`, by
/// point.
pub(super) fn hooked(project: &Project, name: &str, points: &[&str], answers: &Value) {
    let text = format!(
        r#"#!/usr/bin/env python3
import json, os, sys
if "--schema" in sys.argv:
    print(json.dumps({{"name": "{name}_tool", "description": "d", "hooks": {points}}}))
    sys.exit()
told = sys.stdin.read()
hook = os.environ.get("CHIBI_HOOK")
if hook is None:
    print("tool result")
    sys.exit()
assert "CHIBI_TOOL_NAME" not in os.environ and "CHIBI_HOOK_DATA" not in os.environ
with open(os.environ["BRYNHILD_PLUGIN_DATA"] + "/told", "a") as file:
    file.write(json.dumps([hook, json.loads(told), os.environ.get("CHIBI_CONTEXT")]) + "\n")
answer = json.loads({answers:?}).get(hook)
if answer is not None:
    print(answer if isinstance(answer, str) else json.dumps(answer))
"#,
        points = json!(points),
        answers = answers.to_string(),
    );
    script(&directory(project).join(name), &text);
}

/// The calls of the hooks of a plugin: the point and the payload.
pub(super) fn hook_payloads(project: &Project, name: &str) -> Vec<(String, Value)> {
    let file = project.config_directory().join("plugin-data").join(name).join("told");
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(value[2].is_string(), "{line}");
        (value[0].as_str().unwrap().to_owned(), value[1].clone())
    };
    text.lines().map(line).collect()
}

/// A project whose model plays these replies.
pub(super) fn playing(replies: impl IntoIterator<Item = Reply>) -> (Project, ModelServer) {
    let server = ModelServer::start(replies);
    (project_with(&server), server)
}

/// The result of the last call that the model received.
pub(super) fn result(request: &Recorded) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

fn bash(command: &str) -> Reply {
    Reply::calls([("Bash", json!({"command": command}))])
}

#[test]
fn hooks_of_a_turn_run_in_order_with_their_payload() {
    let (project, server) = playing([bash("echo hi"), Reply::text("the answer")]);
    let points = [
        "on_start",
        "on_end",
        "pre_message",
        "post_message",
        "pre_system_prompt",
        "post_system_prompt",
        "pre_tool",
        "post_tool",
        "pre_tool_output",
        "post_tool_output",
        "pre_shell_exec",
        "pre_agentic_loop",
        "pre_api_request",
    ];
    hooked(&project, "watch", &points, &json!({"pre_tool": "no JSON", "post_tool": "{}"}));
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert_eq!(result(&server.chats()[1]), "hi");
    let told = hook_payloads(&project, "watch");
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "on_start",
            "pre_message",
            "pre_agentic_loop",
            "pre_system_prompt",
            "post_system_prompt",
            "pre_api_request",
            "pre_tool",
            "pre_shell_exec",
            "pre_tool_output",
            "post_tool_output",
            "post_tool",
            "pre_api_request",
            "post_message",
            "on_end",
        ]
    );
    let payload = |name: &str| told.iter().find(|(point, _)| point == name).unwrap().1.clone();
    let root = project.path().canonicalize().unwrap();
    let start = payload("on_start");
    assert_eq!((&start["project_root"], &start["tool_count"]), (&json!(root), &json!(1)));
    assert_eq!(payload("on_end"), start);
    assert_eq!(payload("pre_message")["prompt"], "go");
    let context = payload("pre_message")["context_name"].clone();
    assert_eq!(
        payload("post_message"),
        json!({"prompt": "go", "response": "the answer", "context_name": context})
    );
    let args = json!({"command": "echo hi"});
    assert_eq!(payload("pre_tool"), json!({"tool_name": "Bash", "arguments": args}));
    assert_eq!(payload("pre_shell_exec"), json!({"tool_name": "shell_exec", "command": "echo hi"}));
    assert_eq!(
        payload("pre_tool_output"),
        json!({"tool_name": "Bash", "arguments": args, "output": "hi"})
    );
    assert_eq!(
        payload("post_tool"),
        json!({"tool_name": "Bash", "arguments": args, "result": "hi", "cached": false})
    );
    assert_eq!(payload("post_tool_output")["final_output"], "hi");
}

#[test]
fn hooks_replace_the_prompt_and_extend_the_system_prompt() {
    let (project, server) = playing([Reply::text("ok")]);
    let points = ["pre_message", "pre_system_prompt", "post_system_prompt"];
    let says = |word: &str| {
        json!({
            "pre_message": {"prompt": format!("prompt {word}")},
            "pre_system_prompt": {"inject": format!("top {word}")},
            "post_system_prompt": {"inject": format!("end {word}")},
        })
    };
    hooked(&project, "a", &points, &says("a"));
    hooked(&project, "b", &points, &says("b"));
    project.brynhild(&["chat", "go"]).success();
    let messages = server.chats()[0].body["messages"].clone();
    let system = messages[0]["content"].as_str().unwrap().to_owned();
    assert!(system.starts_with("top b\n\ntop a\n\n"), "{system}");
    assert!(system.ends_with("\n\nend a\n\nend b"), "{system}");
    assert_eq!(messages[1]["content"], "prompt b");
    let seen = &hook_payloads(&project, "b")[0].1;
    assert_eq!(seen["prompt"], "go", "every hook sees the original");
}

#[test]
fn hook_blocks_or_changes_a_call_and_its_output() {
    let cases = [
        (json!({"pre_tool": {"block": true}}), "Tool call blocked by hook"),
        (json!({"pre_tool": {"block": true, "message": "no way"}}), "no way"),
        (json!({"pre_tool": {"arguments": {"command": "echo other"}}}), "other"),
        (json!({"pre_tool_output": {"output": "[hidden]"}}), "[hidden]"),
        (json!({"pre_tool_output": {"block": true}}), "Output blocked by hook"),
        (json!({"pre_tool_output": {"block": true, "message": "psst"}}), "psst"),
    ];
    for (answers, wanted) in cases {
        let (project, server) = playing([bash("echo secret"), Reply::text("ok")]);
        hooked(&project, "h", &["pre_tool", "pre_tool_output"], &answers);
        project.brynhild(&["chat", "--yes", "go"]).success();
        assert_eq!(result(&server.chats()[1]), wanted, "{answers}");
    }
}

#[test]
fn crashed_hook_is_ignored_and_late_guard_blocks() {
    let guard = |body: &str| {
        let (project, server) = playing([bash("echo ran"), Reply::text("ok")]);
        let says = json!({"name": "g", "description": "d", "hooks": ["pre_tool"]});
        super::plugin(&project, "g", &says, body);
        project.config_more("plugins: {g: {timeout: 1}}\n");
        let run = project.brynhild(&["chat", "--yes", "go"]);
        (result(&server.chats()[1]), run)
    };
    let (read, run) = guard("echo '{\"block\": true}'; echo oops >&2; exit 1");
    assert_eq!(read, "ran", "{run}");
    assert!(run.stderr.contains("plugin g: oops"), "{run}");
    let (read, run) = guard("sleep 2222");
    assert!(read.contains("timed out after 1s"), "{read}\n{run}");
}

#[test]
fn a_hook_of_two_tools_fires_for_each() {
    let (project, _server) = playing([Reply::text("ok")]);
    let tool = |name: &str| json!({"name": name, "description": "d", "hooks": ["pre_message"]});
    let body = "[ -n \"$CHIBI_HOOK\" ] && echo x >> \"$BRYNHILD_PLUGIN_DATA/fired\"";
    super::plugin(&project, "two", &json!([tool("a"), tool("b")]), body);
    project.brynhild(&["chat", "go"]).success();
    let fired = project.config_directory().join("plugin-data/two/fired");
    assert_eq!(fs::read_to_string(fired).unwrap(), "x\nx\n");
}

#[test]
fn plugin_show_names_unsupported_hooks() {
    let (project, _server) = playing([]);
    let points = ["pre_tool", "pre_agentic_loop", "post_index_file", "on_context_switch"];
    hooked(&project, "mixed", &points, &json!({}));
    let run = project.brynhild(&["plugin", "show", "mixed"]);
    run.success();
    for line in [
        "dialect: chibi",
        "tool mixed_tool",
        "hook pre_tool",
        "hook pre_agentic_loop: its answer has no effect: there is no fuel and no fallback tool",
        "hook post_index_file: no counterpart: there is no index of the project's code",
    ] {
        assert!(run.stdout.lines().any(|shown| shown == line), "{line}: {run}");
    }
    assert!(run.stderr.contains("Unknown hook 'on_context_switch' in tool 'mixed_tool'"), "{run}");
}

#[test]
fn post_tool_hook_gets_the_original_arguments() {
    let (project, _server) = playing([bash("echo asked"), Reply::text("ok")]);
    let answers = json!({"pre_tool": {"arguments": {"command": "seq 1 20000 | tr -d '\\n'"}}});
    let points = ["pre_tool", "post_tool_output", "post_tool"];
    hooked(&project, "watch", &points, &answers);
    project.brynhild(&["chat", "--yes", "go"]).success();
    let told = hook_payloads(&project, "watch");
    let of = |point: &str| told.iter().find(|(name, _)| name == point).unwrap().1.clone();
    assert_eq!(of("post_tool")["arguments"], json!({"command": "echo asked"}));
    assert!(of("post_tool")["result"].as_str().unwrap().starts_with("1234567"));

    let (project, server) = playing([Reply::calls([("long_tool", json!({}))]), Reply::text("ok")]);
    let schema = r#"{"name": "long_tool", "description": "d"}"#;
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --schema ] && echo '{schema}' && exit\nhead -c 300000 /dev/zero | tr '\\0' x\n"
    );
    script(&directory(&project).join("long"), &text);
    hooked(&project, "watch", &points[1..], &json!({}));
    project.brynhild(&["chat", "--yes", "go"]).success();
    let told = super::hooks::hook_payloads(&project, "watch");
    let of = |point: &str| told.iter().find(|(name, _)| name == point).unwrap().1.clone();
    assert_eq!(
        (&of("post_tool")["cached"], &of("post_tool_output")["cached"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(of("post_tool")["result"].as_str().unwrap().len(), 300_000);
    let last = of("post_tool_output")["final_output"].as_str().unwrap().len();
    assert!(last < 60_000 && result(&server.chats()[1]).len() < 60_000, "{last}");
}

#[test]
fn write_hook_runs_for_every_writing_tool() {
    let write = Reply::calls([("Write", json!({"file_path": "a.txt", "content": "words"}))]);
    let (project, _server) = playing([write, Reply::text("ok")]);
    hooked(&project, "watch", &["pre_vfs_write", "post_vfs_write"], &json!({}));
    project.brynhild(&["chat", "--yes", "go"]).success();
    let told = hook_payloads(&project, "watch");
    let path = json!(project.path().canonicalize().unwrap().join("a.txt"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((&told[0].1["path"], &told[0].1["content"]), (&path, &json!("words")));
    assert_eq!((told[1].0.as_str(), &told[1].1["path"]), ("post_vfs_write", &path));
}
