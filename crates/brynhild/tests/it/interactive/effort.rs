//! The key for the reasoning effort.

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::start;
use crate::project_with;

#[test]
fn key_cycles_through_the_reasoning_efforts() {
    let server = ModelServer::start([Reply::text("One."), Reply::text("Two.")]);
    let project = project_with(&server);
    let terminal = start(&project);
    let screen = terminal.screen();
    assert!(!screen.contains("effort"), "{screen}");
    for level in ["off", "low", "medium", "high", "maximum"] {
        terminal.send("\x1b[15~");
        terminal.wait_for(&format!("· effort {level} ·"));
    }
    terminal.send("\x1b[15~");
    terminal.wait_until("no effort", |screen| !screen.contents().contains("effort"));
    terminal.send("/effort low\r");
    terminal.wait_for("The reasoning effort is low.");
    terminal.wait_for("· effort low ·");
    terminal.send("one\r");
    terminal.wait_for("One.");
    terminal.wait_for("Ask anything");
    terminal.send("\x14i");
    terminal.wait_for("· effort medium ·");
    terminal.send("two\r");
    terminal.wait_for("Two.");
    let sent: Vec<_> =
        server.chats().iter().map(|chat| chat.body["reasoning_effort"].clone()).collect();
    assert_eq!(sent, [json!("low"), json!("medium")]);
}
