//! Questions about calls: what they show, and which keys answer them.

use contract::event::Answer as Given;

use super::*;
use crate::host::{Inquiry, ReplyKind};

fn given(stage: &mut Stage) -> Vec<(String, Given)> {
    let answer = |input| match input {
        ToConversation::Answer { call, answer, .. } => Some((call.0, answer)),
        _ => None,
    };
    stage.sent().into_iter().filter_map(answer).collect()
}

fn asked(id: &str, tool: &str, args: Value, actions: Vec<Action>) -> EventKind {
    EventKind::Asked {
        call: CallId(id.into()),
        tool: tool.into(),
        args,
        actions,
        why: String::new(),
        destructive: false,
        remember: vec![],
    }
}

fn run(command: &str) -> Action {
    Action::Run { command: command.into(), cwd: "/work".into() }
}

fn remembers(what: EventKind, rules: &[&str]) -> EventKind {
    let EventKind::Asked { call, tool, args, actions, why, destructive, .. } = what else {
        return what;
    };
    let remember = rules.iter().map(|rule| (*rule).to_owned()).collect();
    EventKind::Asked { call, tool, args, actions, why, destructive, remember }
}

fn destroys(command: &str) -> EventKind {
    let EventKind::Asked { call, tool, args, actions, .. } = asks("1", command) else {
        unreachable!()
    };
    let (why, remember) = ("it discards changes".into(), vec![]);
    EventKind::Asked { call, tool, args, actions, why, destructive: true, remember }
}

/// A stage that knows its project.
fn stage(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height);
    let project = Some("/work".into());
    let facts = crate::host::Facts { project, ..crate::host::Facts::default() };
    stage.answer(Answer::Facts(facts));
    stage
}

fn deny(reason: Option<&str>) -> Given {
    Given::Deny { reason: reason.map(str::to_owned) }
}

#[test]
fn dialog_shows_a_command_and_numbered_answers() {
    let mut stage = stage(76, 24);
    stage.event(prompt("test it")).event(called("1", "Bash", json!({"command": "cargo test"})));
    stage.event(asks("1", "cargo test --all\necho done"));
    stage.wait(400);
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn dialog_for_leaving_the_sandbox_shows_need_and_reason() {
    let mut stage = stage(76, 24);
    let command = "npm install left-pad";
    let args = json!({"command": command, "reason": "the padding helper needs it"});
    let actions = vec![run(command), Action::Connect { host: "registry.example".into() }];
    let question = asked("1", "Bash", args, actions);
    stage.event(remembers(question, &["Host(registry.example)"])).wait(400);
    insta::assert_snapshot!(stage.screen());
    stage.keys("enter");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)]);
}

#[test]
fn dialog_for_a_command_shows_the_reason() {
    let mut stage = stage(76, 24);
    let args = json!({"command": "git reset --hard", "reason": "the merge went wrong"});
    stage.event(asked("1", "Bash", args, vec![run("git reset --hard")])).wait(400);
    stage.shows("The model's reason: the merge went wrong");
}

#[test]
fn dialog_names_each_kind_of_sandbox_exit() {
    let leave = Action::LeaveSandbox { command: "docker ps".into() };
    let write = Action::Write { path: "/etc/hosts".into(), diff: None };
    for (actions, need) in [
        (vec![run("docker ps"), leave], "runs outside the sandbox"),
        (vec![run("x"), Action::Connect { host: "*".into() }], "needs the network: any host"),
        (vec![write], "writes outside the project: /etc/hosts"),
    ] {
        let mut stage = stage(76, 24);
        stage.event(asked("1", "Bash", json!({}), actions)).wait(400);
        stage.shows("Leave the sandbox?");
        stage.shows(need);
        stage.shows("› 1  Yes, once");
        stage.shows("2  No, and tell the model why");
        stage.hides("session");
    }
}

#[test]
fn dialog_for_a_tool_shows_its_arguments() {
    let mut stage = stage(76, 24);
    let actions = vec![Action::Opaque { what: "deploys".into() }];
    let question = asked("1", "Deploy", json!({"target": "staging"}), actions);
    stage.event(remembers(question, &["Deploy(*)"])).wait(400);
    stage.shows("Use the tool Deploy?");
    stage.shows("\"target\": \"staging\"");
    stage.shows("2  Yes, and always allow the tool Deploy in this project");
}

