//! Input on the full screen while the model works: messages, commands, interrupts.

use serde_json::Value;

use super::*;

/// A call that goes on until the test lets it end, and says much then.
const HELD: &str = "until [ -e go ]; do sleep 0.02; done; seq 20000";

fn withheld_call() -> Reply {
    Reply::calls([("Bash", json!({"command": HELD}))])
}

fn at_work(project: &Project, flags: &[&str]) -> Terminal {
    let terminal = project.terminal(&[&["--mode", "yolo"], flags].concat(), SIZE);
    terminal.wait_for("Ask anything");
    terminal.send("begin\r");
    terminal.wait_for("┃ begin");
    terminal.wait_for("Bash");
    terminal
}

fn messages(server: &ModelServer, number: usize) -> Vec<Value> {
    server.chats()[number].body["messages"].as_array().unwrap().clone()
}

#[test]
fn message_sent_during_a_call_is_in_the_next_request() {
    for _ in 0..5 {
        let server = ModelServer::start([withheld_call(), Reply::text("Heard.")]);
        let project = project_with(&server);
        let terminal = at_work(&project, &[]);
        terminal.send("use tabs\r");
        terminal.wait_for("Queued: use tabs");
        project.file("go", "");
        terminal.wait_for("Heard.");
        let said = messages(&server, 1);
        assert_eq!(said.last().unwrap()["content"], "use tabs", "{said:#?}");
        assert_eq!(server.chats().len(), 2, "it is not a turn of its own");
    }
}

#[test]
fn message_sent_during_a_call_survives_compaction() {
    let server = ModelServer::start([
        withheld_call().usage(300, 10),
        Reply::calls([("Inspect", json!({"operation": "cwd"}))]).usage(95_000, 10),
        Reply::text("SUMMARY"),
        Reply::text("Heard."),
    ]);
    let project = project_with(&server);
    project.config_more(
        "models:\n  registry:\n    test-model:\n      bindings: {test: {model_id: test-model, \
         max_context: 100000}}\n      descriptor: {family: test}\n",
    );
    let terminal = at_work(&project, &["--model", "test-model"]);
    terminal.send("always use tabs\r");
    terminal.wait_for("Queued: always use tabs");
    project.file("go", "");
    terminal.wait_for("Heard.");
    let chats = server.chats();
    let last = &chats.last().unwrap().text;
    assert!(last.contains("SUMMARY"), "{last}");
    assert!(last.contains("begin") && last.contains("always use tabs"), "{last}");
}

#[test]
fn compaction_is_shown_and_can_be_stopped() {
    let replies = [Reply::text("one"), Reply::text("two"), Reply::text("SUMMARY").withhold()];
    let server = ModelServer::start(replies.into_iter().chain([Reply::text("three")]));
    let project = project_with(&server);
    let terminal = start(&project);
    for (words, answer) in [("first", "one"), ("second", "two")] {
        terminal.send(&format!("{words}\r"));
        terminal.wait_for(answer);
        terminal.wait_for("Ask anything");
    }
    terminal.send("/compact\r");
    server.wait_for_stalls(1);
    terminal.wait_for("Esc to interrupt");
    terminal.send("\x1b");
    server.wait_for_hang_ups(1);
    terminal.wait_for("Ask anything");
    terminal.send("third\r");
    terminal.wait_for("three");
    let said = messages(&server, 3);
    let words: Vec<&str> = said.iter().filter_map(|it| it["content"].as_str()).collect();
    assert!(["first", "one", "second", "two", "third"].iter().all(|it| words.contains(it)));
}

#[test]
fn prompt_after_a_command_waits_for_it() {
    let server = ModelServer::start([Reply::text("Heard."), Reply::text("Heard again.")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("first\r");
    terminal.wait_for("Heard.");
    terminal.wait_for("Ask anything");
    terminal.send("/clear\rsecond\r");
    terminal.wait_for("Heard again.");
    let said = messages(&server, 1);
    assert!(said.iter().all(|it| it["content"] != "first"), "{said:?}");
}

#[test]
fn model_switch_waits_for_the_end_of_the_turn() {
    let replies = [withheld_call(), Reply::text("All is done."), Reply::text("I am another.")];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    let terminal = at_work(&project, &[]);
    terminal.send("/model other-model\r");
    terminal.wait_for("Queued: /model other-model");
    project.file("go", "");
    terminal.wait_for("All is done.");
    let result = messages(&server, 1).pop().unwrap();
    assert!(result["content"].as_str().unwrap().contains("19999"), "{result:#}");
    terminal.wait_until("the other model in the last line", |screen| {
        screen.contents().lines().last().is_some_and(|line| line.contains("other-model"))
    });
    terminal.wait_for("Ask anything");
    terminal.send("and you\r");
    terminal.wait_for("I am another.");
    assert_eq!(server.chats()[2].body["model"], "other-model");
}

#[test]
fn queued_command_can_be_withdrawn() {
    let server =
        ModelServer::start([withheld_call(), Reply::text("All is done."), Reply::text("Yes.")]);
    let project = project_with(&server);
    let terminal = at_work(&project, &[]);
    terminal.send("/clear\r");
    terminal.wait_for("Queued: /clear");
    terminal.send("\x1b[A");
    terminal.wait_for("> /clear");
    terminal.send("\x15");
    project.file("go", "");
    terminal.wait_for("All is done.");
    terminal.wait_for("Ask anything");
    terminal.send("still there\r");
    terminal.wait_for("Yes.");
    assert!(messages(&server, 2).iter().any(|message| message["content"] == "begin"));
}
