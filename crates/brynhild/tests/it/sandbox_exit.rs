//! Commands that need more than the sandbox gives, background commands, and questions put together.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Run};

use crate::{project, project_with};

/// The types of the events of a run, in order.
fn events(run: &Run) -> Vec<Value> {
    run.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

fn count_questions(events: &[Value]) -> usize {
    types(events).iter().filter(|kind| **kind == "asked").count()
}

const STREAM: [&str; 4] = ["chat", "--output-format", "stream-json", "go"];

#[test]
fn questions_of_one_reply_share_a_dialog() {
    let request = |host: &str| ("Bash", json!({"command": "true", "network": [host]}));
    let server = ModelServer::start([
        Reply::calls([request("a.example"), request("b.example")]),
        Reply::text("ok"),
    ]);
    let run = project_with(&server).brynhild(&STREAM);
    run.code(3);
    let events = events(&run);
    let kinds: Vec<&str> = types(&events);
    let questions: Vec<&str> =
        kinds.into_iter().filter(|kind| matches!(*kind, "asked" | "answered")).collect();
    assert_eq!(questions, ["asked", "asked", "answered", "answered"], "{run}");
}

#[test]
fn impossible_call_is_not_asked_about() {
    let server = ModelServer::start([
        Reply::calls([
            ("Edit", json!({"file_path": "a.txt", "old_string": "NOT", "new_string": "x"})),
            ("Edit", json!({"file_path": "b.txt", "old_string": "a", "new_string": "x"})),
            ("Write", json!({"file_path": "d", "content": "x"})),
        ]),
        Reply::text("ok"),
    ]);
    let project = project_with(&server);
    project.file("a.txt", "one\n").file("d/e", "");
    project.config_more("behavior: {mode: ask}\n");
    let run = project.brynhild(&STREAM);
    run.success();
    assert_eq!(count_questions(&events(&run)), 0, "{run}");
    let results = server.chats()[1].body.to_string();
    for error in ["old_string not found", "File not found: b.txt", "Not a file: d"] {
        assert!(results.contains(error), "{results}");
    }
}

#[test]
fn two_edits_of_one_file_in_one_reply_both_apply() {
    let edit = |old: &str, new: &str| {
        ("Edit", json!({"file_path": "a.txt", "old_string": old, "new_string": new}))
    };
    let server = ModelServer::start([
        Reply::calls([edit("one", "two"), edit("two", "three")]),
        Reply::text("ok"),
    ]);
    let project = project_with(&server);
    project.file("a.txt", "one\n");
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert_eq!(project.read("a.txt"), "three\n");
}

#[test]
fn a_blocked_host_is_named_with_the_call_that_requests_it() {
    let command = "echo 'curl: (6) Could not resolve host: a.example' >&2; exit 6";
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": command}))]),
        Reply::text("ok"),
    ]);
    project_with(&server).brynhild(&["chat", "--yes", "go"]).success();
    let results = server.chats()[1].body.to_string();
    assert!(results.contains("The sandbox blocked a.example: call Bash again with"), "{results}");
}

#[test]
fn a_background_command_ends_with_the_session() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "echo up; sleep 1000", "background": true}))]),
        Reply::calls([("Jobs", json!({"action": "tail", "job": 1}))]),
        Reply::text("ok"),
    ]);
    let args = ["chat", "--yes", "--session", "s", "--output-format", "stream-json", "go"];
    let project = project_with(&server);
    let run = project.brynhild(&args);
    run.success();
    let tail = server.chats()[2].body.to_string();
    assert!(tail.contains("up\\n[job 1 is running]"), "{tail}");
    let events = events(&run);
    let kinds = types(&events);
    let at = |kind: &str| kinds.iter().position(|it| *it == kind);
    assert!(at("job_started").is_some() && at("job_started") < at("turn_finished"), "{run}");
    let log = project.config_directory().join("sessions/s.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("job_finished") && log.contains("stopped"), "{log}");
}

#[test]
fn the_system_prompt_states_limits_date_and_branch() {
    let server = ModelServer::start([Reply::text("ok")]);
    let project = project_with(&server);
    project.file(".git/HEAD", "ref: refs/heads/feature\n");
    project.brynhild(&["chat", "go"]).success();
    let system = server.chats()[0].body["messages"][0]["content"].to_string();
    for words in ["and nowhere else", "Commands reach no host", "home directory", "`network`"] {
        assert!(system.contains(words), "{words}: {system}");
    }
    assert!(system.contains("Date: 20") && system.contains("Git branch: feature"), "{system}");
}

#[test]
fn normal_mode_without_a_sandbox_asks_with_one_notice() {
    let write = |name: &str| ("Write", json!({"file_path": name, "content": "x"}));
    let server =
        ModelServer::start([Reply::calls([write("a.txt"), write("b.txt")]), Reply::text("ok")]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--dangerously-skip-sandbox", "go"]);
    run.code(3);
    let notice = "edits and commands ask first, as in mode `ask`: there is no sandbox";
    assert_eq!(run.stderr.matches(notice).count(), 1, "{run}");
}

#[test]
fn jobs_can_be_listed_by_the_user() {
    let run = project().brynhild(&["chat", "/jobs"]);
    assert_eq!(run.success().stdout, "no background commands\n");
}

#[test]
fn line_mode_question_covers_all_calls_of_a_reply() {
    let request = |host: &str| ("Bash", json!({"command": "true", "network": [host]}));
    let calls = || Reply::calls([request("a.example"), request("b.example")]);
    let server = ModelServer::start([calls(), calls(), Reply::text("done")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "go"], (100, 90));
    let answer_nth = |number: usize, title: &str, answer: &str| {
        terminal.wait_until(title, |screen| {
            let text = screen.contents();
            let is_ready = text.trim_end().ends_with("Answer [1]:");
            is_ready && text.contains(title) && text.matches("Answer [1]:").count() == number
        });
        terminal.send(answer);
    };
    answer_nth(1, "Leave the sandbox? (2 calls)", "4 not now\r");
    answer_nth(2, "Decide one by one", "5\r");
    answer_nth(3, "Yes, and always allow a.example in this project", "1\r");
    answer_nth(4, "Yes, and always allow b.example in this project", "1\r");
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.history());
    let results = server.chats()[1].body.to_string();
    assert_eq!(results.matches("not now").count(), 2, "{results}");
}

#[test]
fn files_in_the_home_directory_are_asked_about() {
    let calls = || {
        Reply::calls([
            ("Read", json!({"file_path": "~/notes.txt"})),
            ("Write", json!({"file_path": "~/new.txt", "content": "x\n"})),
            ("Write", json!({"file_path": "~/.ssh/authorized_keys", "content": "x\n"})),
        ])
    };
    let server = ModelServer::start([calls(), Reply::text("ok"), calls(), Reply::text("ok")]);
    let project = project_with(&server);
    std::fs::write(project.home().join("notes.txt"), "remember\n").unwrap();
    let run = project.brynhild(&STREAM);
    run.code(3);
    assert_eq!(count_questions(&events(&run)), 2, "{run}");
    let yes = project.brynhild(&["chat", "--yes", "go"]);
    yes.success();
    assert_eq!(std::fs::read_to_string(project.home().join("new.txt")).unwrap(), "x\n");
    let results = server.chats()[3].body.to_string();
    assert!(results.contains("remember"), "{results}");
    assert!(results.contains("~/.ssh/authorized_keys is in a protected location"), "{results}");
    assert!(!project.home().join(".ssh/authorized_keys").exists());
}
