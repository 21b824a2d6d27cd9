//! Our tools for other agents.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use super::add;
use crate::faults::clients::{answer, send, serving_http};
use crate::{project, project_with};

pub(crate) fn initialize(capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

pub(crate) fn call(id: u64, name: &str, args: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": name, "arguments": args}})
}

/// Sends messages to `mcp serve` and closes the line.
pub(super) fn serve(project: &Project, flags: &[&str], messages: &[Value]) -> Run {
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let first = initialize(&json!({}));
    let all = [first, ready].into_iter().chain(messages.iter().cloned());
    let lines: Vec<String> = all.map(|message| message.to_string()).collect();
    let text = lines.join("\n") + "\n";
    let args = [flags, &["mcp", "serve"]].concat();
    project.command(&args).stdin(text).run()
}

pub(super) fn reply(run: &Run, id: u64) -> Value {
    let lines = run.json_lines();
    let found = lines.iter().find(|line| line["id"] == id);
    found.unwrap_or_else(|| panic!("no reply {id}: {run}")).clone()
}

#[test]
fn served_tools_follow_the_rules() {
    let project = project();
    project.file("a.txt", "hello\n");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let run = serve(
        &project,
        &["--mode", "ask"],
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
fn mode_and_deny_rules_apply_to_clients() {
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
fn capable_client_is_asked_for_approval() {
    let project = project();
    let mut serving = project.command(&["--mode", "ask", "mcp", "serve"]).spawn();
    let mut send = |message: Value| serving.send(&format!("{message}\n"));
    send(initialize(&json!({"elicitation": {}})));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    send(call(1, "Write", &json!({"file_path": "c.txt", "content": "agreed"})));
    serving.wait_for_stdout("elicitation/create");
    let question = serving.stdout();
    let question = question.lines().find(|line| line.contains("elicitation/create")).unwrap();
    let question: Value = serde_json::from_str(question).unwrap();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("/c.txt?") && message.contains("│ +agreed"), "{message}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}});
    serving.send(&format!("{answer}\n"));
    serving.wait_for_stdout("\"id\":1");
    serving.close_stdin();
    serving.wait().success();
    assert_eq!(project.read("c.txt"), "agreed");
}

#[test]
fn approval_question_to_a_client_is_escaped() {
    let project = project();
    let mut serving = project.command(&["--mode", "ask", "mcp", "serve"]).spawn();
    let mut send = |message: Value| serving.send(&format!("{message}\n"));
    send(initialize(&json!({"elicitation": {}})));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let command = "touch q1 # \u{202e}\u{2066} \u{441}at x\u{200b}";
    send(call(1, "Bash", &json!({"command": command})));
    serving.wait_for_stdout("elicitation/create");
    let question = serving.stdout();
    let question = question.lines().find(|line| line.contains("elicitation/create")).unwrap();
    let question: Value = serde_json::from_str(question).unwrap();
    let message = question["params"]["message"].as_str().unwrap();
    for hidden in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{441}'] {
        assert!(!message.contains(hidden), "{hidden:?} in {message:?}");
    }
    assert!(message.contains("\\u{202e}") && message.contains("note: "), "{message}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    serving.send(&format!("{answer}\n"));
    serving.close_stdin();
    serving.wait().success();
    assert!(!project.path().join("q1").exists());
}

#[test]
fn cancelled_call_does_not_run_after_approval() {
    let project = project();
    let mut serving = project.command(&["--mode", "ask", "mcp", "serve"]).spawn();
    let mut send = |message: Value| serving.send(&format!("{message}\n"));
    send(initialize(&json!({"elicitation": {}})));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    send(call(1, "Write", &json!({"file_path": "c.txt", "content": "withdrawn"})));
    serving.wait_for_stdout("elicitation/create");
    let question = serving.stdout();
    let question = question.lines().find(|line| line.contains("elicitation/create")).unwrap();
    let question: Value = serde_json::from_str(question).unwrap();
    let withdrawn =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    serving.send(&format!("{withdrawn}\n"));
    serving.send(&format!("{}\n", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})));
    serving.wait_for_stdout("\"id\":2");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}});
    serving.send(&format!("{answer}\n"));
    serving.close_stdin();
    serving.wait().success();
    assert!(!project.path().join("c.txt").exists());
}

