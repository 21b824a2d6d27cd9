//! Files that change during a turn, or while `mcp serve` runs: no process of a plugin is started from
//! files that the user does not trust.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use crate::mcp::serving::{call, initialize};
use crate::python_plugins::tool;
use crate::{has_bubblewrap, project, project_with};

const PLUGINS: &str = ".brynhild/plugins";
const REMEDY: &str = "brynhild trust";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// One plugin of each system, all of which say this word.
fn plugins(root: &Path, word: &str) {
    let directory = root.join(PLUGINS);
    write(&directory.join("own/plugin.yaml"), "name: own\nversion: '1'\ntools: [t]\nhooks: true\n");
    let body = format!("return ToolResult(True, 'python {word}')");
    write(&directory.join("own/tools/t.py"), &tool("ours", &body));
    let hooks = "version: 1\nhooks:\n  pre_tool_use:\n    - {name: h, type: script, script: \
                 hooks/h.py, match: {tool: Glob}}\n";
    write(&directory.join("own/hooks.yaml"), hooks);
    let hook = format!("print('{{\"action\": \"block\", \"message\": \"hook {word}\"}}')\n");
    write(&directory.join("own/hooks/h.py"), &hook);
    let lmao = format!(
        "from lmao.plugins import PLUGIN_API_VERSION\n\
         PLUGIN = {{'name': 'theirs', 'description': 'd', 'is_destructive': False, \
         'api_version': PLUGIN_API_VERSION}}\n\
         def run(target, args, base, extra_roots, skill_roots, task_manager=None, \
         debug_logger=None):\n    return 'lmao {word}'\n"
    );
    write(&directory.join("theirs/tool.py"), &lmao);
    let chibi = format!(
        "#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{}'; exit; fi\necho chibi {word}\n",
        json!({"name": "small", "description": "d"})
    );
    write(&directory.join("small"), &chibi);
    fs::set_permissions(directory.join("small"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn trusted(project: &Project) {
    plugins(&project.path(), "agreed");
    project.brynhild(&["trust", "--yes"]).success();
    // Descriptions are cached before the test.
    project.brynhild(&["tools", "list"]).success();
}

fn calls() -> Reply {
    let nothing = json!({});
    Reply::calls([
        ("ours", nothing.clone()),
        ("theirs", nothing.clone()),
        ("small", nothing),
        ("Glob", json!({"pattern": "*"})),
    ])
}

/// The results of tools that a request carries, from the last `count` messages.
fn results(server: &ModelServer, chat: usize, count: usize) -> Vec<String> {
    let messages = server.chats()[chat].body["messages"].as_array().unwrap().clone();
    let last = &messages[messages.len() - count..];
    last.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// A model that has everything called, changes something when it is asked the `at`th time, and has
/// everything called again.
fn model(at: usize, rounds: usize, change: impl Fn() + Send + 'static) -> ModelServer {
    let mut asked = 0;
    ModelServer::respond_with(move |_| {
        if asked == at {
            change();
        }
        asked += 1;
        if asked <= rounds { calls() } else { Reply::text("done") }
    })
}

#[test]
fn files_changed_within_a_turn_do_not_start() {
    if !has_bubblewrap() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("project");
    let target = link.clone();
    let server = model(0, 1, move || plugins(&target, "EVIL"));
    let project = project_with(&server);
    std::os::unix::fs::symlink(project.path(), &link).unwrap();
    trusted(&project);
    let run = project.brynhild(&["--yes", "chat", "go"]);
    let results = results(&server, 1, 4);
    assert!(results.iter().all(|result| result.contains(REMEDY)), "{results:?} {run}");
    assert!(!results.concat().contains("EVIL"), "{results:?} {run}");
    assert!(run.stderr.contains(REMEDY), "{run}");
}

#[test]
fn other_files_of_the_project_may_change_within_the_turn() {
    if !has_bubblewrap() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("project");
    let target = link.clone();
    let server = model(0, 1, move || write(&target.join(".brynhild/skills/s/SKILL.md"), "x"));
    let project = project_with(&server);
    std::os::unix::fs::symlink(project.path(), &link).unwrap();
    trusted(&project);
    let run = project.brynhild(&["--yes", "chat", "go"]);
    let results = results(&server, 1, 4);
    for (result, word) in results.iter().zip(["python", "lmao", "chibi", "hook"]) {
        assert!(result.contains(&format!("{word} agreed")), "{results:?} {run}");
    }
}

#[test]
fn mcp_server_notices_lost_trust_at_the_next_call() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    trusted(&project);
    let mut serving = project.command(&["--yes", "mcp", "serve"]).spawn();
    serving.send(&format!("{}\n", initialize(&json!({}))));
    serving.send("{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}\n");
    let mut id = 0;
    let mut ask = |name: &str| -> String {
        id += 1;
        serving.send(&format!("{}\n", call(id, name, &json!({}))));
        serving.wait_for_stdout(&format!("\"id\":{id},"));
        let said = serving.stdout();
        let mut lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found = lines.rfind(|line| line["id"] == id);
        found.unwrap().to_string()
    };
    let tools = [("ours", "python agreed"), ("theirs", "lmao agreed"), ("small", "chibi agreed")];
    for (name, words) in tools {
        let answer = ask(name);
        assert!(answer.contains(words), "{answer}");
    }
    project.brynhild(&["untrust"]).success();
    for (name, _) in tools {
        let answer = ask(name);
        assert!(answer.contains("Unknown tool") && !answer.contains("agreed\""), "{answer}");
    }
    project.brynhild(&["trust", "--yes"]).success();
    for (name, words) in tools {
        let answer = ask(name);
        assert!(answer.contains(words), "what is trusted again runs again: {answer}");
    }
    serving.close_stdin();
    let run = serving.wait();
    assert!(run.stderr.contains(REMEDY), "{run}");
}

const PROVIDER: &str = r#"
import os
import brynhild.api.base as base
import brynhild.api.types as types


class Voice(base.LLMProvider):
    def __init__(self, model="m", api_key=None, **rest):
        self._model = model

    @property
    def name(self): return "voice"
    @property
    def model(self): return self._model
    @property
    def supports_tools(self): return False

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192):
        return types.CompletionResponse("id", "WORD", "end_turn", types.Usage(1, 1), [], "")

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192):
        yield types.StreamEvent(type="message_start", message_id="m")
        yield types.StreamEvent(type="text_delta", text="WORD")
        yield types.StreamEvent(type="content_stop")
        yield types.StreamEvent(type="message_stop", stop_reason="end_turn", usage=types.Usage(1, 1))
"#;

fn provider(plugins: &Path, word: &str) {
    let root = plugins.join("voice");
    write(&root.join("plugin.yaml"), "name: voice\nversion: '1'\nproviders: [voice]\n");
    write(&root.join("providers/voice.py"), &PROVIDER.replace("WORD", word));
}

/// Two prompts for the plugin's provider, with something in between.
fn conversation(project: &Project, between: impl FnOnce()) -> testkit::Run {
    let mut running = project.command(&["--plain", "--provider", "voice", "--model", "m"]).spawn();
    running.send("one\n");
    running.wait_for_stdout("first words");
    between();
    running.send("two\n");
    running.close_stdin();
    running.wait()
}

#[test]
fn changed_provider_needs_trust_again() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let plugins = project.path().join(PLUGINS);
    provider(&plugins, "first words");
    project.brynhild(&["trust", "--yes"]).success();
    let run = conversation(&project, || provider(&plugins, "EVIL"));
    assert!(!run.stdout.contains("EVIL"), "{run}");
    assert_eq!(run.stdout.matches("first words").count(), 1, "{run}");
    assert!(run.stderr.contains(REMEDY), "{run}");
    assert!(run.stderr.contains("the plugin `voice` is switched off, not trusted"), "{run}");
    project.brynhild(&["trust", "--yes"]).success();
    let run = project.brynhild(&["--provider", "voice", "--model", "m", "chat", "hi"]);
    assert!(run.success().stdout.contains("EVIL"), "{run}");
}

#[test]
fn disabled_or_deleted_provider_stops_answering() {
    if !has_bubblewrap() {
        return;
    }
    for is_deleted in [false, true] {
        let project = project();
        let plugins = project.config_directory().join("plugins");
        provider(&plugins, "first words");
        let run = conversation(&project, || {
            if is_deleted {
                fs::remove_dir_all(plugins.join("voice")).unwrap();
            } else {
                project.brynhild(&["plugin", "disable", "voice"]).success();
            }
        });
        assert_eq!(run.stdout.matches("first words").count(), 1, "{run}");
        assert!(run.stderr.contains("the plugin `voice` is switched off"), "{run}");
    }
}
