//! Keys and the wheel on a real terminal, and commands that do not exist.

use super::*;

#[test]
fn the_wheel_scrolls_the_conversation() {
    let lines: Vec<String> = (1..=80).map(|number| format!("- entry {number}")).collect();
    let server = ModelServer::start([Reply::text(lines.join("\n"))]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("list\r");
    terminal.wait_for("entry 80");
    for _ in 0..4 {
        terminal.send("\x1b[<64;10;10M");
    }
    terminal.wait_until("an earlier part", |screen| {
        let shown = screen.contents();
        !shown.contains("entry 80") && !shown.contains("> list")
    });
    for _ in 0..4 {
        terminal.send("\x1b[<65;10;10M");
    }
    terminal.wait_for("entry 80");
    let output = terminal.output();
    assert!(output.contains("\x1b[?1002h") && output.contains("\x1b[?1007l"), "{output:?}");
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(terminal.output().contains("\x1b[?1007r"), "the wheel is given back");
}

#[test]
fn a_resize_keeps_the_place_of_a_scrolled_conversation() {
    let lines: Vec<String> = (1..=80).map(|number| format!("- entry {number}")).collect();
    let server = ModelServer::start([Reply::text(lines.join("\n"))]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("list\r");
    terminal.wait_for("entry 80");
    terminal.send("\x1b[1;5H");
    terminal.wait_for("┃ list");
    terminal.resize((60, 18));
    terminal.wait_until("the beginning on a smaller screen", |screen| {
        screen.size().0.get() == 18 && screen.contents().contains("┃ list")
    });
}

#[test]
fn control_d_exits_only_from_an_empty_text() {
    let project = project_with(&ModelServer::start([]));
    let terminal = start(&project);
    terminal.send("ab\x01\x04");
    terminal.wait_for("> b");
    terminal.send("\x04\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert_given_back(&terminal);
}

#[test]
fn question_mark_opens_help_which_takes_all_letters() {
    let project = project_with(&ModelServer::start([]));
    let terminal = start(&project);
    terminal.send("?");
    terminal.wait_for("Help (");
    terminal.send("xyz?");
    terminal.wait_for("Ask anything");
    terminal.send("why?");
    terminal.wait_for("> why?");
}

#[test]
fn f5_does_not_clear_the_conversation() {
    let server = ModelServer::start([Reply::text("still here"), Reply::text("and again")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("hello\r");
    terminal.wait_for("still here");
    terminal.send("\x1b[15~more\r");
    terminal.wait_for("and again");
    let messages = server.chats()[1].body["messages"].to_string();
    assert!(messages.contains("still here"), "{messages}");
}

#[test]
fn unknown_command_is_refused_with_a_suggestion() {
    let server = ModelServer::start([Reply::text("about directories")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("/hepl me\r");
    let screen = terminal.wait_for("Unknown command /hepl");
    assert!(screen.contains("did you mean `/help`?"), "{screen}");
    terminal.send("/skill nothing\r");
    terminal.wait_for("Unknown skill nothing");
    assert!(server.chats().is_empty(), "nothing was sent");
    terminal.send("/usr is full\r");
    terminal.wait_for("about directories");
    let run = project.brynhild(&["chat", "/hepl"]);
    run.code(2);
    assert!(run.stderr.contains("Unknown command /hepl"), "{}", run.stderr);
}
