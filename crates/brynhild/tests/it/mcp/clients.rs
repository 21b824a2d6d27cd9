//! Clients of `mcp serve` that do several things at once, or change their mind.

use std::fs;

use serde_json::{Value, json};
use testkit::Running;

use super::reload::{Client, plugin};
use super::serving::{call, initialize};
use super::{SERVER, add, exec, remaining_processes, until};
use crate::project;

/// The answer to a request, where there is one.
fn answer(serving: &Running, id: u64) -> Option<Value> {
    let said = serving.stdout();
    let mut lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.find(|line| line["id"] == id && line.get("method").is_none())
}

/// The questions that were put to the client so far.
fn questions(serving: &Running) -> Vec<Value> {
    let said = serving.stdout();
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["method"] == "elicitation/create").collect()
}

fn send(serving: &mut Running, message: &Value) {
    serving.send(&format!("{message}\n"));
}

#[test]
fn approval_of_one_call_does_not_cover_another() {
    let project = project();
    add(&project, &[]);
    project.brynhild(&["mcp", "test", "test"]).success();
    let mut serving = project.command(&["mcp", "serve"]).spawn();
    send(&mut serving, &initialize(&json!({"elicitation": {}})));
    send(&mut serving, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (number, word) in [(1, "first"), (2, "second")] {
        project.file("server.py", SERVER.replace("said: ", &format!("{word}: ")));
        let count = usize::try_from(number).unwrap();
        send(&mut serving, &call(number, "mcp__test__echo", &json!({"text": "x"})));
        until("it asks", || questions(&serving).len() == count);
    }
    let asked = questions(&serving);
    assert!(asked.iter().all(|it| it.to_string().contains("server.py")), "{asked:?}");
    for (question, action) in asked.iter().zip(["accept", "decline"]) {
        let result = json!({"action": action, "content": {}});
        send(&mut serving, &json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    }
    until("both are answered", || (1..=2).all(|id| answer(&serving, id).is_some()));
    let first = answer(&serving, 1).unwrap().to_string();
    assert!(first.contains("differs from the approved version"), "{first}");
    let second = answer(&serving, 2).unwrap().to_string();
    assert!(second.contains("Permission denied"), "{second}");
    serving.close_stdin();
    serving.wait().success();
    let run = exec(&project, "mcp__test__echo", &json!({"text": "x"}));
    assert!(!run.status.success(), "nobody has agreed to it: {run}");
}

#[test]
fn client_that_closes_its_input_gets_all_answers() {
    let project = project();
    let mut serving = project.command(&["--yes", "mcp", "serve"]).spawn();
    let about = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = |id: u64, method: &str, mut params: Value| {
        params["_meta"] = about.clone();
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    };
    let listen = json!({"notifications": {"toolsListChanged": true}});
    send(&mut serving, &request(1, "subscriptions/listen", listen));
    serving.wait_for_stdout("acknowledged");
    let wait = "while ! [ -e gate ]; do :; done; echo slow answer";
    let bash = json!({"name": "Bash", "arguments": {"command": wait}});
    send(&mut serving, &request(2, "tools/call", bash));
    serving.close_stdin();
    until("the one who listens hears that it is over", || answer(&serving, 1).is_some());
    project.file("gate", "");
    let run = serving.wait();
    assert!(run.success().stdout.contains("slow answer"), "{run}");
}

#[test]
fn slow_plugin_reload_delays_no_other_request() {
    let project = project();
    let mut client = Client::new(&project);
    assert!(!client.list().contains("slow_say"));
    plugin(&project, "slow", "late");
    let tool = project.config_directory().join("plugins/slow/tools/t.py");
    let gate = project.path().join("gate");
    let wait = format!(
        "import os, time\nwhile not os.path.exists({:?}):\n    time.sleep(0.01)\n",
        gate.display().to_string()
    );
    let text = fs::read_to_string(&tool).unwrap();
    fs::write(&tool, wait + &text).unwrap();
    let write = json!({"file_path": "written", "content": "x"});
    send(&mut client.serving, &call(100, "Write", &write));
    // The plugin's Python is a process beside the one that serves.
    until("somebody looks at it", || remaining_processes(&project).len() > 1);
    let withdrawn = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 100}});
    send(&mut client.serving, &withdrawn);
    let prompts = client.ask(|id| json!({"jsonrpc": "2.0", "id": id, "method": "prompts/list"}));
    assert!(prompts["result"].is_object(), "{prompts}");
    assert!(!client.list().contains("slow_say"), "it waits for the gate");
    project.file("gate", "");
    until("it is taken up in the end", || client.serving.stdout().contains("list_changed"));
    assert!(client.list().contains("slow_say"));
    client.leave().success();
    assert!(!project.path().join("written").exists(), "it was withdrawn");
}
