//! Plugins written for LMAO: found, described, called and confined, through the shipped program.

mod confined;
mod crashing_files;
mod hooks;
mod jobs;
mod modes;
mod reload;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{has_bubblewrap, project, project_with};

/// The user's own directory of plugins.
fn directory(project: &Project) -> PathBuf {
    project.config_directory().join("plugins")
}

/// A plugin of the user's own whose `run` has this body.
fn plugin(project: &Project, name: &str, manifest: &Value, body: &str) {
    write(&directory(project).join(name), &text(manifest, body));
}

fn write(directory: &Path, text: &str) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("tool.py"), text).unwrap();
}

fn text(manifest: &Value, body: &str) -> String {
    format!(
        "import json, os\n\
         from lmao.plugins import PLUGIN_API_VERSION\n\
         from lmao.plugin_helpers import safe_target_path\n\
         COUNT = 0\n\
         PLUGIN = json.loads({:?})\n\
         PLUGIN['api_version'] = PLUGIN_API_VERSION\n\
         def run(target, args, base, extra_roots, skill_roots, task_manager=None, \
         debug_logger=None):\n\
         \x20   global COUNT\n\
         \x20   COUNT += 1\n\
         \x20   {}\n",
        manifest.to_string(),
        body.replace('\n', "\n    ")
    )
}

fn manifest(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}"), "is_destructive": false})
}

/// A manifest with one more key.
fn with(name: &str, key: &str, value: Value) -> Value {
    let mut manifest = manifest(name);
    manifest[key] = value;
    manifest
}

const ECHO: &str = "return json.dumps({'tool': PLUGIN['name'], 'success': True, 'data': [target, args, str(base)]})";

fn exec(project: &Project, tool: &str, input: &Value, flags: &[&str]) -> Run {
    let input = input.to_string();
    let mut args = vec!["tools", "exec", tool, "--input", &input];
    args.extend(flags);
    project.brynhild(&args)
}

/// The result of the last tool call that the model received.
fn result(server: &ModelServer) -> String {
    let chats = server.chats();
    let messages = chats.last().unwrap().body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

/// The tools that the model was offered.
fn offered(server: &ModelServer) -> Vec<Value> {
    let tools = server.chats()[0].body["tools"].as_array().unwrap().clone();
    tools.into_iter().map(|tool| tool["function"].clone()).collect()
}

#[test]
fn plugin_gets_target_args_and_base() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "own-directory", &manifest("own_echo"), ECHO);
    let elsewhere = project.home().join("more");
    write(&elsewhere.join("a/b"), &text(&manifest("deep_echo"), ECHO));
    let flag = elsewhere.display().to_string();
    let input = json!({"target": "a/b", "args": {"x": [1, null]}});
    let base = project.path().canonicalize().unwrap();
    for (tool, flags) in [("own_echo", &[][..]), ("deep_echo", &["--plugin-dir", &flag])] {
        let run = exec(&project, tool, &input, flags);
        let said: Value = serde_json::from_str(&run.success().stdout).unwrap();
        assert_eq!(said["data"], json!(["a/b", {"x": [1, null]}, base.to_str().unwrap()]), "{run}");
    }
    let rows = project.brynhild(&["tools", "list", "--json"]).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == "own_echo").unwrap();
    assert_eq!(
        (&row["source"], &row["requires_permission"]),
        (&json!("own-directory"), &json!(false))
    );
}

#[test]
fn plugin_schema_has_examples_and_modules_persist() {
    if !has_bubblewrap() {
        return;
    }
    let call = || ("counter", json!({"target": "t", "args": {"step": 2}}));
    let server =
        ModelServer::start([Reply::calls([call()]), Reply::calls([call()]), Reply::text("Done.")]);
    let project = project_with(&server);
    let mut described =
        with("counter", "usage", json!(["{\"tool\": \"counter\", \"args\": {\"step\": 5}}"]));
    described["input_schema"] = json!("args: {step?: int}");
    described["details"] = json!(["Counts within one conversation"]);
    plugin(&project, "counter", &described, "return json.dumps({'success': True, 'data': COUNT})");
    plugin(&project, "hidden", &with("hidden", "visible_to_agent", json!(false)), ECHO);
    project.brynhild(&["chat", "Count"]).success();
    assert_eq!(result(&server), r#"{"success": true, "data": 2}"#);
    let tools = offered(&server);
    assert!(!tools.iter().any(|tool| tool["name"] == "hidden"));
    let tool = tools.iter().find(|tool| tool["name"] == "counter").unwrap();
    let words = tool["description"].as_str().unwrap();
    for wanted in ["Does counter", "Counts within", "{step?: int}", r#"{"args": {"step": 5}}"#] {
        assert!(words.contains(wanted), "{words}");
    }
    let args = &tool["parameters"]["properties"]["args"];
    assert_eq!(args["properties"]["step"]["type"], "integer", "{tool}");
}

#[test]
fn later_start_runs_python_on_the_first_call() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "echo", &manifest("echo"), ECHO);
    let file = directory(&project).join("echo/tool.py");
    let noisy = format!("print('imported')\n{}", fs::read_to_string(&file).unwrap());
    fs::write(&file, noisy).unwrap();
    let list = || project.brynhild(&["tools", "list"]);
    assert!(list().success().stderr.contains("imported"));
    assert!(!list().success().stderr.contains("imported"));
    assert!(exec(&project, "echo", &json!({}), &[]).success().stderr.contains("imported"));
}

