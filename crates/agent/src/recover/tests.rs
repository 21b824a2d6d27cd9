use contract::message::{Part, Reply};
use contract::tool::{Recovery, ToolSpec};
use serde_json::json;

use super::*;
use crate::oracles::spec;

fn tools() -> Vec<Arc<ToolSpec>> {
    vec![
        spec("Read", &["file_path", "limit"], &["file_path"], Recovery::Allow),
        spec("Find_All", &["name", "depth"], &[], Recovery::Allow),
        spec("Bash", &["command"], &["command"], Recovery::Deny),
    ]
}

fn thought(text: &str) -> Reply {
    let thinking = Part::Thinking { text: text.into(), opaque: None };
    Reply { parts: vec![thinking], ..Reply::default() }
}

fn said(text: &str) -> Reply {
    Reply { parts: vec![Part::Text { text: text.into() }], ..Reply::default() }
}

const SETTINGS: RecoverySettings =
    RecoverySettings { tells_model: true, requires_intent_phrase: false, is_agreed: false };

fn sought(reply: &Reply) -> Option<(String, Value, String)> {
    match Recoveries::default().seek(reply, &tools(), SETTINGS) {
        Sought::Found { call, told, .. } => Some((call.name, call.args, told)),
        Sought::Nothing | Sought::Refused(..) => None,
    }
}

#[test]
fn object_at_the_end_of_thinking_is_a_call() {
    let (name, args, told) = sought(&thought(r#"Let me look. {"file_path": "a.txt"}"#)).unwrap();
    assert_eq!((name.as_str(), args), ("Read", json!({"file_path": "a.txt"})));
    assert_eq!(
        told,
        "Recovered tool call from thinking: Read (type: trailing_json, risk: read_only)"
    );
}

#[test]
fn an_envelope_is_unwrapped() {
    let text = r#"{"name": "Read", "input": {"file_path": "a", "limit": 2}} and so on"#;
    let (name, args, told) = sought(&thought(text)).unwrap();
    assert_eq!((name.as_str(), args), ("Read", json!({"file_path": "a", "limit": 2})));
    assert!(told.contains("json_with_trailing_text"));
}

#[test]
fn tool_named_before_an_object_is_called() {
    let (name, _, told) = sought(&thought(r#"with find all: {"depth": 3}"#)).unwrap();
    assert_eq!(name, "Find_All");
    assert!(told.contains("trailing_json") || told.contains("fallback_json"));
}

#[test]
fn an_example_is_no_call() {
    assert_eq!(sought(&thought(r#"Example: {"file_path": "a"}"#)), None);
}

#[test]
fn tool_excluded_from_recovery_is_not_called() {
    assert_eq!(sought(&thought(r#"{"command": "ls"}"#)), None);
    assert_eq!(sought(&said(r#"[tool_call: Bash(command="ls")]"#)), None);
}

#[test]
fn a_tag_in_the_answer_is_a_call() {
    let text = r#"I look: [tool_call: read(file_path="a (1).txt", limit=5)] done"#;
    let (name, args, told) = sought(&said(text)).unwrap();
    assert_eq!((name.as_str(), args), ("Read", json!({"file_path": "a (1).txt", "limit": 5})));
    assert_eq!(told, "Recovered tool call from content: Read (type: content_tag)");
}

#[test]
fn object_in_the_answer_is_no_call() {
    assert_eq!(sought(&said(r#"{"file_path": "a.txt"}"#)), None);
}

#[test]
fn recovery_refuses_a_repeat_without_a_native_call_between() {
    let reply = thought(r#"{"file_path": "a"}"#);
    let mut recoveries = Recoveries::default();
    assert!(matches!(recoveries.seek(&reply, &tools(), SETTINGS), Sought::Found { .. }));
    let Sought::Refused(_, why) = recoveries.seek(&reply, &tools(), SETTINGS) else { panic!() };
    assert_eq!(why, "Recovery loop detected: Read - stopping recovery");
    recoveries.saw_native_call();
    assert!(matches!(recoveries.seek(&reply, &tools(), SETTINGS), Sought::Found { .. }));
}

#[test]
fn a_budget_ends_recovery() {
    let mut recoveries = Recoveries::default();
    let found = (0..30).filter(|number| {
        let reply = thought(&format!(r#"{{"file_path": "{number}"}}"#));
        matches!(recoveries.seek(&reply, &tools(), SETTINGS), Sought::Found { .. })
    });
    assert_eq!(found.count(), 20);
}

#[test]
fn recovery_needs_an_intent_phrase_if_configured() {
    let settings = RecoverySettings { requires_intent_phrase: true, ..SETTINGS };
    let seek = |text: &str| Recoveries::default().seek(&thought(text), &tools(), settings);
    assert!(matches!(seek(r#"It was {"file_path": "a"}"#), Sought::Nothing));
    assert!(matches!(seek(r#"I'll read it: {"file_path": "a"}"#), Sought::Found { .. }));
}

#[test]
fn envelope_that_names_another_tool_is_no_call() {
    for name in ["append_file", "Bash"] {
        let text = format!(r#"{{"name": "{name}", "input": {{"file_path": "a"}}}}"#);
        assert_eq!(sought(&thought(&text)), None, "{text}");
    }
}

#[test]
fn agreed_tags_are_calls_and_invalid_ones_are_reported() {
    let text = "[tool_call: bash(command=\"a\nb\")] then [tool_call: Fly(to='x')] and \
                [tool_call: Read(file_path=)] and [tool_call: Read";
    let calls = agreed(text, &tools());
    let read: Vec<(&str, &Value)> =
        calls.iter().map(|call| (call.name.as_str(), &call.args)).collect();
    assert_eq!(read[0], ("Bash", &json!({"command": "a\nb"})));
    assert_eq!(read[1], ("Fly", &json!({"to": "x"})));
    assert_eq!((read[2].0, read[2].1.is_string()), ("Read", true));
    assert_eq!(read.len(), 3, "what has no beginning of a call is none");
}
