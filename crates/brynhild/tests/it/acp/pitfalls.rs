//! The mistakes of other agents, each of which broke a client.

use std::fs;

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::Editor;
use super::shown::shown;
use crate::mcp::SERVER;
use crate::{has_bubblewrap, project_with};

#[test]
fn nothing_else_is_printed_on_standard_output() {
    let server = ModelServer::start([Reply::text("Hi.")]);
    let project = project_with(&server);
    project.file(".mcp.json", "{broken").config_more("unknown_key: 3\n");
    project.file(".brynhild/commands/x.md", "---\nbroken: [\n---\n");
    let mut editor = Editor::start(&project, &["--verbose"]);
    let session = editor.open(&project);
    editor.prompt(&session, "/help");
    editor.prompt(&session, "/status");
    editor.prompt(&session, "/context");
    editor.prompt(&session, "hi");
    let run = editor.end();
    run.json_lines();
    assert!(run.stderr.contains("unknown_key"), "{run}");
}

/// A plugin whose tool prints wherever it can.
const NOISY: &str = r#"
import os
print("imported")
os.write(1, b"raw\n")
from brynhild.tools.base import Tool as Base, ToolResult
class Tool(Base):
    name = "Noise"
    description = "Prints"
    input_schema = {"type": "object", "properties": {}}
    requires_permission = False
    async def execute(self, input):
        print("running")
        os.system("echo child")
        return ToolResult(True, "fine")
"#;

#[test]
fn output_of_plugins_stays_off_standard_output() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([Reply::calls([("Noise", json!({}))]), Reply::text("Done.")]);
    let project = project_with(&server);
    let plugin = project.config_directory().join("plugins/noisy");
    fs::create_dir_all(plugin.join("tools")).unwrap();
    let manifest = "name: noisy\nversion: 1.0.0\ndescription: Prints\ntools: [noise]\n";
    fs::write(plugin.join("plugin.yaml"), manifest).unwrap();
    fs::write(plugin.join("tools/noise.py"), NOISY).unwrap();
    let mut editor = Editor::start(&project, &["--verbose"]);
    let session = editor.open(&project);
    assert_eq!(editor.prompt(&session, "go")["stopReason"], "end_turn");
    assert_eq!(editor.statuses().last().unwrap(), "completed", "{:?}", editor.updates);
    let run = editor.end();
    run.json_lines();
    for words in ["imported", "raw", "running", "child"] {
        assert!(run.stderr.contains(words), "{run}");
    }
}

#[test]
fn commands_follow_the_answer_that_names_the_session() {
    let server = ModelServer::start([Reply::text("Hi.")]);
    let project = project_with(&server);
    project.file(
        ".brynhild/commands/deploy.md",
        "---\nname: deploy\ndescription: Deploys\n---\nDeploy {{args}}",
    );
    let mut editor = Editor::start(&project, &[]);
    let mut session = String::new();
    for method in ["session/new", "session/load", "session/resume"] {
        let mut params = json!({"cwd": project.path(), "mcpServers": []});
        if method != "session/new" {
            params["sessionId"] = json!(session);
        }
        let id = editor.send(method, params);
        let answer = loop {
            let line = editor.any();
            if line.get("id").is_some() {
                break line;
            }
            let kind = line["params"]["update"]["sessionUpdate"].clone();
            assert_ne!(kind, "available_commands_update", "{method}");
        };
        assert_eq!(answer["id"], id);
        if let Some(opened) = answer["result"]["sessionId"].as_str() {
            session = opened.to_owned();
        }
        let update = editor.wait_for(|_| true);
        let commands = update["availableCommands"].as_array().unwrap();
        let has = |name: &str| commands.iter().any(|it| it["name"] == name);
        assert!(has("deploy") && has("compact") && !has("quit"), "{update}");
        if method == "session/new" {
            editor.prompt(&session, "/deploy now");
            assert!(server.chats()[0].body["messages"].to_string().contains("Deploy now"));
        }
    }
    editor.end();
}