#[test]
fn http_tools_are_offered_on_loopback_only() {
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

#[test]
fn http_server_generates_a_token() {
    let project = project();
    let serving = project.command(&["mcp", "serve", "--http", "127.0.0.1:0"]).spawn();
    serving.wait_for_stderr("\n");
    let said = serving.stderr();
    let host = said.split("http://").nth(1).unwrap().split("/mcp").next().unwrap();
    let token = said.split("`Authorization: Bearer ").nth(1).unwrap().split('`').next().unwrap();
    assert_eq!(token.len(), 43, "{said}");
    let ask = |more: &str| answer(send(host, "POST", more, &initialize(&json!({})).to_string()));
    let header = |token: &str| format!("Authorization: Bearer {token}\r\n");
    for more in [String::new(), header(""), header("x"), "Authorization: Basic eA==\r\n".to_owned()]
    {
        assert!(ask(&more).starts_with("HTTP/1.1 401"), "{more}");
    }
    let known = header(token);
    assert!(ask(&known).starts_with("HTTP/1.1 200"));
    let own = format!("{known}Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n");
    assert!(ask(&own).starts_with("HTTP/1.1 200"));
    for foreign in [
        "Origin: http://localhost:1",
        "Origin: http://127.0.0.1:1",
        "Origin: http://127.0.0.1",
        "Origin: https://example.com",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        let said = ask(&format!("{known}{foreign}\r\n"));
        assert!(said.starts_with("HTTP/1.1 403"), "{foreign}: {said}");
    }
    serving.interrupt();
    serving.wait().code(130);
}

/// A page of another name that leads to this machine, and a form that any page may send.
#[test]
fn http_requests_with_a_wrong_host_or_form_are_refused() {
    let project = project();
    let (serving, host) = serving_http(&project);
    let port = host.rsplit(':').next().unwrap();
    let body = call(1, "Write", &json!({"file_path": "made", "content": "x"})).to_string();
    let ask = |method: &str, head: &str| {
        let mut stream = TcpStream::connect(&host).unwrap();
        let length = body.len();
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nConnection: close\r\nAccept: application/json, \
             text/event-stream\r\nContent-Length: {length}\r\n{head}\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        answer(stream)
    };
    let json = "Content-Type: application/json\r\n";
    for name in [
        format!("Host: evil.test:{port}\r\n"),
        format!("Host: localhost.evil.test:{port}\r\n"),
        format!("Host: 127.0.0.1.evil.test:{port}\r\n"),
        format!("Host: evil.test:{port}\r\nHost: {host}\r\n"),
        String::new(),
    ] {
        let said = ask("POST", &format!("{name}{json}"));
        assert!(said.starts_with("HTTP/1.1 40"), "{name}: {said}");
    }
    for form in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let said = ask("POST", &format!("Host: {host}\r\nContent-Type: {form}\r\n"));
        assert!(said.starts_with("HTTP/1.1 415"), "{form}: {said}");
    }
    let said = ask("GET", &format!("Host: {host}\r\n{json}"));
    assert!(said.starts_with("HTTP/1.1 4"), "{said}");
    serving.interrupt();
    serving.wait().code(130);
    assert!(!project.path().join("made").exists());
}