#[test]
fn early_keys_are_dropped() {
    let mut stage = Stage::new(76, 30);
    let early = stage.now;
    stage.wait(1000);
    stage.event(asks("1", "rm x"));
    let key = Key::parse("y").unwrap();
    stage.send(Message::Terminal(Input::Key(key), early));
    stage.wait(100).keys("y");
    assert_eq!(given(&mut stage), [], "too early");
    stage.hides("Yes, once");
    // Each early key begins the wait again.
    stage.wait(250).keys("y").wait(250).keys("enter");
    assert_eq!(given(&mut stage), []);
    stage.wait(350).shows("Yes, once");
    stage.keys("y");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)]);
    assert_eq!(stage.app.composer.buffer.raw(), "");
}

#[test]
fn keys_with_an_open_dialog_do_not_reach_the_composer() {
    let mut stage = Stage::new(76, 30);
    stage.event(prompt("go")).type_in("draft");
    stage.event(asks("1", "ls")).wait(1400);
    stage.type_in("OVERVIEW").keys("backspace");
    stage.send(Message::Terminal(Input::Paste("pasted".into()), stage.now));
    assert_eq!(given(&mut stage), []);
    assert_eq!(stage.app.composer.buffer.raw(), "draft");
    stage.wait(1400).keys("enter");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)]);
}

#[test]
fn repeated_answer_keys_are_dropped() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "ls")).wait(400).keys("y y y");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)]);
    assert_eq!(stage.app.composer.buffer.raw(), "");
    stage.type_in("next");
    assert_eq!(stage.app.composer.buffer.raw(), "next");
}

#[test]
fn every_answer_has_its_keys() {
    for (keys, answer) in [
        ("enter", Given::Once),
        ("1", Given::Once),
        ("y", Given::Once),
        ("2", Given::Project),
        ("a", Given::Project),
        ("down enter", Given::Project),
        ("3", Given::Session),
        ("s", Given::Session),
        ("4 enter", deny(None)),
        ("n n o t enter", deny(Some("not"))),
        ("n esc enter enter", deny(None)),
        ("esc", Given::Cancel),
        ("ctrl+c", Given::Cancel),
    ] {
        let mut stage = Stage::new(76, 30);
        stage.event(asks("1", "ls")).wait(400).keys(keys);
        assert_eq!(given(&mut stage), [("1".to_owned(), answer)], "{keys}");
        stage.hides("Run this command?");
    }
}

#[test]
fn enter_denies_a_destructive_command() {
    let mut stage = Stage::new(76, 30);
    stage.event(destroys("git reset --hard")).wait(400);
    stage.shows("› 2  No, and tell the model why");
    stage.shows("it discards changes");
    stage.keys("enter").shows("Reason:");
    stage.keys("enter");
    assert_eq!(given(&mut stage), [("1".to_owned(), deny(None))]);
}

#[test]
fn parallel_calls_share_one_dialog() {
    let mut stage = stage(76, 30);
    let diff = "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-old\n+new\n".to_owned();
    let edit = Action::Write { path: "/work/src/x.rs".into(), diff: Some(diff) };
    stage.event(asks("1", "cargo test"));
    stage.event(remembers(asked("2", "Edit", json!({}), vec![edit]), &["Edit(**)"]));
    stage.event(asks("3", "ls")).wait(400);
    insta::assert_snapshot!(stage.screen());
    stage.keys("enter");
    let all = ["1", "2", "3"].map(|id| (id.to_owned(), Given::Once));
    assert_eq!(given(&mut stage), all);
    stage.hides("Allow these");
}

#[test]
fn parallel_calls_are_denied_or_canceled_together() {
    for (keys, answer) in [("n w h y enter", deny(Some("why"))), ("esc", Given::Cancel)] {
        let mut stage = Stage::new(76, 30);
        stage.event(asks("1", "a")).event(asks("2", "b")).wait(400).keys(keys);
        let both = ["1", "2"].map(|id| (id.to_owned(), answer.clone()));
        assert_eq!(given(&mut stage), both);
    }
}

#[test]
fn parallel_calls_with_a_destructive_one_default_to_no() {
    let mut stage = Stage::new(76, 30);
    stage.event(destroys("git clean -fd")).event(asks("2", "ls")).wait(400);
    stage.shows("› 4  No, and tell the model why");
}

