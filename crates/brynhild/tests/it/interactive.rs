//! The interactive interface on a real pseudo-terminal: keys, approvals, resizing, suspending, and
//! that the terminal is given back whatever happens.

mod completion;
mod display;
mod effort;
mod keys;
mod lost_terminal;
mod models;
mod queue;
mod rewind;
mod slash_commands;
mod start_screen;
mod steering;
mod stress;
mod terminal_restore;
mod writing;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use testkit::{ModelServer, Project, Reply, Terminal};

use crate::project_with;

const SIZE: (u16, u16) = (100, 30);

fn start(project: &Project) -> Terminal {
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_for("Ask anything");
    terminal
}

/// Starts in the mode that asks about every command.
fn start_asking(project: &Project) -> Terminal {
    let terminal = project.terminal(&["--mode", "ask"], SIZE);
    terminal.wait_for("Ask anything");
    terminal
}

/// Waits for the end of a turn whose reply is on the screen: its figures are shown before.
#[track_caller]
pub(crate) fn wait_for_end_of_turn(terminal: &Terminal) {
    terminal
        .wait_until("the end of the turn", |screen| screen.contents().contains("> Ask anything"));
}

/// Waits until the saved draft is as expected.
#[track_caller]
fn wait_for_draft(project: &Project, is_wanted: impl Fn(&str) -> bool) {
    let directory = project.config_directory().join("interface");
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut drafts = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
        if drafts.any(|path| std::fs::read_to_string(path).is_ok_and(|text| is_wanted(&text))) {
            return;
        }
        assert!(Instant::now() < deadline, "the draft is not kept");
        std::thread::yield_now();
    }
}

/// Waits until nothing is on the screen that the interface drew, and the terminal is as it was.
#[track_caller]
fn assert_given_back(terminal: &Terminal) {
    terminal.wait_until("the terminal given back", |screen| {
        !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
    });
}

