//! A model that goes in circles, one that only talks of calling, and what a run may cost.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{check_history, inspect, messages};
use crate::project_with;

const RECOVERING: &str = "\
name: recovering
enable_tool_recovery: true
";

#[test]
fn the_same_call_again_and_again_is_mentioned_asked_about_and_stopped() {
    let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
    let run = project_with(&server).brynhild(&["chat", "--json", "go"]);
    let answer = run.code(5).json();
    assert_eq!(answer["stop_reason"], "stuck", "{answer:#}");
    assert!(answer["error"].as_str().unwrap().contains("in circles"), "{answer:#}");
    let chats = server.chats();
    assert!(chats.len() < 20, "{} requests", chats.len());
    let suggested = messages(&chats[3]);
    let last = suggested.last().unwrap();
    assert_eq!(last["role"], "user");
    assert!(last["content"].as_str().unwrap().contains("going in circles"), "{last:#}");
    let denied = messages(&chats[7]);
    let told = denied.last().unwrap()["content"].as_str().unwrap();
    assert!(told.contains("nobody can be asked"), "{told}");
}

#[test]
fn who_allows_more_requests_than_usual_is_not_stopped_before() {
    let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
    let run = project_with(&server).brynhild(&["chat", "--max-turns", "30", "go"]);
    run.code(5);
    assert!(run.stderr.contains("max_tool_rounds (30)"), "{run}");
    assert_eq!(server.chats().len(), 30);
}

#[test]
fn a_profile_can_say_that_nobody_counts() {
    let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
    let project = project_with(&server);
    project.file(
        "../home/.config/brynhild/profiles/calm.yaml",
        "name: calm\nstuck_detection_enabled: false\n",
    );
    project.brynhild(&["chat", "--profile", "calm", "go"]).code(5);
    assert_eq!(server.chats().len(), 20);
}

#[test]
fn a_call_in_a_thought_is_recovered_where_the_profile_says_so() {
    let thought = || Reply::default().thinking("Let me look: {\"operation\": \"cwd\"}");
    let server = ModelServer::start([thought(), Reply::text("done")]);
    let project = project_with(&server);
    project.file("../home/.config/brynhild/profiles/recovering.yaml", RECOVERING);
    let flags = ["--profile", "recovering", "--output-format", "stream-json"];
    let run = project.brynhild(&[&["chat", "go"], &flags[..]].concat());
    let told = "Recovered tool call from thinking: Inspect (type: trailing_json, risk: read_only)";
    assert!(run.success().stdout.contains(told), "{run}");
    let second = &server.chats()[1];
    check_history(second);
    let messages = messages(second);
    let is_note = |message: &Value| {
        message["content"].as_str().is_some_and(|text| text.contains("[System Note]"))
    };
    assert!(messages.iter().any(is_note), "{messages:#?}");
    let plain = ModelServer::start([thought(), Reply::text("done")]);
    project_with(&plain).brynhild(&["chat", "go"]).success();
    let sent = plain.chats()[1].text.clone();
    assert!(!sent.contains("recovered-"), "{sent}");
}

#[test]
fn a_recovered_call_that_changes_something_needs_a_person() {
    let write = json!({"file_path": "made.txt", "content": "x"});
    let thought = Reply::default().thinking(format!("I'll write it. {write}"));
    let server = ModelServer::start([thought, Reply::text("done")]);
    let project = project_with(&server);
    project.config_more("permissions:\n  allow: [Write]\n");
    project.file("../home/.config/brynhild/profiles/recovering.yaml", RECOVERING);
    let run = project.brynhild(&["chat", "--profile", "recovering", "go"]);
    run.code(3);
    assert!(!project.path().join("made.txt").exists(), "{run}");
}

#[test]
fn a_model_without_calls_of_its_own_writes_them_down() {
    let server = ModelServer::start([
        Reply::text("I look. [tool_call: Inspect(operation=\"cwd\")]"),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    project
        .file("../home/.config/brynhild/profiles/words.yaml", "name: words\ntool_format: text\n");
    let run = project.brynhild(&["chat", "--profile", "words", "go"]);
    run.success();
    let first = &server.chats()[0];
    assert!(first.body.get("tools").is_none(), "{}", first.text);
    assert!(first.text.contains("[tool_call: Name"), "{}", first.text);
    check_history(&server.chats()[1]);
}

#[test]
fn calls_beyond_what_the_profile_allows_in_one_reply_are_not_run() {
    let looks =
        ["a", "b", "c"].map(|path| ("Inspect", json!({"operation": "exists", "path": path})));
    let server = ModelServer::start([Reply::calls(looks), Reply::text("done")]);
    let project = project_with(&server);
    project
        .file("../home/.config/brynhild/profiles/few.yaml", "name: few\nmax_tools_per_turn: 2\n");
    project.brynhild(&["chat", "--profile", "few", "go"]).success();
    let second = &server.chats()[1];
    check_history(second);
    let results = super::last_results(second);
    assert_eq!(results.len(), 3);
    assert!(results[2].contains("not run"), "{results:?}");
}

#[test]
fn a_run_stops_at_what_it_may_cost_and_can_be_resumed() {
    let reply = || Reply::calls([inspect()]).usage(900, 100).cost(0.3);
    let flags: [&[&str]; 2] = [&["--max-tokens", "2000"], &["--max-cost", "0.5"]];
    for flag in flags {
        let server = ModelServer::start([reply(), reply(), reply(), Reply::text("done")]);
        let project = project_with(&server);
        let run = project.brynhild(&[&["chat", "--session", "s", "--json", "go"], flag].concat());
        let answer = run.code(5).json();
        assert_eq!(server.chats().len(), 2, "{run}");
        assert_eq!(answer["stop_reason"], "limit");
        project.brynhild(&["chat", "--resume", "s", "on"]).success();
        check_history(&server.chats()[2]);
    }
}

#[test]
fn a_run_stops_when_its_time_is_over() {
    let server = ModelServer::start([Reply::text("never").withhold()]);
    let run = project_with(&server).brynhild(&["chat", "--json", "--timeout", "0.3", "go"]);
    let answer = run.code(5).json();
    assert!(answer["error"].as_str().unwrap().contains("timeout (0.3 s)"), "{answer:#}");
}

#[test]
fn requests_are_counted_where_a_limit_says_so() {
    let server = ModelServer::start([Reply::calls([inspect()])]).repeat_last();
    project_with(&server).brynhild(&["chat", "--max-turns", "2", "go"]).code(5);
    assert_eq!(server.chats().len(), 2);
}