#[test]
fn parallel_calls_can_be_decided_one_by_one() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "first")).event(asks("2", "second")).wait(400);
    stage.shows("5  Decide one by one");
    stage.keys("o");
    assert_eq!(given(&mut stage), []);
    stage.wait(400).shows("Run this command? (1 more)");
    stage.hides("second");
    stage.keys("y y");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)], "the second key is early");
    stage.shows("second");
    stage.wait(700).keys("n enter");
    assert_eq!(given(&mut stage), [("2".to_owned(), deny(None))]);
}

#[test]
fn dialog_is_locked_again_by_a_joining_call() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "first")).wait(400);
    stage.event(asks("2", "second")).keys("y");
    assert_eq!(given(&mut stage), []);
    stage.wait(400).keys("y");
    assert_eq!(given(&mut stage).len(), 2);
}

#[test]
fn arriving_call_keeps_a_partly_written_reason() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "first")).wait(400).keys("n w h");
    stage.event(asks("2", "second")).keys("y enter");
    assert_eq!(given(&mut stage), [("1".to_owned(), deny(Some("why")))]);
    stage.shows("second");
}

#[test]
fn long_diffs_are_folded_and_can_be_approved_at_once() {
    let mut stage = stage(76, 40);
    let added = (0..74).map(|number| format!("+line {number}\n")).collect::<Vec<_>>().concat();
    let diff = format!("--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,74 @@\n{added}");
    let write = Action::Write { path: "/work/x.py".into(), diff: Some(diff) };
    let question = asked("1", "Write", json!({}), vec![write]);
    stage.event(question.clone()).wait(400);
    stage.shows("Edit x.py?");
    stage.shows("x.py  +74 -0");
    stage.hides("+++");
    stage.shows("… 55 more lines (e to expand)");
    stage.hides("line 40");
    stage.keys("e end").shows("line 73");
    stage.keys("y");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Once)]);
    stage.event(question).wait(400).keys("pagedown").hides("to expand");
    stage.keys("y");
    assert_eq!(given(&mut stage).len(), 1, "no need to see it all");
}

#[test]
fn a_long_command_can_be_read_in_full() {
    let words: Vec<String> = (0..400).map(|number| format!("word{number}")).collect();
    let command = words.join(" ");
    let mut stage = Stage::new(50, 16);
    stage.event(asks("1", &command)).wait(400).keys("e");
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
fn pasted_keys_do_not_answer() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "ls")).wait(400);
    let at = stage.now;
    stage.send(Message::Terminal(Input::Paste("text".into()), at));
    stage.keys("y");
    assert_eq!(given(&mut stage), []);
    stage.wait(400).keys("n");
    stage.send(Message::Terminal(Input::Paste("no\nreason".into()), stage.now));
    stage.wait(400).keys("enter");
    assert_eq!(given(&mut stage), [("1".to_owned(), deny(Some("no reason")))]);
}

#[test]
fn rules_are_offered_in_plain_language() {
    for (rules, words) in [
        (vec!["Bash(cargo test:*)"], "always allow `cargo test` in this project"),
        (vec!["Host(a.example)", "Host(b.example)"], "allow a.example and b.example in this"),
        (vec!["Edit(**)", "Write(**)"], "always allow edits in this project"),
        (vec!["Outside(docker:*)"], "always allow `docker` outside the sandbox in this project"),
        (vec!["mcp_db_query"], "always allow the tool mcp_db_query in this project"),
    ] {
        let mut stage = Stage::new(90, 24);
        stage.event(remembers(asks("1", "x"), &rules)).wait(400);
        stage.shows(words);
    }
}

#[test]
fn dialog_closes_if_another_client_answers() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "first")).event(asks("2", "second"));
    stage.event(EventKind::Answered {
        call: CallId("1".into()),
        answer: Given::Once,
        rules: vec![],
        by: None,
    });
    stage.shows("second");
    stage.event(ended());
    stage.hides("Run this command?");
}

#[test]
fn dialog_points_out_hidden_characters() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "ls\r\u{202e}evil")).wait(400);
    stage.shows("\\u{d}\\u{202e}evil");
    stage.shows("2 hidden characters");
}

