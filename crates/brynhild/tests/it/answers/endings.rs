//! How a run ends: exit codes, signals, closed pipes, the Markdown that is left behind.

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{check_against_schema, in_shell, inspect_then_answer, with_notes};
use crate::project_with;

fn writes() -> Reply {
    Reply::calls([("Write", json!({"file_path": "made.txt", "content": "x"}))])
}

fn config_of(server: &ModelServer) -> String {
    format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      \
         base_url: {}/v1\n      default_model: test-model\n",
        server.url()
    )
}

#[test]
fn unanswerable_permission_exits_with_3() {
    let server = ModelServer::start([writes(), Reply::text("I could not.")]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--mode", "ask", "Go"]);
    assert_eq!(run.code(3).stdout, "I could not.\n");
    assert!(run.stderr.contains("Write"), "{run}");
    assert!(run.stderr.contains("--yes"), "{run}");
    assert!(!project.path().join("made.txt").exists());
    let told = server.chats()[1].text.clone();
    assert!(told.contains("Permission denied: this call needs approval"), "{told}");
}

#[test]
fn reached_limit_exits_with_5_and_a_message() {
    let server = ModelServer::start([Reply::calls([("Inspect", json!({"operation": "cwd"}))])])
        .repeat_last();
    let project = project_with(&server).env("BRYNHILD_BEHAVIOR__MAX_TOOL_ROUNDS", "2");
    let run = project.brynhild(&["chat", "Go"]);
    assert!(run.code(5).stderr.contains("limit"), "{run}");
    let answer = project.brynhild(&["chat", "--json", "Go"]).code(5).json();
    assert_eq!(answer["stop_reason"], "limit");
    assert!(answer["error"].as_str().unwrap().contains("limit"), "{answer}");
    assert_eq!(answer["exit_code"], 5);
}

#[test]
fn task_given_up_by_the_model_exits_with_1() {
    for (status, code) in [("success", 0), ("partial", 0), ("failed", 1), ("blocked", 1)] {
        let finish = json!({"status": status, "summary": "That is it."});
        let server = ModelServer::start([Reply::calls([("Finish", finish)])]);
        let run = project_with(&server).brynhild(&["chat", "Go"]);
        assert_eq!(run.code(code).stdout, "That is it.\n");
    }
}

#[test]
fn a_signal_stops_the_wait_for_the_model() {
    let cases = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];
    for (signal, code) in cases {
        let server = ModelServer::start([Reply::text("never").withhold()]);
        let project = project_with(&server);
        let running = project.command(&["chat", "--json", "Go"]).stdin("").spawn();
        server.wait_for_requests(1);
        running.signal(signal);
        let answer = running.wait().code(code).json();
        assert_eq!(answer["stop_reason"], "cancelled");
        assert_eq!(answer["exit_code"], code);
    }
}

#[test]
fn signal_stops_a_command_and_its_children() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let command = "(trap '' TERM; sleep 5; echo late >> witness) & echo rea''dy; wait";
        let server = ModelServer::start([Reply::calls([("Bash", json!({"command": command}))])]);
        let project = project_with(&server);
        let args = ["chat", "--yes", "--output-format", "stream-json", "Go"];
        let mut running = project.command(&args).spawn();
        running.close_stdin();
        running.wait_for_stdout("ready");
        running.signal(signal);
        let run = running.wait();
        let events = check_against_schema(run.code(code));
        let finished = events.iter().find(|event| event["type"] == "tool_finished").unwrap();
        assert_eq!(finished["outcome"], "interrupted");
        assert_eq!(events.last().unwrap()["outcome"], json!({"outcome": "cancelled"}));
        // All that held the output has closed it, so nothing is left that could write this.
        assert!(!project.path().join("witness").exists());
    }
}

#[test]
fn closed_output_pipe_ends_the_run_quietly() {
    let server =
        ModelServer::start([Reply::text("word ".repeat(100_000)).delta_size(500)]).repeat_last();
    for extra in
        [&["--output-format", "text"][..], &["--json"], &["--output-format", "stream-json"]]
    {
        let args = [&["chat", "Go"], extra].concat();
        let script = r#""$@" </dev/null | head -c 20 >/dev/null; echo "${PIPESTATUS[0]}""#;
        let run = in_shell(&config_of(&server), script, &args);
        assert_eq!(run.success().stdout, "141\n", "{extra:?}: {run}");
        assert_eq!(run.stderr, "", "{extra:?}");
    }
}