#[test]
fn message_is_answered_and_the_session_saved() {
    let server = ModelServer::start([Reply::text("# Hello\n\nI am **here**.").usage(10, 5)]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("hi there\r");
    terminal.wait_for("I am here.");
    wait_for_end_of_turn(&terminal);
    let screen = terminal.wait_for("10 in, 5 out");
    assert!(screen.contains("┃ hi there") && screen.contains("█ Hello"), "{screen}");
    assert!(screen.contains("test-model"), "{screen}");
    terminal.send("\x14q");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert_given_back(&terminal);
    assert!(terminal.screen().contains("brynhild --resume "), "{}", terminal.screen());
    let body = &server.chats()[0].body;
    assert_eq!(body["messages"].as_array().unwrap().last().unwrap()["content"], "hi there");
    let sessions = project.brynhild(&["session", "list", "--json"]).success().json();
    assert_eq!(sessions.as_array().unwrap().len(), 1);
}

#[test]
fn session_resumes_with_its_history() {
    let server = ModelServer::start([Reply::text("first answer"), Reply::text("second answer")]);
    let project = project_with(&server);
    project.brynhild(&["chat", "first question"]).success();
    let terminal = project.terminal(&["--continue"], SIZE);
    let screen = terminal.wait_for("first answer");
    assert!(screen.contains("┃ first question"), "{screen}");
    assert!(!screen.contains("prompt>"), "{screen}");
    terminal.send("more\r");
    terminal.wait_for("second answer");
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn call_runs_after_its_approval() {
    let write = json!({"command": "echo made > made.txt"});
    let server = ModelServer::start([Reply::calls([("Bash", write)]), Reply::text("It is made.")]);
    let project = project_with(&server);
    let terminal = start_asking(&project);
    terminal.send("make it\r");
    let screen = terminal.wait_for("Yes, once");
    assert!(screen.contains("echo made > made.txt"), "{screen}");
    assert!(!project.path().join("made.txt").exists());
    terminal.send("y");
    terminal.wait_for("It is made.");
    assert_eq!(project.read("made.txt"), "made\n");
    terminal.send("\x1b[21~");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn protected_file_is_written_after_a_yes() {
    let write = json!({"file_path": ".mcp.json", "content": "{}\n"});
    let server = ModelServer::start([Reply::calls([("Write", write)]), Reply::text("Done.")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("write it\r");
    let screen = terminal.wait_for("› 1  Yes, once");
    assert!(screen.contains("protected: other programs run or obey it"), "{screen}");
    assert!(!project.path().join(".mcp.json").exists());
    terminal.send("\r");
    terminal.wait_for("Done.");
    assert_eq!(project.read(".mcp.json"), "{}\n");
}

#[test]
fn denial_reason_reaches_the_model() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "echo x > a.txt"}))]),
        Reply::text("I leave it."),
    ]);
    let project = project_with(&server);
    let terminal = start_asking(&project);
    terminal.send("make it\r");
    terminal.wait_for("Yes, once");
    terminal.send("n");
    terminal.wait_for("Reason:");
    terminal.send("not now\r");
    terminal.wait_for("I leave it.");
    let result = server.chats()[1].body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(result["content"], "Permission denied by user: not now");
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn keys_typed_before_the_question_do_not_answer_it() {
    let call = Reply::calls([("Bash", json!({"command": "echo x > a.txt"}))]);
    let server = ModelServer::start([call.stall_at(0), Reply::text("fine")]);
    let project = project_with(&server);
    let terminal = start_asking(&project);
    terminal.send("go\r");
    server.wait_for_stalls(1);
    terminal.send("yyyy");
    terminal.wait_for("> yyyy");
    server.release();
    terminal.wait_for("Yes, once");
    assert!(!project.path().join("a.txt").exists());
    terminal.send("n");
    terminal.wait_for("Reason:");
    terminal.send("\r");
    terminal.wait_for("fine");
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn keys_at_a_question_do_not_reach_the_composer() {
    let call = Reply::calls([("Bash", json!({"command": "echo x > a.txt"}))]);
    let server = ModelServer::start([call, Reply::text("fine")]);
    let project = project_with(&server);
    let terminal = start_asking(&project);
    terminal.send("go\r");
    terminal.wait_for("Yes, once");
    terminal.send("OVERVIEW");
    terminal.wait_until("the lock", |screen| !screen.contents().contains("Yes, once"));
    terminal.wait_for("Yes, once");
    terminal.send("yyy");
    terminal.wait_for("fine");
    let screen = terminal.wait_for("> Ask anything");
    assert!(!screen.contains("VIEW"), "{screen}");
    assert_eq!(project.read("a.txt"), "x\n");
}

#[test]
fn enter_approves_and_escape_stops_the_turn() {
    for (key, is_made) in [("\r", true), ("\x1b", false)] {
        let call = Reply::calls([("Bash", json!({"command": "echo x > a.txt"}))]);
        let server = ModelServer::start([call, Reply::text("fine")]);
        let project = project_with(&server);
        let terminal = start_asking(&project);
        terminal.send("go\r");
        terminal.wait_for("› 1  Yes, once");
        terminal.send(key);
        terminal.wait_for(if is_made { "fine" } else { "Interrupted" });
        assert_eq!(project.path().join("a.txt").exists(), is_made, "{key:?}");
        assert_eq!(server.chats().len(), 1 + usize::from(is_made));
    }
}

#[test]
fn escape_stops_a_reply_and_the_next_one_works() {
    let server = ModelServer::start([
        Reply::text("one two three four five").stall_at(200),
        Reply::text("again"),
    ]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("talk\r");
    server.wait_for_stalls(1);
    terminal.send("\x1b");
    terminal.wait_for("Interrupted");
    terminal.send("once more\r");
    terminal.wait_for("again");
}

#[test]
fn repeated_resizing_ends_with_a_complete_screen() {
    let server = ModelServer::start([Reply::text("words that stay")]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("talk\r");
    terminal.wait_for("words that stay");
    for step in 0..60_u16 {
        terminal.resize((20 + step * 7 % 90, 5 + step * 5 % 40));
    }
    terminal.resize((90, 20));
    terminal.wait_until("a line as wide as the screen", |screen| {
        let rows: Vec<String> = screen.rows(0, 90).collect();
        rows.iter().any(|row| row.chars().filter(|c| *c == '─').count() == 90)
            && rows.iter().any(|row| row.contains("words that stay"))
    });
    terminal.resize((20, 5));
    terminal.wait_until("the smallest screen", |screen| {
        screen.rows(0, 20).any(|row| row.starts_with("> "))
    });
}

#[test]
fn foreign_control_characters_never_reach_the_terminal() {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{202e}";
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "evil.txt"}))]),
        Reply::text(format!("text {evil}\n\n```\ncode {evil}\n```\n")).thinking(evil),
    ]);
    let project = project_with(&server);
    project.file("evil.txt", format!("file {evil}\n"));
    let terminal = start(&project);
    terminal.send("look\r");
    terminal.wait_for("code \\u{1b}]0;owned");
    let output = terminal.output();
    for bad in ["\x1b]0;", "\u{202e}"] {
        assert!(!output.contains(bad), "{bad:?} reached the terminal");
    }
}