#[test]
fn tools_of_other_servers_are_offered() {
    let project = project();
    add(&project, &[]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let picture = call(2, "mcp__test__picture", &json!({}));
    let run = serve(&project, &["--yes"], &[list, picture]);
    let tools = reply(&run, 1)["result"]["tools"].to_string();
    assert!(tools.contains("mcp__test__echo") && !tools.contains("ToolSearch"), "{tools}");
    let content = reply(&run, 2)["result"]["content"].clone();
    assert_eq!(content, json!([{"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"}]));
    let served = project.command(&["mcp", "serve"]).env("BRYNHILD_MCP_SERVED", "1");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let lines = format!("{}\n{ready}\n{list}\n", initialize(&json!({})));
    let inner = served.stdin(lines).run();
    assert!(!reply(&inner, 1).to_string().contains("mcp__test__echo"), "{inner}");
}

#[test]
fn served_agent_follows_the_rules() {
    let server = ModelServer::start([
        Reply::calls([("Write", json!({"file_path": "made.txt", "content": "x"}))]),
        Reply::text("I was not let"),
    ]);
    let project = project_with(&server);
    let args = json!({"description": "try", "prompt": "write made.txt"});
    let run = serve(&project, &["--mode", "ask"], &[call(1, "Task", &args)]);
    let result = reply(&run, 1)["result"].clone();
    assert!(result["content"][0]["text"].as_str().unwrap().contains("I was not let"), "{result}");
    assert!(server.chats()[1].body.to_string().contains("nobody can be asked"));
    assert!(!project.path().join("made.txt").exists());
}

#[test]
fn commands_are_prompts_and_skills_are_resources() {
    let project = project();
    let command =
        "---\nname: greet\ndescription: Greets.\nargs: \"<who> [how]\"\n---\nGreet {{args}}.\n";
    std::fs::create_dir_all(project.config_directory().join("commands")).unwrap();
    std::fs::write(project.config_directory().join("commands/greet.md"), command).unwrap();
    let skill = project.config_directory().join("skills/tidy");
    std::fs::create_dir_all(skill.join("references")).unwrap();
    let text = "---\nname: tidy\ndescription: Tidies up.\n---\nSweep first.\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    std::fs::write(skill.join("references/more.md"), "Then dust.").unwrap();
    let ask = |id: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let run = serve(
        &project,
        &[],
        &[
            ask(1, "prompts/list", json!({})),
            ask(2, "prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})),
            ask(3, "prompts/get", json!({"name": "greet"})),
            ask(4, "resources/list", json!({})),
            ask(5, "resources/read", json!({"uri": "skill://tidy/SKILL.md"})),
            ask(6, "resources/read", json!({"uri": "skill://tidy/references/more.md"})),
            ask(7, "resources/read", json!({"uri": "skill://tidy/../../config.yaml"})),
        ],
    );
    let prompts = reply(&run, 1)["result"]["prompts"].to_string();
    assert!(prompts.contains("greet") && prompts.contains("who"), "{prompts}");
    let greeting = reply(&run, 2)["result"]["messages"][0]["content"]["text"].clone();
    assert!(greeting.as_str().unwrap().contains("Greet Ada."), "{greeting}");
    assert!(reply(&run, 3)["error"]["message"].as_str().unwrap().contains("who"));
    let texts = reply(&run, 4)["result"]["resources"].to_string();
    assert!(texts.contains("skill://tidy/references/more.md"), "{texts}");
    let read = |id| reply(&run, id)["result"]["contents"][0]["text"].clone();
    assert!(read(5).as_str().unwrap().contains("Sweep first."));
    assert_eq!(read(6), "Then dust.");
    assert!(reply(&run, 7)["error"].is_object());
}

#[test]
fn client_with_logging_gets_the_output_of_a_call() {
    let project = project();
    let level = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel",
        "params": {"level": "info"}});
    let say = call(2, "Bash", &json!({"command": "echo one; echo two"}));
    let run = serve(&project, &["--yes"], &[level.clone(), say.clone()]);
    assert!(reply(&run, 1)["result"].is_object(), "{run}");
    assert!(run.stdout.contains("notifications/message"), "{run}");
    let quiet = serve(&project, &["--yes"], &[say]);
    assert!(!quiet.stdout.contains("notifications/message"), "{quiet}");
}
