//! Handlers of hooks that have something done for them: a tool of a server, and an agent.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::hooks::{bash, playing, result};
use super::{SERVER, last_user, plugin};
use crate::project_with;

/// A server whose `echo` returns its input.
fn parrot() -> String {
    SERVER.replace("\"said: \" + ", "")
}

/// Hooks before `Bash` with this handler.
fn before_bash(handler: &Value) -> String {
    json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}}).to_string()
}

/// A handler that has a server's tool refuse the call, naming its command.
fn refusing(server: &str) -> Value {
    let words = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "saw ${tool_input.command}"}}"#;
    json!({"type": "mcp_tool", "server": server, "tool": "echo", "input": {"text": words}})
}

/// A plugin `guard` with a server of its own and a handler that calls it.
fn with_own_server() -> (Project, ModelServer) {
    let replies = [bash("touch made"), Reply::text("ok")];
    let (project, server) = playing(replies, &before_bash(&refusing("db")));
    let described =
        json!({"db": {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}});
    let files = [(".mcp.json", described.to_string()), ("server.py", parrot())];
    plugin(&project, "guard", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    (project, server)
}

#[test]
fn plugin_hook_calls_the_server_of_its_plugin() {
    let (project, server) = with_own_server();
    project.config_more("permissions: {allow: [\"Bash(touch *)\"]}\n");
    project.brynhild(&["chat", "go"]).success();
    assert!(!project.path().join("made").exists());
    assert_eq!(result(&server.chats()[1]), "saw touch made");
    let show = project.brynhild(&["plugin", "show", "guard"]);
    assert!(!show.stdout.contains("ignored"), "{show}");
}

#[test]
fn deny_rule_applies_to_calls_of_a_hook() {
    let (project, server) = with_own_server();
    project.config_more("permissions: {deny: [mcp__plugin_guard_db__echo]}\n");
    let run = project.brynhild(&["chat", "--yes", "go"]);
    assert!(
        run.success().stderr.contains("mcp__plugin_guard_db__echo: Permission denied"),
        "{run}"
    );
    assert!(project.path().join("made").exists(), "a hook that cannot be asked decides nothing");
    assert!(!result(&server.chats()[1]).contains("saw"));
}

#[test]
fn hook_calls_a_foreign_server_only_if_a_rule_allows() {
    for (rules, is_let) in
        [("[\"Bash(touch *)\"]", false), ("[\"Bash(touch *)\", mcp__test__echo]", true)]
    {
        let replies = [bash("touch made"), Reply::text("ok")];
        let (project, server) = playing(replies, &before_bash(&refusing("test")));
        project.file("server.py", parrot());
        project.brynhild(&["mcp", "add", "test", "--", "python3", "server.py"]).success();
        project.config_more(&format!("permissions: {{allow: {rules}}}\n"));
        let run = project.brynhild(&["chat", "go"]);
        run.success();
        assert_eq!(project.path().join("made").exists(), !is_let, "{run}");
        assert_eq!(result(&server.chats()[1]).contains("saw touch made"), is_let);
        assert_eq!(run.stderr.contains("this agent cannot ask"), !is_let, "{run}");
    }
}

#[test]
fn hook_with_an_unknown_server_is_reported() {
    let replies = [bash("touch made"), Reply::text("ok")];
    let (project, _server) = playing(replies, &before_bash(&refusing("none")));
    let run = project.brynhild(&["chat", "--yes", "go"]);
    assert!(run.success().stderr.contains("there is no MCP server here"), "{run}");
    assert!(project.path().join("made").exists());
}

#[test]
fn agent_hook_runs_under_rules_and_hooks() {
    let agent = json!({"type": "agent", "prompt": "May it? $ARGUMENTS", "model": "haiku"});
    let guard = json!({"type": "command", "command": "grep -q hidden && exit 2; exit 0"});
    let hooks = json!({"hooks": {"PreToolUse": [
        {"matcher": "*", "hooks": [agent]},
        {"matcher": "Read", "hooks": [guard]},
    ]}});
    let look = Reply::calls([
        ("Read", json!({"file_path": "rules.txt"})),
        ("Read", json!({"file_path": "hidden.txt"})),
        ("Bash", json!({"command": "touch made-by-agent"})),
    ]);
    let refused = Reply::text("I read it.\n{\"ok\": false, \"reason\": \"the rules say no\"}");
    let server = ModelServer::start([bash("echo hi"), look, refused, Reply::text("ok")]);
    let project = project_with(&server);
    project.file("rules.txt", "nobody says hi").file("hidden.txt", "a secret");
    project.config_more("permissions: {allow: [\"Bash(echo *)\"]}\n");
    plugin(&project, "guard", &[("hooks/hooks.json", &hooks.to_string())]);
    project.brynhild(&["chat", "--mode", "ask", "go"]).success();
    let chats = server.chats();
    assert!(last_user(&chats[1]).contains("May it? {"), "{}", chats[1].text);
    assert_eq!(chats[1].body["model"], chats[0].body["model"], "the usual model answers");
    let read: Vec<&str> = chats[2].body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert!(read[0].contains("nobody says hi"), "{read:?}");
    assert!(!read[1].contains("a secret"), "{read:?}");
    assert!(
        read[2].contains("this agent cannot ask") && !project.path().join("made-by-agent").exists()
    );
    assert_eq!(result(&chats[3]), "the rules say no");
    assert_eq!(chats.len(), 4, "an agent of a hook sends no further ones");
}
