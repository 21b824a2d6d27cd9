//! Writing, sending, waiting, completing, picking.

use super::*;
use crate::host::{Item, Leave, Picks, Stop};

fn prompts(stage: &mut Stage) -> Vec<String> {
    let text = |input| match input {
        ToConversation::Prompt { text } => Some(text),
        _ => None,
    };
    stage.sent().into_iter().filter_map(text).collect()
}

#[test]
fn enter_sends_and_adds_to_the_history() {
    let mut stage = Stage::new(60, 14);
    stage.type_in("hello").keys("enter");
    let effects = std::mem::take(&mut stage.effects);
    let [Effect::Ask(Request::Remember(kept)), Effect::Send(sent)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(kept, "hello");
    assert!(matches!(&**sent, ToConversation::Prompt { text } if text == "hello"), "{sent:?}");
    stage.event(prompt("hello")).event(ended());
    stage.keys("up");
    assert_eq!(stage.app.composer.buffer.raw(), "hello");
}

#[test]
fn queued_message_can_be_edited() {
    let mut stage = Stage::new(70, 20);
    stage.event(prompt("go")).event(called("1", "Bash", json!({"command": "make"})));
    stage.type_in("also this").keys("enter");
    assert_eq!(prompts(&mut stage), [""; 0]);
    stage.shows("Queued: also this");
    stage.keys("up").type_in(" please").keys("enter");
    stage.shows("Queued: also this please");
    stage.event(finished("1", "Bash", ToolOutput::success("ok")));
    assert_eq!(prompts(&mut stage), ["also this please"]);
    stage.hides("waits:");
}

#[test]
fn turn_ending_command_waits_and_queues_later_messages() {
    let mut stage = Stage::new(70, 20);
    stage.event(prompt("go")).event(called("1", "Bash", json!({"command": "make"})));
    stage.type_in("/model other").keys("enter").shows("Queued: /model other");
    stage.type_in("to the other").keys("enter").shows("Queued: to the other");
    stage.event(finished("1", "Bash", ToolOutput::success("ok"))).shows("Queued: /model other");
    let commands = |stage: &Stage| {
        let is_command = |it: &&Effect| matches!(it, Effect::Ask(Request::Command(_)));
        stage.effects.iter().filter(is_command).count()
    };
    assert_eq!((prompts(&mut stage), commands(&stage)), (vec!["to the other".to_owned()], 0));
    stage.event(ended()).hides("waits:");
    assert_eq!(commands(&stage), 1);
    stage.type_in("/cost").keys("enter");
    assert_eq!(commands(&stage), 2, "others are answered at once");
}

#[test]
fn queue_is_sent_when_the_turn_ends() {
    let mut stage = Stage::new(70, 20);
    stage.event(prompt("go")).type_in("next").keys("enter").event(ended());
    assert_eq!(prompts(&mut stage), ["next"]);
}

#[test]
fn message_before_connection_is_sent_on_connect() {
    let mut app = App::new(Settings::default(), Instant::now());
    let type_key = |app: &mut App, words: &str| {
        let key = Key::parse(words).unwrap();
        app.update(Message::Terminal(Input::Key(key), Instant::now()))
    };
    type_key(&mut app, "h");
    let effects = type_key(&mut app, "enter");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Send(_))));
    let effects = app.connect("m", Mode::Normal);
    let Effect::Send(sent) = &effects[0] else { panic!("{effects:?}") };
    assert!(matches!(&**sent, ToConversation::Prompt { text } if text == "h"));
}

#[test]
fn key_before_connection_acts_on_connect() {
    let mut app = App::new(Settings::default(), Instant::now());
    let key = Key::parse("f5").unwrap();
    let is_command = |effect: &Effect| matches!(effect, Effect::Ask(Request::Command(line)) if line.starts_with("/effort"));
    let effects = app.update(Message::Terminal(Input::Key(key), Instant::now()));
    assert!(!effects.iter().any(is_command), "{effects:?}");
    let effects = app.connect("m", Mode::Normal);
    assert!(effects.iter().any(is_command), "{effects:?}");
    assert!(app.connect("m", Mode::Normal).is_empty(), "once");
}

