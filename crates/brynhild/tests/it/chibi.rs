//! Plugins for chibi: executables that are found, described, called and confined.

mod agents;
mod confinement;
mod guards;
mod hooks;
mod prompts;
mod requests;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{project, project_with};

/// Writes an executable.
fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The user's own directory of plugins.
fn directory(project: &Project) -> PathBuf {
    project.config_directory().join("plugins")
}

/// A shell plugin that describes itself so, and does this when it is called.
fn plugin(project: &Project, name: &str, schema: &Value, body: &str) -> PathBuf {
    let path = directory(project).join(name);
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --schema ]; then\ncat <<'END'\n{schema}\nEND\nexit\nfi\n{body}\n"
    );
    script(&path, &text);
    path
}

/// The schema of a tool without parameters.
fn schema(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}")})
}

fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    project.brynhild(&["tools", "exec", tool, "--input", &input.to_string(), "--yes"])
}

/// A plugin as the documents show one, with the first line that they show.
const DOCUMENTED: &str = r#"#!/usr/bin/env -S uv run --quiet --script
import json, os, sys

if len(sys.argv) > 1 and sys.argv[1] == "--schema":
    print(json.dumps({
        "name": "greet",
        "description": "Greets somebody",
        "parameters": {
            "type": "object",
            "properties": {"who": {"type": "string"}},
            "required": ["who"],
        },
    }))
    sys.exit(0)

if os.environ.get("CHIBI_HOOK"):
    data = json.load(sys.stdin)
    print("{}")
    sys.exit(0)

params = json.load(sys.stdin)
print(f"hello {params['who']}")
"#;

#[test]
fn documented_plugin_is_offered_and_called() {
    let server =
        ModelServer::start([Reply::calls([("greet", json!({"who": "Ada"}))]), Reply::text("done")]);
    let project = project_with(&server);
    script(&directory(&project).join("greeter/greeter"), DOCUMENTED);
    let run = project.brynhild(&["chat", "--yes", "go"]);
    run.success();
    let first = &server.chats()[0].body["tools"];
    let offered = first.as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "greet");
    assert_eq!(offered.unwrap()["function"]["parameters"]["required"], json!(["who"]));
    let messages = server.chats()[1].body["messages"].clone();
    assert_eq!(messages.as_array().unwrap().last().unwrap()["content"], "hello Ada\n");
    let listed = project.brynhild(&["tools", "list", "--json"]).json();
    let row = listed.as_array().unwrap().iter().find(|row| row["name"] == "greet").unwrap();
    assert_eq!((&row["source"], &row["requires_permission"]), (&"greeter".into(), &true.into()));
    let wrong = exec(&project, "greet", &json!({}));
    assert!(wrong.code(1).stderr.contains("who"), "{wrong}");
}

#[test]
fn executable_with_several_tools_gets_the_tool_name() {
    let project = project();
    let both = json!([schema("one"), schema("two"), {"name": "bad"}]);
    plugin(&project, "pair", &both, "cat; echo \" $CHIBI_TOOL_NAME $#\"");
    let run = exec(&project, "two", &json!({"a": "é\n"}));
    run.success();
    assert_eq!(run.stdout.trim(), "{\"a\":\"é\\n\"} two 0");
    assert!(run.stderr.contains("the tool `bad` has no `description`"), "{run}");
    exec(&project, "one", &json!({})).success();
}

#[test]
fn tool_gets_only_documented_environment_variables() {
    let project = project().env("SOME_API_KEY", "sk-12345678").env("GRANTED", "yes");
    let body = "env | grep -E '^(CHIBI_|SOME|GRANTED|HOME_)' | sort; pwd";
    plugin(&project, "look", &schema("look"), body);
    project.config("plugins: {look: {sandbox: {env: [GRANTED]}}}\n");
    let run = exec(&project, "look", &json!({"x": 1}));
    let root = project.path().canonicalize().unwrap().display().to_string();
    let home = project.home().join(".chibi").display().to_string();
    let wanted = format!(
        "CHIBI_CONTEXT=tools-exec\nCHIBI_HOME={home}\nCHIBI_PROJECT_ROOT={root}\n\
         CHIBI_TOOL_NAME=look\nGRANTED=yes\n{root}\n"
    );
    assert_eq!(run.stdout.trim(), wanted.trim(), "{run}");
    let input = ["tools", "exec", "look", "--input", "{\"x\": 1}", "--yes", "--verbose"];
    assert!(project.brynhild(&input).stdout.contains("CHIBI_VERBOSE=1\n"));
    project.config("plugins: {look: {legacy: true}}\n");
    let run = exec(&project, "look", &json!({"x": 1}));
    assert!(run.stdout.contains("CHIBI_TOOL_ARGS={\"x\":1}\n"), "{run}");
}

