//! The transcript of a conversation on the screen.

use super::*;
use crate::input::MouseKind;
use contract::event::CompactionStrategy;

/// A turn with everything in it.
pub(super) fn turn(stage: &mut Stage) {
    stage.event(prompt("What is in this directory?"));
    stage.event(EventKind::RequestSent { round: 1 });
    stage.event(thinking("I should look first.\nThen answer."));
    stage.event(called("1", "Glob", json!({"pattern": "*.rs"})));
    stage.event(judged("1", json!({"pattern": "*.rs"})));
    stage.event(finished("1", "Glob", ToolOutput::success("a.rs\nb.rs\nc.rs\nd.rs\ne.rs\nf.rs\n")));
    stage.event(called("2", "Edit", json!({"file_path": "src/a.rs", "old_string": "1"})));
    let diff =
        "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n fn a() {}\n-let x = 1;\n+let x = 2;\n";
    stage.event(finished("2", "Edit", changed(diff)));
    stage.event(EventKind::RequestSent { round: 2 });
    let reply = "There are **six** files:\n\n| file | lines |\n|---|--:|\n| a.rs | 12 |\n\n\
                 1. First\n2. Second\n\n```rust\nfn main() {}\n```\n";
    stage.event(text(reply));
    stage.event(replied(reply));
    stage.event(ended());
}

#[test]
fn welcome_screen_names_the_first_keys() {
    insta::assert_snapshot!(Stage::new(70, 16).screen());
}

/// Facts of a project on a branch, with two earlier sessions.
pub(super) fn facts_of_a_project() -> crate::host::Facts {
    use crate::host::{Confinement, Facts, RecentSession};
    let session = |title: &str, age: &str| RecentSession { title: title.into(), age: age.into() };
    Facts {
        directory: "~/code/site".into(),
        branch: Some("main".into()),
        recent: vec![
            session("Fix the parser", "5 minutes ago"),
            session("Explain how the configuration of the server is read", "2 days ago"),
        ],
        confinement: Confinement::Sandboxed(contract::sandbox::Network::None),
        context_window: Some(12_340),
        ..Facts::default()
    }
}

#[test]
fn low_welcome_screen_keeps_the_first_keys() {
    let mut stage = Stage::new(60, 12);
    stage.answer(Answer::Facts(facts_of_a_project()));
    stage.shows("Brynhild");
    stage.shows("F1 help");
    stage.hides("2 days ago");
}

#[test]
fn status_line_follows_the_template() {
    let template = "{directory} ({branch}) [{mode}] {model} {context}{cost} {odd} {";
    let settings = Settings { status_line: Some(template.to_owned()), ..Settings::default() };
    let mut stage = Stage::with(settings, 100, 10);
    stage.answer(Answer::Facts(facts_of_a_project()));
    stage.event(prompt("go")).event(replied("x")).event(ended());
    let status = stage.screen().lines().last().unwrap().to_owned();
    assert_eq!(status.trim_end(), "~/code/site (main) [normal] test-model context 10% {odd} {");
}

#[test]
fn status_line_prefers_usage_to_the_sandbox() {
    let mut stage = Stage::new(50, 10);
    stage.answer(Answer::Facts(facts_of_a_project()));
    stage.shows("test-model · normal · sandboxed, no network");
    stage.event(prompt("go")).event(replied("x")).event(ended());
    stage.shows("context 10%");
    stage.hides("sandboxed, no network");
    stage.resize(100, 10);
    stage.shows("site · main · test-model · normal · sandboxed, no network");
}

