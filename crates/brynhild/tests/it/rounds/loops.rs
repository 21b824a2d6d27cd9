//! A model that repeats itself, one that only talks of calling, and what a run may cost.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Terminal};

use super::{check_history, inspect, messages};
use crate::project_with;

const RECOVERING: &str = "\
name: recovering
enable_tool_recovery: true
";

#[test]
fn repeated_call_is_stopped_without_a_user() {
    for rounds in ["20", "30"] {
        let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
        let run = project_with(&server).brynhild(&["chat", "--json", "--max-turns", rounds, "go"]);
        let answer = run.code(5).json();
        assert_eq!(answer["stop_reason"], "stuck", "{answer:#}");
        assert!(answer["error"].as_str().unwrap().contains("repeating itself"), "{answer:#}");
        let results = answer["tool_results"].as_array().unwrap();
        let ran = results.iter().filter(|result| result["success"] == true).count();
        assert_eq!((ran, results.len()), (6, 7), "what is refused does not run again");
        let chats = server.chats();
        assert_eq!(chats.len(), 7);
        let suggested = messages(&chats[3]);
        let last = suggested.last().unwrap();
        assert_eq!(last["role"], "user");
        assert!(last["content"].as_str().unwrap().contains("repeating yourself"), "{last:#}");
    }
}

fn wait_for_question(terminal: &Terminal) {
    terminal
        .wait_until("a question", |screen| screen.contents().trim_end().ends_with("Answer [1]:"));
}

/// Answers each question about going on, and sees the turn end after the third.
fn answer_questions_until_the_end(server: &ModelServer, question: impl Fn(usize) -> String) {
    let project = project_with(server);
    let terminal = project.terminal(&["chat", "go"], (100, 40));
    for (count, answer) in [(6, "y\r"), (7, "n\r"), (8, "y\r")] {
        terminal.wait_for(&question(count));
        wait_for_question(&terminal);
        terminal.send(answer);
    }
    assert_eq!(terminal.wait_for_end(), Some(5));
    assert!(terminal.history().contains("is repeating itself"), "{}", terminal.history());
    assert_eq!(server.chats().len(), 9);
}

#[test]
fn repeated_call_asks_the_user_then_stops() {
    let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
    answer_questions_until_the_end(&server, |count| {
        format!("the same call gave the same result {count} times")
    });
}

#[test]
fn repeated_error_is_stopped_without_a_user() {
    let mut number = 0;
    let server = ModelServer::respond_with(move |_| {
        number += 1;
        Reply::calls([("Read", json!({"file_path": "missing.txt", "offset": number}))])
    });
    let answer = project_with(&server).brynhild(&["chat", "--json", "go"]).code(5).json();
    assert_eq!(answer["stop_reason"], "stuck", "{answer:#}");
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("Read failed 6 times with the same error"), "{error}");
    assert_eq!(server.chats().len(), 7);
    assert!(server.chats()[3].text.contains("You are repeating yourself"));
}

#[test]
fn repeated_error_asks_the_user() {
    let mut number = 0;
    let server = ModelServer::respond_with(move |_| {
        number += 1;
        Reply::calls([("Read", json!({"file_path": "missing.txt", "offset": number}))])
    });
    answer_questions_until_the_end(&server, |count| {
        format!("Read failed {count} times with the same error")
    });
}

#[test]
fn talking_model_is_reminded_of_open_todos() {
    let todo = json!({"todos": [{"content": "mend it", "status": "pending"}]});
    for (first, reminds) in
        [(Reply::calls([("TodoWrite", todo)]), 1), (Reply::calls([inspect()]), 0)]
    {
        let talk = (1..=7).map(|number| Reply::text(format!("Answer {number}.")));
        let server = ModelServer::start([first].into_iter().chain(talk));
        let lines = "plan\na\nb\nc\nd\ne\nf\n";
        let run = project_with(&server).command(&["--plain"]).stdin(lines).run();
        assert!(run.success().stdout.contains("Answer 7."), "talk goes on: {run}");
        let chats = server.chats();
        let told = |number: usize| chats[number].text.matches("Your last 5 replies").count();
        assert_eq!(told(5), 0);
        assert_eq!((told(6), told(7)), (reminds, reminds), "{}", chats[7].text);
    }
}

