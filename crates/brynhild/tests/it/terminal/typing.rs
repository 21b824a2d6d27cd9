//! Line input: across rows, endless pastes, and dumb terminals.

use super::*;

/// The last message that the model received.
fn last_message(server: &ModelServer, request: usize) -> String {
    let messages = server.chats()[request].body["messages"].clone();
    let last = messages.as_array().unwrap().last().unwrap().clone();
    last["content"].as_str().unwrap().to_owned()
}

#[test]
fn answer_is_erased_across_rows() {
    let reason = "n because of all that was said before today";
    for (erased, rest) in [("\x7f".repeat(40), "n b"), ("\x15".to_owned(), "")] {
        let server = ModelServer::start([touch("a.txt"), Reply::text("I leave it.")]);
        let project = project_with(&server);
        let terminal = project.terminal(&["--mode", "ask", "--plain", "chat", "write"], (30, 40));
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        let empty = letters(&terminal.wait_until("the question", |screen| {
            letters(&screen.contents()).ends_with("Answer[1]:")
        }));
        terminal.send(reason);
        terminal.wait_until("the answer", |screen| {
            letters(&screen.contents()).ends_with("beforetoday")
        });
        terminal.send(&erased);
        terminal.wait_until("less of it", |screen| {
            letters(&screen.contents()) == format!("{empty}{}", letters(rest))
        });
        terminal.send("no\r");
        assert_eq!(terminal.wait_for_end(), Some(0));
    }
}

#[test]
fn endless_paste_can_be_left_by_lines() {
    let server = ModelServer::start([Reply::text("heard")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("\x1b[200~words of a paste");
    terminal.wait_for("Unfinished paste · Esc ends it");
    terminal.send("\x1b");
    terminal.wait_for("> words of a paste");
    terminal.send(" and more\r");
    terminal.wait_for("heard");
    assert_eq!(last_message(&server, 0).trim_end(), "words of a paste and more");
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn endless_paste_at_a_question_approves_nothing() {
    let server = ModelServer::start([touch("a.txt"), Reply::text("I leave it.")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "ask", "--plain", "chat", "write"], SIZE);
    terminal.wait_for("Answer [1]:");
    terminal.send("\x1b[200~y\r");
    terminal.wait_for("Unfinished paste · Esc ends it");
    terminal.send("\x1b");
    assert_eq!(terminal.wait_for_end(), Some(130));
    assert_eq!(server.chats().len(), 1);
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn dumb_terminal_gets_no_escape_sequences() {
    let server = ModelServer::start([touch("a.txt"), Reply::text("It is made.")]);
    let project = project_with(&server).env("TERM", "dumb");
    let terminal = project.terminal(&["--mode", "ask", "chat", "write"], SIZE);
    terminal.wait_for("Answer [1]:");
    terminal.send("no\x7f\x7fy\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let output = terminal.output();
    assert!(output.contains("It is made.") && !output.contains('\x1b'), "{output:?}");
}
