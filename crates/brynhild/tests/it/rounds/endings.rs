//! How a turn ends: limits, Finish, reminders.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{check_history, inspect, messages};
use crate::project_with;

fn finish(status: &str) -> (&'static str, Value) {
    ("Finish", json!({"status": status, "summary": "all is well", "next_steps": "rest"}))
}

#[test]
fn round_limit_ends_the_turn_with_a_message() {
    let server =
        ModelServer::start([Reply::text("so far").call("Inspect", &inspect().1)]).repeat_last();
    let project = project_with(&server).env("BRYNHILD_BEHAVIOR__MAX_TOOL_ROUNDS", "3");
    let run = project.brynhild(&["chat", "--session", "s", "go"]);
    run.code(5);
    assert_eq!(run.stdout, "so far\n");
    assert!(run.stderr.contains("behavior.max_tool_rounds (3)"), "{run}");
    assert!(
        run.stderr.contains("hint: raise it, or run `brynhild chat --continue \"continue\"`"),
        "{run}"
    );
    assert_eq!(server.chats().len(), 3);
    let run = project.brynhild(&["chat", "--json", "go"]);
    let answer = run.code(5).json();
    assert_eq!(answer["stop_reason"], "limit");
    assert!(answer["error"].as_str().unwrap().contains("max_tool_rounds"), "{answer:#}");
    assert_eq!((&answer["limit"], &answer["limit_value"]), (&json!("max_turns"), &json!(3)));
    let run = project.brynhild(&["chat", "--resume", "s", "on"]);
    run.code(5);
    let resumed = &server.chats()[6];
    check_history(resumed);
    assert_eq!(messages(resumed).last().unwrap()["role"], "user");
}

#[test]
fn limit_message_names_the_setting() {
    let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
    let project = project_with(&server).env("BRYNHILD_BEHAVIOR__MAX_TOOL_ROUNDS", "3");
    let run = project.brynhild(&["chat", "--max-turns", "2", "go"]);
    assert!(run.code(5).stderr.contains("--max-turns (2)"), "{run}");
}

#[test]
fn a_headless_turn_has_more_than_twenty_rounds() {
    let look = |number| ("Inspect", json!({"operation": "exists", "path": format!("{number}")}));
    let replies = (0..30).map(|number| Reply::calls([look(number)]));
    let server = ModelServer::start(replies.chain([Reply::text("done")]));
    project_with(&server).brynhild(&["chat", "go"]).success();
    assert_eq!(server.chats().len(), 31);
}

#[test]
fn a_limit_of_no_rounds_is_refused() {
    let server = ModelServer::start([]);
    let project = project_with(&server).env("BRYNHILD_BEHAVIOR__MAX_TOOL_ROUNDS", "0");
    let run = project.brynhild(&["chat", "go"]);
    run.code(2);
    assert!(run.stderr.contains("max_tool_rounds"), "{run}");
}

#[test]
fn finish_ends_the_turn_and_its_summary_is_the_answer() {
    for (status, code) in [("success", 0), ("partial", 0), ("failed", 1), ("blocked", 1)] {
        let server = ModelServer::start([Reply::calls([finish(status)])]);
        let project = project_with(&server);
        let run = project.brynhild(&["chat", "--json", "go"]);
        let answer = run.code(code).json();
        assert_eq!(answer["response"], "all is well", "{status}");
        assert_eq!(answer["stop_reason"], "finish");
        assert_eq!(
            answer["finish"],
            json!({"status": status, "summary": "all is well", "next_steps": "rest"})
        );
        assert_eq!(server.chats().len(), 1);
    }
}

#[test]
fn text_beside_finish_is_the_answer() {
    let server = ModelServer::start([
        Reply::text("Everything is done.").call("Finish", &finish("success").1)
    ]);
    let run = project_with(&server).brynhild(&["chat", "go"]);
    assert_eq!(run.success().stdout, "Everything is done.\n");
}