#[test]
fn output_of_a_failed_tool_reaches_the_model() {
    let server = ModelServer::start([Reply::calls([("fail", json!({}))]), Reply::text("I see")]);
    let project = project_with(&server);
    plugin(&project, "fail", &schema("fail"), "echo half; echo because >&2; exit 7");
    project.brynhild(&["chat", "--yes", "go"]).success();
    let messages = server.chats()[1].body["messages"].clone();
    let read = messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    for words in ["half", "exit code 7", "because"] {
        assert!(read.contains(words), "{read}");
    }
}

#[test]
fn large_input_and_output_do_not_deadlock() {
    let project = project();
    // Prints more than a pipe holds before it reads anything, then gives back what it read.
    let body = "head -c 300000 /dev/zero | tr '\\0' a; wc -c";
    plugin(&project, "flood", &schema("flood"), body);
    plugin(&project, "deaf", &schema("deaf"), "exec 0<&-; echo heard nothing");
    // Longer than a word of a command line can be, so a model says it.
    let server = ModelServer::start([
        Reply::calls([("flood", json!({"text": "x".repeat(400_000)}))]),
        Reply::calls([("deaf", json!({"text": "x".repeat(400_000)}))]),
        Reply::text("done"),
    ]);
    project.config(&format!(
        "providers: {{default: test, instances: {{test: {{type: openai, base_url: {}/v1, \
         default_model: m}}}}}}\n",
        server.url()
    ));
    let run = project.brynhild(&["chat", "--yes", "--output-format", "stream-json", "go"]);
    run.success();
    let finished: Vec<Value> =
        run.json_lines().into_iter().filter(|line| line["type"] == "tool_finished").collect();
    assert!(finished[0]["output"]["output"].as_str().unwrap().ends_with("400011\n"));
    assert_eq!(finished[1]["output"]["output"], "heard nothing\n");
}

#[test]
fn late_tool_is_killed_with_its_children() {
    let project = project();
    plugin(&project, "slow", &schema("slow"), "echo begun; sleep 4444 & sleep 4444");
    project.config("plugins: {slow: {timeout: 1}}\n");
    let run = exec(&project, "slow", &json!({}));
    run.code(1);
    assert!(run.stderr.contains("Timed out after 1s: plugin tool 'slow'"), "{run}");
    assert!(run.stderr.contains("plugins.slow.timeout"), "{run}");
    assert!(run.stdout.contains("begun"), "{run}");
    let is_left = fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x004444\0")
    });
    assert!(!is_left);
}

#[test]
fn cached_descriptions_run_no_plugin() {
    let project = project();
    let path = directory(&project).join("count");
    let data = project.config_directory().join("plugin-data/count");
    let text = |words: &str| {
        format!(
            "#!/bin/sh\necho x >> \"$BRYNHILD_PLUGIN_DATA/runs\"\n\
             echo '{{\"name\": \"count\", \"description\": \"{words}\"}}'\n"
        )
    };
    script(&path, &text("first"));
    let runs = || fs::read_to_string(data.join("runs")).unwrap().lines().count();
    for _ in 0..3 {
        project.brynhild(&["tools", "list"]).success();
    }
    assert_eq!(runs(), 1);
    script(&path, &text("second"));
    let listed = project.brynhild(&["tools", "list"]);
    assert!(listed.stdout.contains("second"), "{listed}");
    assert_eq!(runs(), 2);
}

#[test]
fn flow_control_tools_do_not_run() {
    let over = json!({"name": "over", "description": "d", "flow_control": true, "ends_turn": true});
    let on = json!({"name": "on", "description": "d", "flow_control": true});
    let server = ModelServer::start([
        Reply::calls([("on", json!({"prompt": "next"}))]),
        Reply::calls([("over", json!({"message": "your turn"}))]),
        Reply::text("never asked"),
    ]);
    let project = project_with(&server);
    plugin(&project, "flow", &json!([over, on]), "touch \"$BRYNHILD_PLUGIN_DATA/ran\"");
    // They do nothing, so they need no approval.
    let run = project.brynhild(&["chat", "--json", "go"]);
    run.success();
    assert_eq!(server.chats().len(), 2, "{run}");
    let read = server.chats()[1].body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(read["content"], "Continuing with: next");
    assert!(run.stdout.contains("your turn"), "{run}");
    assert!(!project.config_directory().join("plugin-data/flow/ran").exists());
}

