//! Hooks of plugins and of a trusted project in a conversation, by their own rules.

use std::fs;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Recorded, Reply};

use super::{last_user, plugin, printed};
use crate::initrunner::Server;
use crate::{has_bubblewrap, project_with};

/// One command hook.
fn hook(event: &str, matcher: &str, command: &str) -> String {
    let handler = json!({"type": "command", "command": command});
    json!({"hooks": {event: [{"matcher": matcher, "hooks": [handler]}]}}).to_string()
}

/// A project whose model plays `replies`, with a plugin that has these hooks.
pub(super) fn playing(
    replies: impl IntoIterator<Item = Reply>,
    hooks: &str,
) -> (Project, ModelServer) {
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    plugin(&project, "guard", &[("hooks/hooks.json", hooks)]);
    (project, server)
}

pub(super) fn bash(command: &str) -> Reply {
    Reply::calls([("Bash", json!({"command": command}))])
}

/// The result of the last call that the model received.
pub(super) fn result(request: &Recorded) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

/// A command that answers with a value.
fn answering(value: &Value) -> String {
    format!("cat > /dev/null; cat <<'END'\n{value}\nEND")
}

#[test]
fn exit_code_two_blocks_a_call_with_a_reason() {
    let hooks = hook("PreToolUse", "Edit|Bash", "echo 'not today' >&2; exit 2");
    let (project, server) = playing([bash("touch made"), Reply::text("ok")], &hooks);
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(!project.path().join("made").exists());
    assert!(result(&server.chats()[1]).contains("not today"));
}

#[test]
fn hooks_test_and_list_describe_the_hooks() {
    let refuse = json!({"type": "command", "command": "echo 'not today' >&2; exit 2"});
    let hooks = json!({"hooks": {"PreToolUse": [
        {"matcher": "Bash", "description": "Guards the shell", "hooks": [refuse]},
        {"matcher": "Edit", "hooks": [{"type": "command", "command": "true"}]},
    ]}});
    let (project, _server) = playing([], &hooks.to_string());
    let tried = project.brynhild(&["hooks", "test", "PreToolUse", "--json"]).json();
    assert_eq!(tried["hooks"][0]["outcome"], json!({"block": "not today"}), "{tried}");
    assert_eq!(tried["hooks"][1]["outcome"], "no match", "{tried}");
    let tried = project.brynhild(&["hooks", "test", "PreToolUse", "--tool", "Edit"]);
    assert!(tried.success().stdout.contains("no objection"), "{tried}");
    let own = project.brynhild(&["hooks", "test", "pre_tool_use"]);
    assert!(own.success().stderr.contains("hooks test PreToolUse"), "{own}");
    project.brynhild(&["hooks", "test", "PreToolMuse"]).code(1);
    let shown = project.brynhild(&["plugin", "show", "guard"]);
    let wanted = "loaded hook of PreToolUse for Bash: Guards the shell";
    assert!(shown.success().stdout.contains(wanted), "{shown}");
    let listed = project.brynhild(&["hooks", "list"]);
    assert!(listed.success().stdout.contains("Guards the shell"), "{listed}");
}

#[test]
fn hooks_test_reports_a_broken_hook() {
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "echo broken >&2; exit 1"},
        {"type": "command", "command": "no-such-program-anywhere"},
        {"type": "command", "command": "cat > /dev/null; sleep 600", "timeout": 1},
        {"type": "command", "command": "true"},
    ]}]}});
    let (project, _server) = playing([], &hooks.to_string());
    let tried = project.brynhild(&["hooks", "test", "PreToolUse", "--json"]).json();
    let failed = |at: usize| tried["hooks"][at]["outcome"]["failed"].as_str().unwrap_or_default();
    assert!(failed(0).contains("exit code 1: broken"), "{tried}");
    assert!(failed(1).contains("exit code 127"), "{tried}");
    assert!(failed(2).contains("longer than 1 s"), "{tried}");
    assert_eq!(tried["hooks"][3]["outcome"], "no objection", "{tried}");
    let tried = project.brynhild(&["hooks", "test", "PreToolUse"]);
    assert!(tried.success().stdout.contains("exit code 1: broken"), "{tried}");
}

