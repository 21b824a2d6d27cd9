//! Writing on a real terminal: pastes, files, commands, history, drafts, the editor.

use super::*;

#[test]
fn a_paste_is_text_and_a_long_one_a_chip() {
    let server = ModelServer::start([Reply::text("read")]);
    let project = project_with(&server);
    let terminal = start(&project);
    let long = (0..30).map(|number| format!("line {number}\r\n")).collect::<Vec<_>>().concat();
    terminal.send("look: \x1b[200~one\r\ntwo\x1b[201~ \x1b[200~");
    terminal.send(&long);
    terminal.send("\x1b[201~");
    terminal.wait_for("[pasted text 1: 30 lines]");
    terminal.send("\r");
    terminal.wait_for("read");
    let sent = server.chats()[0].body["messages"].as_array().unwrap().last().unwrap().clone();
    let sent = sent["content"].as_str().unwrap();
    assert!(sent.starts_with("look: one\ntwo line 0\nline 1\n"), "{sent}");
    assert!(sent.contains("line 29"), "{sent}");
}

#[test]
fn files_and_commands_are_completed() {
    let server = ModelServer::start([Reply::text("fine")]);
    let project = project_with(&server);
    project.file("src/deep/engine.rs", "x").file("notes.md", "y");
    let terminal = start(&project);
    terminal.send("see @engi");
    terminal.wait_for("@src/deep/engine.rs");
    terminal.send("\t\r");
    terminal.wait_for("fine");
    let sent = server.chats()[0].body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(sent["content"].as_str().unwrap().trim_end(), "see @src/deep/engine.rs");
    terminal.send("/too");
    terminal.wait_for("/tools");
    terminal.send("\t\r");
    terminal.wait_for("builtin");
}

#[test]
fn completion_tolerates_a_fifo_as_ignore_file() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    project.file("src/engine.rs", "x");
    crate::git::shell(&project, "mkfifo .ignore src/.gitignore");
    let terminal = start(&project);
    terminal.send("see @engi");
    terminal.wait_for("@src/engine.rs");
}