#[test]
fn summary_parameters_are_shown_to_the_user() {
    let summed =
        json!({"name": "find", "description": "d", "summary_params": ["what", "n", "where"]});
    let server = ModelServer::start([
        Reply::calls([("find", json!({"what": "needle", "n": 3, "where": "hay"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    plugin(&project, "find", &summed, "cat");
    let run = project.brynhild(&["chat", "--yes", "--output-format", "stream-json", "go"]);
    let told = run.json_lines().into_iter().find(|line| line["type"] == "tool_progress");
    assert_eq!(told.unwrap()["text"], "[Tool: find] needle hay");
}

#[test]
fn chibi_directory_is_searched_if_configured() {
    let project = project();
    let file = project.home().join(".chibi/plugins/home");
    script(&file, "#!/bin/sh\necho '{\"name\": \"athome\", \"description\": \"d\"}'\n");
    let has = |project: &Project| {
        project.brynhild(&["tools", "list"]).stdout.lines().any(|line| line.starts_with("athome"))
    };
    assert!(!has(&project));
    project.config("plugins: {chibi: {home: true}}\n");
    assert!(has(&project));
    project.config("plugins: {search_paths: [~/.chibi/plugins]}\n");
    assert!(has(&project));
    project.config("plugins: {chibi: {home: true}, home: {enabled: false}}\n");
    assert!(!has(&project));
    project.config("");
    project.file(".brynhild/config.yaml", "plugins: {chibi: {home: true}}\n");
    assert!(!has(&project), "a project cannot say so");
}

#[test]
fn the_example_checks_messages_and_guards_commits() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "git commit -m 'Ends with a period.'"}))]),
        Reply::calls([("Bash", json!({"command": "git -c a=b commit --message='Ends.'"}))]),
        Reply::calls([("Bash", json!({"command": "git commit -F message"}))]),
        Reply::text("ok"),
    ]);
    let project = project_with(&server);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins/commit-guard");
    let example = example.display().to_string();
    let run = project.brynhild(&["--plugin-dir", &example, "chat", "--yes", "go"]);
    run.success();
    let ending = "commit message: the subject ends with a period";
    let unseen = "write the message into the command: git commit -m 'MESSAGE'";
    for (chat, expected) in [(1, ending), (2, ending), (3, unseen)] {
        let body = server.chats()[chat].body.clone();
        let read = body["messages"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(read["content"], expected, "{run}");
    }
    let input = json!({"message": "Say why\n\nBecause."}).to_string();
    let exec = ["tools", "exec", "check_commit_message", "--yes", "--input", &input];
    let run = project.brynhild(&[&["--plugin-dir", &example], exec.as_slice()].concat());
    assert!(run.success().stdout.contains("the message is fine"), "{run}");
}

#[test]
fn plugin_can_ask_the_user_on_a_terminal() {
    let project = project();
    let body = "printf 'Sure? \\033[2J' > /dev/tty && read word < /dev/tty && echo \"said $word\"";
    plugin(&project, "asks", &schema("asks"), body);
    let terminal = project.terminal(&["tools", "exec", "asks", "--yes", "--input", "{}"], (80, 24));
    terminal.wait_for("Sure? \\u{1b}[2J");
    terminal.send("yes\r");
    terminal.wait_for("said yes");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let alone = exec(&project, "asks", &json!({}));
    alone.code(1);
    assert!(alone.stderr.contains("/dev/tty"), "{alone}");
}

#[test]
fn plugin_home_persists_between_runs() {
    let project = project();
    let body = "mkdir -p ~/.counter && echo x >> ~/.counter/n && wc -l < ~/.counter/n";
    plugin(&project, "counter", &schema("counter"), body);
    for count in ["1", "2"] {
        let run = exec(&project, "counter", &json!({}));
        assert_eq!(run.success().stdout.trim(), count, "{run}");
    }
    assert!(!project.home().join(".counter").exists());
}
