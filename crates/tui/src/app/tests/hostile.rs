//! Absurd sizes and hostile text.

use contract::event::{Level, MessageOrigin};

use super::*;
use crate::host::Item;

const EVIL: &str =
    "\x1b]0;owned\x07\x1b]8;;http://e\x07\x1b]52;c;QQ==\x07\x1b[2J\r\u{9b}31m\u{202e}\u{200b}x\x08";

/// Every state that the interface can be in.
fn states() -> Vec<Stage> {
    let item = |name: &str| Item {
        value: name.into(),
        label: EVIL.into(),
        detail: EVIL.into(),
        note: EVIL.into(),
        ..Item::default()
    };
    let mut all: Vec<Stage> = (0..9).map(|_| Stage::new(80, 24)).collect();
    for stage in &mut all {
        stage.event(prompt(&format!("ask {EVIL}")));
        stage.event(EventKind::RequestSent { round: 1 });
        stage.event(thinking(EVIL));
        stage.event(text(&format!(
            "# {EVIL}\n\n- `{EVIL}`\n\n| {EVIL} |\n|---|\n| b |\n\n```rust\n{EVIL}\n```\n"
        )));
        stage.event(called("1", EVIL, json!({EVIL: EVIL, "b": [EVIL]})));
        stage.event(EventKind::ToolProgress { call: CallId("1".into()), text: EVIL.into() });
        stage.event(EventKind::Notice {
            level: Level::Error,
            text: EVIL.into(),
            hint: Some(EVIL.into()),
            topic: None,
        });
        stage.event(EventKind::Injected {
            origin: MessageOrigin::Other(EVIL.into()),
            text: EVIL.into(),
        });
        stage.event(EventKind::Configured {
            provider: EVIL.into(),
            model: EVIL.into(),
            mode: Mode::Normal,
            system: EVIL.into(),
        });
        stage.send(Message::Reported(Level::Info, EVIL.into()));
    }
    all[1].event(asks("2", EVIL)).wait(400);
    all[2].event(finished("1", EVIL, changed(&format!("@@ -1 +1 @@\n-{EVIL}\n+{EVIL}\n"))));
    all[2].keys("ctrl+t o");
    all[3].keys("ctrl+t");
    all[4].keys("f1");
    all[5]
        .keys("f4")
        .answer(Answer::Models { items: vec![item("a"), item("b")], more: Vec::new() });
    all[6]
        .type_in("@")
        .answer(Answer::Files { files: vec![format!("a{EVIL}"), "b".into()], is_cut: false });
    all[7].keys("ctrl+t b").send(Message::Terminal(Input::Paste(EVIL.into()), Instant::now()));
    all[8].keys("f9").type_in("o").answer(Answer::Show(EVIL.into()));
    all
}

#[test]
fn no_control_character_reaches_the_screen() {
    for (number, mut stage) in states().into_iter().enumerate() {
        stage.draw();
        for cell in stage.terminal.backend().buffer().content() {
            let is_safe = !cell.symbol().chars().any(contract::text::is_hidden);
            assert!(is_safe, "{:?} in state {number}:\n{}", cell.symbol(), stage.screen());
        }
    }
}

#[test]
fn every_state_survives_every_size() {
    for mut stage in states() {
        for (width, height) in
            [(1, 1), (2, 1), (1, 9), (3, 2), (5, 3), (20, 5), (11, 6), (12, 6), (39, 7), (200, 60)]
        {
            stage.resize(width, height);
            stage.keys("pageup down pagedown");
        }
        for size in 1..45 {
            stage.resize(size, 1 + size % 7);
        }
    }
}

#[test]
fn the_smallest_screen_shows_text_and_status() {
    let mut stage = Stage::new(20, 5);
    stage.event(prompt("hi")).event(replied("Hello there."));
    stage.type_in("and");
    let screen = stage.screen();
    assert!(screen.contains("Hello there."), "{screen}");
    assert!(screen.contains("> and"), "{screen}");
    stage.event(asks("1", "ls -la\necho a\necho b")).wait(1100);
    stage.shows("ls -la");
    stage.shows("↓2 ›1 yes 4 no");
}