#[test]
fn transcript_shows_prompt_tools_changes_and_reply() {
    let mut stage = Stage::new(70, 44);
    turn(&mut stage);
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn blocks_open_and_close_by_keys() {
    let mut stage = Stage::new(70, 60);
    turn(&mut stage);
    stage.shows("▸ Thought");
    stage.hides("Then answer.");
    stage.keys("ctrl+t t").shows("Then answer.");
    stage.keys("f2").hides("Then answer.");
    stage.keys("ctrl+t b g down down enter");
    for part in ["pattern: *.rs", "reads /work/a.txt", "allowed: it only looks (built-in)", "f.rs"]
    {
        stage.shows(part);
    }
    stage.keys("enter").hides("f.rs");
    stage.keys("esc");
    stage.hides("Browsing");
}

#[test]
fn status_line_shows_activity_and_usage() {
    let mut stage = Stage::new(120, 12);
    let facts = crate::host::Facts {
        confinement: crate::host::Confinement::Sandboxed(contract::sandbox::Network::None),
        context_window: Some(12_340),
        parts: crate::host::Health { plugins: 3, servers: 1, starting: 0, failed: 1 },
        ..crate::host::Facts::default()
    };
    stage.answer(Answer::Facts(facts));
    stage.event(prompt("go")).event(replied("x"));
    stage.event(called("1", "Bash", json!({"command": "sleep 9"})));
    stage.event(judged("1", json!({"command": "sleep 9"})));
    stage.wait(7000);
    let status = stage.screen().lines().last().unwrap().to_owned();
    for part in ["running Bash 7 s", "test-model", "normal · sandboxed, no network", "context 10%"]
    {
        assert!(status.contains(part), "{part} is missing: {status}");
    }
    stage.resize(200, 12);
    let status = stage.screen().lines().last().unwrap().to_owned();
    for part in ["1.2k in, 34 out", "1 failed", "1 server", "3 plugins"] {
        assert!(status.contains(part), "{part} is missing: {status}");
    }
}

#[test]
fn status_line_describes_mode_and_sandbox() {
    use crate::host::{Confinement, Facts};
    use contract::sandbox::{Hosts, Network};
    let hosts = Network::Hosts(Hosts { names: vec!["a.example".into()], key: String::new() });
    let sandboxed = Confinement::Sandboxed;
    for (mode, confinement, words) in [
        (Mode::Normal, sandboxed(Network::None), "normal · sandboxed, no network"),
        (Mode::Ask, sandboxed(Network::None), "ask · sandboxed, no network"),
        (Mode::Normal, sandboxed(hosts), "normal · sandboxed, 1 host"),
        (Mode::Normal, sandboxed(Network::Host), "normal · sandboxed, network"),
        (Mode::ReadOnly, sandboxed(Network::None), "read-only"),
        (Mode::Yolo, sandboxed(Network::None), "yolo · sandboxed"),
        (Mode::Normal, Confinement::None, "normal · no sandbox"),
    ] {
        let mut stage = Stage::new(80, 8);
        stage.app.connect("m", mode);
        stage.answer(Answer::Facts(Facts { confinement, ..Facts::default() }));
        let screen = stage.screen();
        assert_eq!(screen.lines().last(), Some(format!("m · {words}").as_str()));
    }
}

#[test]
fn status_line_counts_running_jobs() {
    let started = |job| EventKind::JobStarted { job, command: "npm start".into() };
    let finished = |job| EventKind::JobFinished { job, outcome: "exit code 0".into() };
    let mut stage = Stage::new(80, 8);
    stage.event(started(1)).shows("1 job");
    stage.event(started(2)).shows("2 jobs");
    stage.event(finished(1)).shows("1 job");
    stage.event(finished(2)).hides("job");
    // Jobs of a session that is resumed ended with it.
    stage.app.replay(&[event(started(1))]);
    stage.draw();
    stage.hides("job");
}

#[test]
fn shift_tab_cycles_normal_ask_and_read_only() {
    for (mode, next) in [
        (Mode::Normal, "/mode ask"),
        (Mode::Ask, "/mode read-only"),
        (Mode::ReadOnly, "/mode normal"),
        (Mode::Yolo, "/mode normal"),
    ] {
        let mut stage = Stage::new(80, 8);
        stage.app.connect("m", mode);
        stage.keys("shift+tab");
        let requests = stage.asked();
        let command = requests.iter().find_map(|request| match request {
            Request::Command(command) => Some(command.as_str()),
            _ => None,
        });
        assert_eq!(command, Some(next), "{mode:?}");
    }
}

#[test]
fn scroll_position_is_stable_while_text_arrives() {
    let mut stage = Stage::new(60, 12);
    stage.event(prompt("count")).event(EventKind::RequestSent { round: 1 });
    let lines = |range: std::ops::Range<u32>| {
        range.map(|number| format!("line {number}\n\n")).collect::<Vec<_>>().concat()
    };
    stage.event(text(&lines(0..100)));
    stage.shows("line 99");
    stage.keys("pageup pageup");
    let before = stage.screen();
    stage.event(text(&lines(100..200)));
    let body = |screen: &str| screen.lines().take(8).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&stage.screen()), body(&before));
    stage.keys("ctrl+end").shows("line 199");
    stage.keys("ctrl+home").shows("count");
}

