//! Questions about calls: what they show, and which keys answer them.

use contract::event::Answer as Given;

use super::*;
use crate::host::{Inquiry, Wanted};

fn given(stage: &mut Stage) -> Vec<(String, Given)> {
    let answer = |input| match input {
        ToConversation::Answer { call, answer } => Some((call.0, answer)),
        _ => None,
    };
    stage.sent().into_iter().filter_map(answer).collect()
}

#[test]
fn the_dialog_shows_what_would_run_and_why_and_what_is_remembered() {
    let mut stage = Stage::new(76, 30);
    stage.event(prompt("test it")).event(called("1", "Bash", json!({"command": "cargo test"})));
    stage.event(asks("1", "cargo test --all\necho done"));
    stage.wait(400);
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn keys_that_were_typed_before_it_appeared_do_not_answer() {
    let mut stage = Stage::new(76, 30);
    let early = stage.now;
    stage.wait(1000);
    stage.event(asks("1", "rm x"));
    let key = Key::parse("y").unwrap();
    stage.send(Message::Terminal(Input::Key(key), early));
    assert_eq!(given(&mut stage), []);
    stage.wait(100).keys("y");
    assert_eq!(given(&mut stage), [], "too early");
    stage.hides("Allow once");
    // Whoever keeps typing has not looked: each such key begins the wait anew.
    stage.wait(250).keys("y").wait(250).keys("a");
    assert_eq!(given(&mut stage), []);
    stage.wait(350).shows("Allow once");
    stage.keys("y");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)]);
    assert_eq!(stage.app.composer.buffer.raw(), "yyya", "nothing that was typed is lost");
}

#[test]
fn every_answer_has_its_key() {
    let deny = |reason: Option<&str>| Given::Deny { reason: reason.map(str::to_owned) };
    for (keys, answer) in [
        ("y", Given::Once),
        ("enter enter", deny(None)),
        ("s enter", Given::Session),
        ("p enter", Given::Project),
        ("a enter", Given::Always),
        ("up up enter", Given::Project),
        ("down enter", Given::Cancel),
        ("n enter", deny(None)),
        ("d n o enter", deny(Some("no"))),
        ("esc", deny(None)),
        ("c", Given::Cancel),
        ("ctrl+c", Given::Cancel),
    ] {
        let mut stage = Stage::new(76, 30);
        stage.event(asks("1", "ls")).wait(400).keys(keys);
        assert_eq!(given(&mut stage), [("1".to_owned(), answer)], "{keys}");
        stage.hides("Permission needed");
    }
}

#[test]
fn words_that_begin_with_a_letter_of_an_answer_allow_nothing() {
    for words in ["s t o p", "p l e a s e", "a g a i n", "s", "a"] {
        let mut stage = Stage::new(76, 30);
        stage.event(asks("1", "ls")).wait(400).keys(words);
        assert_eq!(given(&mut stage), [], "{words}");
    }
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "ls")).wait(400).keys("s t").wait(400).keys("enter");
    assert_eq!(given(&mut stage), [], "nothing is pointed at any more");
}

#[test]
fn several_calls_are_asked_about_one_by_one_each_with_a_look() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "first")).event(asks("2", "second")).wait(400);
    stage.shows("1 more wait");
    stage.shows("first");
    stage.keys("y y");
    assert_eq!(given(&mut stage).len(), 1, "the second key came too early for the second question");
    stage.shows("second");
    stage.wait(700).keys("n enter");
    assert_eq!(given(&mut stage)[0].0, "2");
}

#[test]
fn a_question_that_was_answered_elsewhere_goes_away() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "first")).event(asks("2", "second"));
    stage.event(What::Answered { call: CallId("1".into()), answer: Given::Once, rules: vec![] });
    stage.shows("second");
    stage.event(ended());
    stage.hides("Permission needed");
}