#[test]
fn other_matchers_and_exit_codes_do_not_block() {
    let hooks = json!({"hooks": {"PreToolUse": [
        {"matcher": "Edit", "hooks": [{"type": "command", "command": "exit 2"}]},
        {"matcher": "mcp__.*", "hooks": [{"type": "command", "command": "exit 2"}]},
        {"matcher": "Bash", "hooks": [
            {"type": "command", "command": "echo broken >&2; exit 1"},
            {"type": "command", "command": "exit 2", "if": "Bash(git *)"},
        ]},
    ]}});
    let (project, _server) = playing([bash("touch made"), Reply::text("ok")], &hooks.to_string());
    let run = project.brynhild(&["chat", "--yes", "go"]);
    run.success();
    assert!(project.path().join("made").exists());
    assert!(run.stderr.contains("exit code 1: broken"), "{run}");
}

#[test]
fn a_decision_denies_asks_and_rewrites_but_never_allows() {
    let decide = |decision: &str, more: Value| {
        let mut own = json!({"hookEventName": "PreToolUse", "permissionDecision": decision,
            "permissionDecisionReason": "said so"});
        own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook("PreToolUse", "Bash", &answering(&json!({"hookSpecificOutput": own})))
    };
    let replies = || [bash("touch made"), Reply::text("ok")];
    let (project, server) = playing(replies(), &decide("deny", json!({})));
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(result(&server.chats()[1]).contains("said so"));

    let rewritten = json!({"updatedInput": {"command": "touch other"}});
    let (project, _server) = playing(replies(), &decide("allow", rewritten));
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(project.path().join("other").exists() && !project.path().join("made").exists());

    let (project, _server) = playing(replies(), &decide("allow", json!({})));
    project.brynhild(&["chat", "--mode", "ask", "go"]);
    assert!(!project.path().join("made").exists(), "a hook cannot give permission");
}

#[test]
fn handler_input_has_the_documented_fields() {
    let hooks = hook("PreToolUse", "Write", "cat > \"$CLAUDE_PLUGIN_DATA/input.json\"");
    let write = Reply::calls([("Write", json!({"file_path": "a.txt", "content": "x"}))]);
    let (project, _server) = playing([write, Reply::text("ok")], &hooks);
    project.brynhild(&["chat", "--yes", "go"]).success();
    let data = project.config_directory().join("plugin-data/guard/input.json");
    let input: Value = serde_json::from_str(&fs::read_to_string(data).unwrap()).unwrap();
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(
        (&input["tool_name"], &input["permission_mode"]),
        (&json!("Write"), &json!("default"))
    );
    let path = project.path().canonicalize().unwrap();
    assert_eq!(input["tool_input"]["file_path"], json!(path.join("a.txt")));
    assert_eq!(input["cwd"], json!(path));
    assert!(input["session_id"].is_string() && input["tool_use_id"].is_string());
}

#[test]
fn hook_additions_reach_the_model_with_the_result() {
    let response = "python3 -c \"import json,sys; d=json.load(sys.stdin); \
                    print(json.dumps({'decision': 'block', 'reason': 'saw ' + d['tool_response']['stdout'].strip()}))\"";
    let (project, server) =
        playing([bash("echo hello"), Reply::text("ok")], &hook("PostToolUse", "Bash", response));
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(last_user(&server.chats()[1]).contains("saw hello"), "{}", server.chats()[1].text);
    let (project, server) = playing(
        [bash("exit 3"), Reply::text("ok")],
        &hook("PostToolUseFailure", "Bash", "echo 'it failed' >&2; exit 2"),
    );
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(last_user(&server.chats()[1]).contains("it failed"));
}

#[test]
fn hooks_extend_and_block_prompts() {
    let (project, server) =
        playing([Reply::text("ok")], &hook("UserPromptSubmit", "", "echo the moon is full"));
    project.brynhild(&["chat", "go"]).success();
    assert!(server.chats()[0].text.contains("the moon is full"));
    let block = answering(&json!({"decision": "block", "reason": "no secrets"}));
    let (project, server) = playing([Reply::text("ok")], &hook("UserPromptSubmit", "", &block));
    let run = project.brynhild(&["chat", "go"]);
    assert!(!run.status.success() && run.stderr.contains("no secrets"), "{run}");
    assert!(server.chats().is_empty());
}

