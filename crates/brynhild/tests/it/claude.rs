//! Plugins for Claude Code and Agent Plugins, through the shipped program: what is
//! found and typed here, hooks in `hooking`.

mod hook_services;
mod hooks;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Recorded, Reply};

use crate::{project, project_with};

const SERVER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py"));

/// Puts the files of a plugin into the home.
fn plugin(project: &Project, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = project.config_directory().join("plugins").join(name);
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn manifest(name: &str) -> (&'static str, String) {
    (".claude-plugin/plugin.json", json!({"name": name, "version": "1.0.0"}).to_string())
}

/// The last message of the user.
fn last_user(request: &Recorded) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let message = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    message["content"].as_str().unwrap().to_owned()
}

/// The message that a typed line becomes.
fn sent(project: &Project, server: &ModelServer, line: &str) -> String {
    project.brynhild(&["chat", line]).success();
    last_user(server.chats().last().unwrap())
}

fn typed(project: &Project) -> Vec<String> {
    let list = project.brynhild(&["command", "list", "--json"]).json();
    let commands = list["commands"].as_array().unwrap().iter();
    commands.filter_map(|command| command["typed"].as_str().map(str::to_owned)).collect()
}

#[test]
fn commands_are_typed_by_their_files_names_and_take_arguments() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let project = project_with(&server);
    let (path, text) = manifest("demo");
    plugin(
        &project,
        "directory-name",
        &[
            (path, &text),
            (
                "commands/greet.md",
                "---\ndescription: Greets\nargument-hint: [who] [how]\n---\nGreet $0 in $1: $ARGUMENTS",
            ),
            ("commands/git/log.md", "Show the log from ${CLAUDE_PLUGIN_ROOT}"),
        ],
    );
    let typed = typed(&project);
    assert!(
        typed.contains(&"/greet".to_owned()) && typed.contains(&"/git:log".to_owned()),
        "{typed:?}"
    );
    let text = sent(&project, &server, "/demo:greet Ann 'a hurry'");
    assert_eq!(text, "Greet Ann in a hurry: Ann 'a hurry'");
    let text = sent(&project, &server, "/demo:git:log now");
    assert!(text.ends_with("plugins/directory-name\n\nARGUMENTS: now"), "{text}");
    let list = project.brynhild(&["command", "list"]);
    assert!(list.stdout.contains("[who] [how]"), "{list}");
}

#[test]
fn a_text_names_the_session_and_the_effort() {
    let learn = Reply::calls([("LearnSkill", json!({"skill": "place"}))]);
    let server = ModelServer::start([learn, Reply::text("ok")]).repeat_last();
    let project = project_with(&server);
    let text = "In ${CLAUDE_SESSION_ID} with ${CLAUDE_EFFORT}: $0";
    let skill =
        "---\nname: place\ndescription: Where it is\n---\nWrite to ${CLAUDE_SESSION_ID}.log";
    plugin(&project, "demo", &[("commands/where.md", text), ("skills/place/SKILL.md", skill)]);
    project.brynhild(&["--session", "first", "chat", "go"]).success();
    let read = server.chats().last().unwrap().body["messages"].to_string();
    assert!(read.contains("Write to first.log"), "{read}");
    let typed = "/where '${CLAUDE_EFFORT}'";
    project.brynhild(&["--session", "mine", "chat", typed]).success();
    let read = last_user(server.chats().last().unwrap());
    assert!(read.contains("In mine with auto: ${CLAUDE_EFFORT}"), "{read}");
    project.command(&["--plain", "--session", "other"]).stdin("/where x\n").run().success();
    assert_eq!(last_user(server.chats().last().unwrap()), "In other with auto: x");
}

#[test]
fn commands_in_a_text_run_if_allowed() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let project = project_with(&server);
    project.file("notes.md", "remember the milk");
    plugin(
        &project,
        "demo",
        &[
            (
                "commands/state.md",
                "---\nallowed-tools: Bash(echo:*)\n---\nState: !`echo $ARGUMENTS`\nsee @notes.md",
            ),
            ("commands/risky.md", "Do: !`touch made` end"),
        ],
    );
    let text = sent(&project, &server, "/demo:state all is well");
    assert!(text.starts_with("State: all is well\nsee @notes.md"), "{text}");
    assert!(text.contains("<file path=\"notes.md\">\nremember the milk\n</file>"), "{text}");
    let run = project.brynhild(&["chat", "--mode", "ask", "/demo:risky"]);
    run.success();
    assert!(run.stderr.contains("Bash needs approval, and there is no terminal to ask"), "{run}");
    assert!(!project.path().join("made").exists());
    assert!(last_user(server.chats().last().unwrap()).contains("was not run"));
    let run = project.brynhild(&["chat", "--output-format", "stream-json", "/demo:state x"]);
    let kinds: Vec<String> = run.json_lines().iter().map(|it| it["type"].to_string()).collect();
    let at = |kind: &str| kinds.iter().position(|it| it.contains(kind)).unwrap();
    assert!(at("tool_judged") < at("tool_finished") && at("tool_finished") < at("turn_started"));
    let shown = project.brynhild(&["command", "render", "demo:state", "x"]);
    assert_eq!(shown.stdout.trim_end(), "State: !`echo x`\nsee @notes.md");
}

