//! Browsing the conversation by keys while text arrives.

use super::*;

/// A conversation whose last reply has so many lines.
fn long(lines: usize) -> Stage {
    let mut stage = Stage::new(60, 14);
    let reply: Vec<String> = (1..=lines).map(|number| format!("line {number}.\n\n")).collect();
    stage.event(prompt("count")).event(text(&reply.concat()));
    stage.event(replied(&reply.concat())).event(ended());
    stage
}

fn copied(stage: &mut Stage) -> Vec<String> {
    let effects = std::mem::take(&mut stage.effects);
    let text = |effect| match effect {
        Effect::Copy(text) => Some(text),
        _ => None,
    };
    effects.into_iter().filter_map(text).collect()
}

#[test]
fn browsing_begins_in_view_and_moves_by_rows() {
    let mut stage = long(200);
    stage.keys("pageup pageup");
    let before = stage.screen().lines().next().unwrap_or_default().to_owned();
    stage.keys("ctrl+t b");
    assert_eq!(stage.screen().lines().next().unwrap_or_default(), before, "nothing moved");
    stage.keys("esc ctrl+t b k k k k V y");
    let text = copied(&mut stage);
    assert_eq!(text.len(), 1);
    assert!(text[0].starts_with("line 19"), "one row near the end: {text:?}");
    assert_eq!(text[0].lines().count(), 1, "{text:?}");
}

#[test]
fn both_ends_of_a_selection_can_be_moved() {
    let mut stage = long(30);
    stage.keys("ctrl+t b g down V j j o j j j j y");
    assert_eq!(copied(&mut stage), ["line 2.\n\nline 3."]);
}

#[test]
fn scroll_position_follows_rows() {
    let mut stage = long(300);
    stage.keys("ctrl+home");
    stage.shows(" 0% ");
    for _ in 0..30 {
        stage.keys("pagedown");
    }
    let screen = stage.screen();
    let (before, _) = screen.split_once('%').unwrap();
    let percent: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((40..70).contains(&percent), "{screen}");
}

#[test]
fn scroll_position_is_estimated_for_unseen_blocks() {
    let number = |screen: &str, before: &str, end: char| -> usize {
        let at = screen.find(before).unwrap_or_else(|| panic!("{before}: {screen}"));
        let word = screen[at + before.len()..].split(end).next().unwrap();
        word.trim().parse().unwrap_or_else(|_| panic!("{word}"))
    };
    let paragraphs = 20_000;
    let lines: Vec<String> =
        (0..paragraphs).map(|number| format!("row {number} of it\n\n")).collect();
    let lines = lines.concat();
    let mut stage = Stage::new(200, 60);
    stage.event(prompt("go")).event(replied(&lines)).event(ended());
    let check = |stage: &Stage| {
        let screen = stage.screen();
        let seen = number(&screen, "row ", ' ') * 100 / paragraphs;
        let at = screen.find('%').unwrap_or_else(|| panic!("{screen}"));
        let said: usize = screen[..at].rsplit(' ').next().unwrap().parse().unwrap();
        assert!(said.abs_diff(seen) <= 2, "{said}, not {seen}: {screen}");
    };
    for key in ["pageup", "ctrl+home", "pagedown"] {
        for _ in 0..if key == "ctrl+home" { 1 } else { 30 } {
            stage.keys(key);
        }
        if key != "ctrl+home" {
            check(&stage);
        }
    }
    stage.keys("f9").type_in("row 10000 ").keys("enter");
    check(&stage);
}

#[test]
fn scroll_position_is_estimated_for_streamed_blocks() {
    let words: Vec<String> =
        (0..12_000).map(|number| format!("word{number} considerably interesting. ")).collect();
    let mut stage = Stage::new(60, 30);
    stage.event(prompt("go")).event(EventKind::RequestSent { round: 1 });
    stage.event(text(&words[..6000].concat()));
    for piece in words[6000..].chunks(100) {
        stage.event(text(&piece.concat()));
    }
    stage.event(replied(&words.concat())).event(ended());
    stage.keys("ctrl+home f9").type_in("word6000 ").keys("enter");
    let screen = stage.screen();
    let at = screen.find('%').unwrap_or_else(|| panic!("{screen}"));
    let said: usize = screen[..at].rsplit(' ').next().unwrap().parse().unwrap();
    assert!(said.abs_diff(50) <= 1, "{said}: {screen}");
}

