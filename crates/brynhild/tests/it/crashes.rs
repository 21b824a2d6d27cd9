//! Recovery from kills at many points, damaged files, full disks and unusable homes.

mod damage;
mod faults;
pub(crate) mod kills;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Recorded, Reply, Run};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_brynhild");
/// The session that all of these tests use.
pub(crate) const SESSION: &str = "work";
/// The effects of the scripted task, in order.
const EFFECTS: [&str; 3] = ["one", "two", "three"];

fn effect(word: &str) -> Value {
    json!({"command": format!("echo {word} >> witness")})
}

/// A model whose next step follows from the number of its replies so far, so that a task that was
/// broken off goes on where it was. Every request must be one that a real server would take.
fn worker() -> ModelServer {
    ModelServer::respond_with(|request| {
        check_pairs(request);
        let messages = request.body["messages"].as_array().unwrap();
        match messages.iter().filter(|message| message["role"] == "assistant").count() {
            0 => Reply::text("First.").call_as("call-1", "Bash", &effect(EFFECTS[0])),
            1 => Reply::text("More.").call_as("call-2", "Bash", &effect(EFFECTS[1])).call_as(
                "call-3",
                "Bash",
                &effect(EFFECTS[2]),
            ),
            _ => Reply::text("All done."),
        }
    })
}

/// Each call in the history has exactly one result, right after it.
pub(crate) fn check_pairs(request: &Recorded) {
    let mut open: Vec<Value> = Vec::new();
    for message in request.body["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            let at = open.iter().position(|id| *id == message["tool_call_id"]);
            open.remove(at.unwrap_or_else(|| panic!("a result without a call: {message}")));
            continue;
        }
        assert!(open.is_empty(), "calls without results: {open:?} in {}", request.text);
        if let Some(calls) = message["tool_calls"].as_array() {
            open = calls.iter().map(|call| call["id"].clone()).collect();
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?} in {}", request.text);
}

fn config(server: &ModelServer) -> String {
    format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      \
         base_url: {}/v1\n      default_model: test-model\nlogging:\n  enabled: false\n",
        server.url()
    )
}

/// A project in which `program` is run, which is `brynhild` or something around it.
pub(crate) fn project_around(program: &str, server: &ModelServer) -> Project {
    let project = Project::with_binary(program);
    project.config(&config(server));
    project
}

pub(crate) fn sessions_of(project: &Project) -> PathBuf {
    project.config_directory().join("sessions")
}

pub(crate) fn session_file(project: &Project) -> PathBuf {
    sessions_of(project).join(format!("{SESSION}.jsonl"))
}

/// The whole records of the session's log by their number, each of them checked.
pub(crate) fn records(project: &Project) -> BTreeMap<u64, Value> {
    let bytes = fs::read(session_file(project)).unwrap_or_default();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut records = BTreeMap::new();
    for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line = std::str::from_utf8(line).unwrap();
        let (checksum, json) = line.split_once(' ').unwrap();
        let stated = u32::from_str_radix(checksum, 16).unwrap();
        if stated == crc32(json.as_bytes()) {
            let event: Value = serde_json::from_str(json).unwrap();
            let seq = event["seq"].as_u64().unwrap();
            assert!(records.insert(seq, event).is_none(), "two events {seq}");
        }
    }
    records
}

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |checksum, byte| {
        (0..8).fold(checksum ^ u32::from(*byte), |checksum, _| {
            (checksum >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(checksum & 1))
        })
    })
}

/// How each call of the session ended, by its id; none where it has not ended.
pub(crate) fn calls(records: &BTreeMap<u64, Value>) -> BTreeMap<String, Option<String>> {
    let mut calls = BTreeMap::new();
    for event in records.values() {
        match event["type"].as_str().unwrap() {
            "tool_called" => {
                let id = event["call"]["id"].as_str().unwrap().to_owned();
                assert!(calls.insert(id, None).is_none(), "a call twice: {event}");
            }
            "tool_finished" => {
                let id = event["call"].as_str().unwrap();
                // A command that was killed itself has run, and failed.
                let has_failed = event["outcome"] == "ran" && event["output"]["success"] == false;
                let outcome =
                    if has_failed { "failed" } else { event["outcome"].as_str().unwrap() };
                let outcome = outcome.to_owned();
                let before = calls.insert(id.to_owned(), Some(outcome));
                assert_eq!(before, Some(None), "a result without a call or twice: {event}");
            }
            _ => {}
        }
    }
    calls
}

/// Says that a test was not run, past the harness, which hides what passing tests print.
pub(crate) fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

pub(crate) fn witnessed(project: &Project, word: &str) -> usize {
    let witness = fs::read_to_string(project.path().join("witness")).unwrap_or_default();
    witness.lines().filter(|line| *line == word).count()
}

/// The command that starts or continues the scripted task.
fn task() -> Vec<&'static str> {
    vec!["chat", "Go on", "--yes", "--session", SESSION, "--output-format", "stream-json"]
}

/// Checks everything that must hold after a run was broken off, whose output was `shown`, then
/// finishes the task and checks what must hold at the end.
fn check_after_crash(project: &Project, shown: &str, run: impl Fn(&[&str]) -> Run) {
    let broken = records(project);
    let whole = shown.rfind('\n').map_or("", |end| &shown[..end]);
    for line in whole.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let kind = event["type"].as_str().unwrap();
        if !["request_sent", "reply_delta", "tool_progress"].contains(&kind) {
            let kept = broken.get(&event["seq"].as_u64().unwrap());
            assert_eq!(kept, Some(&event), "shown, but not kept");
        }
    }
    let ended = calls(&broken);
    for (index, word) in (1..).zip(EFFECTS) {
        let id = format!("call-{index}");
        let count = witnessed(project, word);
        assert!(count <= 1, "{word} was done {count} times");
        assert!(count == 0 || ended.contains_key(&id), "{word} was done before it was written");
        let ran = ended.get(&id).is_some_and(|outcome| outcome.as_deref() == Some("ran"));
        assert!(count == 1 || !ran, "{word} was written as done, and was not");
    }
    if session_file(project).exists() {
        run(&["session", "show", SESSION, "--json"]).success();
        let list = run(&["session", "list", "--json"]).success().json();
        assert_eq!(list.as_array().unwrap().len(), usize::from(!broken.is_empty()));
    }
    let resumed = run(&task());
    assert!(resumed.success().stdout.contains("All done."), "{resumed}");
    let finished = records(project);
    for (seq, event) in &broken {
        assert_eq!(finished.get(seq), Some(event), "history was rewritten");
    }
    assert!(finished.keys().copied().eq(1..=finished.len() as u64), "numbers without gaps");
    for (id, outcome) in calls(&finished) {
        let expected = match ended.get(&id) {
            Some(Some(before)) => before,
            Some(None) => "interrupted",
            None => "ran",
        };
        assert_eq!(outcome.as_deref(), Some(expected), "{id}");
    }
    for (index, word) in (1..).zip(EFFECTS) {
        let before = ended.get(&format!("call-{index}"));
        let is_certain = before.is_none_or(|outcome| outcome.as_deref() == Some("ran"));
        let count = witnessed(project, word);
        assert!(count == 1 || !is_certain && count == 0, "{word} was done {count} times");
    }
}
