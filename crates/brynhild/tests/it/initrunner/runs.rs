//! Runs of roles that go on: line by line, and until the answer fits.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use crate::project_with;

fn with_role(model: &ModelServer, more: &str) -> Project {
    let project = project_with(model);
    project
        .file("role.yaml", format!("name: helper\nprompt: You help.\ntools: [datetime]\n{more}"));
    project
}

const SCHEMA: &str = "output: {type: json_schema, schema: {type: object, properties: {n: {type: \
                      integer}}, required: [n]}}\n";

#[test]
fn a_role_is_talked_with_line_by_line() {
    let model =
        ModelServer::start([Reply::text("Hello."), Reply::text("Again."), Reply::text("Bye.")]);
    let project = with_role(&model, "");
    let run = project.command(&["run", "role.yaml", "-i"]).stdin("one\ntwo\n").run();
    assert_eq!(run.success().stdout, "Hello.\nAgain.\n");
    let second = &model.chats()[1].body["messages"];
    assert_eq!(second[0]["content"], "You help.");
    assert!(second.to_string().contains("Hello."), "{second}");
    let run = project.command(&["run", "role.yaml", "-i", "-p", "first"]).stdin("/quit\n").run();
    assert_eq!(run.success().stdout, "Bye.\n");
    assert!(model.chats()[2].text.contains("first"));
    let nothing = project.command(&["run", "role.yaml", "-i"]).stdin("").run();
    nothing.code(2);
}

#[test]
fn limits_of_a_role_count_for_each_turn_of_a_talk() {
    let call = || Reply::calls([("current_time", json!({}))]).usage(10, 5);
    let model = ModelServer::start([
        call(),
        Reply::text("One.").usage(10, 5),
        call(),
        Reply::text("Two.").usage(10, 5),
    ]);
    let limits =
        "guardrails: {max_tool_calls: 1, max_tokens_per_run: 12, total_tokens_limit: 32}\n";
    let project = with_role(&model, limits);
    let run = project.command(&["run", "role.yaml", "-i"]).stdin("one\ntwo\n").run();
    assert_eq!(run.success().stdout, "One.\nTwo.\n");
}

#[test]
fn a_wrong_answer_is_asked_for_again() {
    let model = ModelServer::start([
        Reply::text("seven"),
        Reply::calls([("final_result", json!({"n": 7}))]),
    ]);
    let project = with_role(&model, SCHEMA);
    let run = project.brynhild(&["run", "role.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout, "{\"n\":7}\n");
    let second = &model.chats()[1].text;
    assert!(second.contains("Your answer does not fit the schema"), "{second}");
}

#[test]
fn an_answer_is_asked_for_again_as_often_as_the_role_says() {
    for (more, requests) in [
        ("", 2),
        ("execution: {output_retries: 0, retries: 5}\n", 1),
        ("execution: {retries: 3}\n", 4),
    ] {
        let model = ModelServer::start([Reply::text("seven")]).repeat_last();
        let project = with_role(&model, &format!("{SCHEMA}{more}"));
        let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--format", "json"]);
        let object: Value = run.code(1).json();
        let error = object["error"].as_str().unwrap();
        assert!(error.starts_with("the answer does not fit the role's schema"), "{error}");
        assert_eq!(model.chats().len(), requests, "{more}");
    }
}

#[test]
fn a_call_of_the_answer_that_does_not_fit_is_no_answer() {
    let model = ModelServer::start([
        Reply::calls([("final_result", json!({"n": "x"}))]),
        Reply::calls([("final_result", json!({"n": 3}))]),
    ]);
    let project = with_role(&model, SCHEMA);
    let run = project.brynhild(&["run", "role.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout, "{\"n\":3}\n");
}