#[test]
fn replayed_calls_have_titles_kinds_and_content() {
    let call = Reply::calls([("Bash", json!({"command": "echo out"}))]).thinking("Hm.");
    let server = ModelServer::start([call, Reply::text("Done.")]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    editor.prompt(&session, "run");
    let live = shown(&std::mem::take(&mut editor.updates));
    let params = json!({"sessionId": session, "cwd": project.path(), "mcpServers": []});
    editor.result("session/load", params);
    let replayed = shown(&editor.updates);
    assert_eq!(live, replayed);
    let calls = replayed["calls"].as_object().unwrap();
    let call = calls.values().next().unwrap();
    assert_eq!((&call["kind"], &call["title"]), (&json!("execute"), &json!("`echo out`")));
    assert!(call["content"].to_string().contains("out"), "{call}");
    editor.end();
}

#[test]
fn cancelled_turn_reports_no_usage_and_no_error() {
    let server = ModelServer::start([
        Reply::text("This takes long.").stall_at(40),
        Reply::text("Hi.").usage(5, 5),
    ]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    let id = editor.begin(&session, "go");
    server.wait_for_stalls(1);
    editor.notify("session/cancel", json!({"sessionId": session}));
    let answer = editor.next();
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"], json!({"stopReason": "cancelled"}));
    assert!(editor.updates.iter().all(|it| it["sessionUpdate"] != "usage_update"));
    assert_eq!(editor.prompt(&session, "go")["stopReason"], "end_turn");
    editor.end();
}

#[test]
fn servers_of_the_client_work_confined_and_are_not_stored() {
    let echo = Reply::calls([("mcp__theirs__echo", json!({"text": "ping"}))]);
    let server = ModelServer::start([echo, Reply::text("Done.")]);
    let project = project_with(&server);
    project.file("server.py", SERVER);
    let script = project.path().join("server.py");
    // A program has no `type`. One that cannot start, and one by SSE, do not keep the session away.
    let servers = json!([
        {"name": "theirs", "command": "python3", "args": [script], "env": [{"name": "KEY", "value": "sesame"}]},
        {"name": "broken", "command": "/does/not/exist", "args": [], "env": []},
        {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/", "headers": []},
    ]);
    let mut editor = Editor::start(&project, &[]);
    let params = json!({"cwd": project.path(), "mcpServers": servers});
    let opened = editor.result("session/new", params);
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    editor.begin(&session, "use it");
    let mut line = editor.next();
    if line["method"] == "session/request_permission" {
        editor.answer(&line, json!({"outcome": "selected", "optionId": "once"}));
        line = editor.next();
    }
    assert_eq!(line["result"]["stopReason"], "end_turn");
    assert_eq!(editor.statuses().last().unwrap(), "completed", "{:?}", editor.updates);
    let run = editor.end();
    assert!(!project.config_directory().join("mcp.json").exists());
    assert!(!run.stdout.contains("sesame") && !run.stderr.contains("sesame"));
    let listed = project.brynhild(&["mcp", "list", "--json"]).json();
    assert_eq!(listed["servers"], json!([]), "{listed}");
}

#[test]
fn name_of_an_own_server_is_not_given_away() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    project.file("server.py", SERVER);
    project.brynhild(&["mcp", "add", "test", "--", "python3", "server.py"]).success();
    let mut editor = Editor::start(&project, &[]);
    let servers = json!([{"name": "test", "command": "evil", "args": [], "env": []}]);
    editor.result("session/new", json!({"cwd": project.path(), "mcpServers": servers}));
    let run = editor.end();
    assert!(run.stderr.contains("has a server `test`"), "{run}");
}

#[test]
fn files_and_terminals_of_the_client_are_not_used() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([
        Reply::calls([("Write", json!({"file_path": "a.txt", "content": "x"}))]),
        Reply::calls([("Bash", json!({"command": "cat a.txt"}))]),
        Reply::text("Done."),
    ]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let capabilities =
        json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true});
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    editor.result("initialize", params);
    let session = editor.open(&project);
    // Any request of ours would be the next line in place of the answer.
    assert_eq!(editor.prompt(&session, "go")["stopReason"], "end_turn");
    assert_eq!(project.read("a.txt"), "x");
    editor.end();
}

#[test]
fn mode_update_names_the_current_mode_as_the_schema_does() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    editor.prompt(&session, "/mode read-only");
    let update = editor.updates.iter().find(|it| it["sessionUpdate"] == "current_mode_update");
    assert_eq!(update.unwrap()["currentModeId"], "read-only");
    editor.end();
}

#[test]
fn untrusted_project_runs_nothing_of_its_own() {
    let server = ModelServer::start([Reply::text("Hi.")]);
    let project = project_with(&server);
    project.file("server.py", SERVER);
    let own = json!({"mcpServers": {"own": {"command": "touch", "args": ["planted"]}}});
    project.file(".mcp.json", own.to_string());
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    editor.prompt(&session, "hi");
    let run = editor.end();
    assert!(!project.path().join("planted").exists());
    assert!(run.stderr.contains("brynhild trust"), "{run}");
}
