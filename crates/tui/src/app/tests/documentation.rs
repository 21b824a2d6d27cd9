//! The screens in the documentation are those that are drawn.

use super::conversation::{facts_of_a_project, turn};
use super::*;

const PAGE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/terminal.md"));

#[track_caller]
fn documented(stage: &Stage) {
    let screen = stage.screen();
    let shown = screen.trim_matches('\n');
    assert!(
        PAGE.contains(&format!("```text\n{shown}\n```")),
        "not in docs/guides/terminal.md:\n{shown}"
    );
}

fn stage(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height);
    let facts = crate::host::Facts {
        confinement: crate::host::Confinement::Sandboxed(contract::sandbox::Network::None),
        project: Some("/work".into()),
        context_window: Some(10_280),
        ..crate::host::Facts::default()
    };
    stage.answer(Answer::Facts(facts));
    stage
}

#[test]
fn first_screen_matches_the_documentation() {
    let mut stage = Stage::with(Settings { version: "0.1.0", ..Settings::default() }, 78, 18);
    stage.answer(Answer::Facts(facts_of_a_project()));
    documented(&stage);
}

#[test]
fn conversation_matches_the_documentation() {
    let mut stage = stage(78, 32);
    turn(&mut stage);
    documented(&stage);
}

#[test]
fn leader_panel_matches_the_documentation() {
    let mut stage = stage(78, 18);
    stage.event(prompt("hi")).event(replied("Hello.")).event(ended()).keys("ctrl+t");
    documented(&stage);
}