#[test]
fn nothing_of_a_long_command_is_cut() {
    let words: Vec<String> = (0..400).map(|number| format!("word{number}")).collect();
    let command = words.join(" ");
    let mut stage = Stage::new(50, 16);
    stage.event(asks("1", &command)).wait(400);
    let mut seen = String::new();
    for _ in 0..90 {
        let body = stage.screen().replace(['│', '╭', '╮', '\n'], " ");
        seen.push_str(&body.split_whitespace().collect::<String>());
        stage.keys("j");
    }
    for word in &words {
        assert!(seen.contains(word.as_str()), "{word} cannot be read");
    }
}

#[test]
fn a_change_is_shown_as_a_change() {
    let mut stage = Stage::new(76, 30);
    let diff = "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-old\n+new\n".to_owned();
    stage.event(What::Asked {
        call: CallId("1".into()),
        tool: "Write".into(),
        args: json!({}),
        actions: vec![Action::Write { path: "/work/x.rs".into(), diff: Some(diff) }],
        why: "it writes".into(),
        remember: vec![],
        asked_again: vec![],
    });
    stage.wait(400);
    for part in ["write /work/x.rs", "-old", "+new", "nothing can be remembered"] {
        stage.shows(part);
    }
    stage.hides("Always allow");
    stage.keys("a");
    assert_eq!(given(&mut stage), [], "what cannot be remembered cannot be allowed always");
}

#[test]
fn hidden_characters_are_shown_and_pointed_out() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "ls\r\u{202e}evil")).wait(400);
    stage.shows("\\u{d}\\u{202e}evil");
    stage.shows("2 hidden characters");
}

#[test]
fn letters_that_only_look_like_others_are_shown_and_pointed_out() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "s\u{3bf}rt x; echo привет")).wait(400);
    stage.shows("s\\u{3bf}rt x; echo привет");
    stage.shows("1 letter that only looks like another");
}

#[test]
fn enter_does_not_answer_whoever_was_writing_until_a_choice_is_made() {
    let mut stage = Stage::new(76, 30);
    stage.event(prompt("go")).type_in("and then");
    stage.event(asks("1", "rm x")).wait(400);
    stage.hides("Allow once");
    stage.wait(1000).shows("Allow once");
    stage.keys("enter");
    assert_eq!(given(&mut stage), [], "it was meant for the text");
    stage.keys("down enter");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)]);
    assert_eq!(stage.app.composer.buffer.raw(), "and then");
}

#[test]
fn a_question_leaves_the_end_of_the_conversation_in_sight() {
    let mut stage = Stage::new(76, 30);
    for number in 0..40 {
        stage.event(prompt(&format!("filler {number}")));
    }
    stage.event(replied("The last words before it."));
    stage.event(asks("1", "ls")).wait(400);
    stage.shows("The last words before it.");
    stage.shows("Allow once");
}

#[test]
fn what_was_never_on_the_screen_cannot_be_allowed() {
    let mut stage = Stage::new(60, 16);
    let command = format!("touch a\n{}touch hidden", "\n".repeat(40));
    stage.event(asks("1", &command)).wait(400);
    stage.hides("touch hidden");
    stage.shows("to be seen first");
    stage.keys("y");
    assert_eq!(given(&mut stage), [], "the rest comes into sight instead");
    stage.keys("end").shows("touch hidden");
    stage.keys("y");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)]);
}

#[test]
fn keys_that_come_with_a_paste_do_not_answer() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "ls")).wait(400);
    let at = stage.now;
    stage.send(Message::Terminal(Input::Paste("text".into()), at));
    stage.keys("y");
    assert_eq!(given(&mut stage), []);
    stage.wait(400).keys("y");
    assert_eq!(given(&mut stage).len(), 1);
}

#[test]
fn what_is_pasted_while_a_question_is_open_goes_into_the_text_or_the_reason() {
    let mut stage = Stage::new(80, 24);
    stage.event(asks("1", "cargo test")).wait(400);
    let paste = |stage: &mut Stage, text: &str| {
        stage.send(Message::Terminal(Input::Paste(text.into()), stage.now));
    };
    paste(&mut stage, "kept words");
    stage.wait(400).keys("n");
    paste(&mut stage, "no\nreason");
    stage.wait(400).keys("enter");
    let denied = Given::Deny { reason: Some("noreason".into()) };
    assert_eq!(given(&mut stage), [("1".to_owned(), denied)]);
    stage.shows("> kept words");
}

