//! An agent's conversation in resume, crashes, exports, search and the conversation log.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{bash, messages, playing, result, task, write_user_agent};
use crate::crashes::check_pairs;
use crate::project_with;

#[test]
fn resumed_session_has_only_the_result_of_an_agent() {
    let (project, server) = playing([
        task("scout", "look at the shed"),
        Reply::text("Secret thoughts.").call("Glob", &json!({"pattern": "*"})),
        Reply::text("an empty shed"),
        Reply::text("It is empty."),
        Reply::text("Still empty."),
    ]);
    project.brynhild(&["chat", "--session", "work", "first"]).success();
    project.brynhild(&["chat", "--session", "work", "second"]).success();
    let last = server.chats().pop().unwrap();
    check_pairs(&last);
    let words: Vec<String> = messages(&last).into_iter().skip(2).map(|(_, text)| text).collect();
    assert_eq!(words.len(), 4, "{words:?}");
    assert_eq!(words[1..3], ["an empty shed", "It is empty."]);
    assert!(!last.text.contains("Secret thoughts"));
}

#[test]
fn kill_during_an_agent_closes_nested_calls() {
    let (project, server) = playing([
        task("scout", "work"),
        bash("echo begun; sleep 600"),
        Reply::text("I will look."),
    ]);
    let args = ["chat", "--yes", "--session", "work", "--output-format", "stream-json", "go"];
    let running = project.command(&args).stdin("").spawn();
    running.wait_for_stdout("begun");
    running.kill();
    running.wait();
    let again =
        project.brynhild(&["chat", "--resume", "work", "--output-format", "stream-json", "on"]);
    again.success();
    let events = again.json_lines();
    let closed: Vec<(&Value, &Value)> = events
        .iter()
        .filter(|event| event["type"] == "tool_finished")
        .map(|event| (&event["name"], &event["within"]["agent"]))
        .collect();
    assert_eq!(closed, [(&json!("Bash"), &json!("scout")), (&json!("Task"), &Value::Null)]);
    let last = server.chats().pop().unwrap();
    check_pairs(&last);
    assert!(result(&last).contains("the program ended while this call was running"));
    // A closed call stays closed.
    let shown = project.brynhild(&["session", "show", "work", "--json"]).json();
    assert_eq!(shown["messages"][1]["tool_name"], "Task");
    assert_eq!(shown["messages"][1]["tool_result"]["outcome"], "interrupted");
}

#[test]
fn session_commands_include_agents() {
    let (project, _server) = playing([
        task("scout", "look for walnuts"),
        Reply::text("Pistachio thoughts.").call("Glob", &json!({"pattern": "*"})),
        Reply::text("no walnuts"),
        Reply::text("There are none."),
    ]);
    let logs = project.home().join("logs");
    project.config_more(&format!("logging: {{dir: '{}'}}\n", logs.display()));
    project.brynhild(&["chat", "--session", "work", "any nuts?"]).success();
    let shown = project.brynhild(&["session", "show", "work", "--json"]).json();
    let roles: Vec<&Value> =
        shown["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "tool", "assistant"]);
    assert_eq!(shown["message_count"], 3);
    let exported = project.brynhild(&["session", "export", "work"]);
    assert!(exported.stdout.contains("no walnuts") && !exported.stdout.contains("Pistachio"));
    let hits = project.brynhild(&["session", "search", "pistachio", "--json"]).json();
    assert_eq!((&hits[0]["agent"], &hits[0]["who"]), (&json!("scout"), &json!("assistant")));
    let text = project.brynhild(&["session", "search", "pistachio"]);
    assert!(text.stdout.contains("model of scout: Pistachio thoughts."), "{text}");
    let counted = project.brynhild(&["tools", "stats", "--of", "work", "--json"]).json();
    assert_eq!(counted["tools"]["Glob"]["call_count"], 1, "{counted:#}");
    let log = project.brynhild(&["logs", "view", "--raw"]);
    let line = log.stdout.lines().find(|line| line.contains("Pistachio")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["agent"], "scout");
    let markdown = project.brynhild(&["logs", "export"]);
    assert!(!markdown.stdout.contains("Pistachio"), "{markdown}");
}

#[test]
fn fork_and_compaction_exclude_agent_messages() {
    let server = ModelServer::respond_with(|request| {
        check_pairs(request);
        let said = messages(request);
        if said[0].1.contains("You are a scout.") {
            return Reply::text("inner words");
        }
        match said.last().unwrap() {
            (role, _) if role == "tool" => Reply::text("outer words"),
            (_, text) if text.contains("Write a summary") => Reply::text("a summary"),
            (_, text) if text.contains("again") => Reply::text("again"),
            _ => task("scout", "work"),
        }
    });
    let project = project_with(&server);
    write_user_agent(&project, "scout", "", "You are a scout.");
    project.brynhild(&["chat", "--session", "work", "go"]).success();
    project.brynhild(&["chat", "--resume", "work", "--fork", "again"]).success();
    let last = server.chats().pop().unwrap();
    assert_eq!(messages(&last).len(), 6, "{}", last.text);
    let run = project.command(&["--plain", "--resume", "work"]).stdin("/compact\nagain\n").run();
    run.success();
    let last = server.chats().pop().unwrap();
    assert!(last.text.contains("a summary") && !last.text.contains("\"work\\\""), "{}", last.text);
}