#[test]
fn dialog_points_out_lookalike_letters() {
    let mut stage = Stage::new(76, 30);
    stage.event(asks("1", "s\u{3bf}rt x; echo привет")).wait(400);
    stage.shows("s\\u{3bf}rt x; echo привет");
    stage.shows("1 look-alike letter");
}

#[test]
fn dialog_leaves_the_end_of_the_conversation_visible() {
    let mut stage = Stage::new(76, 30);
    for number in 0..40 {
        stage.event(prompt(&format!("filler {number}")));
    }
    stage.event(replied("The last words before it."));
    stage.event(asks("1", "ls")).wait(400);
    stage.shows("The last words before it.");
    stage.shows("Yes, once");
}

#[test]
fn dialog_shows_unusual_blanks() {
    let mut stage = Stage::new(80, 24);
    stage.event(asks("1", "rm\u{a0}-rf\u{3164}x"));
    stage.shows("rm\\u{a0}-rf\\u{3164}x");
    stage.shows("2 hidden characters or unusual spaces");
}

fn inquiry(wanted: ReplyKind) -> Message {
    let (title, body) = ("MCP server `db` asks".to_owned(), "Which one?\u{202e}".to_owned());
    Message::Inquired(Inquiry { id: 7, title, body, wanted })
}

fn replies(stage: &mut Stage) -> Vec<Option<String>> {
    let reply = |request| match request {
        Request::Reply { id: 7, text } => Some(text),
        _ => None,
    };
    stage.asked().into_iter().filter_map(reply).collect()
}

#[test]
fn inquiry_dialog_drops_early_keys() {
    let mut stage = Stage::new(76, 24);
    stage.send(inquiry(ReplyKind::Agreement("Answer it".into())));
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
    let one = ReplyKind::One { choices: few, usual: Some(1) };
    stage.send(inquiry(one.clone())).wait(400).shows("1  Apple");
    stage.keys("enter");
    stage.send(inquiry(one)).wait(400).keys("1");
    assert_eq!(replies(&mut stage), [Some("b".to_owned()), Some("a".to_owned())]);

    stage.send(inquiry(ReplyKind::Text("name".into()))).wait(400).shows("name:");
    stage.type_in("you and I").shows("name: you and I");
    stage.keys("enter");
    stage.send(inquiry(ReplyKind::Text("name".into()))).wait(400).keys("esc");
    assert_eq!(replies(&mut stage), [Some("you and I".to_owned()), None]);
    stage.hides("asks");

    stage.event(prompt("go")).send(inquiry(ReplyKind::Text("name".into()))).event(ended());
    assert_eq!(replies(&mut stage), [None], "nobody waits for it any more");
    stage.hides("asks");
}

#[test]
fn dialogs_and_lists_follow_the_keymap() {
    let keys = [("cancel", "ctrl+x"), ("page-down", "f12"), ("send", "ctrl+s")];
    let keys = keys.map(|(name, key)| (name.to_owned(), vec![key.to_owned()]));
    let settings = Settings { keys: keys.into(), ..Settings::default() };
    let mut stage = Stage::with(settings, 76, 24);
    stage.keys("f3").shows("Command palette");
    stage.keys("f12 ctrl+x").hides("Type to filter");
    stage.keys("f3 ctrl+s").hides("Type to filter");
    stage.keys("ctrl+x");
    stage.event(asks("1", "cargo test")).wait(400).keys("ctrl+x");
    assert_eq!(given(&mut stage), [("1".to_owned(), Given::Cancel)]);
}

#[test]
fn dialog_on_small_screens_names_keys_and_hidden_rows() {
    let long: Vec<String> = (0..30).map(|number| format!("echo {number}")).collect();
    let asked = asks("1", &long.join("\n"));
    let mut stage = Stage::new(40, 12);
    stage.event(asked.clone()).wait(400).shows("›1 yes  2 always");
    let mut stage = Stage::new(44, 6);
    stage.event(asked).wait(400).shows("↓");
}

#[test]
fn picker_names_the_effect_of_enter_on_narrow_screens() {
    for width in [40, 50, 60, 80] {
        let mut stage = Stage::new(width, 16);
        stage.event(prompt("go")).event(called("1", "Bash", json!({"command": "x"})));
        stage.event(asks("1", "x")).wait(2000).keys("n");
        stage.shows("to send, empty for");
    }
}
