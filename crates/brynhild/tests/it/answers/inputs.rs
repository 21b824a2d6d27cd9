//! Inputs of programs: `--input-format stream-json`, and the flags of one run.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Running};

use super::{check_against_schema, kinds};
use crate::mcp::SERVER;
use crate::{project, project_with};

const STREAM: [&str; 5] =
    ["chat", "--input-format", "stream-json", "--output-format", "stream-json"];

fn writes(path: &str) -> Reply {
    Reply::default().call_as("w", "Write", &json!({"file_path": path, "content": "x"}))
}

fn start(project: &Project, words: &[&str]) -> Running {
    project.command(&[&STREAM, words].concat()).spawn()
}

fn send(running: &mut Running, input: &Value) {
    running.send(&format!("{input}\n"));
}

fn prompt(text: &str) -> Value {
    json!({"input": "prompt", "text": text})
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn prompts_are_turns_of_one_session() {
    let server = ModelServer::start([Reply::text("One."), Reply::text("Two.")]);
    let project = project_with(&server);
    let mut running = start(&project, &[]);
    send(&mut running, &prompt("First"));
    running.wait_for_stdout("turn_finished");
    send(&mut running, &prompt("Second"));
    send(&mut running, &json!({"input": "end"}));
    let run = running.wait();
    let events = check_against_schema(run.success());
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "turn_started").count(), 2);
    assert_eq!(of_kind(&events, "turn_finished").len(), 2);
    assert_eq!(events.last().unwrap()["type"], "session_ended");
    assert!(server.chats()[1].text.contains("First"));
    let sessions = project.brynhild(&["session", "list", "--json"]).json();
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
}

#[test]
fn caller_answers_questions() {
    for (answer, made) in [
        (json!({"input": "answer", "call": "w", "answer": "once"}), true),
        (json!({"input": "answer", "call": "w", "answer": "deny", "reason": "not now"}), false),
    ] {
        let server = ModelServer::start([writes("made.txt"), Reply::text("Done.")]);
        let project = project_with(&server);
        let mut running = start(&project, &["--mode", "ask"]);
        send(&mut running, &prompt("Write"));
        running.wait_for_stdout("\"asked\"");
        send(&mut running, &answer);
        running.wait_for_stdout("turn_finished");
        let run = running.wait();
        check_against_schema(run.success());
        assert_eq!(project.path().join("made.txt").exists(), made);
        assert_eq!(server.chats()[1].text.contains("not now"), !made);
    }
}

#[test]
fn end_of_input_leaves_the_question_unanswered() {
    let server = ModelServer::start([writes("made.txt"), Reply::text("I could not.")]);
    let project = project_with(&server);
    let input = format!("{}\n", prompt("Write"));
    let words = [&STREAM[..], &["--mode", "ask"]].concat();
    let run = project.command(&words).stdin(input).run();
    let events = check_against_schema(run.code(3));
    assert_eq!(of_kind(&events, "answered")[0]["answer"]["answer"], "nobody");
    assert_eq!(of_kind(&events, "tool_finished")[0]["outcome"], "unanswered");
}

#[test]
fn messages_and_interrupts_reach_a_running_turn() {
    let server = ModelServer::start([writes("one.txt"), writes("two.txt"), Reply::text("Done.")]);
    let project = project_with(&server);
    let mut running = start(&project, &["--mode", "ask"]);
    send(&mut running, &prompt("Write"));
    running.wait_for_stdout("\"asked\"");
    send(&mut running, &json!({"input": "say", "text": "use tabs"}));
    send(&mut running, &json!({"input": "answer", "call": "w", "answer": "once"}));
    running.wait_for_stdout("\"person\"");
    running.wait_for_stdout("two.txt");
    send(&mut running, &json!({"input": "interrupt"}));
    running.wait_for_stdout("cancelled");
    send(&mut running, &prompt("And now?"));
    send(&mut running, &json!({"input": "end"}));
    let run = running.wait();
    let events = check_against_schema(run.success());
    let outcomes: Vec<_> =
        of_kind(&events, "turn_finished").iter().map(|it| &it["outcome"]["outcome"]).collect();
    assert_eq!(outcomes, ["cancelled", "answered"]);
    assert!(server.chats()[1].text.contains("use tabs"));
    assert!(project.path().join("one.txt").exists() && !project.path().join("two.txt").exists());
}

