//! Messages for invalid files, and checks of the shipped files.

use std::path::Path;

use contract::provider::Failure;

use super::conversation::Conversation;
use crate::script::{BUNDLED, load, open, parse};

fn problem(yaml: &str) -> String {
    parse("play.yaml", yaml).expect_err("a problem").to_string()
}

#[test]
fn unknown_key_is_reported_with_a_suggestion() {
    assert_eq!(
        problem("name: x\nturns:\n  - txet: hello\n"),
        "scenario play.yaml, line 3: unknown key `txet`; did you mean `text`?"
    );
    assert_eq!(
        problem("turns:\n  - text: a\n    expect:\n      tool_results:\n        - contain: x\n"),
        "scenario play.yaml, line 5: unknown key `contain`; did you mean `contains`?"
    );
    assert_eq!(
        problem("turns:\n  - text: a\n    expect:\n      tools:\n        contian: x\n"),
        "scenario play.yaml, line 5: unknown key `contian`; did you mean `contains`?"
    );
}

#[test]
fn unknown_key_without_a_match_lists_the_valid_keys() {
    let problem = problem("turns:\n  - text: a\n    usage: { zzz: 1 }\n");
    assert!(
        problem.ends_with("unknown key `zzz`; use one of `input`, `output`, `cached`, `cost`"),
        "{problem}"
    );
}

#[test]
fn an_unknown_kind_of_error_gets_a_suggestion() {
    assert_eq!(
        problem("turns:\n  - error: { kind: rate_limit }\n"),
        "scenario play.yaml, line 2: unknown value `rate_limit`; did you mean `rate_limited`?"
    );
    assert_eq!(
        problem("turns: [{ text: a }]\nwhen_exhausted: repeat\n"),
        "scenario play.yaml, line 2: unknown value `repeat`; did you mean `repeat_last`?"
    );
}

#[test]
fn value_of_the_wrong_type_is_reported_with_its_line() {
    let delay = problem("turns:\n  - text: a\n    delay_ms: soon\n");
    assert!(delay.starts_with("scenario play.yaml, line 3: "), "{delay}");
    let turns = problem("turns: hello\n");
    assert!(turns.starts_with("scenario play.yaml, line 1: "), "{turns}");
    let repeat = problem("turns:\n  - text: a\n    repeat: 0\n");
    assert!(repeat.starts_with("scenario play.yaml, line 3: "), "{repeat}");
}

#[test]
fn invalid_pattern_is_refused_when_the_file_is_read() {
    let problem = problem("turns:\n  - text: a\n    expect:\n      system: { matches: '(' }\n");
    assert_eq!(
        problem,
        "scenario play.yaml, line 4: `(` is not a valid regular expression: unclosed group"
    );
}

#[test]
fn a_scenario_without_turns_is_refused() {
    assert_eq!(
        problem("turns: []\n"),
        "scenario play.yaml: `turns` is empty; write at least one turn, such as `- text: hello`"
    );
    assert!(problem("name: x\n").contains("the key `turns` is missing"));
    assert!(problem("").contains("play.yaml"));
}

#[test]
fn text_that_is_not_yaml_is_refused_with_its_line() {
    let problem = problem("turns:\n  - text: \"open\n");
    assert!(problem.starts_with("scenario play.yaml, line "), "{problem}");
}

