//! The answer in each form, where the prompt comes from, and the exit codes.

mod endings;
mod inputs;
mod prompts;
mod schemas;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{project, project_with};

const BINARY: &str = env!("CARGO_BIN_EXE_brynhild");

/// A model that looks at a file and then answers.
fn inspect_then_answer() -> ModelServer {
    ModelServer::start([
        Reply::text("I look.")
            .thinking("What is in it?")
            .call_as("call-1", "Read", &json!({"file_path": "notes.txt"}))
            .usage(100, 10)
            .cost(0.25),
        Reply::text("It says *hello*.").usage(200, 20).cost(0.5),
    ])
}

fn with_notes(server: &ModelServer) -> Project {
    let project = project_with(server);
    project.file("notes.txt", "hello\n");
    project
}

/// Runs a line of `bash` in which `"$@"` is the program with these arguments.
fn in_shell(config: &str, script: &str, args: &[&str]) -> Run {
    let project = Project::with_binary("/bin/bash");
    project.config(config);
    let words = [&["-c", script, "bash", BINARY], args].concat();
    project.brynhild(&words)
}

/// Checks every line against the published schema.
fn check_against_schema(run: &Run) -> Vec<Value> {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/events.schema.json"))
            .unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let events = run.json_lines();
    for event in &events {
        let problems: Vec<String> =
            validator.iter_errors(event).map(|problem| problem.to_string()).collect();
        assert!(problems.is_empty(), "{event}\n{problems:?}");
    }
    events
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn standard_output_has_only_the_answer() {
    for extra in [&[][..], &["--no-stream"], &["-p"], &["--no-color"], &["--show-thinking"]] {
        let server = inspect_then_answer();
        let project = with_notes(&server);
        let run = project.brynhild(&[&["chat", "What does it say?"], extra].concat());
        run.success();
        assert_eq!(run.stdout, "It says *hello*.\n", "{extra:?}");
        assert_eq!(run.stderr, "", "{extra:?}");
    }
}

#[test]
fn joined_emoji_and_letters_stay_in_the_answer() {
    let joined = "🧑\u{200d}💻 می\u{200c}خواهم";
    let server = ModelServer::start([Reply::text(format!("{joined} \u{202e}x"))]);
    let run = project_with(&server).brynhild(&["chat", "Q"]);
    assert_eq!(run.success().stdout, format!("{joined} \\u{{202e}}x\n"));
}

#[test]
fn global_flags_work_before_and_after_the_command() {
    let server = ModelServer::start([Reply::text("Yes.")]).repeat_last();
    let project = project_with(&server);
    for args in [["-p", "--json", "chat", "Q"], ["chat", "Q", "--json", "-p"]] {
        assert_eq!(project.brynhild(&args).success().json()["response"], "Yes.");
    }
}

#[test]
fn the_json_answer_has_every_key() {
    let server = inspect_then_answer();
    let project = with_notes(&server);
    let run = project.brynhild(&["chat", "--json", "What does it say?"]);
    assert_eq!(
        run.success().json(),
        json!({
            "response": "It says *hello*.",
            "provider": "test",
            "model": "test-model",
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 300, "output_tokens": 30, "total_tokens": 330},
            "tool_calls": [{
                "tool": "Read", "input": {"file_path": "notes.txt"},
                "recovered": false, "id": "call-1",
            }],
            "tool_results": [{
                "tool": "Read", "success": true, "output": "     1|hello", "id": "call-1",
                "outcome": "ran",
            }],
            "prompt_source": {
                "sources": ["args"], "content": "What does it say?",
            },
            "cost_usd": 0.75,
            "exit_code": 0,
        })
    );
    assert!(run.stdout.starts_with("{\n  \"response\""), "{}", run.stdout);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_finish_and_a_failed_tool_are_in_the_json_answer() {
    let finish = json!({"status": "partial", "summary": "Half of it.", "next_steps": "The rest."});
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "missing.txt"}))]),
        Reply::calls([("Finish", finish.clone())]),
    ]);
    let answer = project_with(&server).brynhild(&["chat", "--json", "Go"]).success().json();
    assert_eq!(answer["finish"], finish);
    assert_eq!(answer["stop_reason"], "finish");
    assert_eq!(answer["response"], "Half of it.");
    let results = answer["tool_results"].as_array().unwrap();
    assert_eq!(results[0]["success"], false);
    assert_eq!(results[0]["error"], "File not found: missing.txt");
    assert_eq!(results[1]["success"], true);
    assert!(results[1].get("error").is_none(), "{answer}");
}

#[test]
fn failure_is_in_the_json_answer() {
    let server = ModelServer::start([Reply::failure(401)]);
    let run = project_with(&server).brynhild(&["chat", "--json", "Go"]);
    let answer = run.code(1).json();
    assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{answer}");
    assert_eq!(answer["prompt_source"]["sources"], json!(["args"]));
    assert_eq!(answer["response"], "");
    assert_eq!(answer["stop_reason"], "error");
    assert_eq!(answer["exit_code"], 1);
}

#[test]
fn text_failure_goes_to_standard_error_only() {
    let server = ModelServer::start([Reply::failure(401)]);
    let run = project_with(&server).brynhild(&["chat", "Go"]);
    run.code(1);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.starts_with("error: "), "{run}");
    assert_eq!(run.stderr.matches("error: ").count(), 1, "{run}");
}

