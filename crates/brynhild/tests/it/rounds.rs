//! The loop: rounds of tools, order, validation, truncation, limits, interrupts, Finish.

mod batches;
mod budgets;
mod compaction;
mod endings;
mod interrupts;
mod invalid_calls;
mod long_output;
mod loops;
mod recovery;

use serde_json::{Value, json};
use testkit::{ModelServer, Recorded, Reply};

use crate::project_with;
use crate::providers::project_of;

/// The messages of a request, each as it was sent.
fn messages(request: &Recorded) -> Vec<Value> {
    request.body["messages"].as_array().unwrap().clone()
}

/// The contents of the tool results at the end of a request, in order.
fn last_results(request: &Recorded) -> Vec<String> {
    let mut results: Vec<String> = messages(request)
        .iter()
        .rev()
        .take_while(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    results.reverse();
    results
}

/// Checks that every call in a request has exactly one result, right after its message and in the
/// order of the calls.
#[track_caller]
pub(crate) fn check_history(request: &Recorded) {
    let messages = messages(request);
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        assert_ne!(message["role"], "tool", "a result without a call in {messages:#?}");
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        for call in calls {
            let result = rest.next().unwrap_or(&Value::Null);
            assert_eq!(result["role"], "tool", "{call} has no result in {messages:#?}");
            assert_eq!(result["tool_call_id"], call["id"], "{messages:#?}");
        }
    }
}

/// The bytes of a request's messages, without the bracket that closes them.
fn prefix(request: &Recorded) -> &str {
    let start = request.text.find("\"messages\":[").unwrap();
    let rest = &request.text[start..];
    let end = rest.find(",\"tools\":").unwrap_or(rest.len());
    rest[..end].strip_suffix(']').unwrap()
}

fn inspect() -> (&'static str, Value) {
    ("Inspect", json!({"operation": "cwd"}))
}

#[test]
fn turn_runs_several_rounds() {
    let replies = (0..12)
        .map(|round| Reply::calls([("Read", json!({"file_path": format!("{round}.txt")}))]))
        .chain([Reply::text("read them all")]);
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    for round in 0..12 {
        project.file(format!("{round}.txt"), format!("content {round}\n"));
    }
    let answer = project.brynhild(&["chat", "--json", "go"]).success().json();
    assert_eq!(answer["response"], "read them all");
    assert_eq!(answer["tool_results"].as_array().unwrap().len(), 12);
    let chats = server.chats();
    assert_eq!(chats.len(), 13);
    for (round, request) in chats.iter().enumerate().skip(1) {
        let content = format!("     1|content {}", round - 1);
        assert_eq!(last_results(request), [content], "round {round}");
        check_history(request);
    }
}

/// Replies of two turns, with thinking, text and calls.
fn two_turns() -> impl Iterator<Item = Reply> {
    let round = |round| {
        let text = format!("round {round}, \"quoted\" 漢");
        Reply::text(text).thinking("hm").call("Inspect", &json!({"operation": "cwd"}))
    };
    let ending = [Reply::text("done"), Reply::calls([inspect()]), Reply::text("done again")];
    (0..4).map(round).chain(ending)
}

fn run_two_turns(kind: &str) -> Vec<Recorded> {
    let server = ModelServer::start(two_turns());
    let project = project_of(kind, &server);
    project.brynhild(&["chat", "--session", "s", "go"]).success();
    project.brynhild(&["chat", "--resume", "s", "more"]).success();
    let chats = server.chats();
    assert_eq!(chats.len(), 7, "{kind}");
    chats
}

#[test]
fn requests_extend_the_previous_bytes() {
    for kind in ["openai", "openrouter", "ollama"] {
        for pair in run_two_turns(kind).windows(2) {
            assert!(prefix(&pair[1]).starts_with(prefix(&pair[0])), "{kind}: {}", pair[1].text);
            assert!(prefix(&pair[1]).len() > prefix(&pair[0]).len(), "{kind}");
            assert_eq!(pair[0].body["tools"], pair[1].body["tools"], "{kind}");
        }
    }
}

#[test]
fn only_the_cache_marker_moves_between_requests() {
    const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
    for pair in run_two_turns("anthropic").windows(2) {
        let [earlier, later] = [&pair[0], &pair[1]].map(|request| {
            let start = request.text.find("\"messages\":[").unwrap();
            let rest = &request.text[start..];
            let end = rest.find(",\"system\":");
            rest[..end.unwrap_or(rest.len())].replace(MARK, "")
        });
        let earlier = earlier.trim_end_matches([']', '}']);
        assert!(later.starts_with(earlier), "{earlier}\n{later}");
        for field in ["system", "tools"] {
            assert_eq!(pair[0].body[field].to_string(), pair[1].body[field].to_string());
        }
    }
}

#[test]
fn text_beside_calls_is_retained_and_last_text_is_the_answer() {
    let server = ModelServer::start([
        Reply::text("I will look. ").call("Inspect", &json!({"operation": "cwd"})),
        Reply::text("Looked."),
    ]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "go"]);
    assert_eq!(run.success().stdout, "Looked.\n");
    let second = &server.chats()[1];
    let calling = &messages(second)[2];
    assert_eq!(calling["content"], "I will look. ");
    assert_eq!(calling["tool_calls"].as_array().unwrap().len(), 1);
}

#[test]
fn failed_command_returns_output_and_error() {
    let command = "echo to-stdout; echo to-stderr >&2; exit 3";
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": command}))]),
        Reply::text("ok"),
    ]);
    let run = project_with(&server).brynhild(&["chat", "--yes", "--json", "go"]);
    let answer = run.success().json();
    assert_eq!(answer["tool_results"][0]["success"], false);
    let result = &last_results(&server.chats()[1])[0];
    for words in ["to-stdout", "to-stderr", "3"] {
        assert!(result.contains(words), "{words}: {result}");
    }
    assert!(!result.contains("None"), "{result}");
}

#[test]
fn failed_tool_does_not_end_the_turn() {
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "missing.txt"}))]),
        Reply::text("it is not there"),
    ]);
    let run = project_with(&server).brynhild(&["chat", "go"]);
    assert_eq!(run.success().stdout, "it is not there\n");
    assert_eq!(last_results(&server.chats()[1]), ["File not found: missing.txt"]);
}