#[test]
fn command_file_allows_its_tools_without_a_question() {
    let call = || Reply::calls([("Bash", json!({"command": "touch made"}))]);
    let server = ModelServer::start([call(), Reply::text("ok"), call(), Reply::text("ok")]);
    let project = project_with(&server);
    plugin(
        &project,
        "demo",
        &[
            ("commands/make.md", "---\nallowed-tools: Bash(touch:*)\n---\nMake it"),
            ("commands/other.md", "Make it"),
        ],
    );
    project.brynhild(&["chat", "--mode", "ask", "/demo:make"]).success();
    assert!(project.path().join("made").exists());
    fs::remove_file(project.path().join("made")).unwrap();
    project.brynhild(&["chat", "--mode", "ask", "/demo:other"]);
    assert!(!project.path().join("made").exists());
}

#[test]
fn skills_are_offered_to_the_model_and_can_be_typed() {
    let learn = Reply::calls([("LearnSkill", json!({"skill": "pages"}))]);
    let server = ModelServer::start([learn, Reply::text("ok"), Reply::text("ok")]);
    let project = project_with(&server);
    let skill = "---\nname: pages\ndescription: Makes pages\n---\nUse ${CLAUDE_SKILL_DIR}/kit";
    let hidden = "---\nname: hidden\ndescription: Hides\ndisable-model-invocation: true\n---\nHide";
    let root = plugin(
        &project,
        "demo",
        &[("skills/pages/SKILL.md", skill), ("skills/hidden/SKILL.md", hidden)],
    );
    project.brynhild(&["chat", "go"]).success();
    let chats = server.chats();
    let system = chats[0].body["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.contains("**pages**: Makes pages") && !system.contains("**hidden**"),
        "{system}"
    );
    let read = chats[1].text.replace("\\/", "/");
    assert!(read.contains(&format!("{}/skills/pages/kit", root.display())), "{read}");
    assert_eq!(sent(&project, &server, "/demo:hidden"), "Hide");
}

#[test]
fn servers_are_named_after_their_plugin_and_run_confined() {
    let project = project();
    let servers =
        json!({"test": {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}});
    plugin(&project, "demo", &[(".mcp.json", &servers.to_string()), ("server.py", SERVER)]);
    let list = project.brynhild(&["mcp", "list", "--json"]).json();
    assert_eq!(list["servers"][0]["name"], "plugin:demo:test");
    let test = project.brynhild(&["mcp", "test", "plugin:demo:test", "--json"]);
    test.success();
    assert_eq!(test.json()["tools"][0], "mcp__plugin_demo_test__echo", "{test}");
}

#[test]
fn agent_plugin_adds_skills_and_servers() {
    let project = project();
    let schema = "https://agent-plugins.org/schemas/1.0.0";
    let manifest = json!({"$schema": format!("{schema}/plugin.schema.json"), "name": "portable"});
    let servers = json!({"$schema": format!("{schema}/mcp.schema.json"), "mcpServers": {
        "test": {"type": "stdio", "command": "python3", "args": ["${PLUGIN_ROOT}/server.py"]}}});
    plugin(
        &project,
        "any",
        &[
            ("plugin.json", &manifest.to_string()),
            ("mcp.json", &servers.to_string()),
            ("server.py", SERVER),
            ("skills/one/SKILL.md", "---\nname: one\ndescription: One\n---\nx"),
            ("commands/not.md", "x"),
        ],
    );
    let test = project.brynhild(&["mcp", "test", "plugin:portable:test", "--json"]);
    test.success();
    let skills = project.brynhild(&["skill", "list"]);
    assert!(skills.stdout.contains("one"), "{skills}");
    assert!(!typed(&project).contains(&"/not".to_owned()));
}