#[test]
fn escape_stops_the_turn_and_ctrl_c_ends_in_steps() {
    let mut stage = Stage::new(60, 14);
    stage.event(prompt("go")).keys("esc");
    assert!(matches!(stage.sent()[..], [ToConversation::Interrupt]));
    stage.event(ended());
    stage.type_in("draft").keys("ctrl+c");
    assert!(stage.app.composer.buffer.is_empty());
    stage.shows("Up brings it back");
    stage.keys("ctrl+c").shows("again to exit");
    stage.keys("ctrl+c");
    let is_end = |effect: &Effect| matches!(effect, Effect::Leave(Leave::Quit));
    assert!(stage.effects.iter().any(is_end));
    let mut stage = Stage::new(60, 14);
    let is_stop = |it: &Effect| matches!(it, Effect::Leave(Leave::Stopped(Stop::Interrupted)));
    // An impatient second press is the same press; one after the announcement is not.
    stage.event(prompt("go")).keys("ctrl+c").shows("Interrupting · press Ctrl+C again to exit");
    stage.event(ended()).keys("ctrl+c").shows("Ctrl+C again to exit");
    assert!(!stage.effects.iter().any(is_stop));
    stage.wait(500).keys("ctrl+c");
    assert!(stage.effects.iter().any(is_stop));
    let mut stage = Stage::new(60, 14);
    stage.event(prompt("go")).type_in("typed").keys("ctrl+c").event(ended()).keys("ctrl+c");
    assert_eq!(stage.app.composer.buffer.text(), "typed", "the same press empties nothing");
}

#[test]
fn leader_panel_shows_following_keys() {
    let mut stage = Stage::new(100, 24);
    stage.keys("ctrl+t");
    insta::assert_snapshot!(stage.screen());
    stage.keys("esc").hides("Switch model");
    stage.keys("ctrl+t z").shows("z is not bound");
}

#[test]
fn help_lists_every_action() {
    let mut stage = Stage::new(100, 120);
    stage.keys("f1");
    for described in crate::keymap::ACTIONS {
        stage.shows(described.about);
    }
    stage.keys("esc").hides("Undo");
}

#[test]
fn files_are_completed_after_at() {
    let mut stage = Stage::new(60, 16);
    stage.type_in("see @");
    assert_eq!(stage.asked(), [Request::Files]);
    stage.answer(Answer::Files {
        files: vec!["src/main.rs".into(), "README.md".into()],
        is_cut: false,
    });
    stage.shows("@README.md");
    stage.type_in("main").hides("@README.md");
    stage.keys("tab");
    assert_eq!(stage.app.composer.buffer.raw(), "see @src/main.rs ");
}

#[test]
fn commands_are_completed_and_run_by_the_host() {
    let mut stage = Stage::new(70, 16);
    let item = |name: &str, args: &str, about: &str| Item {
        value: name.into(),
        label: about.into(),
        detail: args.into(),
        ..Item::default()
    };
    stage.answer(Answer::Commands(vec![
        item("model", "[name]", "Change the model"),
        item("mode", "", "Change the mode"),
    ]));
    stage.type_in("/mod").shows("Change the mode");
    stage.keys("down enter").shows("[name]");
    stage.type_in("gpt").keys("enter");
    assert!(stage.asked().contains(&Request::Command("/model gpt".into())));
    stage.answer(Answer::Show("The model is gpt.".into()));
    stage.shows("┊ The model is gpt.");
}

#[test]
fn a_long_paste_is_a_chip_and_is_sent_whole() {
    let mut stage = Stage::new(60, 14);
    let pasted = (0..40).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
    stage.type_in("see ");
    stage.send(Message::Terminal(Input::Paste(pasted.clone()), stage.now));
    stage.shows("see [pasted text 1: 40 lines]");
    stage.keys("enter");
    assert_eq!(prompts(&mut stage), [format!("see {pasted}")]);
}

