//! Facts that a user would otherwise miss, or be misled by.

use contract::tool::Lasting;

use super::*;
use crate::host::{Item, Picks};

fn item(value: &str) -> Item {
    Item { value: value.into(), label: value.into(), ..Item::default() }
}

#[test]
fn session_preview_follows_the_selection() {
    let mut stage = Stage::new(100, 24);
    stage.keys("ctrl+t s");
    stage.answer(Answer::Items(Picks::Sessions, vec![item("sails"), item("slow")]));
    stage.type_in("slow");
    stage.answer(Answer::Preview { id: "slow".into(), text: "about snails".into() });
    stage.answer(Answer::Preview { id: "sails".into(), text: "about the sea".into() });
    stage.hides("about the sea");
    stage.shows("about snails");
}

#[test]
fn status_line_shows_an_open_question_first() {
    let mut stage = Stage::new(90, 30);
    stage.event(prompt("go")).event(called("1", "Task", json!({}))).event(called(
        "2",
        "Bash",
        json!({}),
    ));
    stage.event(asks("2", "cargo test"));
    stage.event(finished("1", "Task", ToolOutput::success("done"))).wait(2000);
    stage.shows("waiting for your answer 2 s");
    stage.keys("y").event(EventKind::Answered {
        call: CallId("2".into()),
        answer: contract::event::Answer::Once,
        rules: vec![],
        by: None,
    });
    stage.shows("running Bash");
}

#[test]
fn retry_notices_replace_each_other() {
    let warning = |text: &str| EventKind::Notice {
        level: contract::event::Level::Warning,
        text: text.into(),
        hint: None,
        topic: Some(contract::event::NoticeTopic::Retry),
    };
    let mut stage = Stage::new(90, 20);
    stage.event(prompt("go"));
    stage.event(warning("it answered 500; retrying in 0.3 s (attempt 2 of 5)"));
    stage.event(warning("it answered 503; retrying in 1.2 s (attempt 3 of 5)"));
    stage.hides("attempt 2");
    stage.event(warning("it broke off; retrying in 3 s (attempt 4 of 5)"));
    stage.shows("attempt 3");
    stage.shows("attempt 4");
}

#[test]
fn status_line_shows_a_slow_start() {
    let mut stage = Stage::new(80, 14);
    stage.app.reset();
    stage.wait(200).hides("starting plugins");
    stage.wait(2900).shows("starting plugins and servers 2 s");
    stage.app.connect("test-model", Mode::Normal);
    stage.wait(100).hides("starting plugins");
}

#[test]
fn scroll_position_covers_no_text() {
    let mut stage = Stage::new(60, 14);
    let long: Vec<String> = (0..60).map(|number| format!("{number} {}", "x".repeat(54))).collect();
    stage.event(prompt("go")).event(replied(&long.join("\n\n"))).keys("pageup");
    let screen = stage.screen();
    let note = screen.lines().find(|line| line.contains("Ctrl+End for the end"));
    assert!(note.is_some_and(|line| line.starts_with("──")), "{screen}");
    stage.resize(30, 6);
    stage.keys("pageup").hides("Ctrl+End");
    let screen = stage.screen();
    assert!(screen.lines().last().is_some_and(|line| line.contains('%')), "{screen}");
}

#[test]
fn state_result_is_shown_whole_with_its_items_counted() {
    let mut stage = Stage::new(80, 30);
    let todos: Vec<Value> = (0..10).map(|number| json!({"content": number})).collect();
    let lines: Vec<String> = (0..10).map(|number| format!("[ ] task number {number}")).collect();
    let mut output = ToolOutput::success(lines.join("\n"));
    stage.event(called("1", "Plan", json!({"todos": todos})));
    stage.event(finished("1", "Plan", output.clone())).shows("✓ Plan 10 items");
    stage.hides("task number 9");
    output.set_lasting(Lasting { subject: Some("todos".into()), open: None });
    stage.event(called("2", "Plan", json!({"todos": todos})));
    stage.event(finished("2", "Plan", output)).shows("task number 9");
}

#[test]
fn completion_describes_a_complete_command() {
    let mut stage = Stage::new(80, 14);
    let cost = Item { label: "What it has cost".into(), ..item("cost") };
    stage.answer(Answer::Commands(vec![cost, item("model")]));
    stage.type_in("/cos").keys("t").shows("/cost   What it has cost");
}

#[test]
fn output_columns_stay_below_their_headings() {
    let mut stage = Stage::new(60, 14);
    let head = "MODEL            IN    CACHE READ  CACHE WRITE  OUT     COST  MORE";
    let row = "a-model          1234  0           0            56      0.01  what";
    stage.answer(Answer::Show(format!("{head}\n{row}\n")));
    let screen = stage.screen();
    let line = |word: &str| screen.lines().find(|line| line.contains(word)).unwrap();
    let place = |word: &str| line(word).find(word);
    assert_eq!(place("CACHE WRITE"), line("a-model").rfind("0            "), "{screen}");
    assert_eq!(place("OUT"), place("56"), "{screen}");
}
