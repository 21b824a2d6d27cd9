//! Changes while clients use the tools: plugins are added, changed and removed, and a client is one
//! session.

use std::fs;

use serde_json::{Value, json};
use testkit::{Project, Running};

use super::serving::{call, initialize};
use super::{SERVER, until};
use crate::faults::clients::{answer, begin, send, serving_http};
use crate::project;
use crate::python_plugins::tool;

const CHANGED: &str = "notifications/tools/list_changed";

/// A client of `mcp serve` on its standard input and output.
pub(super) struct Client {
    pub(super) serving: Running,
    last: u64,
}

impl Client {
    pub(super) fn new(project: &Project) -> Self {
        let mut serving = project.command(&["--yes", "mcp", "serve"]).spawn();
        serving.send(&format!("{}\n", initialize(&json!({}))));
        serving.send("{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}\n");
        Self { serving, last: 0 }
    }

    pub(super) fn ask(&mut self, message: impl FnOnce(u64) -> Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.serving.send(&format!("{}\n", message(id)));
        let answer = || {
            let said = self.serving.stdout();
            let mut lines = said.lines().filter_map(|line| serde_json::from_str(line).ok());
            lines.rfind(|line: &Value| line["id"] == id)
        };
        until("it answers", || answer().is_some());
        answer().unwrap()
    }

    fn call(&mut self, name: &str) -> String {
        self.ask(|id| call(id, name, &json!({}))).to_string()
    }

    pub(super) fn list(&mut self) -> String {
        self.ask(|id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).to_string()
    }

    fn heard(&self) -> usize {
        self.serving.stdout().matches(CHANGED).count()
    }

    pub(super) fn leave(mut self) -> testkit::Run {
        self.serving.close_stdin();
        self.serving.wait()
    }
}

pub(super) fn plugin(project: &Project, name: &str, word: &str) {
    let root = project.config_directory().join("plugins").join(name);
    fs::create_dir_all(root.join("tools")).unwrap();
    let manifest = format!("name: {name}\nversion: '1'\ntools: [t]\n");
    fs::write(root.join("plugin.yaml"), manifest).unwrap();
    let text = tool(&format!("{name}_say"), &format!("return ToolResult(True, '{word}')"));
    let text = text.replace("Tries", &format!("{word} tries"));
    fs::write(root.join("tools/t.py"), text).unwrap();
}

#[test]
fn changed_plugins_apply_to_the_next_request() {
    let project = project();
    plugin(&project, "one", "first");
    let mut client = Client::new(&project);
    assert!(client.call("one_say").contains("first"));
    let start = client.serving.stdout();
    assert!(start.contains("\"tools\":{\"listChanged\":true}"), "{start}");
    assert_eq!(client.heard(), 0, "{start}");

    plugin(&project, "one", "second");
    let answer = client.call("one_say");
    assert!(answer.contains("second") && !answer.contains("first"), "{answer}");
    client.serving.wait_for_stdout(CHANGED);
    assert!(client.list().contains("second tries"));

    plugin(&project, "two", "other");
    assert!(client.list().contains("two_say"));
    assert!(client.call("two_say").contains("other"));

    project.brynhild(&["plugin", "disable", "one"]).success();
    let answer = client.call("one_say");
    assert!(answer.contains("Unknown tool: one_say"), "{answer}");
    assert!(!client.list().contains("one_say"));
    fs::remove_dir_all(project.config_directory().join("plugins/two")).unwrap();
    assert!(!client.list().contains("two_say"));
    until("the client hears of each change", || client.heard() == 4);
    project.brynhild(&["plugin", "enable", "one"]).success();
    assert!(client.call("one_say").contains("second"));
    client.leave().success();
}

#[test]
fn changed_servers_rules_and_prompts_apply() {
    let project = project();
    project.file("server.py", SERVER);
    let mut client = Client::new(&project);
    assert!(!client.list().contains("mcp__test__"));
    project.brynhild(&["mcp", "add", "test", "--", "python3", "server.py"]).success();
    assert!(client.list().contains("mcp__test__environment"));
    assert!(client.call("mcp__test__environment").contains("PATH="));
    project.config("permissions: {deny: [mcp__test__environment]}\n");
    let answer = client.call("mcp__test__environment");
    assert!(answer.contains("Permission denied"), "{answer}");
    let commands = project.config_directory().join("commands");
    fs::create_dir_all(&commands).unwrap();
    let command = "---\nname: greet\ndescription: Greets.\n---\nGreet.\n";
    fs::write(commands.join("greet.md"), command).unwrap();
    let prompts = client.ask(|id| json!({"jsonrpc": "2.0", "id": id, "method": "prompts/list"}));
    assert!(prompts.to_string().contains("\"greet\""), "{prompts}");
    project.brynhild(&["mcp", "remove", "test"]).success();
    assert!(!client.list().contains("mcp__test__"));
    client.leave().success();
}