#[test]
fn talk_without_calls_is_stopped_without_a_user() {
    for flags in [&[][..], &["--require-finish"]] {
        let talk = |number| Reply::text(format!("I will now read file {number} and fix it."));
        let server = ModelServer::start((1..=5).map(talk));
        let words = [&["chat", "--json", "go"], flags].concat();
        let answer = project_with(&server).brynhild(&words).code(5).json();
        assert_eq!(answer["stop_reason"], "stuck", "{answer:#}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains("said 4 times what it would do"), "{error}");
        let chats = server.chats();
        assert_eq!(chats.len(), 4);
        let told = messages(&chats[1]).pop().unwrap();
        assert!(told["content"].as_str().unwrap().contains("call the tool"), "{told:#}");
    }
}

#[test]
fn repeated_announcement_is_the_answer() {
    let said = || Reply::text("I will run the tests and fix the failures.");
    let server = ModelServer::start([said()]).repeat_last();
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "what would you do next? do not do it"]);
    assert_eq!(run.success().stdout, "I will run the tests and fix the failures.\n");
    assert_eq!(server.chats().len(), 2, "{run}");
    // A model that has begun to work, or noted what is left, has not answered so.
    for first in
        [inspect(), ("TodoWrite", json!({"todos": [{"content": "x", "status": "pending"}]}))]
    {
        let replies = [Reply::calls([first]), said()];
        let server = ModelServer::start(replies).repeat_last();
        project_with(&server).brynhild(&["chat", "go"]).code(5);
    }
}

#[test]
fn talk_without_calls_asks_the_user() {
    let talk = |number| Reply::text(format!("Let me look at file {number}."));
    let server = ModelServer::start([
        talk(1),
        talk(2),
        talk(3),
        talk(4),
        talk(5),
        Reply::calls([inspect()]),
        Reply::text("Looked."),
    ]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "go"], (100, 40));
    terminal.wait_for("it said 4 times what it would do");
    wait_for_question(&terminal);
    terminal.send("y\r");
    terminal.wait_for("it said 5 times what it would do");
    wait_for_question(&terminal);
    terminal.send("n read a.txt instead\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let chats = server.chats();
    assert_eq!(messages(&chats[5]).pop().unwrap()["content"], "read a.txt instead");
    assert_eq!(chats.len(), 7);
}

#[test]
fn profile_can_disable_loop_detection() {
    let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
    let project = project_with(&server);
    project.file(
        "../home/.config/brynhild/profiles/calm.yaml",
        "name: calm\nstuck_detection_enabled: false\n",
    );
    project.brynhild(&["chat", "--max-turns", "20", "--profile", "calm", "go"]).code(5);
    assert_eq!(server.chats().len(), 20);
}

#[test]
fn call_in_thinking_is_recovered_if_configured() {
    let thought = || Reply::default().thinking("Let me look: {\"operation\": \"cwd\"}");
    let server = ModelServer::start([thought(), Reply::text("done")]);
    let project = project_with(&server);
    project.file("../home/.config/brynhild/profiles/recovering.yaml", RECOVERING);
    let flags = ["--profile", "recovering", "--output-format", "stream-json"];
    let run = project.brynhild(&[&["chat", "go"], &flags[..]].concat());
    let told = "Recovered tool call from thinking: Inspect (type: trailing_json, risk: read_only)";
    assert!(run.success().stdout.contains(told), "{run}");
    let second = &server.chats()[1];
    check_history(second);
    let messages = messages(second);
    let is_note = |message: &Value| {
        message["content"].as_str().is_some_and(|text| text.contains("[System Note]"))
    };
    assert!(messages.iter().any(is_note), "{messages:#?}");
    let plain = ModelServer::start([thought(), Reply::text("done")]);
    project_with(&plain).brynhild(&["chat", "go"]).success();
    let sent = plain.chats()[1].text.clone();
    assert!(!sent.contains("recovered-"), "{sent}");
}

#[test]
fn recovered_call_is_marked_in_stream_and_log() {
    let thought = || Reply::default().thinking("Let me look: {\"operation\": \"cwd\"}");
    let server = ModelServer::start([thought(), thought(), Reply::text("done")]);
    let project = project_with(&server);
    project.file("../home/.config/brynhild/profiles/recovering.yaml", RECOVERING);
    let words = ["chat", "go", "--profile", "recovering", "--json", "--log-file", "log.jsonl"];
    let answer = project.brynhild(&words).success().json();
    assert_eq!(answer["tool_calls"][0]["recovered"], true, "{answer:#}");
    let log = project.read("log.jsonl");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls: Vec<&Value> =
        lines.iter().filter(|line| line["event_type"] == "tool_call").collect();
    assert_eq!(calls.len(), 1, "{log}");
    assert_eq!(calls[0]["call_type"], "recovered", "{log}");
    for kind in [
        "tool_call_recovered",
        "recovery_feedback_injected",
        "recovery_loop_detected",
        "thinking_only_response",
        "thinking_retry_feedback",
    ] {
        assert!(lines.iter().any(|line| line["event_type"] == kind), "{kind}: {log}");
    }
    let note = lines.iter().find(|line| line["event_type"] == "context_injection").unwrap();
    assert_eq!(note["source"], "recovery", "{log}");
}