#[test]
fn lines_are_read_without_a_full_screen() {
    let server = ModelServer::start([Reply::text("plain answer")]).repeat_last();
    let dumb = (project_with(&server).env("TERM", "dumb"), vec![]);
    for (project, args) in [dumb, (project_with(&server), vec!["--plain"])] {
        let terminal = project.terminal(&args, SIZE);
        terminal.wait_for("> ");
        terminal.send("hi\r");
        terminal.wait_for("plain answer");
        assert!(!terminal.output().contains("\x1b[?1049h"), "{:?}", terminal.output());
        terminal.send("\x04");
        assert_eq!(terminal.wait_for_end(), Some(0));
    }
    let project = project_with(&server);
    let run = project.command(&["--plain"]).stdin("hi\n").run();
    assert!(run.success().stdout.contains("plain answer"), "{run}");
}

#[test]
fn plain_output_prints_lines_once() {
    let words: Vec<String> = (1..=60).map(|number| format!("word{number}")).collect();
    let reply = Reply::text(words.join(" ")).delta_size(6).stall_at(6000);
    let server = ModelServer::start([reply]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("talk\r");
    server.wait_for_stalls(1);
    terminal.send("typed ahead\r");
    terminal.wait_for("the model sees this at its next step");
    server.release();
    terminal.wait_for("word60");
    let output = terminal.output();
    assert_eq!(output.matches("word2 ").count(), 1, "{output:?}");
    for moving in ["\x1b[J", "\x1b[1A", "writing ("] {
        assert!(!output.contains(moving), "{moving:?}: {output:?}");
    }
}

#[test]
fn missing_theme_is_reported_in_line_mode() {
    let server = ModelServer::start([Reply::text("fine")]).repeat_last();
    let project = project_with(&server);
    project.config_more("ui:\n  theme: nowhere\n");
    for args in [vec!["--plain"], vec!["chat", "hi"]] {
        let terminal = project.terminal(&args, SIZE);
        terminal.wait_for("there is no theme `nowhere`");
        if args[0] == "chat" {
            assert_eq!(terminal.wait_for_end(), Some(0));
        }
        assert_eq!(terminal.output().matches("no theme").count(), 1, "{}", terminal.output());
    }
}

#[test]
fn line_editor_edits_and_recalls_lines() {
    let server = ModelServer::start([Reply::text("first"), Reply::text("second")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("> ");
    terminal.send("world\x01hello \x05!\r");
    terminal.wait_for("first");
    terminal.wait_until("another mark", |screen| {
        screen.contents().lines().last().is_some_and(|line| line.starts_with("> "))
            || screen.contents().ends_with("> ")
            || screen.contents().ends_with('>')
    });
    terminal.send("\x1b[A\x17again\r");
    terminal.wait_for("second");
    let last = |number: usize| {
        let messages = server.chats()[number].body["messages"].as_array().unwrap().clone();
        messages.last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert_eq!([last(0), last(1)], ["hello world!", "hello again"]);
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn no_color_disables_colors() {
    let server = ModelServer::start([Reply::text("`code` and **bold**")]);
    let project = project_with(&server).env("NO_COLOR", "1");
    let terminal = start(&project);
    terminal.send("talk\r");
    terminal.wait_for("code and bold");
    terminal.wait_until("cells without color", |screen| {
        let (rows, columns) = screen.size();
        let mut cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |at| (row, at)));
        cells.all(|(row, column)| {
            let cell = screen.cell(row, column);
            cell.is_none_or(|cell| {
                [cell.fgcolor(), cell.bgcolor()]
                    .iter()
                    .all(|color| format!("{color:?}") == "Default")
            })
        })
    });
}
