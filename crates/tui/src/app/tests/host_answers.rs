//! Proposals, lists and output that the host answers with.

use super::*;
use crate::host::{FileChange, Item, Leave, Picks};

fn item(value: &str, label: &str, detail: &str) -> Item {
    Item { value: value.into(), label: label.into(), detail: detail.into(), ..Item::default() }
}

fn with_commands() -> Stage {
    let mut stage = Stage::new(80, 16);
    stage.answer(Answer::Commands(vec![
        item("resume", "Switch session", "[id]"),
        item("skill", "Work by a skill", "NAME [request]"),
        item("quit", "End", ""),
    ]));
    stage
}

#[test]
fn arguments_are_requested_once_and_found_by_label() {
    let mut stage = with_commands();
    stage.type_in("/res").keys("tab");
    assert_eq!(stage.asked(), [Request::Arguments("resume".into())]);
    let items =
        vec![item("session-1", "about the sea", "3 messages"), item("session-2", "hills", "")];
    stage.answer(Answer::Arguments { command: "resume".into(), items });
    stage.shows("session-1  about the sea  3 messages");
    stage.type_in("sea").hides("session-2");
    assert_eq!(stage.asked(), []);
    stage.keys("enter enter");
    assert!(stage.asked().contains(&Request::Command("/resume session-1".into())));
    stage.type_in("/quit ");
    assert_eq!(stage.asked(), [], "it takes nothing");
}

#[test]
fn late_arguments_of_another_command_are_ignored() {
    let mut stage = with_commands();
    stage.type_in("/skill ");
    let answer = |command: &str, value: &str| Answer::Arguments {
        command: command.into(),
        items: vec![item(value, "", "")],
    };
    stage.answer(answer("skill", "tide")).answer(answer("resume", "session-1"));
    stage.shows("tide");
    stage.hides("session-1");
}

#[test]
fn enter_sends_optional_commands_and_accepts_a_selection() {
    let items = || vec![item("first", "", ""), item("second", "", "")];
    let mut stage = with_commands();
    stage.type_in("/resume ");
    stage.answer(Answer::Arguments { command: "resume".into(), items: items() }).shows("second");
    stage.keys("enter");
    assert!(stage.asked().contains(&Request::Command("/resume".into())));
    stage.type_in("/resume ").keys("down enter");
    assert_eq!(stage.app.composer.buffer.raw(), "/resume second ");
    stage.keys("ctrl+c").type_in("/skill ");
    stage.answer(Answer::Arguments { command: "skill".into(), items: items() });
    stage.keys("enter");
    assert_eq!(stage.app.composer.buffer.raw(), "/skill first ", "it needs a name");
}

#[test]
fn picker_shows_hidden_characters_of_titles() {
    let mut stage = Stage::new(80, 16);
    stage.keys("f6");
    let title = "a\u{1b}[2Jb\u{2028}c\u{e0041}";
    stage.answer(Answer::Items(Picks::Sessions, vec![item("s", title, "")]));
    stage.shows("a\\u{1b}[2Jb\\u{2028}c\\u{e0041}");
}

#[test]
fn completion_notes_a_cut_list_of_files() {
    let mut stage = Stage::new(80, 16);
    stage.type_in("see @");
    stage.answer(Answer::Files { files: vec!["a.rs".into()], is_cut: true });
    stage.shows("Only the first 1 files are listed");
}

#[test]
fn leaving_while_the_model_works_asks_first() {
    let mut stage = Stage::new(80, 20);
    stage.event(prompt("work"));
    let left = |stage: &mut Stage| {
        let leaves = |effect| matches!(effect, Effect::Leave(Leave::Fresh));
        std::mem::take(&mut stage.effects).into_iter().any(leaves)
    };
    stage.keys("ctrl+t n").shows("The model is still working");
    stage.wait(400).keys("n").hides("The model is still working");
    assert!(!left(&mut stage));
    stage.keys("ctrl+t n").wait(400).keys("y");
    assert!(left(&mut stage));
    stage.keys("ctrl+t n").shows("The model is still working");
    stage.event(ended());
    assert!(left(&mut stage), "nothing is left to stop");
    stage.app.reset();
    stage.keys("ctrl+t n");
    assert!(left(&mut stage), "nothing is stopped, so nothing is asked");
}

#[test]
fn file_changes_are_shown_as_edits() {
    let mut stage = Stage::new(60, 16);
    let head = |words: &str| FileChange { description: words.into(), ..FileChange::default() };
    stage.answer(Answer::Changes(vec![
        head("turn 1  make it"),
        FileChange {
            description: "  modified  a.rs".into(),
            counts: Some((1, 1)),
            path: "a.rs".into(),
            unified: "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n fn a() {}\n-old\n+new\u{1b}[2J\n"
                .into(),
        },
    ]));
    stage.shows("┊ turn 1  make it");
    stage.shows("┊   modified  a.rs (+1 -1)");
    stage.shows("┊ 2 +new\\u{1b}[2J");
    stage.hides("+++ b/a.rs");
}

#[test]
fn stalled_paste_is_noted() {
    let mut stage = Stage::new(80, 16);
    stage.send(Message::Terminal(Input::Stalled, stage.now));
    stage.shows("Unfinished paste · Esc ends it");
}

#[test]
fn esc_ends_marking_and_not_the_turn() {
    let theme = Theme::built_in().into_iter().find(|theme| theme.name == "none");
    let mut stage = Stage::with(Settings { theme, is_vim: true, ..Settings::default() }, 80, 16);
    stage.event(prompt("work"));
    stage.type_in("some words").keys("esc v b").shows("VISUAL");
    stage.keys("esc").hides("VISUAL");
    assert!(stage.sent().is_empty());
    stage.keys("x u ctrl+r").hides("What you sent");
    assert_eq!(stage.app.composer.buffer.raw(), "some ords");
}

#[test]
fn dialog_for_an_agent_names_its_task() {
    let mut stage = Stage::new(80, 20);
    let args = json!({"description": "look into the sea", "prompt": "a lot of words"});
    stage.event(prompt("go")).event(called("t", "Task", args));
    stage.send(Message::Event(Arc::new(within("t", asks("1", "ls -la"))))).wait(400);
    stage.shows(": look into the sea)");
}

#[test]
fn picker_scrolls_to_the_end_of_long_lists() {
    let mut stage = Stage::new(80, 16);
    stage.keys("f6");
    let items = (1..=700).map(|number| item(&format!("s{number}"), &format!("talk {number}"), ""));
    stage.answer(Answer::Items(Picks::Sessions, items.collect()));
    stage.shows("Sessions (700)");
    stage.keys("end").shows("talk 700");
}