#[test]
fn empty_or_contradictory_turn_is_refused() {
    let cases = [
        ("turns:\n  - text: a\n  - delay_ms: 1\n", "line 3: turn 2: it says nothing"),
        (
            "turns:\n  - text: a\n    error: { kind: cut }\n",
            "`text` cannot be combined with `error`",
        ),
        ("turns:\n  - tool_calls: [{ name: A, input: {}, input_text: '' }]\n", "keep one of them"),
        (
            "turns:\n  - error: { kind: auth, retry_after_ms: 1 }\n",
            "`rate_limited` and `unavailable` only",
        ),
        ("turns:\n  - text: a\n    expect: { system: {} }\n", "`system` expects nothing"),
    ];
    for (yaml, expected) in cases {
        let problem = problem(yaml);
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn misspelled_placeholder_is_refused() {
    let misspelled = problem("turns:\n  - text: 'got {{last_tool_results}}'\n");
    assert!(misspelled.ends_with("; did you mean `last_tool_result`?"), "{misspelled}");
    assert!(problem("turns:\n  - text: '{{results.0}}'\n").contains("results.0"));
    assert!(
        problem("turns: [{ text: a }]\nwhen_exhausted: { text: '{{last_x}}' }\n")
            .contains("last_x")
    );
    parse("play.yaml", "turns:\n  - text: 'a: ${{ secrets.KEY }} {{x'\n").expect("plain text");
}

#[test]
fn missing_or_binary_file_is_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing = load(&directory.path().join("no.yaml")).expect_err("missing");
    assert!(missing.to_string().contains("no.yaml: there is no such file"));
    let binary = directory.path().join("binary.yaml");
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).expect("written");
    let error = load(&binary).expect_err("not text");
    assert!(error.to_string().contains("not UTF-8"), "{error}");
}

#[test]
fn scenario_is_found_by_bundled_name_or_relative_path() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("play.yaml"), "turns: [{ text: a }]").expect("written");
    assert_eq!(open("demo", directory.path()).expect("bundled").name, "demo");
    assert_eq!(open("play.yaml", directory.path()).expect("a file").length(), 1);
    assert!(open("other.yaml", Path::new("/nowhere")).is_err());
}

#[tokio::test(start_paused = true)]
async fn the_bundled_scenarios_are_valid_and_play_to_their_end() {
    for bundled in &BUNDLED {
        let mut conversation = Conversation::with(bundled.yaml);
        conversation.tools = vec!["Bash", "Edit", "Glob", "Read"];
        conversation.user(bundled.prompt);
        for results in [
            vec![("Glob", "README.md\nbasket.py\ntest_basket.py", false)],
            vec![
                ("Bash", "FAIL: test_three_of_a_kind\nFAILED (failures=1)", true),
                ("Read", bundled.files[1].1, false),
            ],
            vec![("Edit", "Replaced 1 occurrence(s) in basket.py", false)],
            vec![("Bash", "Ran 3 tests\n\nOK", false)],
        ] {
            let reply = conversation.reply().await.expect("a reply");
            let called: Vec<&str> = reply.calls().map(|call| call.name.as_str()).collect();
            let returned: Vec<&str> = results.iter().map(|result| result.0).collect();
            assert_eq!(called, returned);
            for call in reply.calls().filter(|call| call.name == "Edit") {
                let old = call.args["old_string"].as_str().expect("a string");
                let (_, text) = bundled.files[1];
                assert_eq!(text.matches(old).count(), 1);
            }
            for (name, content, is_error) in results {
                conversation.result(name, content, is_error);
            }
        }
        assert!(conversation.text().await.contains("The tests pass"));
        assert_eq!(conversation.failure().await.kind, Failure::Expectation);
    }
}

#[tokio::test]
async fn documented_scenarios_are_valid_and_the_first_plays() {
    let page = include_str!("../../../../../docs/reference/scenarios.md");
    let blocks: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .map(|block| block.split("```").next().expect("a block"))
        .collect();
    assert_eq!(blocks.len(), 3);
    for block in &blocks {
        parse("docs/reference/scenarios.md", block).expect("a valid example");
    }
    let mut conversation = Conversation::with(blocks[0]);
    conversation.user("Count the lines of notes.txt");
    let reply = conversation.reply().await.expect("a reply");
    assert_eq!(reply.text(), "I count them.");
    conversation.result("Bash", "12 notes.txt", false);
    assert!(matches!(conversation.failure().await.kind, Failure::RateLimited(Some(_))));
    assert_eq!(conversation.text().await, "`wc` says: 12 notes.txt");
}