#[test]
fn transcript_lays_out_only_visible_lines() {
    let mut stage = Stage::new(100, 40);
    let history: Vec<Event> = (0..5000)
        .flat_map(|turn| {
            let words = format!("turn {turn}\n\n").repeat(10);
            [event(prompt("go on")), event(replied(&words)), event(ended())]
        })
        .collect();
    stage.app.replay(&history);
    stage.draw();
    assert!(stage.app.transcript.laid_out() < 50, "{}", stage.app.transcript.laid_out());
    for _ in 0..200 {
        stage.keys("pageup");
    }
    assert!(stage.app.transcript.laid_out() < 1000, "{}", stage.app.transcript.laid_out());
    stage.keys("ctrl+home").shows("go on");
    stage.keys("ctrl+end").shows("turn 4999");
}

#[test]
fn search_finds_words_in_every_block() {
    let mut stage = Stage::new(60, 12);
    stage.event(prompt("start")).event(replied("The needle is here."));
    for number in 0..50 {
        stage.event(prompt(&format!("filler {number}")));
    }
    stage.hides("needle");
    stage.keys("ctrl+t /").type_in("NEEDLE");
    stage.shows("The needle is here.");
    stage.keys("esc ctrl+end").shows("filler 49");
    stage.keys("f9").type_in("nowhere").shows("Not found");
}

#[test]
fn selection_copies_text_without_decoration() {
    let mut stage = Stage::new(40, 14);
    let long =
        "> quoted words that are long enough to be wrapped once or twice\n\n```rs\nlet x;\n```\n";
    stage.event(prompt("q")).event(replied(long));
    let mouse = |kind, column, row| {
        Message::Terminal(Input::Mouse(crate::input::Mouse { kind, column, row }), Instant::now())
    };
    stage.send(mouse(MouseKind::Press, 0, 0)).send(mouse(MouseKind::Drag, 39, 9)).send(mouse(
        MouseKind::Release,
        39,
        9,
    ));
    let copied = stage.effects.iter().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.clone()),
        _ => None,
    });
    let copied = copied.expect("something was copied");
    assert!(
        copied.contains("quoted words that are long enough to be wrapped once or twice"),
        "{copied}"
    );
    assert!(copied.contains("\nlet x;"), "{copied}");
    assert!(!copied.contains('│'), "{copied}");
}

#[test]
fn subagents_are_nested_in_their_call() {
    let mut stage = Stage::new(70, 30);
    stage.event(prompt("explore")).event(called("1", "Task", json!({"prompt": "look around"})));
    for what in [
        prompt("look around"),
        called("n1", "Grep", json!({"pattern": "x"})),
        finished("n1", "Grep", ToolOutput::success("found")),
        replied("The scout says hello."),
    ] {
        stage.send(Message::Event(Arc::new(within("1", what))));
    }
    stage.shows("scout: 3 steps, last Grep");
    stage.hides("The scout says hello.");
    stage.keys("ctrl+t o").shows("┆ The scout says hello.");
    stage.event(finished("1", "Task", ToolOutput::success("done")));
    stage.shows("┆ ✓ Grep x");
}

#[test]
fn output_of_a_plugin_names_the_plugin() {
    let mut stage = Stage::new(70, 14);
    let facts = crate::host::Facts {
        sources: vec![("deploy".into(), "acme".into())],
        ..crate::host::Facts::default()
    };
    stage.answer(Answer::Facts(facts));
    stage.event(called("1", "deploy", json!({"to": "prod"})));
    stage.shows("deploy [acme] prod");
}