#[test]
fn bad_plugin_is_one_message() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "good", &manifest("good"), ECHO);
    plugin(&project, "named", &manifest("bad name"), ECHO);
    write(&directory(&project).join("broken"), "PLUGIN = {\n");
    let run = exec(&project, "good", &json!({}), &[]);
    let told = |name: &str| run.stderr.lines().filter(|line| line.contains(name)).count();
    assert_eq!((told("broken/tool.py"), told("named/tool.py")), (1, 1), "{run}");
    assert!(run.success().stderr.contains("use 1 to 64 letters"), "{run}");
    let failing = "raise ValueError('no way')";
    plugin(&project, "good", &manifest("good"), failing);
    let run = exec(&project, "good", &json!({}), &[]);
    assert!(run.code(1).stdout.contains("plugin 'good' failed: no way"), "{run}");
}

#[test]
fn disabled_plugin_is_not_loaded() {
    let project = project();
    plugin(&project, "echo", &manifest("echo_tool"), ECHO);
    project.config("plugins:\n  echo:\n    enabled: false\n");
    let run = exec(&project, "echo_tool", &json!({}), &[]);
    assert!(run.code(1).stderr.contains("Tool 'echo_tool' not found"), "{run}");
}

#[test]
fn example_stores_and_counts_notes() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([
        Reply::calls([("note_add", json!({"args": {"text": "a", "tag": "x"}}))]),
        Reply::calls([("note_add", json!({"args": "b"}))]),
        Reply::calls([("note_list", json!({"target": "x"}))]),
        Reply::text("Done."),
    ]);
    let project = project_with(&server);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins/lmao");
    let example = example.canonicalize().unwrap().display().to_string();
    project.brynhild(&["chat", "Note", "--plugin-dir", &example]).success();
    let read = |index: usize| {
        let messages = server.chats()[index].body["messages"].as_array().unwrap().clone();
        messages.last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert!(read(2).contains("2 kept so far"), "{}", read(2));
    assert!(read(3).contains(r#""data": [{"text": "a", "tag": "x"}]"#), "{}", read(3));
}

#[test]
fn worker_survives_changes_of_other_plugins() {
    if !has_bubblewrap() {
        return;
    }
    let count = || Reply::calls([("counter", json!({"target": "t"}))]);
    let server = ModelServer::start([
        count(),
        Reply::text("first answer"),
        count(),
        Reply::text("second answer"),
        count(),
        Reply::text("third answer"),
    ]);
    let project = project_with(&server);
    let body = "return json.dumps({'success': True, 'data': COUNT})";
    plugin(&project, "counter", &manifest("counter"), body);
    plugin(&project, "other", &manifest("other"), ECHO);
    project.brynhild(&["tools", "list"]).success();
    let mut running = project.command(&["--plain"]).spawn();
    running.send("one\n");
    running.wait_for_stdout("first answer");
    let place = directory(&project);
    fs::write(place.join("README.md"), "hi").unwrap();
    fs::write(place.join("counter/notes.txt"), "x").unwrap();
    fs::create_dir(place.join("unrelated")).unwrap();
    fs::write(place.join("unrelated/plugin.yaml"), "name: unrelated\nversion: '1'\n").unwrap();
    running.send("two\n");
    running.wait_for_stdout("second answer");
    assert_eq!(result(&server), r#"{"success": true, "data": 2}"#);
    plugin(&project, "other", &manifest("renamed"), ECHO);
    running.send("three\n");
    running.wait_for_stdout("third answer");
    running.close_stdin();
    let run = running.wait();
    assert_eq!(result(&server), r#"{"success": true, "data": 1}"#, "{run}");
    assert_eq!(run.stderr.matches("jobs that ran in it").count(), 1, "{run}");
}

#[test]
fn plugin_is_described_again_when_a_read_file_changes() {
    let project = project();
    let words = |words: &str, is_destructive: bool| {
        let words = json!({"description": words, "is_destructive": is_destructive});
        fs::create_dir_all(directory(&project).join("read")).unwrap();
        fs::write(directory(&project).join("read/words.json"), words.to_string()).unwrap();
    };
    words("old words", false);
    plugin(&project, "read", &manifest("read"), ECHO);
    let file = directory(&project).join("read/tool.py");
    let read = "PLUGIN.update(json.load(open(os.path.dirname(__file__) + '/words.json')))\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + read).unwrap();
    let listed = || {
        let run = project.brynhild(&["tools", "list", "--json"]);
        let tools = run.success().json();
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "read");
        tool.unwrap().clone()
    };
    assert_eq!(listed()["risk_level"], "read_only");
    words("new words", true);
    let tool = listed();
    assert!(tool["description"].as_str().unwrap().contains("new words"), "{tool}");
    assert_eq!(
        (&tool["risk_level"], &tool["requires_permission"]),
        (&json!("mutating"), &json!(true))
    );
}