/// Has the beginnings and the ends of plugins and sessions written down.
fn log(project: &Project) -> std::path::PathBuf {
    let hook = |event: &str| {
        let command = format!("echo {event} $BRYNHILD_SESSION_ID >> $BRYNHILD_PLUGIN_DATA/log");
        format!("  {event}:\n    - {{name: {event}, type: command, command: '{command}'}}\n")
    };
    let hooks = ["session_start", "session_end", "plugin_shutdown"].map(hook).concat();
    let root = project.config_directory().join("plugins/noted");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("plugin.yaml"), "name: noted\nversion: '1'\nhooks: true\n").unwrap();
    fs::write(root.join("hooks.yaml"), format!("hooks:\n{hooks}")).unwrap();
    project.config_directory().join("plugin-data/noted/log")
}

/// The logged session events.
fn noted(log: &std::path::Path) -> String {
    let all = fs::read_to_string(log).unwrap_or_default();
    all.split_inclusive('\n').filter(|line| line.starts_with("session")).collect()
}

#[test]
fn a_client_is_one_session() {
    let project = project();
    let log = log(&project);
    let mut client = Client::new(&project);
    client.list();
    assert_eq!(noted(&log), "", "nothing was done yet");
    for _ in 0..3 {
        client.ask(|id| call(id, "Glob", &json!({"pattern": "*"})));
    }
    assert_eq!(noted(&log), "session_start mcp-serve\n");
    client.leave().success();
    let all = fs::read_to_string(&log).unwrap();
    let (session, plugin) = all.split_once("plugin_shutdown").unwrap();
    assert_eq!(session, "session_start mcp-serve\nsession_end mcp-serve\n");
    assert_eq!(plugin.lines().count(), 1, "{all}");
}

#[test]
fn each_client_of_an_address_is_one_session() {
    let project = project();
    let log = log(&project);
    let (serving, host) = serving_http(&project);
    let glob = call(7, "Glob", &json!({"pattern": "*"})).to_string();
    let named = |id: &String| format!("Mcp-Session-Id: {id}\r\n");
    let (one, two) = (begin(&host), begin(&host));
    for id in [&one, &two, &one] {
        let reply = answer(send(&host, "POST", &named(id), &glob));
        assert!(reply.contains("\"isError\":false"), "{reply}");
    }
    let begun = "session_start mcp-serve\nsession_start mcp-serve-2\n";
    assert_eq!(noted(&log), begun);
    answer(send(&host, "DELETE", &named(&one), ""));
    let ended = format!("{begun}session_end mcp-serve\n");
    until("the first one ends", || noted(&log) == ended);
    serving.interrupt();
    serving.wait().code(130);
    assert_eq!(noted(&log), format!("{ended}session_end mcp-serve-2\n"));
}

#[test]
fn requests_without_a_session_share_one() {
    let project = project();
    let log = log(&project);
    project.file("a.txt", "over http\n");
    let (serving, host) = serving_http(&project);
    let url = format!("http://{host}/mcp");
    project.brynhild(&["mcp", "add", "me", "--url", &url]).success();
    let input = r#"{"file_path": "a.txt"}"#;
    let read = ["tools", "exec", "mcp__me__Read", "--input", input, "--yes"];
    for _ in 0..2 {
        let run = project.brynhild(&read);
        assert!(run.success().stdout.contains("over http"), "{run}");
    }
    let tools = project.brynhild(&["mcp", "test", "me"]);
    assert!(!tools.success().stdout.contains("mcp__me__mcp__me"), "{tools}");
    serving.interrupt();
    serving.wait().code(130);
    let all = noted(&log);
    assert_eq!(all.matches("session_start mcp-serve\n").count(), 1, "{all}");
    assert_eq!(all.matches("session_end mcp-serve\n").count(), 1, "{all}");
    assert!(!all.contains("mcp-serve-2"), "{all}");
}