#[test]
fn draft_is_saved_after_a_pause_and_restored() {
    let mut stage = Stage::new(60, 14);
    stage.type_in("half a thou");
    assert_eq!(stage.asked(), []);
    stage.wait(1000);
    assert_eq!(stage.asked(), [Request::SaveDraft("half a thou".into())]);
    stage.wait(1000);
    assert_eq!(stage.asked(), [], "once is enough");
    stage.keys("enter");
    assert!(stage.asked().contains(&Request::SaveDraft(String::new())));
    let mut stage = Stage::new(60, 14);
    stage.answer(Answer::Draft("half a thou".into())).shows("> half a thou");
}

#[test]
fn draft_is_saved_while_typing_without_a_pause() {
    let mut stage = Stage::new(60, 14);
    for _ in 0..9 {
        stage.type_in("x").wait(100);
    }
    let kept = |request: &Request| matches!(request, Request::SaveDraft(text) if text.len() > 4);
    assert!(stage.asked().iter().any(kept));
}

#[test]
fn draft_keeps_pasted_chips() {
    let pasted = "a line\n".repeat(40);
    let mut stage = Stage::new(60, 14);
    stage.type_in("see ");
    stage.send(Message::Terminal(Input::Paste(pasted.clone()), stage.now));
    stage.type_in(" please").wait(1000);
    let [Request::SaveDraft(kept)] = &stage.asked()[..] else { panic!("no draft") };
    let mut stage = Stage::new(60, 14);
    stage.answer(Answer::Draft(kept.clone())).shows("> see [pasted text 1: 40 lines] please");
    stage.wait(1000);
    assert_eq!(stage.asked(), [], "it is kept already");
    stage.keys("enter");
    assert_eq!(prompts(&mut stage), [format!("see {pasted} please")]);
}

#[test]
fn history_picker_finds_sent_messages() {
    let mut stage = Stage::new(80, 20);
    stage.answer(Answer::History(vec!["fix the tests".into(), "write docs".into()]));
    stage.keys("ctrl+r").type_in("tests").keys("enter");
    assert_eq!(stage.app.composer.buffer.raw(), "fix the tests");
}

#[test]
fn a_model_and_a_session_are_picked_with_a_few_letters() {
    let item = |name: &str| Item { value: name.into(), label: name.into(), ..Item::default() };
    let mut stage = Stage::new(100, 20);
    stage.keys("f4");
    assert_eq!(stage.asked(), [Request::Models]);
    let more = vec!["near".to_owned(), "far".to_owned()];
    stage.answer(Answer::Models { items: vec![item("alpha")], more }).shows("alpha");
    assert!(stage.asked().ends_with(&["near", "far"].map(|it| Request::ModelsOf(it.into()))));
    stage.answer(Answer::Models { items: vec![item("beta")], more: Vec::new() });
    stage.type_in("bt").hides("alpha");
    stage.keys("enter");
    let left = |stage: &Stage| {
        stage.effects.iter().find_map(|effect| match effect {
            Effect::Leave(leave) => Some(leave.clone()),
            _ => None,
        })
    };
    assert!(stage.asked().contains(&Request::Command("/model beta".into())));
    let mut stage = Stage::new(100, 20);
    stage.keys("ctrl+t s");
    stage.answer(Answer::Items(Picks::Sessions, vec![item("one"), item("two")]));
    stage.keys("down");
    assert!(stage.asked().contains(&Request::Preview("two".into())));
    stage.answer(Answer::Preview { id: "two".into(), text: "what was said".into() });
    stage.shows("what was said");
    stage.keys("enter");
    assert_eq!(left(&stage), Some(Leave::Session("two".into())));
}

#[test]
fn theme_is_previewed_before_it_is_chosen() {
    let mut stage = Stage::with(Settings::default(), 80, 20);
    stage.keys("ctrl+t d down");
    assert_eq!(stage.app.theme.name, "light");
    stage.keys("esc");
    assert_eq!(stage.app.theme.name, "dark");
    stage.keys("ctrl+t d down enter");
    assert!(stage.asked().contains(&Request::SaveTheme { theme: "light".into() }));
}

#[test]
fn background_report_selects_the_theme_unless_set() {
    let report = || Input::Report("11;rgb:ffff/ffff/ffff".into());
    let mut stage = Stage::with(Settings::default(), 80, 20);
    stage.send(Message::Terminal(report(), stage.now));
    assert_eq!(stage.app.theme.name, "light");
    let theme = Some(Theme::built_in().swap_remove(0));
    let mut stage = Stage::with(Settings { theme, ..Settings::default() }, 80, 20);
    stage.send(Message::Terminal(report(), stage.now));
    assert_eq!(stage.app.theme.name, "dark");
}