#[test]
fn blanks_that_are_none_are_shown() {
    let mut stage = Stage::new(80, 24);
    stage.event(asks("1", "rm\u{a0}-rf\u{3164}x"));
    stage.shows("rm\\u{a0}-rf\\u{3164}x");
    stage.shows("2 hidden characters or odd blanks");
}

fn inquiry(wanted: Wanted) -> Message {
    let (title, body) = ("MCP server `db` asks".to_owned(), "Which one?\u{202e}".to_owned());
    Message::Inquired(Inquiry { id: 7, title, body, wanted })
}

fn replies(stage: &mut Stage) -> Vec<Option<String>> {
    let reply = |request| match request {
        Request::Reply { id: 7, words } => Some(words),
        _ => None,
    };
    stage.asked().into_iter().filter_map(reply).collect()
}

#[test]
fn a_server_s_question_is_a_dialog_that_early_keys_do_not_answer() {
    let mut stage = Stage::new(76, 24);
    stage.send(inquiry(Wanted::Agreement("Answer it".into())));
    stage.shows("MCP server `db` asks");
    stage.shows("Which one?\\u{202e}");
    stage.keys("y");
    assert_eq!(replies(&mut stage), []);
    stage.wait(400).shows("[y] Answer it");
    stage.keys("y");
    assert_eq!(replies(&mut stage), [Some(String::new())]);
    stage.hides("asks");
    stage.keys("ctrl+u");

    let few = vec![("a".into(), "Apple".into()), ("b".into(), "Berry".into())];
    let one = Wanted::One { choices: few, usual: Some(1) };
    stage.send(inquiry(one.clone())).wait(400).shows("[1] Apple");
    stage.keys("enter");
    stage.send(inquiry(one)).wait(400).keys("1");
    assert_eq!(replies(&mut stage), [Some("b".to_owned()), Some("a".to_owned())]);

    stage.send(inquiry(Wanted::Words("name".into()))).wait(400).shows("name:");
    stage.type_in("you and I").shows("name: you and I");
    stage.keys("enter");
    stage.send(inquiry(Wanted::Words("name".into()))).wait(400).keys("esc");
    assert_eq!(replies(&mut stage), [Some("you and I".to_owned()), None]);
    stage.hides("asks");

    stage.event(prompt("go")).send(inquiry(Wanted::Words("name".into()))).event(ended());
    assert_eq!(replies(&mut stage), [None], "nobody waits for it any more");
    stage.hides("asks");
}

#[test]
fn dialogs_and_lists_follow_the_keys_that_were_set() {
    let keys = [("cancel", "ctrl+x"), ("page-down", "f12"), ("send", "ctrl+s")];
    let keys = keys.map(|(name, key)| (name.to_owned(), vec![key.to_owned()]));
    let settings = Settings { keys: keys.into(), ..Settings::default() };
    let mut stage = Stage::with(settings, 76, 24);
    stage.keys("f3").shows("What to do");
    stage.keys("f12 ctrl+x").hides("What to do");
    stage.keys("f3 ctrl+s").hides("What to do");
    stage.keys("ctrl+x");
    stage.event(asks("1", "cargo test")).wait(400).keys("ctrl+x");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Deny { reason: None })]);
}

#[test]
fn small_screens_say_what_each_letter_does_and_that_there_is_more() {
    let long: Vec<String> = (0..30).map(|number| format!("echo {number}")).collect();
    let asked = asks("1", &long.join("\n"));
    let mut stage = Stage::new(40, 12);
    stage.event(asked.clone()).wait(400).shows("y yes  s session  p here");
    let mut stage = Stage::new(44, 6);
    stage.event(asked).wait(400).shows("↓");
}

#[test]
fn what_enter_does_is_told_in_full_on_narrow_screens_too() {
    for width in [40, 50, 60, 80] {
        let mut stage = Stage::new(width, 16);
        stage.event(prompt("go")).event(called("1", "Bash", json!({"command": "x"})));
        stage.event(asks("1", "x")).wait(2000).keys("n");
        stage.shows("say why, or only Enter");
    }
}