#[test]
fn session_start_and_end_hooks_run() {
    let hooks = json!({"hooks": {
        "SessionStart": [
            {"matcher": "startup", "hooks": [{"type": "command", "command": "echo be kind"}]},
            {"matcher": "resume", "hooks": [{"type": "command", "command": "echo be brief"}]},
        ],
        "SessionEnd": [{"hooks": [{"type": "command",
            "command": "cat > \"$CLAUDE_PLUGIN_DATA/end.json\""}]}],
    }});
    let (project, server) = playing([Reply::text("ok")], &hooks.to_string());
    project.brynhild(&["chat", "go"]).success();
    let text = &server.chats()[0].text;
    assert!(text.contains("be kind") && !text.contains("be brief"), "{text}");
    let end = project.config_directory().join("plugin-data/guard/end.json");
    let input: Value = serde_json::from_str(&fs::read_to_string(end).unwrap()).unwrap();
    assert_eq!(input["reason"], "other");
}

#[test]
fn stop_hook_continues_the_turn() {
    let script = "python3 -c \"import json,sys; d=json.load(sys.stdin); \
                  t=[json.loads(l)['message'] for l in open(d['transcript_path'])]; \
                  last=[m for m in t if m['role'] == 'assistant'][-1]['content'][0]['text']; \
                  print('go on: ' + last, file=sys.stderr); \
                  sys.exit(0 if d['stop_hook_active'] and last == 'done' else 2)\"";
    let (project, server) =
        playing([Reply::text("early"), Reply::text("done")], &hook("Stop", "", script));
    let run = project.brynhild(&["chat", "go"]);
    run.success();
    assert!(run.stdout.contains("done"), "{run}");
    assert_eq!(server.chats().len(), 2, "{run}");
    assert!(last_user(&server.chats()[1]).contains("go on: early"));
    let transcripts = project.config_directory().join("sandbox/transcripts");
    assert_eq!(fs::read_dir(transcripts).unwrap().count(), 0);
}

#[test]
fn endless_stop_hook_is_overruled() {
    let server = ModelServer::start([Reply::text("done")]).repeat_last();
    let project = project_with(&server);
    plugin(&project, "guard", &[("hooks/hooks.json", &hook("Stop", "", "echo more >&2; exit 2"))]);
    let run = project.brynhild(&["chat", "go"]);
    run.success();
    assert_eq!(server.chats().len(), 9);
    assert!(run.stderr.contains("it ends anyway"), "{run}");
}

#[test]
fn late_or_missing_handler_decides_nothing() {
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": "sleep 60; exit 2", "timeout": 0.2},
        {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/none.sh"},
    ]}]}});
    let (project, _server) = playing([bash("touch made"), Reply::text("ok")], &hooks.to_string());
    let run = project.brynhild(&["chat", "--yes", "go"]);
    run.success();
    assert!(project.path().join("made").exists());
    assert!(run.stderr.contains("took longer than 0.2 s"), "{run}");
    assert!(run.stderr.contains("exit code 127"), "{run}");
}

#[test]
fn handlers_of_plugins_are_confined() {
    if !has_bubblewrap() {
        return;
    }
    let command = "touch made; touch \"$CLAUDE_PLUGIN_DATA/own\"; echo \"${SECRET_KEY:-none}\" > \
                   \"$CLAUDE_PLUGIN_DATA/secret\"";
    let (project, _server) = playing([Reply::text("ok")], &hook("SessionStart", "", command));
    let project = project.env("SECRET_KEY", "sesame");
    project.brynhild(&["chat", "go"]).success();
    let data = project.config_directory().join("plugin-data/guard");
    assert!(data.join("own").exists() && !project.path().join("made").exists());
    assert_eq!(fs::read_to_string(data.join("secret")).unwrap().trim(), "none");
}