#[test]
fn restarted_reply_is_replaced() {
    let mut stage = Stage::new(60, 20);
    stage.event(prompt("go")).event(EventKind::RequestSent { round: 1 });
    stage.event(text("half of"));
    stage.event(EventKind::ReplyDelta { piece: Piece::Restart });
    stage.hides("half of");
    stage.event(text("all of it")).event(replied("all of it"));
    assert_eq!(stage.screen().matches("all of it").count(), 1);
}

#[test]
fn transcript_shows_how_a_turn_ended() {
    let mut stage = Stage::new(60, 30);
    let finish = |outcome: Outcome| EventKind::TurnFinished { outcome, usage: Usage::default() };
    stage.event(finish(Outcome::Cancelled)).shows("Interrupted");
    let limit = Outcome::Limited {
        limit: "max_turns".into(),
        value: 3.into(),
        told: "--max-turns (3)".into(),
    };
    stage.event(finish(limit));
    stage.shows("Stopped at a limit: --max-turns (3)");
    let earlier = r#"{"outcome": "limited", "limit": "max_rounds (7)"}"#;
    stage.event(finish(serde_json::from_str(earlier).unwrap()));
    stage.shows("Stopped at a limit: max_rounds (7)");
    let hint = Some("try again".into());
    stage.event(finish(Outcome::Failed { error: "it broke".into(), hint }));
    stage.shows("error: it broke");
    stage.shows("hint: try again");
}

#[test]
fn notification_is_sent_after_a_long_run_without_focus() {
    let notified = |is_focused: Option<bool>, milliseconds: u64| {
        let mut stage = Stage::new(60, 12);
        if let Some(is_focused) = is_focused {
            stage.send(Message::Terminal(Input::Focus(is_focused), stage.now));
        }
        stage.event(prompt("go")).wait(milliseconds).event(ended());
        stage.effects.iter().any(|effect| matches!(effect, Effect::Notify(_)))
    };
    assert!(notified(None, 20_000));
    assert!(notified(Some(false), 20_000));
    assert!(!notified(Some(true), 20_000));
    assert!(!notified(None, 2000));
}

#[test]
fn keys_select_characters_and_rows_and_copy_the_text() {
    let mut stage = Stage::new(40, 24);
    stage.event(prompt("quote it")).event(replied("> first words\n\n> second words\n"));
    let copied = |stage: &mut Stage| {
        std::mem::take(&mut stage.effects).into_iter().find_map(|effect| match effect {
            Effect::Copy(text) => Some(text),
            _ => None,
        })
    };
    stage.keys("f8 v l l l l").shows("Selecting");
    stage.keys("y");
    assert_eq!(copied(&mut stage).as_deref(), Some("first"));
    stage.keys("V j j y");
    assert_eq!(copied(&mut stage).as_deref(), Some("first words\n\nsecond words"));
    stage.keys("up up V y");
    assert_eq!(copied(&mut stage).as_deref(), Some("quote it"));
    stage.keys("v esc").shows("Browsing");
    stage.keys("esc").hides("Browsing");
}

#[test]
fn copy_leaves_out_table_bars_and_call_times() {
    let mut stage = Stage::new(60, 24);
    let table = "| a | bb |\n|---|--:|\n| ccc | d |\n";
    stage.event(prompt("q")).event(replied(table));
    let copied = |stage: &mut Stage| {
        std::mem::take(&mut stage.effects).into_iter().find_map(|effect| match effect {
            Effect::Copy(text) => Some(text),
            _ => None,
        })
    };
    stage.keys("f8 V j j y");
    assert_eq!(copied(&mut stage).as_deref(), Some("a\tbb\nccc\td"));
    let mut stage = Stage::new(60, 24);
    stage.event(prompt("q")).event(called("a", "Bash", json!({"command": "ls"})));
    stage.event(finished("a", "Bash", ToolOutput::success("x")));
    stage.shows("1.2 s");
    stage.keys("f8 V y");
    let text = copied(&mut stage).unwrap_or_default();
    assert!(text.starts_with("Bash ls") && !text.contains("1.2 s"), "{text:?}");
}

