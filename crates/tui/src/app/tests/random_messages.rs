//! Keys, events, pastes, clicks and sizes in any order: nothing breaks, and nothing is left that a
//! few keys do not end.

use super::*;
use crate::host::{Item, Picks};
use crate::input::{Mouse, MouseKind};

/// Numbers that look like chance and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.roll(all.len())]
    }
}

const KEYS: [&str; 62] = [
    "ctrl+t",
    "esc",
    "enter",
    "tab",
    "up",
    "down",
    "left",
    "right",
    "pageup",
    "pagedown",
    "home",
    "end",
    "ctrl+home",
    "ctrl+end",
    "f1",
    "f2",
    "f3",
    "f4",
    "f6",
    "f7",
    "f8",
    "f9",
    "ctrl+r",
    "ctrl+a",
    "ctrl+k",
    "ctrl+y",
    "ctrl+w",
    "ctrl+u",
    "ctrl+_",
    "alt+b",
    "alt+d",
    "backspace",
    "v",
    "V",
    "y",
    "n",
    "N",
    "o",
    "k",
    "j",
    "h",
    "l",
    "w",
    "b",
    "g",
    "G",
    "$",
    "/",
    "@",
    "d",
    "c",
    "i",
    "x",
    "p",
    "u",
    ".",
    "ctrl+j",
    "alt+enter",
    "shift+tab",
    "space",
    "漢",
    "ctrl+l",
];

const TEXTS: [&str; 8] = [
    "plain words that go on for a while ",
    "漢字 and\ttabs 👨\u{200d}👩\u{200d}👧 e\u{301} ",
    "\n\n# Title\n\n- item\n  - inner\n\n1. one\n",
    "\n```rust\nfn main() {\n\tlet x = 1;\n",
    "\n```\n",
    "| a | 漢 |\n|---|---|\n| 1 | 2 |\n",
    "**bold *both* [link](https://example.com/a_b) `code",
    "\n\n",
];

fn happen(stage: &mut Stage, dice: &mut Dice, step: usize) {
    let id = format!("{}", dice.roll(6));
    let words = dice.pick(&TEXTS).repeat(1 + dice.roll(40));
    let inner = |what: EventKind| Message::Event(Arc::new(within(&id, what)));
    match dice.roll(14) {
        0 => stage.event(prompt(&words)),
        1 | 2 => stage.event(text(&words)),
        3 => stage.event(thinking(&words)),
        4 => stage.event(replied(&words)),
        5 => stage.event(called(&id, "Bash", json!({"command": words, "at": step}))),
        6 => stage.event(finished(&id, "Bash", ToolOutput::success(words.repeat(30)))),
        7 => stage.event(finished(&id, "Edit", changed(&format!("@@ -1,2 +1,2 @@\n+{words}\n")))),
        8 => stage.event(asks(&id, &words)),
        9 => stage.event(ended()),
        10 => stage.send(inner(replied(&words))),
        11 => stage.answer(Answer::Show(words)),
        12 => stage.event(EventKind::ToolProgress { call: CallId(id), text: words }),
        _ => stage.event(EventKind::RequestSent { round: 1 }),
    };
}

fn press(stage: &mut Stage, dice: &mut Dice) {
    let kinds = [
        MouseKind::Press,
        MouseKind::Drag,
        MouseKind::Release,
        MouseKind::ScrollUp,
        MouseKind::ScrollDown,
    ];
    match dice.roll(12) {
        0 => {
            let (column, row) = (dice.roll(120), dice.roll(50));
            let at = |place: usize| u16::try_from(place).unwrap_or(0);
            let kind = kinds[dice.roll(kinds.len())];
            let mouse = Mouse { kind, column: at(column), row: at(row) };
            stage.send(Message::Terminal(Input::Mouse(mouse), stage.now));
        }
        1 => {
            let pasted = dice.pick(&TEXTS).repeat(1 + dice.roll(60));
            stage.send(Message::Terminal(Input::Paste(pasted), stage.now));
        }
        2 => {
            let items = (0..dice.roll(40)).map(|number| Item {
                value: format!("{number}"),
                label: dice.pick(&TEXTS).to_owned(),
                ..Item::default()
            });
            let items = items.collect();
            stage.answer(Answer::Items(Picks::Sessions, items));
        }
        _ => {
            stage.keys(dice.pick(&KEYS));
        }
    }
}

#[test]
fn app_survives_random_messages() {
    for seed in 0..4 {
        let mut dice = Dice(seed);
        let mut stage = Stage::new(80, 24);
        stage.app.has_mouse = true;
        for step in 0..200 {
            match dice.roll(8) {
                0 | 1 => happen(&mut stage, &mut dice, step),
                2 => {
                    let sizes = [1, 2, 5, 12, 20, 21, 33, 60, 120, 250];
                    let (width, height) = (sizes[dice.roll(10)], sizes[dice.roll(8)]);
                    stage.resize(width, height);
                }
                3 => {
                    stage.wait([0, 50, 400, 2000][dice.roll(4)]);
                }
                _ => press(&mut stage, &mut dice),
            }
            stage.effects.clear();
        }
    }
}
