//! The task that is disturbed: one conversation of twenty turns, most of them with an effect that
//! can be counted. It goes on after any interruption, and then everything is held against the log.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Recorded, Reply, Run};

use crate::crashes::{BINARY, SESSION, calls, check_pairs, project_around, records, witnessed};

/// How many prompts the task has.
pub(super) const TURNS: usize = 20;
/// A prompt after the task, so that every broken run has something to go on with.
const LAST: usize = 99;

pub(super) const STRACE: &str = "/usr/bin/strace";

/// A model that does what the last prompt says. Every request must be one that a real server takes.
pub(super) fn model() -> ModelServer {
    ModelServer::respond_with(|request| {
        check_pairs(request);
        reply(request)
    })
}

fn reply(request: &Recorded) -> Reply {
    let messages = request.body["messages"].as_array().unwrap();
    let is_result = messages.last().unwrap()["role"] == "tool";
    let mut prompts = messages.iter().rev().filter(|message| message["role"] == "user");
    let number = prompts.find_map(|message| message["content"].as_str()?.strip_prefix("turn "));
    let turn: usize = number.unwrap().trim().parse().unwrap();
    if is_result || turn % 4 == 3 {
        return Reply::text(format!("Done {turn}."));
    }
    let command = format!("echo {} >> witness", word(turn));
    let id = format!("call-{turn}");
    if turn.is_multiple_of(5) {
        let file = format!("file-{turn}");
        let content = json!({"file_path": file, "content": "text\n"});
        return Reply::text("Two.").call_as(&id, "Bash", &json!({"command": command})).call_as(
            &format!("write-{turn}"),
            "Write",
            &content,
        );
    }
    Reply::text("One.").call_as(&id, "Bash", &json!({"command": command}))
}

fn word(turn: usize) -> String {
    format!("turn-{turn}")
}

/// The turns that leave a line in the witness.
fn effects() -> impl Iterator<Item = usize> {
    (1..=TURNS).filter(|turn| turn % 4 != 3)
}

/// The prompts from one turn on, a line each.
pub(super) fn prompts(from: usize) -> String {
    let lines: Vec<String> =
        (from..=TURNS).chain([LAST]).map(|turn| format!("turn {turn}\n")).collect();
    lines.concat()
}

/// The arguments of the task.
pub(super) fn task_arguments() -> Vec<&'static str> {
    let form = ["--plain", "--output-format", "stream-json"];
    let place = ["--session", SESSION, "--yes", "--dangerously-skip-sandbox"];
    [&form[..], &place[..]].concat()
}

/// A project in which `strace` runs the program.
pub(super) fn traced(server: &ModelServer) -> Project {
    project_around(STRACE, server)
}

/// Runs the task, or the rest of it, under `strace` with these options.
pub(super) fn run_traced(project: &Project, options: &[&str], lines: &str) -> Run {
    let words = [options, &["-qq", BINARY], &task_arguments()].concat();
    project.command(&words).stdin(lines).run()
}

/// Runs the task, or the rest of it, undisturbed.
pub(super) fn run_plain(project: &Project, lines: &str) -> Run {
    run_traced(project, &["-o", "/dev/null", "-e", "trace=none"], lines)
}

/// Checks what must hold after a run whose output was `shown`, goes on to the end, and checks what
/// must hold then.
pub(super) fn check(project: &Project, shown: &str, what: &str) {
    let broken = records(project);
    check_shown(&broken, shown, what);
    let ended = calls(&broken);
    for turn in effects() {
        let count = witnessed(project, &word(turn));
        let outcome = ended.get(&format!("call-{turn}"));
        assert!(count <= 1, "{what}: turn {turn} took effect {count} times");
        assert!(count == 0 || outcome.is_some(), "{what}: turn {turn} ran before it was written");
        let ran = outcome.is_some_and(|outcome| outcome.as_deref() == Some("ran"));
        assert!(count == 1 || !ran, "{what}: turn {turn} is written as done, and was not");
    }
    let is_prompt = |event: &&Value| {
        let is_steering = event["type"] == "injected" && event["origin"] == "person";
        event["type"] == "turn_started" || is_steering
    };
    let started = broken.values().filter(is_prompt).count();
    let resumed = run_plain(project, &prompts(started + 1));
    assert!(resumed.status.success(), "{what}: {resumed}");
    check_end(project, &broken, what);
}

/// Events that were shown as saved are in the log.
pub(super) fn check_shown(kept: &BTreeMap<u64, Value>, shown: &str, what: &str) {
    let whole = shown.rfind('\n').map_or("", |end| &shown[..end]);
    for line in whole.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let kind = event["type"].as_str().unwrap();
        // A turn end that could not be written is reported as a failure.
        let is_failure = kind == "turn_finished" && event["outcome"]["outcome"] == "failed";
        if !["request_sent", "reply_delta", "tool_progress"].contains(&kind) && !is_failure {
            let found = kept.get(&event["seq"].as_u64().unwrap());
            assert_eq!(found, Some(&event), "{what}: shown, but not kept");
        }
    }
}

fn check_end(project: &Project, broken: &BTreeMap<u64, Value>, what: &str) {
    let finished = records(project);
    for (seq, event) in broken {
        assert_eq!(finished.get(seq), Some(event), "{what}: history was rewritten");
    }
    let count = finished.len() as u64;
    assert!(finished.keys().copied().eq(1..=count), "{what}: numbers have gaps");
    let before = calls(broken);
    let after = calls(&finished);
    for (id, outcome) in &after {
        let expected = match before.get(id) {
            Some(Some(outcome)) => outcome,
            Some(None) => "interrupted",
            None => "ran",
        };
        assert_eq!(outcome.as_deref(), Some(expected), "{what}: {id}");
    }
    for turn in effects() {
        let count = witnessed(project, &word(turn));
        let outcome = after.get(&format!("call-{turn}")).and_then(Option::as_deref);
        match outcome {
            Some("ran") => assert_eq!(count, 1, "{what}: turn {turn}"),
            // A mark says that it may have taken effect.
            Some(_) => assert!(count <= 1, "{what}: turn {turn}"),
            None => assert_eq!(count, 0, "{what}: turn {turn} ran without a trace"),
        }
    }
}
