//! Input in line mode while the model works.

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::SIZE;
use crate::project_with;

fn last_prompt(server: &ModelServer, number: usize) -> String {
    let messages = server.chats()[number].body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn line_typed_during_a_turn_is_in_the_next_request() {
    let look = Reply::calls([("Inspect", json!({"operation": "cwd"}))]);
    let server = ModelServer::start([look.stall_at(60), Reply::text("Understood.")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("look around\r");
    server.wait_for_stalls(1);
    terminal.send("and use tabs\r");
    terminal.wait_for("the model sees this at its next step");
    server.release();
    terminal.wait_for("Understood.");
    assert_eq!(server.chats().len(), 2, "it is part of the same turn");
    assert_eq!(last_prompt(&server, 1), "and use tabs");
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn late_line_starts_the_next_turn() {
    let replies = [Reply::text("First answer.").stall_at(60), Reply::text("Second answer.")];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("begin\r");
    server.wait_for_stalls(1);
    terminal.send("/mode\r");
    terminal.wait_for("commands run after the turn");
    terminal.send("one thing more\r");
    terminal.wait_for("the model sees this at its next step");
    server.release();
    terminal.wait_for("Second answer.");
    assert_eq!(last_prompt(&server, 1), "one thing more");
    terminal.wait_for("mode is");
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn queued_line_is_restored_when_the_turn_stops() {
    let replies = [Reply::text("First answer.").stall_at(60), Reply::text("Second answer.")];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("begin\r");
    server.wait_for_stalls(1);
    terminal.send("one thing more\r");
    terminal.wait_for("the model sees this at its next step");
    terminal.send("\x03");
    terminal.wait_for("interrupted");
    terminal.send(" and another\r");
    terminal.wait_for("Second answer.");
    assert_eq!(server.chats().len(), 2);
    assert_eq!(last_prompt(&server, 1), "one thing more and another");
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn typing_does_not_mix_with_the_answer() {
    let server =
        ModelServer::start([Reply::text("first answer").withhold(), Reply::text("second answer")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("go\r");
    server.wait_for_stalls(1);
    terminal.send("typing meanwhile");
    server.release();
    terminal.wait_for("> typing meanwhile");
    let history = terminal.history();
    assert!(history.lines().any(|line| line.trim_end() == "first answer"), "{history}");
    terminal.send("\r");
    terminal.wait_for("second answer");
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert_eq!(last_prompt(&server, 1), "typing meanwhile");
}

#[test]
fn the_end_of_input_at_a_question_stops_the_turn() {
    let call = Reply::calls([("Write", json!({"file_path": "a", "content": "x"}))]);
    let server = ModelServer::start([call, Reply::text("as you wish")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("go\r");
    terminal.wait_for("Answer [");
    terminal.send("\x04");
    terminal.wait_for("interrupted");
    assert_eq!(server.chats().len(), 1);
    assert!(!project.path().join("a").exists());
}

#[test]
fn queued_long_line_is_shown_whole() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], (40, 12));
    terminal.wait_for("> ");
    let long = "head of it and many more words that do not fit, to the tail";
    terminal.send(long);
    terminal.wait_for("to the tail");
    terminal.send("\x03");
    terminal.wait_for("> head of it");
}