#[test]
fn output_pipe_closed_after_a_line_ends_the_run_quietly() {
    let call = json!({"operation": "cwd"});
    let server = ModelServer::start([Reply::calls([("Inspect", call)])]).repeat_last();
    let args = ["chat", "Go", "--output-format", "stream-json"];
    let script = r#""$@" </dev/null | head -1; echo "${PIPESTATUS[0]}""#;
    let run = in_shell(&config_of(&server), script, &args);
    let lines: Vec<&str> = run.success().stdout.lines().collect();
    assert!(lines[0].contains("session_started"), "{run}");
    assert_eq!(lines[1..], ["141"], "{run}");
    assert_eq!(run.stderr, "");
}

#[test]
fn unwritable_output_is_reported() {
    let server = ModelServer::start([Reply::text("Yes.")]).repeat_last();
    for extra in
        [&["--output-format", "text"][..], &["--json"], &["--output-format", "stream-json"]]
    {
        let args = [&["chat", "Go"], extra].concat();
        let run = in_shell(&config_of(&server), r#"exec "$@" </dev/null >/dev/full"#, &args);
        assert!(run.code(1).stderr.contains("cannot show the answer"), "{extra:?}: {run}");
        assert!(run.stderr.contains("No space left on device"), "{run}");
    }
}

#[test]
fn closed_streams_are_tolerated() {
    let server = ModelServer::start([Reply::text("Yes.")]).repeat_last();
    for (streams, shown) in [("2>&-", "Yes.\n"), ("<&-", "Yes.\n"), ("</dev/null >&-", "")] {
        let run =
            in_shell(&config_of(&server), &format!(r#"exec "$@" {streams}"#), &["chat", "Go"]);
        assert_eq!(run.success().stdout, shown, "{streams}");
        assert!(!run.stderr.contains("panic"), "{run}");
    }
}

#[test]
fn a_long_answer_arrives_whole() {
    let answer = "line of the answer\n".repeat(60_000);
    let server = ModelServer::start([Reply::text(answer.clone()).delta_size(4_000)]);
    let script = r#""$@" </dev/null | dd bs=512 status=none"#;
    let run = in_shell(&config_of(&server), script, &["chat", "Go"]);
    assert!(run.success().stdout == answer, "{} bytes", run.stdout.len());
}

#[test]
fn the_conversation_is_written_as_markdown() {
    let server = inspect_then_answer();
    let project = with_notes(&server);
    let run = project.brynhild(&["chat", "Look", "-o", "out.md", "--markdown-title", "My work"]);
    assert_eq!(run.success().stdout, "It says *hello*.\n");
    let text = project.read("out.md");
    assert!(text.starts_with("# My work\n"), "{text}");
    let order = [
        "## Conversation",
        "Look",
        "What is in it?",
        "I look.",
        "Read",
        "1|hello",
        "It says *hello*.",
        "| Input tokens | 300 |",
    ];
    let mut rest = text.as_str();
    for part in order {
        let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} in its place in\n{text}"));
        rest = &rest[at..];
    }
}

#[test]
fn the_markdown_of_a_continued_session_is_whole() {
    let server = ModelServer::start([Reply::text("One."), Reply::text("Two.")]);
    let project = project_with(&server);
    project.brynhild(&["chat", "First"]).success();
    project.brynhild(&["chat", "Second", "--continue", "-o", "out.md"]).success();
    let text = project.read("out.md");
    for part in ["First", "One.", "Second", "Two.", "test-model (test)", "| Turns | 2 |"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let directory = project.path().canonicalize().unwrap();
    assert!(text.contains(&format!("**Directory:** {}", directory.display())), "{text}");
}

#[test]
fn unwritable_markdown_path_fails_before_the_request() {
    let server = ModelServer::start([Reply::text("Yes.")]);
    let project = project_with(&server);
    project.file("directory/x", "");
    for target in ["missing/out.md", "directory", "directory/x/out.md"] {
        let run = project.brynhild(&["chat", "Go", "-o", target]);
        assert!(run.code(2).stderr.contains(target), "{run}");
        let answer = project.brynhild(&["chat", "Go", "--json", "-o", target]).code(2).json();
        assert!(answer["error"].as_str().unwrap().contains(target), "{answer}");
    }
    assert!(server.requests().is_empty());
    project.brynhild(&["chat", "Go", "--markdown-title", "T"]).code(2);
}

#[test]
fn late_markdown_failure_keeps_the_json_answer() {
    let server = ModelServer::start([Reply::text("Yes.")]);
    let run = project_with(&server).brynhild(&["chat", "Go", "--json", "-o", "/dev/full"]);
    let answer: Value = run.code(1).json();
    assert_eq!(answer["response"], "Yes.");
    assert!(run.stderr.contains("cannot write /dev/full"), "{run}");
}