#[test]
fn reasoning_with_many_braces_is_parsed_quickly() {
    let thought = format!("{}\"{}", "{\"a\":[".repeat(64), "}".repeat(15_500));
    let server = ModelServer::start([Reply::text("x").thinking(thought)]);
    let project = project_with(&server);
    project.file("../home/.config/brynhild/profiles/recovering.yaml", RECOVERING);
    let words = ["chat", "go", "--profile", "recovering", "--timeout", "30"];
    assert_eq!(project.brynhild(&words).success().stdout, "x\n");
}

#[test]
fn recovered_writing_call_needs_a_user() {
    let write = json!({"file_path": "made.txt", "content": "x"});
    let thought = Reply::default().thinking(format!("I'll write it. {write}"));
    let server = ModelServer::start([thought, Reply::text("done")]);
    let project = project_with(&server);
    project.config_more("permissions:\n  allow: [Write]\n");
    project.file("../home/.config/brynhild/profiles/recovering.yaml", RECOVERING);
    let run = project.brynhild(&["chat", "--profile", "recovering", "go"]);
    run.code(3);
    assert!(!project.path().join("made.txt").exists(), "{run}");
}

#[test]
fn model_without_native_calls_uses_text_calls() {
    let server = ModelServer::start([
        Reply::text("I look. [tool_call: Inspect(operation=\"cwd\")]"),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    project
        .file("../home/.config/brynhild/profiles/words.yaml", "name: words\ntool_format: text\n");
    let run = project.brynhild(&["chat", "--profile", "words", "go"]);
    run.success();
    let first = &server.chats()[0];
    assert!(first.body.get("tools").is_none(), "{}", first.text);
    assert!(first.text.contains("[tool_call: Name"), "{}", first.text);
    check_history(&server.chats()[1]);
    let twice = "[tool_call: Bash(command=\"echo one\ntouch made\")] [tool_call: Bash(command=)]";
    let server = ModelServer::start([Reply::text(twice), Reply::text("done")]);
    let project = project_with(&server);
    project
        .file("../home/.config/brynhild/profiles/words.yaml", "name: words\ntool_format: text\n");
    project.brynhild(&["chat", "--profile", "words", "--yes", "go"]).success();
    assert!(project.path().join("made").exists(), "it is how this model calls");
    let results = super::last_results(&server.chats()[1]);
    assert_eq!(results.len(), 2, "what cannot be read is told: {results:?}");
}

#[test]
fn calls_over_the_profile_limit_are_not_run() {
    let looks =
        ["a", "b", "c"].map(|path| ("Inspect", json!({"operation": "exists", "path": path})));
    let server = ModelServer::start([Reply::calls(looks), Reply::text("done")]);
    let project = project_with(&server);
    project
        .file("../home/.config/brynhild/profiles/few.yaml", "name: few\nmax_tools_per_turn: 2\n");
    project.brynhild(&["chat", "--profile", "few", "go"]).success();
    let second = &server.chats()[1];
    check_history(second);
    let results = super::last_results(second);
    assert_eq!(results.len(), 3);
    assert!(results[2].contains("not run"), "{results:?}");
}

#[test]
fn run_stops_at_its_cost_limit_and_resumes() {
    let reply = || Reply::calls([inspect()]).usage(900, 100).cost(0.3);
    let flags = [(["--max-tokens", "2000"], json!(2000)), (["--max-cost", "0.5"], json!(0.5))];
    for (flag, value) in flags {
        let server = ModelServer::start([reply(), reply(), reply(), Reply::text("done")]);
        let project = project_with(&server);
        let run =
            project.brynhild(&[&["chat", "--session", "s", "--json", "go"][..], &flag].concat());
        let answer = run.code(5).json();
        assert_eq!(server.chats().len(), 2, "{run}");
        assert_eq!(answer["stop_reason"], "limit");
        let word = flag[0].trim_start_matches('-').replace('-', "_");
        assert_eq!((&answer["limit"], &answer["limit_value"]), (&json!(word), &value));
        assert!(answer["error"].as_str().unwrap().contains(flag[0]), "{answer:#}");
        project.brynhild(&["chat", "--resume", "s", "on"]).success();
        check_history(&server.chats()[2]);
    }
}

#[test]
fn run_stops_at_its_time_limit() {
    let server = ModelServer::start([Reply::text("never").withhold()]);
    let run = project_with(&server).brynhild(&["chat", "--json", "--timeout", "0.3", "go"]);
    let answer = run.code(5).json();
    assert!(answer["error"].as_str().unwrap().contains("--timeout (0.3 s)"), "{answer:#}");
    assert_eq!((&answer["limit"], &answer["limit_value"]), (&json!("timeout"), &json!(0.3)));
}

#[test]
fn request_limit_stops_the_run() {
    let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
    project_with(&server).brynhild(&["chat", "--max-turns", "2", "go"]).code(5);
    assert_eq!(server.chats().len(), 2);
}
