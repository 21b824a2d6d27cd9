//! Our tools for other agents.

use serde_json::{Value, json};
use testkit::{Project, Run};

use crate::project;

fn initialize(capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

fn call(id: u64, name: &str, args: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": name, "arguments": args}})
}

/// Sends messages to `mcp serve` and closes the line.
fn serve(project: &Project, flags: &[&str], messages: &[Value]) -> Run {
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let first = initialize(&json!({}));
    let all = [first, ready].into_iter().chain(messages.iter().cloned());
    let lines: Vec<String> = all.map(|message| message.to_string()).collect();
    let text = lines.join("\n") + "\n";
    let args = [flags, &["mcp", "serve"]].concat();
    project.command(&args).stdin(text).run()
}

fn reply(run: &Run, id: u64) -> Value {
    let lines = run.json_lines();
    let found = lines.iter().find(|line| line["id"] == id);
    found.unwrap_or_else(|| panic!("no reply {id}: {run}")).clone()
}

#[test]
fn tools_are_listed_and_run_by_our_rules() {
    let project = project();
    project.file("a.txt", "hello\n");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let run = serve(
        &project,
        &[],
        &[
            list,
            call(2, "Read", &json!({"file_path": "a.txt"})),
            call(3, "Bash", &json!({"command": "touch planted"})),
            call(4, "Read", &json!({})),
            call(5, "Nothing", &json!({})),
        ],
    );
    run.success();
    let tools = reply(&run, 1)["result"]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"Bash") && names.contains(&"Read"), "{names:?}");
    let read = reply(&run, 2)["result"].clone();
    assert_eq!(read["isError"], false);
    assert!(read["content"][0]["text"].as_str().unwrap().contains("hello"), "{read}");
    let denied = reply(&run, 3)["result"].clone();
    assert_eq!(denied["isError"], true);
    assert!(denied["content"][0]["text"].as_str().unwrap().contains("nobody can be asked"));
    let invalid = reply(&run, 4)["result"].clone();
    assert!(invalid["content"][0]["text"].as_str().unwrap().contains("file_path"), "{invalid}");
    assert_eq!(reply(&run, 5)["error"]["code"], -32602);
    assert!(!project.path().join("planted").exists());
}

#[test]
fn the_mode_and_deny_rules_hold_for_others_too() {
    let project = project();
    project.config("permissions: {deny: [\"Bash(echo *)\"]}\n");
    let echo = call(1, "Bash", &json!({"command": "echo hi"}));
    let write = call(2, "Write", &json!({"file_path": "b.txt", "content": "x"}));
    let run = serve(&project, &["--mode", "yolo"], &[echo, write.clone()]);
    assert_eq!(reply(&run, 1)["result"]["isError"], true);
    assert_eq!(reply(&run, 2)["result"]["isError"], false);
    assert_eq!(project.read("b.txt"), "x");
    let run = serve(&project, &["--mode", "read-only"], &[write]);
    assert_eq!(reply(&run, 2)["result"]["isError"], true);
}

#[test]
fn a_client_that_can_ask_is_asked() {
    let project = project();
    let mut serving = project.command(&["mcp", "serve"]).spawn();
    let mut send = |message: Value| serving.send(&format!("{message}\n"));
    send(initialize(&json!({"elicitation": {}})));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    send(call(1, "Write", &json!({"file_path": "c.txt", "content": "agreed"})));
    serving.wait_for_stdout("elicitation/create");
    let question = serving.stdout();
    let question = question.lines().find(|line| line.contains("elicitation/create")).unwrap();
    let question: Value = serde_json::from_str(question).unwrap();
    assert!(question["params"]["message"].as_str().unwrap().contains("Run Write"), "{question}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}});
    serving.send(&format!("{answer}\n"));
    serving.wait_for_stdout("\"id\":1");
    serving.close_stdin();
    serving.wait().success();
    assert_eq!(project.read("c.txt"), "agreed");
}

#[test]
fn tools_are_offered_over_http_to_this_machine_alone() {
    let project = project().env("KEY", "let-me-in");
    project.file("a.txt", "over http\n");
    let flags = ["mcp", "serve", "--http", "127.0.0.1:0", "--token-env", "KEY"];
    let serving = project.command(&flags).spawn();
    serving.wait_for_stderr("/mcp");
    let url = serving.stderr();
    let url = url.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    project.brynhild(&["mcp", "add", "closed", "--url", &url]).success();
    let closed = project.brynhild(&["mcp", "test", "closed"]);
    closed.code(1);
    let header = "Authorization=Bearer ${KEY}";
    project.brynhild(&["mcp", "add", "me", "--url", &url, "--header", header]).success();
    let test = project.brynhild(&["mcp", "test", "me", "--json"]).json();
    assert_eq!(test["protocol"], "2026-07-28");
    let input = r#"{"file_path": "a.txt"}"#;
    let run = project.brynhild(&["tools", "exec", "mcp__me__Read", "--input", input, "--yes"]);
    assert!(run.stdout.contains("over http"), "{run}");
    serving.interrupt();
    serving.wait().code(130);
}