#[test]
fn mode_and_history_are_changed_by_inputs() {
    let server =
        ModelServer::start([Reply::text("One."), writes("made.txt"), Reply::text("Not allowed.")]);
    let project = project_with(&server);
    let inputs = [
        prompt("secret"),
        json!({"input": "clear"}),
        json!({"input": "mode", "mode": "read-only"}),
        prompt("Write"),
    ];
    let mut running = start(&project, &[]);
    for input in &inputs[..1] {
        send(&mut running, input);
    }
    running.wait_for_stdout("turn_finished");
    send(&mut running, &inputs[1]);
    running.wait_for_stdout("compacted");
    send(&mut running, &inputs[2]);
    send(&mut running, &inputs[3]);
    let run = running.wait();
    let events = check_against_schema(run.success());
    assert_eq!(of_kind(&events, "configured").last().unwrap()["mode"], "read-only");
    assert_eq!(of_kind(&events, "tool_finished")[0]["outcome"], "denied");
    assert!(!server.chats()[1].text.contains("secret"));
}

#[test]
fn bad_lines_are_reported_and_passed_over() {
    let server = ModelServer::start([Reply::text("Fine.")]);
    let project = project_with(&server);
    let input = format!(
        "not JSON\n{{\"input\": \"dance\"}}\n{{\"input\": \"prompt\"}}\n\n{}\n{}\n",
        json!({"input": "answer", "call": "nope", "answer": "once"}),
        prompt("Go"),
    );
    let run = project.command(&STREAM).stdin(input).run();
    let events = check_against_schema(run.code(2));
    let notices: Vec<_> =
        of_kind(&events, "notice").iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(notices.len(), 4, "{run}");
    assert!(notices[0].contains("line 1 is not an input"), "{run}");
    assert!(notices[1].contains("dance"), "{run}");
    assert!(notices[3].contains("`nope`"), "{run}");
    assert_eq!(of_kind(&events, "turn_finished")[0]["outcome"]["outcome"], "answered");
}

#[test]
fn structured_input_needs_structured_output() {
    let run = project().brynhild(&["chat", "--input-format", "stream-json"]);
    assert!(run.code(2).stderr.contains("--output-format stream-json"), "{run}");
    let run = project().brynhild(&["chat", "--input-format", "stream-json", "words"]);
    assert!(run.code(2).stderr.contains("cannot be used with"), "{run}");
}

#[test]
fn system_prompt_is_replaced_and_extended() {
    let server = ModelServer::start([Reply::text("A"), Reply::text("B")]);
    let project = project_with(&server);
    project.brynhild(&["-p", "--append-system-prompt", "Speak like a sailor.", "Go"]).success();
    project.brynhild(&["-p", "--system-prompt", "You are a cook.", "Go"]).success();
    let system = |at: usize| {
        let body = &server.chats()[at].body;
        body["messages"][0]["content"].as_str().unwrap().to_owned()
    };
    assert!(system(0).ends_with("Speak like a sailor.") && system(0).len() > 200);
    assert_eq!(system(1), "You are a cook.");
}

#[test]
fn allowed_tools_run_without_a_question() {
    let server = ModelServer::start([writes("made.txt"), Reply::text("Done.")]);
    let project = project_with(&server);
    let flags = ["--mode", "ask", "--allowed-tools", "Write,Bash(git commit:*)"];
    project.brynhild(&[&["-p", "Go"], &flags[..]].concat()).success();
    assert!(project.path().join("made.txt").exists());
}

#[test]
fn mcp_servers_are_given_for_one_run() {
    let server = ModelServer::start([
        Reply::default().call_as("c", "mcp__given__echo", &json!({"text": "hello"})),
        Reply::text("Done."),
    ]);
    let project = project_with(&server);
    project.file("server.py", SERVER);
    let servers = json!({"mcpServers": {"given": {"command": "python3", "args": ["server.py"]}}});
    project.file("servers.json", servers.to_string());
    for config in ["servers.json", &servers.to_string()] {
        let list = project.brynhild(&["mcp", "list", "--json", "--mcp-config", config]).json();
        assert_eq!(list["servers"][0]["name"], "given", "{list}");
    }
    project.brynhild(&["-p", "-y", "--mcp-config", "servers.json", "Go"]).success();
    assert!(server.chats()[1].text.contains("hello"));
    let list = project.brynhild(&["mcp", "list", "--json"]).json();
    assert_eq!(list["servers"], json!([]), "{list}");
}

#[test]
fn unusable_mcp_config_is_an_error() {
    let project = project();
    project.file("empty.json", "{}");
    for (config, what) in
        [("nope.json", "No such file"), ("empty.json", "mcpServers"), ("{", "EOF")]
    {
        let run = project.brynhild(&["-p", "--mcp-config", config, "Go"]);
        assert!(run.code(2).stderr.contains(what), "{run}");
    }
}