#[test]
fn calls_beside_finish_run_and_get_their_results() {
    let write = |name: &str| ("Write", json!({"file_path": name, "content": "x"}));
    let server = ModelServer::start([
        Reply::calls([write("before"), finish("success"), write("after"), inspect()]),
        Reply::text("resumed"),
    ]);
    let project = project_with(&server);
    let answer = project.brynhild(&["chat", "--yes", "--json", "--session", "s", "go"]);
    let answer = answer.success().json();
    assert_eq!(answer["tool_results"].as_array().unwrap().len(), 4);
    for name in ["before", "after"] {
        assert!(project.path().join(name).exists(), "{name}");
    }
    project.brynhild(&["chat", "--resume", "s", "on"]).success();
    check_history(&server.chats()[1]);
}

#[test]
fn invalid_finish_does_not_end_the_turn() {
    let server = ModelServer::start([
        Reply::calls([("Finish", json!({"status": "success"}))]),
        Reply::calls([finish("success")]),
    ]);
    project_with(&server).brynhild(&["chat", "go"]).success();
    assert_eq!(server.chats().len(), 2);
}

#[test]
fn missing_required_finish_fails_the_run() {
    let server = ModelServer::start([Reply::text("I am done")]).repeat_last();
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--require-finish", "go"]);
    run.code(1);
    assert_eq!(run.stdout, "I am done\n");
    assert!(run.stderr.contains("Finish"), "the missing end is told\n{run}");
    let chats = server.chats();
    assert_eq!(chats.len(), 4);
    let roles: Vec<Value> =
        messages(&chats[3]).iter().map(|message| message["role"].clone()).collect();
    let expected =
        ["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"];
    assert_eq!(roles, expected, "no words stand there twice");
    let reminder = messages(&chats[1]).last().unwrap()["content"].clone();
    assert!(reminder.as_str().unwrap().contains("Finish"), "{reminder}");
}

#[test]
fn required_finish_ends_the_turn() {
    let server = ModelServer::start([Reply::text("done?"), Reply::calls([finish("success")])]);
    let run = project_with(&server).brynhild(&["chat", "--json", "--require-finish", "go"]);
    let answer = run.success().json();
    assert_eq!(answer["stop_reason"], "finish");
    assert_eq!(server.chats().len(), 2);
}

#[test]
fn required_finish_without_the_tool_is_refused() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--no-tools", "--require-finish", "go"]);
    run.code(2);
    assert!(run.stderr.contains("Finish"), "{run}");
}

#[test]
fn cut_or_declined_answer_is_reported() {
    for (reason, said) in [("length", "is cut off"), ("content_filter", "declined to answer")] {
        let server = ModelServer::start([Reply::text("This is a cut ans").stop(reason)]);
        let run = project_with(&server).brynhild(&["chat", "go"]);
        assert_eq!(run.success().stdout, "This is a cut ans\n");
        assert!(run.stderr.contains(said), "{run}");
    }
}

#[test]
fn empty_refusal_is_reported_and_not_retried() {
    let server = ModelServer::start([Reply::text("").stop("content_filter")]).repeat_last();
    let run = project_with(&server).brynhild(&["chat", "go"]);
    assert!(run.code(1).stderr.contains("the provider declined to answer"), "{run}");
    assert_eq!(server.chats().len(), 1, "{run}");
}

#[test]
fn call_cut_by_the_length_limit_is_reported() {
    let half = r#"{"file_path": "a.txt", "content": "begun and"#;
    let server = ModelServer::start([
        Reply::text("").call_text("Write", half).stop("length"),
        Reply::text("in steps, then"),
    ]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--yes", "go"]);
    assert_eq!(run.success().stdout, "in steps, then\n");
    assert!(run.stderr.contains("a call is cut off"), "{run}");
    assert!(run.stderr.contains("behavior.max_tokens"), "{run}");
    let last = messages(&server.chats()[1]).last().unwrap().to_string();
    assert!(last.contains("the limit on its length"), "{last}");
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn reasoning_in_tags_is_no_answer() {
    let server = ModelServer::start([
        Reply::text("<think>I should say hello</think>\n"),
        Reply::text("<think>so</think>\n\nhello"),
    ]);
    let run = project_with(&server).brynhild(&["chat", "go"]);
    assert_eq!(run.success().stdout, "hello\n");
    assert_eq!(server.chats().len(), 2);
}