#[test]
fn a_draft_survives_a_kill_and_history_outlives_the_session() {
    let server = ModelServer::start([Reply::text("heard")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("remember me\r");
    terminal.wait_for("heard");
    terminal.send("half a thought");
    terminal.wait_for("half a thought");
    wait_for_draft(&project, |draft| draft == "half a thought");
    terminal.signal(Signal::KILL);
    assert_eq!(terminal.wait_for_end(), None);
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_for("> half a thought");
    terminal.send("\x03\x1b[A\x1b[A");
    terminal.wait_for("> remember me");
}

#[test]
fn too_long_history_file_is_shortened() {
    let server = ModelServer::start([Reply::text("heard")]);
    let project = project_with(&server);
    let path = project.config_directory().join("interface/history.jsonl");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let long = format!("\"{}\"\n", "x".repeat(2 << 20)).repeat(9);
    std::fs::write(&path, format!("{long}\"the last of them\"\n")).unwrap();
    let terminal = start(&project);
    terminal.send("\x1b[A");
    terminal.wait_for("> the last of them");
    terminal.send("\r");
    terminal.wait_for("heard");
    let deadline = Instant::now() + Duration::from_mins(1);
    while std::fs::metadata(&path).unwrap().len() > 8 << 20 {
        assert!(Instant::now() < deadline, "it is as long as before");
        std::thread::yield_now();
    }
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("\"the last of them\"\n"));
}

#[test]
fn pasted_chip_survives_a_kill() {
    let server = ModelServer::start([Reply::text("heard")]);
    let project = project_with(&server);
    let pasted = "a pasted line\n".repeat(30);
    let terminal = start(&project);
    terminal.send(&format!("read \x1b[200~{pasted}\x1b[201~"));
    terminal.wait_for("> read [pasted text 1: 30 lines]");
    wait_for_draft(&project, |draft| draft.contains("a pasted line"));
    terminal.signal(Signal::KILL);
    assert_eq!(terminal.wait_for_end(), None);
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_for("> read [pasted text 1: 30 lines]");
    terminal.send("\r");
    terminal.wait_for("heard");
    assert!(server.chats()[0].text.contains(r"read a pasted line\na pasted line"));
}

#[test]
fn external_editor_edits_the_draft() {
    let server = ModelServer::start([Reply::text("edited")]);
    let project = project_with(&server);
    project.file("editor.sh", "#!/bin/sh\nprintf ' and more' >> \"$1\"\n");
    let script = project.path().join("editor.sh");
    let project = project.env("EDITOR", format!("/bin/sh {}", script.display()));
    let terminal = start(&project);
    terminal.send("some text\x14e");
    terminal.wait_for("some text and more");
    terminal.send("\r");
    terminal.wait_for("edited");
    let sent = server.chats()[0].body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(sent["content"], "some text and more");
}

#[test]
fn mode_and_model_can_change_during_a_session() {
    let server = ModelServer::start([Reply::text("first"), Reply::text("second")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("one\r");
    terminal.wait_for("first");
    terminal.send("\x1b[Z");
    terminal.wait_for("Mode ask: edits and commands ask first");
    terminal.send("/mode yolo\r");
    terminal.wait_for("Mode yolo: network access does not ask either");
    terminal.send("/model other-model\r");
    terminal.wait_for("other-model");
    let screen = terminal.wait_for("first");
    assert!(screen.contains("┃ one"), "the conversation goes on:\n{screen}");
    terminal.send("two\r");
    terminal.wait_for("second");
    assert_eq!(server.chats()[1].body["model"], "other-model");
}

#[test]
fn trust_question_is_a_dialog() {
    let server = ModelServer::start([Reply::text("hello")]);
    let project = project_with(&server);
    project.file(".brynhild/hooks.yaml", "hooks: {}\n");
    let terminal = project.terminal::<&str>(&[], SIZE);
    let screen = terminal.wait_for("Text only");
    assert!(screen.contains(".brynhild/hooks.yaml"), "{screen}");
    terminal.send("n");
    terminal.wait_for("Ask anything");
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn escape_declines_trust() {
    let server = ModelServer::start([Reply::text("hello")]).repeat_last();
    for key in ["\x1b", "y"] {
        let project = project_with(&server);
        project.file(".brynhild/config.yaml", "permissions: {allow: [\"Bash(echo *)\"]}\n");
        let terminal = project.terminal::<&str>(&[], SIZE);
        terminal.wait_for("Text only");
        terminal.send(key);
        let screen = terminal.wait_for("Ask anything");
        assert_eq!(screen.contains("`permissions.allow`"), key != "y", "{key:?}:\n{screen}");
        terminal.send("\x11");
        assert_eq!(terminal.wait_for_end(), Some(0));
    }
}

#[test]
fn abandoned_line_stays_in_the_history() {
    let server = ModelServer::start([Reply::text("fine")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    for words in ["first text", "second text"] {
        terminal.send(words);
        terminal.wait_for(words);
        terminal.send("\x03");
    }
    terminal.send("\x1b[A\x1b[A\r");
    terminal.wait_for("fine");
    let sent = server.chats()[0].body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(sent["content"], "first text");
}

#[test]
fn session_picker_previews_and_resumes() {
    let server = ModelServer::start([
        Reply::text("The sea is deep."),
        Reply::text("The hill is high."),
        Reply::text("Deeper still."),
    ]);
    let project = project_with(&server);
    project.brynhild(&["chat", "about the sea"]).success();
    project.brynhild(&["chat", "about the hill"]).success();
    let terminal = start(&project);
    terminal.send("\x1b[17~");
    terminal.wait_for("Sessions (2)");
    terminal.send("sea");
    terminal.wait_for("The sea is deep.");
    terminal.send("\r");
    terminal.wait_until("the session", |screen| {
        let text = screen.contents();
        text.contains("┃ about the sea") && !text.contains("Sessions (")
    });
    terminal.send("and?\r");
    terminal.wait_for("Deeper still.");
    let sent = server.chats()[2].body["messages"].to_string();
    assert!(sent.contains("The sea is deep.") && !sent.contains("hill"), "{sent}");
}

#[test]
fn queued_message_can_be_withdrawn() {
    let server = ModelServer::start([Reply::text("slow").stall_at(0), Reply::text("second")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("first\r");
    server.wait_for_stalls(1);
    terminal.send("wrong words\r");
    terminal.wait_for("Queued: wrong words");
    terminal.send("\x1b[A");
    terminal.wait_for("> wrong words");
    terminal.send("\x15right words\r");
    terminal.wait_for("Queued: right words");
    server.release();
    terminal.wait_for("second");
    let sent = server.chats()[1].body["messages"].to_string();
    assert!(sent.contains("right words") && !sent.contains("wrong"), "{sent}");
}

#[test]
fn line_mode_completes_commands_and_files() {
    let server = ModelServer::start([Reply::text("fine")]);
    let project = project_with(&server);
    project.file("src/engine.rs", "x");
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("/mo\t\t");
    terminal.wait_for("/model  [name]");
    terminal.send("\x15see @eng\t");
    terminal.wait_for("> see @src/engine.rs");
    terminal.send("\r");
    terminal.wait_for("fine");
    let sent = server.chats()[0].body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(sent["content"].as_str().unwrap().trim_end(), "see @src/engine.rs");
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn role_runs_in_the_full_screen_interface() {
    let server = ModelServer::start([Reply::text("Ahoy."), Reply::text("Aye.")]);
    let project = project_with(&server);
    project.file("role.yaml", "name: pirate\nprompt: You are a pirate.\ntools: [datetime]\n");
    let terminal = project.terminal(&["run", "role.yaml", "-i", "-p", "hello there"], SIZE);
    terminal.wait_for("Ahoy.");
    assert!(terminal.output().contains("\x1b[?1049h"), "{:?}", terminal.output());
    terminal.send("more\r");
    terminal.wait_for("Aye.");
    let sent = server.chats()[0].body["messages"].to_string();
    assert!(sent.contains("You are a pirate.") && sent.contains("hello there"), "{sent}");
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn stricter_mode_applies_at_once_and_looser_next_turn() {
    let server = ModelServer::start([
        Reply::calls([("Glob", json!({"pattern": "*"}))]).withhold(),
        Reply::calls([("Write", json!({"file_path": "a.txt", "content": "x"}))]),
        Reply::text("The end."),
    ]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "yolo"], SIZE);
    terminal.wait_for("Ask anything");
    terminal.send("go\r");
    server.wait_for_requests(1);
    terminal.send("/mode read-only\r");
    terminal.wait_until("the mode in the last line", |screen| {
        screen.contents().lines().last().is_some_and(|line| line.contains("read-only"))
    });
    server.release();
    terminal.wait_for("The end.");
    assert!(!project.path().join("a.txt").exists(), "{}", terminal.screen());
}

#[test]
fn concurrent_programs_have_separate_drafts() {
    let server = ModelServer::start([Reply::text("heard")]);
    let project = project_with(&server);
    let first = start(&project);
    first.send("draft of the first");
    wait_for_draft(&project, |draft| draft == "draft of the first");
    let second = start(&project);
    assert!(!second.screen().contains("draft of"), "{}", second.screen());
    second.send("draft of the second");
    wait_for_draft(&project, |draft| draft == "draft of the second");
    wait_for_draft(&project, |draft| draft == "draft of the first");
    for terminal in [first, second] {
        terminal.signal(Signal::KILL);
        assert_eq!(terminal.wait_for_end(), None);
    }
    let third = project.terminal::<&str>(&[], SIZE);
    third.wait_for("> draft of the second");
    let fourth = project.terminal::<&str>(&[], SIZE);
    fourth.wait_for("> draft of the first");
}

#[test]
fn undo_works_only_between_turns() {
    let server = ModelServer::start([
        Reply::calls([("Write", json!({"file_path": "a.txt", "content": "x"}))]),
        Reply::text("The end.").withhold(),
    ]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--mode", "yolo"], SIZE);
    terminal.wait_for("Ask anything");
    terminal.send("go\r");
    server.wait_for_stalls(1);
    terminal.send("/undo\r");
    terminal.wait_for("the model is still working");
    assert_eq!(project.read("a.txt"), "x");
    server.release();
    terminal.wait_for("The end.");
    wait_for_end_of_turn(&terminal);
    terminal.send("/undo\r");
    terminal.wait_for("1 file undone");
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn long_line_is_written_once_and_long_paste_is_a_chip() {
    let server = ModelServer::start([Reply::text("fine"), Reply::text("well")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], (40, 12));
    terminal.wait_for("> ");
    let before = terminal.output().len();
    let sentence =
        "An ordinary sentence that takes up more than two rows of such a narrow terminal.";
    terminal.send(sentence);
    terminal.wait_for("terminal.");
    // A blank and a return take the cursor to the next row where one is full.
    assert_eq!(terminal.output()[before..].replace(" \r", ""), sentence);
    terminal.send("\x01\x1b[C\x0b");
    terminal.wait_until("the rest to go", |screen| screen.contents().trim_end().ends_with("> A"));
    terminal.send("ll of this: ");
    let pasted: Vec<String> = (0..5000).map(|number| format!("pasted line {number}\n")).collect();
    let pasted = pasted.concat();
    terminal.send(&format!("\x1b[200~{pasted}\x1b[201~"));
    terminal.wait_for("> All of this: [pasted text 1: 5000 line");
    terminal.send("\r");
    terminal.wait_for("fine");
    let output = terminal.output();
    assert!(!output.contains("pasted line"), "{}", output.len());
    assert_eq!(output.matches("[pasted text 1").count(), 1, "{output:?}");
    let sent = server.chats()[0].body["messages"].to_string();
    assert!(sent.contains("All of this: pasted line 0") && sent.contains("pasted line 4999"));
    terminal.send("\x1b[A");
    terminal
        .wait_until("the chip", |screen| screen.contents().matches("[pasted text 1").count() == 2);
    terminal.send("\r");
    terminal.wait_for("well");
}
