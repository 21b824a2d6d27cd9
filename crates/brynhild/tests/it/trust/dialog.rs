//! Files that change while the trust dialog waits for an answer.

use std::fs;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::{SIZE, list};
use crate::{project, project_with};

fn with_hook(project: &Project, event: &str, command: &str) {
    let hook = json!({"name": "a", "type": "command", "command": command});
    project.file(".brynhild/hooks.yaml", json!({"hooks": {event: [hook]}}).to_string());
}

/// Waits for the question after the warning.
fn wait_for_second_question(terminal: &testkit::Terminal) -> String {
    let is_asked = |screen: &str| {
        let after = screen.split_once("changed while you were asked");
        after.is_some_and(|(_, after)| after.contains("[N]o: "))
    };
    terminal.wait_until("a second question", |screen| is_asked(&screen.contents()))
}

#[test]
fn changes_while_the_dialog_waits_ask_again() {
    let project = project();
    with_hook(&project, "pre_tool_use", "sh go.sh");
    project.file("go.sh", "exit 1\n");
    let terminal = project.terminal(&["trust"], SIZE);
    terminal.wait_for("[N]o: ");
    project.file("go.sh", "exit 0 # other\n");
    terminal.send("y\r");
    wait_for_second_question(&terminal);
    terminal.send("n\r");
    assert_eq!(terminal.wait_for_end(), Some(3));
    assert!(list(&project).is_empty());
}

#[test]
fn chat_asks_again_about_changes_while_its_dialog_waited() {
    let call = Reply::calls([("Bash", json!({"command": "touch made"}))]);
    let server = ModelServer::start([call, Reply::text("done")]);
    let project = project_with(&server);
    with_hook(&project, "pre_tool_use", "sh go.sh");
    project.file("go.sh", "exit 0\n");
    let terminal = project.terminal(&["--yes", "chat", "hi"], SIZE);
    terminal.wait_for("[N]o: ");
    fs::write(project.path().join("go.sh"), "exit 1 # other\n").unwrap();
    terminal.send("y\r");
    let screen = wait_for_second_question(&terminal);
    assert!(screen.contains("Changes since your decision"), "{screen}");
    terminal.send("y\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(!project.path().join("made").exists(), "the guard of the second answer counts");
}
