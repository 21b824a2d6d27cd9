//! Interrupts at every point of a turn. Each leaves a history that can be continued.

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::{check_history, inspect, messages};
use crate::project_with;

/// Continues the session `s` and checks what the model is sent.
#[track_caller]
fn resume(project: &Project, server: &ModelServer) {
    let run = project.brynhild(&["chat", "--resume", "s", "go on"]);
    assert_eq!(run.success().stdout, "resumed\n");
    let last = server.chats().pop().unwrap();
    check_history(&last);
    let end = messages(&last).pop().unwrap();
    assert_eq!(end["role"], "user");
    assert!(end["content"].as_str().unwrap().contains("go on"));
}

/// Answers prompts that go on, and gives `reply` to the others.
fn server_with(reply: Reply) -> ModelServer {
    ModelServer::respond_with(move |request| {
        if request.text.contains("go on") { Reply::text("resumed") } else { reply.clone() }
    })
}

#[test]
fn interrupt_before_the_reply() {
    let server = server_with(Reply::text("late").withhold());
    let project = project_with(&server);
    let running = project.command(&["chat", "--session", "s", "go"]).stdin("").spawn();
    server.wait_for_stalls(1);
    running.interrupt();
    let run = running.wait();
    run.code(130);
    assert!(run.stderr.contains("interrupted"), "{run}");
    resume(&project, &server);
}

#[test]
fn interrupt_during_a_partial_call() {
    let call = json!({"file_path": "made", "content": "x".repeat(2000)});
    let reply = Reply::text("I will write. ").call("Write", &call).stall_at(2000);
    let server = server_with(reply);
    let project = project_with(&server);
    let args = ["chat", "--yes", "--output-format", "stream-json", "--session", "s", "go"];
    let running = project.command(&args).stdin("").spawn();
    running.wait_for_stdout("\"piece\":\"call\"");
    running.interrupt();
    running.wait().code(130);
    assert!(!project.path().join("made").exists());
    resume(&project, &server);
    let last = server.chats().pop().unwrap();
    assert!(last.text.contains("I will write. "), "its words are kept");
    assert!(!last.text.contains("tool_calls"), "the call that never came is not");
}

#[test]
fn interrupt_during_a_command() {
    let command = "echo going-$((20 + 22)); sleep 60; echo over > over";
    let reply = Reply::calls([("Bash", json!({"command": command})), inspect()]);
    let server = server_with(reply);
    let project = project_with(&server);
    let args = ["chat", "--yes", "--output-format", "stream-json", "--session", "s", "go"];
    let running = project.command(&args).stdin("").spawn();
    running.wait_for_stdout("going-42");
    running.interrupt();
    let run = running.wait();
    run.code(130);
    assert!(!project.path().join("over").exists());
    let outcomes: Vec<String> = run
        .json_lines()
        .iter()
        .filter(|event| event["type"] == "tool_finished")
        .map(|event| event["outcome"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes, ["interrupted", "interrupted"]);
    resume(&project, &server);
    let last = server.chats().pop().unwrap();
    assert!(last.text.contains("interrupted"), "the model is told");
}

#[test]
fn interrupt_during_parallel_calls() {
    let server = server_with(Reply::calls(
        (0..20).map(|index| ("Glob", json!({"pattern": format!("**/{index}*")}))),
    ));
    let project = project_with(&server);
    let args = ["chat", "--output-format", "stream-json", "--session", "s", "go"];
    let running = project.command(&args).stdin("").spawn();
    running.wait_for_stdout("tool_called");
    running.interrupt();
    let run = running.wait();
    run.code(130);
    resume(&project, &server);
}

#[test]
fn interrupt_is_in_the_json_answer() {
    let server = server_with(Reply::text("late").withhold());
    let project = project_with(&server);
    let running = project.command(&["chat", "--json", "go"]).stdin("").spawn();
    server.wait_for_stalls(1);
    running.interrupt();
    let answer = running.wait().code(130).json();
    assert_eq!(answer["stop_reason"], "cancelled");
    assert_eq!(answer["exit_code"], 130);
}

#[test]
fn sigterm_interrupts_the_turn() {
    let server = server_with(Reply::text("late").withhold());
    let project = project_with(&server);
    let running = project.command(&["chat", "--session", "s", "go"]).stdin("").spawn();
    server.wait_for_stalls(1);
    terminate(running.id());
    running.wait().code(143);
    resume(&project, &server);
}

/// Sends SIGTERM.
#[expect(clippy::disallowed_methods, reason = "a test may run programs of the machine")]
fn terminate(id: i32) {
    let status = std::process::Command::new("kill").arg(id.to_string()).status().unwrap();
    assert!(status.success());
}

#[test]
fn interrupt_during_a_question() {
    let call = ("Bash", json!({"command": "touch made"}));
    let server = server_with(Reply::calls([call.clone(), call]));
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "chat", "--session", "s", "go"], (100, 30));
    terminal.wait_for("Answer [");
    terminal.send("\x03");
    assert_eq!(terminal.wait_for_end(), Some(130));
    assert!(!project.path().join("made").exists());
    resume(&project, &server);
}