#[test]
fn vi_keys_edit_when_enabled() {
    let mut stage = Stage::with(Settings { is_vim: true, ..Settings::default() }, 60, 14);
    stage.type_in("one two").keys("esc").type_in("0dw");
    assert_eq!(stage.app.composer.buffer.raw(), "two");
    stage.keys("A ! enter");
    assert_eq!(prompts(&mut stage), ["two!"]);
}

#[test]
fn printed_lines_become_notices() {
    let mut stage = Stage::new(60, 14);
    stage
        .send(Message::Reported(contract::event::Level::Warning, "the disk is nearly full".into()));
    stage.shows("warning: the disk is nearly full");
}

#[test]
fn idle_app_draws_nothing() {
    let mut stage = Stage::new(60, 14);
    assert_eq!(stage.app.deadline(), None);
    stage.event(prompt("go"));
    assert!(stage.app.deadline().is_some(), "the time of the step is shown");
    stage.event(ended());
    assert_eq!(stage.app.deadline(), None);
    assert!(!stage.app.is_dirty());
}

#[test]
fn send_and_newline_can_be_remapped() {
    let keys = [("newline", "enter"), ("send", "ctrl+s")];
    let keys = keys.map(|(name, key)| (name.to_owned(), vec![key.to_owned()])).into();
    let mut stage = Stage::with(Settings { keys, ..Settings::default() }, 60, 12);
    stage.type_in("one").keys("enter").type_in("two");
    assert_eq!(stage.app.composer.buffer.raw(), "one\ntwo");
    stage.keys("ctrl+s");
    let sent = stage.sent();
    assert!(
        matches!(&sent[..], [ToConversation::Prompt { text }] if text == "one\ntwo"),
        "{sent:?}"
    );
}

#[test]
fn proposals_count_hidden_ones_and_queue_shows_one_line() {
    let mut stage = Stage::new(50, 20);
    let item = |number: u8| crate::host::Item {
        value: format!("command{number}"),
        label: "does what it does for quite a while and longer".into(),
        ..crate::host::Item::default()
    };
    stage.answer(Answer::Commands((0..12).map(item).collect()));
    stage.type_in("/").shows("4 more below");
    stage.shows("…");
    stage.keys("esc ctrl+u").event(prompt("go"));
    stage.type_in("one").keys("ctrl+j").type_in("two").keys("enter");
    stage.shows("Queued: one ⏎ two");
}

#[test]
fn queue_returns_to_the_text_on_stop_and_reset() {
    let mut stage = Stage::new(70, 16);
    stage.event(prompt("go")).type_in("for this one").keys("enter").shows("Queued: for this one");
    stage.app.reset();
    stage.app.connect("test-model", Mode::Normal);
    assert_eq!(prompts(&mut stage), [""; 0]);
    stage.draw();
    stage.shows("> for this one");
    stage.keys("ctrl+u").event(prompt("go")).type_in("later").keys("enter esc");
    stage.event(ended());
    assert_eq!(prompts(&mut stage), [""; 0]);
    stage.shows("> later");
}

#[test]
fn palette_ranks_names_first() {
    let mut stage = Stage::new(80, 30);
    let command = |name: &str, about: &str| crate::host::Item {
        value: name.into(),
        label: about.into(),
        ..crate::host::Item::default()
    };
    stage.answer(Answer::Commands(vec![
        command("redo", "Redo the changes that were undone last"),
        command("undo", "Take changes back"),
        command("cost", "Show the tokens"),
    ]));
    for (word, first) in
        [("undo", "/undo"), ("cost", "/cost"), ("theme", "Theme"), ("help", "Help: keys")]
    {
        stage.keys("f3").type_in(word);
        let screen = stage.screen();
        let rows = screen.lines().skip_while(|row| !row.contains(&format!("> {word}")));
        let row = rows.take(2).last().unwrap_or_default();
        assert!(row.contains(first), "{word}: {screen}");
        stage.keys("esc");
    }
}