#[test]
fn tool_output_loses_colors_and_shows_the_end_of_a_failure() {
    let mut stage = Stage::new(70, 30);
    let lines: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
    let output = format!(
        "\x1b[1;31mred\x1b[0m\x1b]0;title\x07\r\n10%\r100%\r\n{}\nerror: at last\n",
        lines.join("\n")
    );
    stage.event(prompt("go")).event(called("1", "Bash", json!({"command": "make"})));
    let failed = ToolOutput { success: false, ..ToolOutput::success(output) };
    stage.event(finished("1", "Bash", failed));
    stage.shows("error: at last");
    stage.hides("line 2\n");
    stage.keys("f7");
    for part in ["│ red\n", "│ 10%\n", "│ 100%\n", "│ line 0"] {
        stage.shows(part);
    }
    stage.hides("u{1b}");
    stage.hides("title");
}

#[test]
fn restarted_reply_is_removed_and_its_notices_stay() {
    let mut stage = Stage::new(90, 20);
    stage.event(prompt("go")).event(EventKind::RequestSent { round: 1 });
    for attempt in 2..4 {
        stage.event(text("The answer is "));
        stage.event(EventKind::ReplyDelta { piece: Piece::Restart });
        let told = format!("it broke off; trying again (attempt {attempt} of 5)");
        stage.event(EventKind::Notice {
            level: contract::event::Level::Warning,
            text: told,
            hint: None,
            topic: None,
        });
    }
    stage.hides("The answer is");
    stage.shows("attempt 2 of 5");
    stage.shows("attempt 3 of 5");
    stage.event(text("42")).event(replied("42")).shows("42");
}

#[test]
fn leader_panel_shows_all_actions_on_a_usual_screen() {
    let mut stage = Stage::new(80, 24);
    stage.keys("ctrl+t");
    insta::assert_snapshot!(stage.screen());
    stage.resize(20, 5);
    stage.shows("Ctrl+T");
}

#[test]
fn search_counts_its_matches() {
    let mut stage = Stage::new(60, 12);
    for number in 0..5 {
        stage.event(prompt(&format!("word {number}")));
    }
    stage.keys("f9").type_in("word").shows("Match 5 of 5");
    stage.keys("up up").shows("Match 3 of 5");
}

#[test]
fn clear_empties_the_screen_and_keeps_usage() {
    let mut stage = Stage::new(90, 14);
    stage.event(prompt("go")).event(called("1", "Task", json!({})));
    let inner = within("1", replied("inner words"));
    stage.send(Message::Event(Arc::new(inner)));
    stage.event(replied("outer words")).event(ended());
    stage.shows("2.4k in, 68 out");
    let cleared = EventKind::Compacted {
        summary: None,
        strategy: CompactionStrategy::Clear,
        dropped: 2,
        range: None,
        kept: 0,
        usage: Usage::default(),
        lasting: None,
    };
    stage.event(cleared).hides("outer words");
    stage.shows("Conversation cleared");
}

#[test]
fn long_result_lays_out_visible_rows_and_counts_all() {
    let lines: Vec<String> = (0..100_000).map(|number| format!("line {number}\n")).collect();
    for (output, shown) in [
        (ToolOutput::success(lines.concat()), "line 3\n"),
        (ToolOutput::failure(lines.concat()), "line 99999\n"),
    ] {
        let mut stage = Stage::new(60, 24);
        stage.event(prompt("go")).event(called("1", "Bash", json!({})));
        stage.event(finished("1", "Bash", output));
        stage.shows("more lines");
        stage.shows(&format!("│ {shown}"));
        let screen = stage.screen();
        let counted = screen.split("… ").nth(1).and_then(|it| it.split(' ').next());
        let counted: usize = counted.unwrap().parse().unwrap();
        assert!(counted.abs_diff(99_996) <= 4, "{screen}");
        stage.keys("ctrl+t o ctrl+end").shows("line 99999");
    }
}