#[test]
fn options_reach_programs_in_environment_and_arguments() {
    let manifest = json!({"name": "guard", "userConfig": {
        "who": {"type": "string", "title": "Who", "default": "nobody"}}});
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": "/bin/sh", "args": ["-c", "echo \"hello $0 $CLAUDE_PLUGIN_OPTION_WHO\"", "${user_config.who}"]},
    ]}]}});
    let server = ModelServer::start([Reply::text("ok")]);
    let project = project_with(&server);
    let files = [
        (".claude-plugin/plugin.json", &*manifest.to_string()),
        ("hooks/hooks.json", &hooks.to_string()),
    ];
    plugin(&project, "guard", &files);
    let who = "ann; touch fooled # $(touch fooled)";
    project.config_more(&format!("plugins:\n  guard:\n    who: '{who}'\n"));
    project.brynhild(&["chat", "go"]).success();
    let text = server.chats()[0].text.clone();
    assert!(text.contains(&format!("hello {who} {who}")), "{text}");
    assert!(!project.path().join("fooled").exists());
}

#[test]
fn hooks_of_a_project_run_once_it_is_trusted() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let project = project_with(&server);
    let command = "cat > \"$CLAUDE_PROJECT_DIR/input.json\"";
    project.file(".claude/settings.json", hook("SessionStart", "", command));
    let run = project.brynhild(&["chat", "go"]);
    assert!(!project.path().join("input.json").exists());
    assert!(run.stderr.contains(".claude/settings.json"), "{run}");
    project.brynhild(&["trust", "--yes"]).success();
    project.brynhild(&["chat", "go"]).success();
    assert_eq!(printed(&project, "input.json")["source"], "startup");
}

#[test]
fn hooks_are_notified_of_batches_and_compaction() {
    let write = r#"printf '%s\n' "$(cat)" >> "$CLAUDE_PLUGIN_DATA/told""#;
    let all = json!([{"hooks": [{"type": "command", "command": write}]}]);
    let on = |matcher: &str| json!([{"matcher": matcher, "hooks": all[0]["hooks"]}]);
    let hooks = json!({"hooks": {
        "PostToolBatch": all, "PreCompact": on("manual"), "PostCompact": on("manual|auto"),
        "SessionStart": on("clear|compact"), "SessionEnd": on("clear"),
    }});
    let replies = [
        bash("echo hi"),
        Reply::text("long ".repeat(2_000)),
        Reply::text("more ".repeat(2_000)),
        Reply::text("the gist"),
    ];
    let (project, _server) = playing(replies, &hooks.to_string());
    let lines = "first\nsecond\n/compact keep the names\n/clear\n";
    project.command(&["--plain", "--yes"]).stdin(lines).run().success();
    let file = project.config_directory().join("plugin-data/guard/told");
    let told = fs::read_to_string(file).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> =
        told.iter().map(|input| input["hook_event_name"].as_str().unwrap()).collect();
    let wanted = [
        "PostToolBatch",
        "PreCompact",
        "PostCompact",
        "SessionStart",
        "SessionEnd",
        "SessionStart",
    ];
    assert_eq!(names, wanted);
    assert_eq!(told[0]["tool_calls"][0]["tool_input"], json!({"command": "echo hi"}));
    assert_eq!(told[1]["trigger"], "manual");
    assert_eq!(told[1]["custom_instructions"], "keep the names");
    assert_eq!(told[2]["compact_summary"], "the gist");
    assert_eq!((&told[3]["source"], &told[5]["source"]), (&json!("compact"), &json!("clear")));
    assert_eq!(told[4]["reason"], "clear");
}

#[test]
fn hook_can_refuse_compaction() {
    let refuse = "echo not yet >&2; exit 2";
    let replies = [Reply::text("long ".repeat(2_000)), Reply::text("more ".repeat(2_000))];
    let (project, server) = playing(replies, &hook("PreCompact", "manual", refuse));
    let lines = "first\nsecond\n/compact\n";
    let run = project.command(&["--plain", "--yes"]).stdin(lines).run();
    assert!(run.success().stderr.contains("not compacted"), "{run}");
    assert!(run.stderr.contains("not yet"), "{run}");
    assert_eq!(server.chats().len(), 2);
}