#[test]
fn each_bad_plugin_is_one_message() {
    let project = project();
    plugin(&project, "worst", &[(".claude-plugin/plugin.json", "{\"name\": 1}")]);
    plugin(&project, "bad", &[("commands/odd.md", "---\na: [\n---\n"), ("hooks/hooks.json", "[]")]);
    plugin(&project, "good", &[("commands/fine.md", "fine")]);
    let commands = project.brynhild(&["command", "list"]);
    assert!(commands.success().stdout.contains("/fine"), "{commands}");
    assert!(commands.stderr.contains("bad/commands/odd.md"), "{commands}");
    assert!(!commands.stderr.contains("hooks.json"), "{commands}");
    let run = project.brynhild(&["plugin", "list"]);
    run.success();
    for words in [
        "worst/.claude-plugin/plugin.json: `name` is not text",
        "bad/commands/odd.md",
        "bad/hooks/hooks.json",
    ] {
        assert_eq!(run.stderr.matches(words).count(), 1, "{words}: {run}");
    }
    let shown = project.brynhild(&["plugin", "show", "worst"]);
    assert!(shown.success().stdout.contains("nothing is loaded: `name` is not text"), "{shown}");
    let listed = project.brynhild(&["plugins", "--json"]).json();
    let rows = listed["plugins"].as_array().unwrap();
    let worst = rows.iter().find(|row| row["name"] == "worst").unwrap();
    assert_eq!((&worst["dialect"], &worst["enabled"]), (&json!("claude"), &json!(false)));
}

#[test]
fn disabled_plugin_adds_nothing() {
    let project = project();
    plugin(&project, "demo", &[("commands/hello.md", "hello")]);
    assert!(typed(&project).contains(&"/hello".to_owned()));
    project.config("plugins:\n  demo:\n    enabled: false\n");
    assert!(!typed(&project).contains(&"/hello".to_owned()));
    let off = json!({"name": "later", "defaultEnabled": false}).to_string();
    plugin(&project, "later", &[(".claude-plugin/plugin.json", &off), ("commands/bye.md", "bye")]);
    assert!(!typed(&project).contains(&"/bye".to_owned()));
    project.config("plugins:\n  later:\n    enabled: true\n");
    assert!(typed(&project).contains(&"/bye".to_owned()));
}

#[test]
fn project_plugins_load_once_trusted() {
    let project = project();
    project.file(".claude/commands/ship.md", "Ship it");
    project.file(".brynhild/plugins/near/commands/near.md", "near");
    let list = project.brynhild(&["command", "list"]);
    assert!(!list.stdout.contains("/ship") && !list.stdout.contains("/near"), "{list}");
    project.brynhild(&["trust", "--yes"]).success();
    let names = typed(&project);
    assert!(
        names.contains(&"/ship".to_owned()) && names.contains(&"/near".to_owned()),
        "{names:?}"
    );
    project.file(".claude/commands/ship.md", "Ship something else");
    assert!(!typed(&project).contains(&"/ship".to_owned()));
}

/// Servers, of which one can be used.
const SERVERS: &str = r#"{
    "good": {"command": "cat"}, "number": 5, "nothing": {},
    "old": {"type": "sse", "url": "https://a.example"}, "strange": {"type": "zork", "command": "cat"}
}"#;

#[test]
fn plugin_show_lists_loaded_and_ignored_parts() {
    let project = project();
    let hooks = json!({"hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "true"}]}],
        "FileChanged": [{"hooks": [{"type": "command", "command": "true"}]}],
    }});
    plugin(
        &project,
        "demo",
        &[
            ("hooks/hooks.json", &hooks.to_string()),
            ("themes/a.json", "{}"),
            ("SKILL.md", "no keys"),
            (".mcp.json", SERVERS),
        ],
    );
    let shown = project.brynhild(&["plugin", "show", "demo"]);
    shown.success();
    for words in [
        "loaded hook of Stop: true",
        "ignored hooks of FileChanged: it has no counterpart here",
        "ignored themes: themes are not used",
        "ignored SKILL.md: `description` is missing",
        "ignored MCP server old: the SSE transport is not supported",
        "ignored MCP server number: it is not an object",
        "ignored MCP server nothing: it has neither `command` nor `url`",
        "ignored MCP server strange: `type: zork` is unknown",
        "loaded MCP server good (.mcp.json)",
    ] {
        assert!(shown.stdout.contains(words), "{words}: {shown}");
    }
    assert_eq!(shown.stdout.matches("loaded MCP server").count(), 1, "{shown}");
}