#[test]
fn continued_session_names_the_model() {
    let server = ModelServer::start([Reply::text("One."), Reply::text("Two."), Reply::text("3.")]);
    let project = project_with(&server);
    project.brynhild(&["chat", "First"]).success();
    let answer = project.brynhild(&["chat", "--json", "--continue", "Second"]).success().json();
    assert_eq!((&answer["provider"], &answer["model"]), (&json!("test"), &json!("test-model")));
    let stream = ["chat", "--output-format", "stream-json", "--continue", "Third"];
    let events = check_against_schema(project.brynhild(&stream).success());
    assert_eq!(kinds(&events)[..2], ["configured", "turn_started"]);
    assert_eq!(events[0]["model"], "test-model");
}

#[test]
fn the_stream_follows_its_schema_and_ends_with_the_turn() {
    let server = inspect_then_answer();
    let project = with_notes(&server);
    let run = project.brynhild(&["chat", "--output-format", "stream-json", "Look"]);
    let events = check_against_schema(run.success());
    let mut shown = kinds(&events);
    shown.dedup();
    assert_eq!(
        shown,
        [
            "session_started",
            "configured",
            "turn_started",
            "request_sent",
            "reply_delta",
            "reply_finished",
            "tool_called",
            "tool_judged",
            "tool_finished",
            "request_sent",
            "reply_delta",
            "reply_finished",
            "turn_finished",
        ]
    );
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let last = events.last().unwrap();
    assert_eq!(last["outcome"], json!({"outcome": "answered", "stop_reason": "end_turn"}));
    assert_eq!(last["usage"]["cost_usd"], 0.75);
}

#[test]
fn stream_follows_its_schema_on_failures() {
    let calls = || {
        Reply::text("I try.")
            .call("Bash", &json!({"command": "touch made"}))
            .call("Nothing", &json!({}))
            .call_text("Read", "{broken")
    };
    let cases = [
        (vec![calls(), Reply::text("Over.")], vec!["--yes"], 0, "answered"),
        (vec![calls(), Reply::text("Over.")], vec!["--mode", "ask"], 3, "answered"),
        (vec![calls(), Reply::text("Over.")], vec!["--dry-run"], 0, "answered"),
        (vec![Reply::failure(401)], vec![], 1, "failed"),
        (vec![Reply::text("x").cut_at(30), Reply::text("Whole.")], vec![], 0, "answered"),
    ];
    for (replies, extra, code, outcome) in cases {
        let server = ModelServer::start(replies);
        let args = [&["chat", "--output-format", "stream-json", "Go"], extra.as_slice()].concat();
        let run = project_with(&server).brynhild(&args);
        let events = check_against_schema(run.code(code));
        let last = events.last().unwrap();
        assert_eq!(last["type"], "turn_finished", "{extra:?}");
        assert_eq!(last["outcome"]["outcome"], outcome, "{extra:?}");
    }
}

#[test]
fn verbose_shows_tools_on_standard_error() {
    let server = inspect_then_answer();
    let run = with_notes(&server).brynhild(&["chat", "--verbose", "Look"]);
    assert_eq!(run.success().stdout, "It says *hello*.\n");
    assert!(run.stderr.contains("Read(file_path: notes.txt)"), "{run}");
    assert!(run.stderr.contains("1|hello"), "{run}");
}

#[test]
fn a_dry_run_names_calls_and_runs_none() {
    let server = ModelServer::start([
        Reply::calls([("Write", json!({"file_path": "made.txt", "content": "x"}))]),
        Reply::text("Would do."),
    ]);
    let project = project_with(&server);
    let answer = project.brynhild(&["chat", "--json", "--dry-run", "Go"]).success().json();
    let output = answer["tool_results"][0]["output"].as_str().unwrap();
    assert!(output.starts_with("[dry run - tool not executed] would run: "), "{output}");
    assert_eq!(answer["tool_results"][0]["outcome"], "skipped");
    assert!(!project.path().join("made.txt").exists());
    let told = server.chats()[1].text.clone();
    assert!(told.contains("[dry run - tool not executed]"), "{told}");
}

#[test]
fn dry_run_prints_calls_and_decisions() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "git reset --hard"}))]),
        Reply::text("Would do."),
    ]);
    let run = project_with(&server).brynhild(&["chat", "--dry-run", "Go"]);
    assert_eq!(run.success().stdout, "Would do.\n");
    assert!(run.stderr.contains("● Bash(command: git reset --hard)"), "{run}");
    assert!(run.stderr.contains("○ Bash dry run") && run.stderr.contains("would ask: "), "{run}");
}

#[test]
fn without_tools_none_is_offered_and_a_call_is_refused() {
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "notes.txt"}))]),
        Reply::text("Without."),
        Reply::text("With."),
    ]);
    let project = with_notes(&server);
    let answer = project.brynhild(&["chat", "--json", "--no-tools", "Go"]).success().json();
    assert_eq!(answer["tool_results"][0]["error"], "Unknown tool: Read");
    project.brynhild(&["chat", "--no-tools", "--tools", "Go"]).success();
    let offered: Vec<usize> = server
        .chats()
        .iter()
        .map(|request| request.body["tools"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(offered[..2], [0, 0]);
    assert!(offered[2] > 5, "{offered:?}");
}

#[test]
fn missing_configuration_shows_the_first_steps() {
    let run = project().brynhild(&["chat", "Hello"]);
    run.code(2);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("brynhild demo"), "{run}");
    let answer = project().brynhild(&["chat", "--json", "Hello"]).code(2).json();
    assert!(answer["error"].is_string(), "{answer}");
}