#[test]
fn expansion_hook_runs_before_a_typed_command() {
    let handler = |matcher: &str, command: &str| json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]});
    let keep = r#"cat > "$CLAUDE_PLUGIN_DATA/told"; echo typed by a user"#;
    let refuse = "echo not this one >&2; exit 2";
    let hooks = json!({"hooks": {
        "UserPromptExpansion": [handler("greet", keep), handler("guard:stop", refuse)],
    }});
    let (project, server) = playing([Reply::text("ok"), Reply::text("ok")], &hooks.to_string());
    plugin(&project, "guard", &[("commands/greet.md", "Greet $0"), ("commands/stop.md", "Stop")]);
    project.brynhild(&["chat", "/greet Ann"]).success();
    let file = project.config_directory().join("plugin-data/guard/told");
    let told: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(told["hook_event_name"], "UserPromptExpansion");
    assert_eq!((&told["command_name"], &told["command_args"]), (&json!("greet"), &json!("Ann")));
    assert_eq!(
        (&told["command_source"], &told["prompt"]),
        (&json!("plugin:guard"), &json!("/greet Ann"))
    );
    let request = server.chats()[0].body["messages"].to_string();
    assert!(request.contains("Greet Ann") && request.contains("typed by a user"), "{request}");
    let run = project.brynhild(&["chat", "/guard:stop"]);
    assert!(!run.status.success() && run.stderr.contains("not this one"), "{run}");
    project.brynhild(&["chat", "Stop is a word"]).success();
    assert_eq!(server.chats().len(), 2);
}

#[test]
fn embedded_commands_run_after_the_expansion_hooks() {
    let handler = |matcher: &str, command: &str| json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]});
    let hooks = json!({"hooks": {
        "UserPromptExpansion": [handler("stop", "echo not this one >&2; exit 2")],
    }});
    let (project, server) = playing([Reply::text("ok")], &hooks.to_string());
    let runs = "---\nallowed-tools: Bash(touch:*), Bash(echo:*)\n---\n";
    let stop = format!("{runs}Stop !`touch ran`");
    let go = format!("{runs}Go $0 !`echo in 42` now");
    plugin(&project, "guard", &[("commands/stop.md", &stop), ("commands/go.md", &go)]);
    let run = project.brynhild(&["chat", "/stop"]);
    assert!(!run.status.success() && run.stderr.contains("not this one"), "{run}");
    assert!(!project.path().join("ran").exists(), "it was refused before anything ran");
    project.brynhild(&["chat", "/go far"]).success();
    let request = server.chats()[0].body["messages"].to_string();
    assert!(request.contains("Go far in 42 now"), "{request}");
}

#[test]
fn embedded_commands_are_judged_by_user_hooks() {
    let (project, server) = playing([Reply::text("ok")], "{}");
    let hooks = "hooks:\n  pre_tool_use:\n    - {name: mine, type: command, command: 'exit 1', \
                 match: {tool_input: {command: '*touch*'}}, message: no touch here}\n";
    fs::write(project.config_directory().join("hooks.yaml"), hooks).unwrap();
    let text =
        "---\nallowed-tools: Bash(touch:*), Bash(echo:*)\n---\nGo !`touch ran` and !`echo in 42`";
    plugin(&project, "guard", &[("commands/go.md", text)]);
    project.brynhild(&["chat", "/guard:go"]).success();
    assert!(!project.path().join("ran").exists());
    let request = last_user(&server.chats()[0]);
    assert!(
        request.contains("`touch ran` was not run: no touch here") && request.contains("in 42"),
        "{request}"
    );
}

#[test]
fn expansion_hook_recognizes_a_text_with_command_output() {
    let hooks = hook("UserPromptExpansion", "state", &noting("told"));
    let (project, server) = playing([Reply::text("ok")], &hooks);
    let text =
        "---\nallowed-tools: Bash(echo:*)\n---\nState: !`echo fine`\n\n```!\necho two\n```\n";
    plugin(&project, "guard", &[("commands/state.md", text)]);
    project.brynhild(&["chat", "/state now"]).success();
    assert!(last_user(&server.chats()[0]).contains("State: fine"), "{}", server.chats()[0].text);
    let told = noted(&project, "told");
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0]["command_args"], &told[0]["prompt"]),
        (&json!("now"), &json!("/state now"))
    );
    assert_eq!(told[0]["expansion_type"], "slash_command");
}