#[test]
fn plugin_show_names_parts_that_do_not_run() {
    let project = project();
    let manifest = json!({
        "name": "demo", "lspServers": {"gopls": {"command": "gopls"}},
        "experimental": {"monitors": [{"name": "deploys", "command": "true"}]},
    });
    plugin(
        &project,
        "demo",
        &[
            (".claude-plugin/plugin.json", &manifest.to_string()),
            (".lsp.json", r#"{"pyright": {"command": "pyright"}, "tsc": {"command": "tsc"}}"#),
            ("output-styles/terse.md", "---\nname: terse\n---\nBe terse."),
            ("monitors/monitors.json", r#"[{"name": "builds", "command": "true"}]"#),
        ],
    );
    let shown = project.brynhild(&["plugin", "show", "demo"]);
    shown.success();
    for words in [
        "ignored .lsp.json: language servers are not started (pyright, tsc)",
        "ignored output-styles: output styles are not used (terse)",
        "ignored monitors: monitors are not run (builds)",
        "ignored `lspServers` in the manifest: language servers are not started (gopls)",
        "ignored `experimental.monitors` in the manifest: monitors are not run (deploys)",
    ] {
        assert!(shown.stdout.contains(words), "{words}: {shown}");
    }
}

#[test]
fn invalid_hook_is_reported_at_the_start() {
    let command = json!([{"type": "command", "command": "exit 2"}]);
    for (hooks, wanted) in [
        (
            json!({"PreToolUse": [{"matcher": "Bash(", "hooks": command}]}),
            "not a regular expression",
        ),
        (json!({"PreToolUse": [{"hooks": [{"type": "comand"}]}]}), "`comand` is not known"),
        (json!({"PreTooluse": [{"hooks": command}]}), "not an event that is known"),
    ] {
        let project = project();
        plugin(&project, "demo", &[("hooks/hooks.json", &json!({"hooks": hooks}).to_string())]);
        let input = r#"{"pattern": "*"}"#;
        let run = project.brynhild(&["--yes", "tools", "exec", "Glob", "--input", input]);
        assert!(run.success().stderr.contains(wanted), "{run}");
    }
}

#[test]
fn the_example_loads_whole_from_a_named_directory() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins/claude-notes");
    let project = project();
    let list = project.brynhild(&["command", "list", "--json", "--plugin-dir", example]);
    assert!(list.stdout.contains("claude-notes"), "{list}");
    assert!(!list.stderr.contains("warning"), "{list}");
    let skills = project.brynhild(&["skill", "list", "--plugin-dir", example]);
    assert!(skills.stdout.contains("note-taking"), "{skills}");
}

#[test]
fn example_guard_keeps_notes_from_every_tool() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins/claude-notes");
    let project = project();
    project.file("NOTES.md", "first\nsecond\n");
    let exec = |tool: &str, input: Value| {
        let input = input.to_string();
        let args = ["--yes", "--plugin-dir", example, "tools", "exec", tool, "--input", &input];
        project.brynhild(&args)
    };
    for (tool, input) in [
        ("Bash", json!({"command": "rm NOTES.md"})),
        ("Bash", json!({"command": "> NOTES.md"})),
        ("Write", json!({"file_path": "NOTES.md", "content": "gone"})),
        ("Edit", json!({"file_path": "NOTES.md", "old_string": "first\n", "new_string": ""})),
    ] {
        let run = exec(tool, input);
        assert!(run.stderr.contains("NOTES.md is kept"), "{run}");
    }
    let added =
        json!({"file_path": "NOTES.md", "old_string": "second", "new_string": "second\nthird"});
    exec("Edit", added).success();
    assert_eq!(project.read("NOTES.md"), "first\nsecond\nthird\n");
}

/// A file of the project that a hook wrote as JSON.
fn printed(project: &Project, path: &str) -> Value {
    serde_json::from_str(&project.read(path)).unwrap()
}

#[test]
fn directory_without_manifest_is_recognized_by_placeholders() {
    let project = project();
    let directory = project.home().join("theirs");
    fs::create_dir_all(directory.join("commands")).unwrap();
    let text = "---\nname: seek\ndescription: Seeks: all of it\n---\nSeek $ARGUMENTS\n";
    fs::write(directory.join("commands/seek.md"), text).unwrap();
    let named = directory.display().to_string();
    let run = project.brynhild(&["--plugin-dir", &named, "command", "render", "seek", "a", "b"]);
    assert!(run.success().stdout.contains("Seek a b"), "{run}");
    project.brynhild(&["plugin", "validate", &named]).success();
}
