//! The screens in the documentation are those that are drawn.

use super::conversation::turn;
use super::*;
use crate::host::Item;
use crate::layers::Deed;

const TERMINAL: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/terminal.md"));
const PERMISSIONS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/permissions.md"));

#[track_caller]
fn documented(page: &str, shown: &str) {
    let shown = shown.trim_matches('\n');
    assert!(page.contains(&format!("```text\n{shown}\n```")), "not in the page:\n{shown}");
}

/// The dialog on the screen.
fn dialog(stage: &Stage) -> String {
    let screen = stage.screen();
    let lines: Vec<&str> =
        screen.lines().filter(|line| line.starts_with(['╭', '│', '╰'])).collect();
    lines.join("\n")
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
fn conversation_matches_the_documentation() {
    let mut stage = stage(78, 32);
    turn(&mut stage);
    documented(TERMINAL, &stage.screen());
}

#[test]
fn leader_panel_matches_the_documentation() {
    let mut stage = stage(78, 18);
    stage.event(prompt("hi")).event(replied("Hello.")).event(ended()).keys("ctrl+t");
    documented(TERMINAL, &stage.screen());
}

#[test]
fn sandbox_question_matches_the_documentation() {
    let mut stage = stage(78, 24);
    let command = "npm install left-pad";
    stage.event(EventKind::Asked {
        call: CallId("1".into()),
        tool: "Bash".into(),
        args: json!({"command": command, "reason": "the new page pads its numbers"}),
        actions: vec![
            Action::Run { command: command.into(), cwd: "/work".into() },
            Action::Connect { host: "registry.example".into() },
        ],
        why: String::new(),
        destructive: false,
        remember: vec!["Host(registry.example)".into()],
    });
    stage.wait(2000);
    documented(PERMISSIONS, &dialog(&stage));
}

#[test]
fn rewind_question_matches_the_documentation() {
    let mut stage = stage(78, 24);
    let message = Item { value: "2".into(), detail: "make two".into(), ..Item::default() };
    stage.app.deed(Deed::GoBack(message), &mut Vec::new());
    stage.wait(2000);
    documented(TERMINAL, &dialog(&stage));
}