#[test]
fn notices_do_not_split_a_streamed_reply() {
    let mut stage = Stage::new(60, 24);
    let reply = "Look:\n\n```rust\nlet a = 1;\nlet b = 2;\n```\n\nDone.\n";
    let (first, second) = reply.split_at(reply.find("let b").unwrap_or(0) + 3);
    stage.event(prompt("go")).event(EventKind::RequestSent { round: 1 });
    stage.event(thinking("Hm")).answer(Answer::Show("a list".into()));
    stage.event(thinking("m.")).event(text(first));
    stage.answer(Answer::Show("Tokens: 3".into()));
    stage.event(text(second));
    let shows_all = |stage: &Stage| {
        stage.shows("│ let b = 2;");
        stage.shows("Done.");
        stage.shows("┊ Tokens: 3");
        assert_eq!(stage.screen().matches("Thought").count(), 1, "{}", stage.screen());
    };
    shows_all(&stage);
    stage.event(replied(reply)).event(ended());
    shows_all(&stage);
    stage.keys("ctrl+t y");
    assert_eq!(copied(&mut stage), [reply]);
}

#[test]
fn selection_keeps_tabs_and_numbers() {
    let mut stage = Stage::new(60, 24);
    stage.event(prompt("go")).event(replied("1. first\n2. second\n\n```\n\tindented\ta\n```\n"));
    stage.keys("ctrl+t b V j j j j j y");
    assert_eq!(copied(&mut stage), ["1. first\n2. second\n\n\tindented\ta"]);
}

#[test]
fn long_list_column_continues_below() {
    let mut stage = Stage::new(44, 14);
    stage.answer(Answer::Show("/mode  Show or change how much freedom the tools have\n".into()));
    stage.shows(" ┊ /mode  Show or change how much freedom");
    stage.shows(" ┊        the tools have");
}

#[test]
fn a_change_is_named_by_its_file_alone() {
    let mut stage = Stage::new(80, 14);
    let args = json!({"file_path": "src/a.rs", "old_string": "let x", "new_string": "let y"});
    stage.event(prompt("go")).event(called("1", "Edit", args));
    stage.event(finished("1", "Edit", changed("@@ -1 +1 @@\n-let x\n+let y\n")));
    stage.shows("✓ Edit src/a.rs  +1 −1");
    stage.hides("old_string");
}

#[test]
fn search_finds_closed_and_wrapped_text() {
    let mut stage = Stage::new(40, 14);
    let numbers: Vec<String> = (1..=200).map(|number| format!("number {number}")).collect();
    let output = numbers.join("\n");
    stage.event(prompt("go")).event(called("1", "Bash", json!({"command": "seq"})));
    stage.event(finished("1", "Bash", ToolOutput::success(output)));
    let words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu";
    stage.event(replied(words)).event(ended());
    stage.keys("f9").type_in("number 187").shows("number 187");
    stage.keys("esc f9").type_in("zeta eta theta");
    stage.shows("Match 1 of 1");
    stage.hides("not found");
}

#[test]
fn search_continues_with_n_while_browsing() {
    let mut stage = long(200);
    stage.keys("f9").type_in("line 15").keys("enter").shows("Browsing");
    stage.keys("N N N N N N N N N N").shows("line 15.");
    stage.keys("n").shows("line 150.");
    stage.hides("not found");
    stage.keys("esc esc").hides("Browsing");
}

#[test]
fn view_at_the_end_follows_new_rows() {
    let mut stage = long(200);
    for rows in 1..=8 {
        stage.keys("pageup pageup").shows("for the end");
        // Walking down row by row ends exactly with the last one.
        stage.keys("ctrl+t b g end esc").hides("for the end");
        stage.keys("ctrl+t b pageup pageup pageup");
        for _ in 0..rows {
            stage.keys("k");
        }
        for _ in 0..60 {
            stage.keys("j");
        }
        stage.hides("for the end");
    }
    stage.event(replied("Something new.")).shows("Something new.");
}

#[test]
fn search_finds_agent_text_within_its_call() {
    let mut stage = Stage::new(60, 24);
    stage.event(prompt("go")).event(called("1", "Task", json!({"prompt": "look"})));
    for text in ["Nothing here.", "The needle is here.", "And a needle there."] {
        stage.send(Message::Event(Arc::new(within("1", replied(text)))));
    }
    stage.event(finished("1", "Task", ToolOutput::success("found it"))).event(ended());
    stage.keys("f9").type_in("needle").shows("Match 2 of 2");
    stage.shows("┆ And a needle there.");
    stage.keys("enter N").shows("Match 1 of 2");
}

#[test]
fn a_selection_survives_a_narrower_screen() {
    let mut stage = Stage::new(80, 24);
    stage.event(prompt("go")).event(replied(&"many words ".repeat(6)));
    stage.keys("ctrl+t b v $ v v h");
    stage.resize(20, 10);
    stage.shows("many words");
}