#[test]
fn cancel_answer_interrupts_the_turn() {
    let call = ("Bash", json!({"command": "touch made"}));
    let server = server_with(Reply::calls([call.clone(), call]));
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "chat", "--session", "s", "go"], (100, 30));
    terminal.wait_for("Answer [");
    terminal.send("c\r");
    assert_eq!(terminal.wait_for_end(), Some(130));
    assert_eq!(server.chats().len(), 1);
    assert!(!project.path().join("made").exists());
    resume(&project, &server);
}

#[test]
fn interrupt_on_a_terminal_during_a_reply() {
    let text = format!("The first line.\n\n{}", "word ".repeat(200));
    let server = server_with(Reply::text(text).stall_at(6000));
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "--session", "s", "go"], (100, 30));
    terminal.wait_for("The first line.");
    server.wait_for_stalls(1);
    terminal.send("\x03");
    assert_eq!(terminal.wait_for_end(), Some(130));
    let screen = terminal.screen();
    assert!(screen.contains("interrupted"), "{screen}");
    resume(&project, &server);
}

#[test]
fn interrupt_in_the_second_round() {
    let server = ModelServer::respond_with(|request| {
        if request.text.contains("go on") {
            Reply::text("resumed")
        } else if request.text.contains("tool_call_id") {
            Reply::text("word ".repeat(200)).stall_at(2000)
        } else {
            Reply::calls([inspect()])
        }
    });
    let project = project_with(&server);
    let running = project.command(&["chat", "--session", "s", "go"]).stdin("").spawn();
    server.wait_for_stalls(1);
    running.interrupt();
    running.wait().code(130);
    resume(&project, &server);
}

#[test]
fn second_interrupt_ends_a_terminal_conversation() {
    let server = ModelServer::start([Reply::text("Hello there.")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain", "--session", "s"], (80, 24));
    terminal.wait_for("> ");
    terminal.send("hi\r");
    terminal.wait_for("Hello there.");
    terminal.send("\x03");
    terminal.wait_for("Ctrl+C once more");
    terminal.send("\x03");
    assert_eq!(terminal.wait_for_end(), Some(130));
    let shown = project.brynhild(&["session", "show", "s"]);
    assert!(shown.success().stdout.contains("Hello there."), "{shown}");
}

#[test]
fn interrupt_of_a_turn_does_not_end_the_conversation() {
    let server = ModelServer::start([
        Reply::text("late").withhold(),
        Reply::text("A second answer."),
        Reply::text("resumed"),
    ]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain", "--session", "s"], (80, 24));
    terminal.wait_for("> ");
    terminal.send("hi\r");
    server.wait_for_stalls(1);
    terminal.send("\x03");
    terminal.wait_for("interrupted");
    terminal.send("again\r");
    terminal.wait_for("A second answer.");
    assert!(!terminal.history().contains("Ctrl+C once more"), "{}", terminal.history());
    terminal.send("\x03");
    terminal.wait_for("Ctrl+C once more");
    terminal.send("\x03");
    assert_eq!(terminal.wait_for_end(), Some(130));
    resume(&project, &server);
}

#[test]
fn interrupt_during_a_session_start_hook() {
    let server = ModelServer::start([Reply::text("resumed")]);
    let project = project_with(&server);
    let hooks = "version: 1\nhooks:\n  session_start:\n    - {name: slow, type: command, \
                 command: sleep 600, timeout: {seconds: 600}}\n";
    project.file("../home/.config/brynhild/hooks.yaml", hooks);
    let args = ["chat", "--session", "s", "--output-format", "stream-json", "go"];
    let running = project.command(&args).stdin("").spawn();
    running.wait_for_stdout("\"configured\"");
    running.interrupt();
    running.wait().code(130);
    assert!(server.chats().is_empty());
    project.file("../home/.config/brynhild/hooks.yaml", "version: 1\nhooks: {}\n");
    resume(&project, &server);
}
