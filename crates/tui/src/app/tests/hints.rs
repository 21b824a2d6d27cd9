//! Keys and names on the screen: those that are in force, and each once.

use super::*;
use crate::keymap::{ACTIONS, KeyOverrides};

fn remapped(keys: &[(&str, &str)]) -> Settings {
    let word = |(name, key): &(&str, &str)| ((*name).to_owned(), vec![(*key).to_owned()]);
    let keys: KeyOverrides = keys.iter().map(word).collect();
    Settings { keys, ..Settings::default() }
}

#[test]
fn hints_name_the_current_keys() {
    let keys = [
        ("help", "f12"),
        ("quit", "esc"),
        ("bottom", "f11"),
        ("interrupt", "alt+c"),
        ("send", "alt+s"),
        ("page-down", "alt+d"),
    ];
    let settings = remapped(&keys);
    let mut stage = Stage::with(settings.clone(), 100, 30);
    // Without the help on these keys.
    stage.app = App::new(Settings { keys: KeyOverrides::new(), ..settings.clone() }, stage.now);
    stage.app.connect("test-model", Mode::Normal);
    stage.app.keymap = crate::keymap::Keymap::new(&settings.keys).0;
    stage.draw();
    stage.shows("F12 help · / command · @ file · ! shell · Ctrl+T keys · Alt+s send");
    stage.keys("f9").shows("Alt+s to browse · Ctrl+G to close");
    stage.keys("ctrl+g f3").shows("Alt+s to run · Ctrl+G to close");
    stage.keys("ctrl+g f12").shows("(Ctrl+G to close)");
    stage.shows("more lines (Alt+d, F11)");
    stage.keys("ctrl+g ctrl+t").hides("F1 ");
    let lines: Vec<String> = (0..200).map(|number| format!("line {number}\n\n")).collect();
    let lines = lines.concat();
    stage.keys("ctrl+g").event(prompt("go")).event(replied(&lines)).event(ended());
    stage.keys("pageup").shows("F11 for the end");
    stage.keys("f8").shows("Ctrl+G to leave");
    stage.keys("ctrl+g alt+c").shows("Alt+c again to exit");
    stage.event(prompt("go")).event(EventKind::RequestSent { round: 1 });
    stage.shows("Ctrl+G to interrupt");
    stage.event(called("1", "Bash", json!({"command": "ls"}))).event(asks("1", "ls"));
    stage.wait(2000).keys("n").shows("Alt+s to send, empty for no reason · Ctrl+G to go back");
}

#[test]
fn remapped_interrupt_key_ends_when_pressed_twice() {
    for (key, is_end) in [("alt+c", true), ("ctrl+t i", true), ("ctrl+t i x", false)] {
        let keys = key.strip_suffix(" x").unwrap_or(key);
        let mut stage = Stage::with(remapped(&[("interrupt", keys)]), 80, 24);
        stage.keys(key).keys(keys);
        let leaves = |effect: &Effect| matches!(effect, Effect::Leave(_));
        assert_eq!(stage.effects.iter().any(leaves), is_end, "{key}: {:?}", stage.effects);
    }
}

#[test]
fn leader_panel_turns_pages_on_the_smallest_screen() {
    let mut stage = Stage::new(20, 5);
    stage.keys("ctrl+t").shows("more ↓");
    let mut seen = stage.screen();
    for _ in 0..ACTIONS.len() {
        stage.keys("down");
        seen.push_str(&stage.screen());
    }
    stage.shows("more ↑");
    let followed =
        ACTIONS.iter().filter(|it| it.keys.iter().any(|keys| keys.starts_with("ctrl+t")));
    for described in followed {
        assert!(seen.contains(described.name), "{}: {seen}", described.name);
    }
    stage.keys("up pageup").shows(" ↑ ");
    stage.keys("m").shows("Models");
    let mut stage = Stage::new(40, 10);
    stage.keys("ctrl+t").shows("more ↓ · F1 for all keys");
    stage.keys("down").shows("for all keys");
    stage.keys("esc").hides("for all keys");
    stage.keys("ctrl+t").shows("h ?");
}

#[test]
fn user_theme_replaces_a_built_in_one() {
    let mut stage = Stage::with(Settings::default(), 80, 24);
    let mut own = Theme::unstyled();
    "dark".clone_into(&mut own.name);
    stage.answer(Answer::Themes(vec![own], vec![])).keys("ctrl+t d");
    let screen = stage.screen();
    assert_eq!(screen.matches("│ dark ").count(), 1, "{screen}");
    assert_eq!(screen.matches("in use").count(), 1, "{screen}");
    stage.shows("Themes (16)");
}