#[test]
fn notification_hook_runs_while_a_question_is_open() {
    let hooks = hook("Notification", "permission_prompt", "echo \"heard $(cat)\" >&2; exit 2");
    let (project, _server) = playing([bash("touch made"), Reply::text("ok")], &hooks);
    let terminal = project.terminal(&["--mode", "ask", "chat", "go"], (120, 40));
    terminal.wait_for("Answer [");
    terminal.wait_for("Brynhild needs your permission to use Bash");
    terminal.send("y\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(project.path().join("made").exists());
}

/// The lines that a hook has logged.
fn noted(project: &Project, name: &str) -> Vec<Value> {
    let file = project.config_directory().join("plugin-data/guard").join(name);
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A command that writes down what it reads.
fn noting(name: &str) -> String {
    format!("cat >> \"$CLAUDE_PLUGIN_DATA/{name}\"; echo >> \"$CLAUDE_PLUGIN_DATA/{name}\"")
}

#[test]
fn hooks_get_call_ids_and_typed_prompts() {
    let handler = |name: &str| json!([{"hooks": [{"type": "command", "command": noting(name)}]}]);
    let last = json!([{"hooks": [{
        "type": "command",
        "command": "cat $(cat | sed 's/.*\"transcript_path\":\"\\([^\"]*\\)\".*/\\1/') > \"$CLAUDE_PLUGIN_DATA/transcript\"",
    }]}]);
    let hooks = json!({"hooks": {
        "PreToolUse": handler("pre"), "PostToolUse": handler("post"),
        "PostToolBatch": handler("batch"), "UserPromptSubmit": handler("prompt"), "Stop": last,
    }});
    let twice = || Reply::calls([("Bash", json!({"command": "echo hi"}))]);
    let replies = [twice(), twice(), Reply::text("ok")];
    let (project, _server) = playing(replies, &hooks.to_string());
    project.brynhild(&["chat", "--yes", "plain prompt"]).success();
    let ids = |name: &str| -> Vec<Value> {
        noted(&project, name).iter().map(|told| told["tool_use_id"].clone()).collect()
    };
    assert_eq!(ids("pre"), ids("post"));
    assert_ne!(ids("pre")[0], ids("pre")[1]);
    let batch = &noted(&project, "batch")[0]["tool_calls"][0];
    assert_eq!((&batch["tool_use_id"], &batch["tool_response"]), (&ids("pre")[0], &json!("hi")));
    assert_eq!(noted(&project, "prompt")[0]["prompt"], "plain prompt");
    let lines = noted(&project, "transcript");
    assert_eq!(lines[0]["message"]["content"][0]["text"], "plain prompt");
    assert_eq!(
        (&lines[0]["parentUuid"], &lines[1]["parentUuid"]),
        (&Value::Null, &lines[0]["uuid"])
    );
    assert!(lines[1]["timestamp"].as_str().unwrap().ends_with('Z'), "{}", lines[1]);
    assert_eq!(lines[1]["message"]["content"][0]["id"], ids("pre")[0]);
}

#[test]
fn hook_can_end_the_turn() {
    for (event, answer) in [
        ("PreToolUse", json!({"continue": false, "stopReason": "enough"})),
        ("PostToolUse", json!({"continue": false, "stopReason": "enough"})),
        ("PostToolBatch", json!({"decision": "block", "reason": "enough"})),
    ] {
        let hooks = hook(event, "", &answering(&answer));
        let (project, server) = playing([bash("echo hi"), Reply::text("never said")], &hooks);
        let run = project.brynhild(&["chat", "--yes", "go"]);
        assert!(run.code(1).stderr.contains("the turn ends, because of hook"), "{event}: {run}");
        assert!(run.stderr.contains("enough"), "{event}: {run}");
        assert_eq!(server.chats().len(), 1, "{event}");
    }
}

#[test]
fn permission_hook_denies_and_is_notified_of_denials() {
    let deny = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "deny", "message": "not by me"}}});
    let handler = |command: String| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let hooks = json!({"hooks": {
        "PermissionRequest": handler(answering(&deny)),
        "PermissionDenied": handler(noting("denied")),
    }});
    let (project, server) = playing([bash("touch made"), Reply::text("ok")], &hooks.to_string());
    project.brynhild(&["chat", "--mode", "ask", "go"]);
    assert_eq!(result(&server.chats()[1]), "not by me");
    let told = &noted(&project, "denied")[0];
    assert_eq!((&told["tool_name"], &told["reason"]), (&json!("Bash"), &json!("not by me")));
    let (project, server) = playing([bash("ls"), Reply::text("ok")], &hooks.to_string());
    project.brynhild(&["chat", "go"]).success();
    assert!(!result(&server.chats()[1]).contains("not by me"), "nobody was to be asked about it");
}

