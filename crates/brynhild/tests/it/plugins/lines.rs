//! Without a command: a conversation, one line at a time.

use serde_json::Value;
use testkit::{ModelServer, Reply};

use super::{global, plugin};
use crate::project_with;

const SIZE: (u16, u16) = (100, 40);

fn messages(server: &ModelServer, index: usize) -> Vec<String> {
    let body = &server.chats()[index].body;
    let texts = body["messages"].as_array().unwrap().iter();
    texts.filter_map(|it| it["content"].as_str()).map(str::to_owned).collect()
}

#[test]
fn each_line_is_a_prompt_of_one_conversation() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let project = project_with(&server);
    plugin(&global(&project), "p");
    let lines = "first\n\nsecond \\\nwith more\n/p-command it\n";
    let run = project.command(&["--plain"]).stdin(lines).run();
    assert_eq!(run.success().stdout, "one\ntwo\nthree\n");
    let last = messages(&server, 2);
    let wanted = ["first", "one", "second \nwith more", "two", "p command: it"];
    assert_eq!(last[1..], wanted);
    let sessions = project.brynhild(&["session", "list", "--json"]).json();
    assert_eq!(sessions.as_array().unwrap().len(), 1);
}

#[test]
fn built_in_commands_act_on_the_conversation() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let project = project_with(&server);
    let lines = "first\n/clear\n/cost\n/mode read-only\n/mode\n/mode nonsense\n/model\nsecond\n\
                 /model other-model\nthird\n/export out.md\n/quit\nnever sent\n";
    let run = project.command(&["--plain"]).stdin(lines).run();
    run.code(2);
    assert!(run.stderr.contains("`nonsense` is not a mode"), "{run}");
    for part in ["CACHE READ", "The mode is read-only.", "The model is test-model."] {
        assert!(run.stdout.contains(part), "{part}: {run}");
    }
    assert_eq!(messages(&server, 1)[1..], ["second"]);
    let third = &server.chats()[2].body;
    assert_eq!(third["model"], "other-model");
    assert_eq!(messages(&server, 2)[1..], ["second", "two", "third"]);
    assert!(project.read("out.md").contains("three"));
    assert_eq!(server.chats().len(), 3);
}

#[test]
fn the_event_stream_has_one_turn_for_each_line() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two")]);
    let project = project_with(&server);
    let run = project
        .command(&["--plain", "--output-format", "stream-json"])
        .stdin("a\n/help\nb\n")
        .run();
    run.success();
    let types: Vec<Value> = run.json_lines().iter().map(|event| event["type"].clone()).collect();
    let count = |kind: &str| types.iter().filter(|it| **it == kind).count();
    assert_eq!((count("turn_started"), count("turn_finished")), (2, 2));
    assert!(run.stderr.contains("/compact"), "{run}");
}

#[test]
fn failed_line_sets_the_exit_code_and_others_run() {
    let server = ModelServer::start([Reply::failure(400), Reply::text("fine")]);
    let project = project_with(&server);
    let run = project.command(&["--plain"]).stdin(b"one\n\xff\xfe\ntwo\n".to_vec()).run();
    run.code(1);
    assert_eq!(run.stdout, "fine\n");
    assert!(run.stderr.contains("not UTF-8"), "{run}");
}

#[test]
fn another_session_can_be_resumed() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two")]);
    let project = project_with(&server);
    project.brynhild(&["chat", "early", "--session", "mine"]).success();
    let run = project.command(&["--plain"]).stdin("/resume none\n/resume mine\nlate\n").run();
    run.code(2);
    assert!(messages(&server, 1).iter().any(|text| text.contains("early")), "{run}");
}

#[test]
fn stopped_turn_does_not_end_the_conversation() {
    let server = ModelServer::start([Reply::text("slow").withhold(), Reply::text("**quick**")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("wait\r");
    server.wait_for_stalls(1);
    terminal.send("\x03");
    terminal.wait_until("another prompt", |screen| screen.contents().matches("\n> ").count() > 1);
    terminal.send("again\r");
    terminal.wait_for("quick");
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(terminal.history().contains("brynhild --resume "));
}
