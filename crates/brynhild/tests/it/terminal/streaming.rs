//! An answer appears while it arrives, and what was drawn early leaves no trace.

use testkit::{ModelServer, Project, Reply};

use super::SIZE;
use crate::project_with;

/// Distinct words, without the end of a paragraph.
fn numbered_words(count: usize) -> String {
    let words: Vec<String> = (1..=count).map(|number| format!("word{number}")).collect();
    words.join(" ")
}

/// All kinds of blocks: long, wide, styled, and taller than a small screen.
fn everything() -> String {
    let code: Vec<String> =
        (0..30).map(|number| format!("let line_{number} = \"漢字\";")).collect();
    let items: Vec<String> =
        (0..20).map(|number| format!("- item {number} with **weight**")).collect();
    format!(
        "# A title\n\n{}\n\nCode follows:\n```rust\n{}\n```\n{}\n\n| name | value |\n|---|---|\n\
         | a wide cell that does not fit everywhere | 漢字 |\n\n1. one\n\n   more of one\n\n2. two\n\n\
         > quoted {}\n\n{}\n\nThe end.",
        numbered_words(120),
        code.join("\n"),
        items.join("\n"),
        numbered_words(15),
        "漢".repeat(70),
    )
}

fn answered(project: &Project, size: (u16, u16)) -> (String, String) {
    let terminal = project.terminal(&["chat", "--no-log", "talk"], size);
    assert_eq!(terminal.wait_for_end(), Some(0));
    (terminal.history(), terminal.output())
}

#[test]
fn text_is_shown_before_its_paragraph_ends() {
    let server = ModelServer::start([Reply::text(numbered_words(60)).delta_size(6).stall_at(6000)]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "talk"], SIZE);
    server.wait_for_stalls(1);
    let screen = terminal.wait_for("word1 word2 word3");
    assert!(!screen.contains("word60"), "{screen}");
    server.release();
    assert_eq!(terminal.wait_for_end(), Some(0));
    let history = terminal.history();
    assert_eq!(history.matches("word1 ").count(), 1, "{history}");
    assert!(history.contains("word60"), "{history}");
}

#[test]
fn short_answer_uses_the_width_of_the_terminal() {
    let server = ModelServer::start([Reply::text(numbered_words(17))]);
    let (history, _) = answered(&project_with(&server).env("TERM", "dumb"), (120, 24));
    assert!(history.contains(&numbered_words(17)), "{history}");
}

#[test]
fn code_lines_are_shown_before_their_block_ends() {
    let code = "```\nlet first = 1;\nlet second = 2;\n".to_owned() + &"more();\n".repeat(200);
    let server = ModelServer::start([Reply::text(code).delta_size(6).stall_at(3000)]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "talk"], SIZE);
    server.wait_for_stalls(1);
    terminal.wait_for("│ let second = 2;");
    server.release();
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn drafts_leave_no_trace_on_the_screen() {
    for size in [(80, 24), (40, 8), (19, 4), (100, 2)] {
        let server = ModelServer::start([Reply::text(everything()).delta_size(3).chunk_size(97)])
            .repeat_last();
        // A terminal that cannot draw again gets each block once, when it is complete.
        let plain = project_with(&server).env("TERM", "dumb");
        let (expected, output) = answered(&plain, size);
        assert!(!output.contains("\x1b["), "{output:?}");
        let (history, output) = answered(&project_with(&server).env("NO_COLOR", "1"), size);
        assert!(size.1 < 3 || output.contains("\x1b[J"), "nothing was drawn early: {output:?}");
        assert_eq!(history, expected, "{size:?}");
    }
}

#[test]
fn interrupted_answer_stays_visible() {
    let server = ModelServer::start([Reply::text(numbered_words(60)).delta_size(6).stall_at(6000)]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "talk"], SIZE);
    server.wait_for_stalls(1);
    terminal.wait_for("word1 word2 word3");
    terminal.send("\x03");
    assert_eq!(terminal.wait_for_end(), Some(130));
    let history = terminal.history();
    assert_eq!(history.matches("word1 word2 word3").count(), 1, "{history}");
}

#[test]
fn retried_reply_does_not_mix_with_the_first() {
    let server = ModelServer::start([
        Reply::text(numbered_words(40)).delta_size(6).cut_at(5000),
        Reply::text("Second try."),
    ]);
    let project = project_with(&server);
    let (history, _) = answered(&project, SIZE);
    let broken = history.find("the reply was cut off").unwrap_or_else(|| panic!("{history}"));
    assert!(history.find("word1 word2").unwrap() < broken, "{history}");
    assert!(history.find("Second try.").unwrap() > broken, "{history}");
}

#[test]
fn unknown_terminal_gets_plain_lines() {
    let server = ModelServer::start([Reply::text(everything()).delta_size(3)]).repeat_last();
    let (_, output) = answered(&project_with(&server).env("TERM", ""), SIZE);
    assert!(output.contains("The end.") && !output.contains("\x1b["), "{output:?}");
}

#[test]
fn reasoning_is_labeled_without_colors() {
    let reply = || Reply::text("The answer.").thinking("Some reasons.");
    let server = ModelServer::start([reply()]).repeat_last();
    let project = project_with(&server);
    let talk = |plain: &[&str]| {
        let words = [&["chat", "--show-thinking", "talk"], plain].concat();
        let terminal = project.terminal(&words, SIZE);
        assert_eq!(terminal.wait_for_end(), Some(0));
        terminal.history()
    };
    let spoken = talk(&["--plain"]);
    let place = |text: &str| spoken.find(text).unwrap_or_else(|| panic!("{text}: {spoken}"));
    let places = ["Thinking: Some reasons.", "Reply:", "The answer."].map(place);
    assert!(places.is_sorted(), "{spoken}");
    assert!(!talk(&[]).contains("Reply:"));
}
