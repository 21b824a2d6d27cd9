//! On a real pseudo-terminal: rendering, questions, interrupts, control characters.

use serde_json::json;
use testkit::{ModelServer, Reply};

use crate::project_with;

const SIZE: (u16, u16) = (80, 40);

fn touch(name: &str) -> Reply {
    Reply::calls([("Bash", json!({"command": format!("echo made > {name}")}))])
}

#[test]
fn markdown_is_rendered_and_tools_are_shown() {
    let server = ModelServer::start([
        Reply::calls([("Glob", json!({"pattern": "*.txt"}))]),
        Reply::text("# Found\n\nThere is **one** file:\n\n- `a.txt`\n"),
    ]);
    let project = project_with(&server);
    project.file("a.txt", "x");
    let terminal = project.terminal(&["chat", "look"], SIZE);
    assert_eq!(terminal.wait_for_end(), Some(0));
    let screen = terminal.screen();
    for part in ["● Glob(pattern: *.txt)", "✓ Glob", "▌ Found", "There is one file:", "• a.txt"]
    {
        assert!(screen.contains(part), "{part} is missing:\n{screen}");
    }
}

#[test]
fn a_question_shows_the_whole_command_and_yes_runs_it() {
    let long = format!("echo {} > out.txt", "word ".repeat(60));
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": long}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "write"], SIZE);
    let screen = terminal.wait_for("Run it?");
    let shown: String = screen.split_whitespace().collect();
    let wanted: String = long.split_whitespace().collect();
    assert!(shown.contains(&wanted), "the command is cut:\n{screen}");
    terminal.send("y\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(project.read("out.txt").starts_with("word word"));
}

#[test]
fn no_tells_the_model_with_the_reason() {
    let server = ModelServer::start([touch("a.txt"), Reply::text("I leave it.")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "write"], SIZE);
    terminal.wait_for("Run it?");
    terminal.send("n use the other folder\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let requests = server.chats();
    let result = requests[1].body["messages"].as_array().unwrap().last().unwrap().clone();
    let text = result["content"].as_str().unwrap();
    assert_eq!(text, "Permission denied by user: use the other folder");
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn keys_typed_before_the_question_do_not_answer_it() {
    let server = ModelServer::start([touch("a.txt").stall_at(0), Reply::text("fine")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "write"], SIZE);
    server.wait_for_stalls(1);
    terminal.send("y\r");
    server.release();
    terminal.wait_for("Run it?");
    assert!(!project.path().join("a.txt").exists());
    terminal.send("n\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn cancel_at_the_question_stops_the_turn() {
    let server = ModelServer::start([touch("a.txt"), Reply::text("never asked for")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "write"], SIZE);
    terminal.wait_for("Run it?");
    terminal.send("c\r");
    assert_eq!(terminal.wait_for_end(), Some(130));
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn an_interrupt_stops_a_stalled_reply() {
    let server = ModelServer::start([Reply::text("one two three four five").stall_at(200)]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "talk"], SIZE);
    server.wait_for_stalls(1);
    terminal.send("\x03");
    assert_eq!(terminal.wait_for_end(), Some(130));
    assert!(terminal.screen().contains("interrupted; the session is kept"));
}

#[test]
fn control_characters_from_outside_never_reach_the_terminal() {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{202e}";
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "evil.txt"}))]),
        Reply::text(format!("text {evil}\n\n```\ncode {evil}\n```\n")).thinking(evil),
    ]);
    let project = project_with(&server);
    project.file("evil.txt", format!("file {evil}\n"));
    let terminal = project.terminal(&["chat", "--show-thinking", "look"], SIZE);
    assert_eq!(terminal.wait_for_end(), Some(0));
    let output = terminal.output();
    for bad in ["\x1b]0;", "\x1b[2J", "\u{202e}"] {
        assert!(!output.contains(bad), "{bad:?} reached the terminal: {output:?}");
    }
    assert!(output.contains("\\u{1b}"), "it should be shown escaped: {output:?}");
}

#[test]
fn no_color_means_no_escape_sequences_in_the_answer() {
    let server = ModelServer::start([Reply::text("**bold** and `code`")]);
    let project = project_with(&server).env("NO_COLOR", "1");
    let terminal = project.terminal(&["chat", "talk"], SIZE);
    assert_eq!(terminal.wait_for_end(), Some(0));
    let output = terminal.output();
    let answer = output.split("bold").nth(1).unwrap();
    assert!(!answer.contains("\x1b[1m") && !output.contains("\x1b[36m"), "{output:?}");
}