#[test]
fn prompt_hook_asks_the_model() {
    let handler = json!({"type": "prompt", "prompt": "Is this fine? $ARGUMENTS"});
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}});
    let refused = Reply::text("{\"ok\": false, \"reason\": \"I would not\"}");
    let replies = [bash("touch made"), refused, Reply::text("ok")];
    let (project, server) = playing(replies, &hooks.to_string());
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(!project.path().join("made").exists());
    assert!(
        last_user(&server.chats()[1]).contains("Is this fine? {"),
        "{}",
        server.chats()[1].text
    );
    assert_eq!(result(&server.chats()[2]), "I would not");
}

#[test]
fn http_hook_reaches_only_granted_hosts() {
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "from afar"}});
    let judge = Server::start(move |_| (200, Vec::new(), answer.to_string()));
    let handler = json!({
        "type": "http", "url": format!("{}/hook", judge.url()),
        "headers": {"X-Key": "k-$TOKEN-$OTHER"}, "allowedEnvVars": ["TOKEN"],
    });
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}});
    let (project, server) = playing([bash("touch made"), Reply::text("ok")], &hooks.to_string());
    let project = project.env("TOKEN", "sesame").env("OTHER", "hush");
    let run = project.brynhild(&["chat", "--yes", "go"]);
    assert!(run.success().stderr.contains("it may not reach 127.0.0.1"), "{run}");
    assert!(project.path().join("made").exists(), "a hook that cannot be asked decides nothing");
    assert!(!result(&server.chats()[1]).contains("from afar") && judge.seen().is_empty());

    let (project, server) = playing([bash("touch made"), Reply::text("ok")], &hooks.to_string());
    let project = project.env("TOKEN", "sesame").env("OTHER", "hush");
    project.config_more(
        "api: {allow_private: [127.0.0.1]}\nplugins: {guard: {sandbox: {network: [127.0.0.1]}}}\n",
    );
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert_eq!(result(&server.chats()[1]), "from afar");
    let seen = judge.seen();
    assert_eq!(seen[0].header("x-key"), Some("k-sesame-"));
    let told: Value = serde_json::from_str(seen[0].body()).unwrap();
    assert_eq!(told["tool_input"]["command"], "touch made");
}

#[test]
fn hook_home_persists_between_runs() {
    let count = "mkdir -p ~/.homer ~/.config/homer && echo x >> ~/.homer/n && \
                 echo y >> ~/.config/homer/m && cat ~/.homer/n ~/.config/homer/m | tr -d '\\n'";
    let hooks = hook("UserPromptSubmit", "", count);
    let (project, server) = playing([Reply::text("ok"), Reply::text("ok")], &hooks);
    for _ in 0..2 {
        project.brynhild(&["chat", "hi"]).success();
    }
    let request = server.chats()[1].body["messages"].to_string();
    assert!(request.contains("xxyy"), "{request}");
    assert!(!project.home().join(".homer").exists());
}

#[test]
fn hooks_list_shows_hooks_of_claude_plugins() {
    let (project, _server) = playing([], &hook("PreToolUse", "Bash|Write", "exit 2"));
    let list = project.brynhild(&["hooks", "list"]);
    for word in ["PreToolUse", "Bash|Write", "guard", "exit 2"] {
        assert!(list.success().stdout.contains(word), "{word}: {list}");
    }
    let rows = project.brynhild(&["hooks", "list", "--event", "PreToolUse", "--json"]).json();
    assert_eq!(rows["claude_hooks"][0]["matcher"], "Bash|Write", "{rows}");
    assert!(rows["hooks"].as_array().unwrap().is_empty(), "{rows}");
}
