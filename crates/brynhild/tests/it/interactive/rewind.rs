//! Going back in a conversation, and commands of the user after `!`.

use super::*;

fn last_message(server: &ModelServer, at: usize) -> String {
    let messages = server.chats()[at].body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn escape_twice_edits_an_earlier_message() {
    let server = ModelServer::start([
        Reply::text("one it is"),
        Reply::text("two it is"),
        Reply::text("the other two"),
    ]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("say one\r");
    terminal.wait_for("one it is");
    terminal.send("say two\r");
    terminal.wait_for("two it is");
    terminal.send("\x1b");
    terminal.wait_for("again to go back to an earlier message");
    terminal.send("\x1b");
    terminal.wait_for("Your messages (2)");
    terminal.send("\r");
    terminal.wait_for("1  Edit it");
    terminal.send("1");
    terminal.wait_until("the conversation before the message", |screen| {
        let shown = screen.contents();
        shown.contains("> say two") && shown.contains("one it is") && !shown.contains("two it is")
    });
    terminal.send(" again\r");
    terminal.wait_for("the other two");
    let sent = server.chats()[2].body["messages"].to_string();
    assert!(sent.contains("say two again") && !sent.contains("two it is"), "{sent}");
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let sessions = project.brynhild(&["session", "list", "--json"]).success().json();
    assert_eq!(sessions.as_array().unwrap().len(), 2, "the first conversation is kept");
}

#[test]
fn rewinding_restores_the_files_of_later_turns() {
    let write = |name: &str| json!({"command": format!("echo {name} > {name}.txt")});
    let server = ModelServer::start([
        Reply::calls([("Bash", write("first"))]),
        Reply::text("made the first"),
        Reply::calls([("Bash", write("second"))]),
        Reply::text("made the second"),
    ]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("make one\r");
    terminal.wait_for("made the first");
    terminal.send("make two\r");
    terminal.wait_for("made the second");
    wait_for_end_of_turn(&terminal);
    assert!(project.path().join("second.txt").exists());
    terminal.send("/rewind 2 files\r");
    terminal.wait_until("the message to edit", |screen| screen.contents().contains("> make two"));
    assert!(!project.path().join("second.txt").exists());
    assert!(project.path().join("first.txt").exists());
}

#[test]
fn fork_continues_in_a_copy_and_new_begins_again() {
    let server = ModelServer::start([Reply::text("heard"), Reply::text("heard again")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("remember 42\r");
    terminal.wait_for("heard");
    terminal.wait_for("Ask anything");
    terminal.send("/fork\r");
    // The screen of the copy looks the same.
    let sessions = || project.brynhild(&["session", "list", "--json"]).success().json();
    let has_copy = || sessions().as_array().unwrap().len() == 2;
    assert!((0..200).any(|_| has_copy()), "{}", terminal.screen());
    terminal.wait_for("Ask anything");
    terminal.send("what was it\r");
    terminal.wait_for("heard again");
    terminal.wait_for("Ask anything");
    assert!(server.chats()[1].body["messages"].to_string().contains("remember 42"));
    terminal.send("/new\r");
    terminal.wait_until("an empty conversation", |screen| !screen.contents().contains("heard"));
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let sessions = project.brynhild(&["session", "list", "--json"]).success().json();
    assert_eq!(sessions.as_array().unwrap().len(), 2, "{sessions}");
}

#[test]
fn command_after_a_bang_runs_and_the_model_reads_its_output() {
    let server = ModelServer::start([Reply::text("I see it")]);
    let project = project_with(&server);
    project.file("notes.txt", "milk and honey\n");
    let terminal = start(&project);
    terminal.send("!cat notes.txt\r");
    terminal.wait_for("│ milk and honey");
    assert!(server.chats().is_empty(), "no model is asked");
    terminal.send("what did I read?\r");
    terminal.wait_for("I see it");
    let sent = server.chats()[0].body["messages"].to_string();
    assert!(sent.contains("cat notes.txt") && sent.contains("milk and honey"), "{sent}");
    assert_eq!(last_message(&server, 0), "what did I read?");
}

#[test]
fn bang_and_rewind_work_line_by_line() {
    let server = ModelServer::start([Reply::text("first"), Reply::text("second")]);
    let project = project_with(&server);
    project.file("notes.txt", "milk and honey\n");
    let lines = "first zebra\n!cat notes.txt\n/rewind\n/rewind 1\nsecond yak\n";
    let run = project.command(&["--plain"]).stdin(lines).run();
    assert!(run.stdout.contains("1  first zebra"), "{}", run.stdout);
    let sent = server.chats()[1].body["messages"].to_string();
    assert!(
        sent.contains("second yak") && !sent.contains("zebra") && !sent.contains("honey"),
        "{sent}"
    );
}
