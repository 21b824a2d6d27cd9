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
fn role_conversation_reads_lines() {
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
fn role_limits_apply_to_each_turn() {
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
fn invalid_answer_is_requested_again() {
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
fn answer_retries_follow_the_role() {
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
fn answer_call_that_violates_the_schema_is_no_answer() {
    let model = ModelServer::start([
        Reply::calls([("final_result", json!({"n": "x"}))]),
        Reply::calls([("final_result", json!({"n": 3}))]),
    ]);
    let project = with_role(&model, SCHEMA);
    let run = project.brynhild(&["run", "role.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout, "{\"n\":3}\n");
}

#[test]
fn json_conversation_prints_an_object_per_turn() {
    let model = ModelServer::start([Reply::text("Hello."), Reply::text("Again.")]);
    let project = with_role(&model, "");
    let args = ["run", "role.yaml", "-i", "-p", "first", "--format", "json"];
    let run = project.command(&args).stdin("two\n").run();
    let objects = serde_json::Deserializer::from_str(&run.success().stdout).into_iter::<Value>();
    let objects: Vec<Value> = objects.map(Result::unwrap).collect();
    assert_eq!(objects.len(), 2, "{run}");
    for (object, output) in objects.iter().zip(["Hello.", "Again."]) {
        assert_eq!((&object["output"], &object["success"]), (&json!(output), &json!(true)));
        assert!(object["run_id"].is_string() && object.get("response").is_none(), "{object}");
    }
}

#[test]
fn role_is_reloaded_during_a_conversation() {
    let model = ModelServer::start([
        Reply::text("One."),
        Reply::text("Two."),
        Reply::text("Three."),
        Reply::text("Four."),
    ]);
    let project = with_role(&model, "");
    project
        .file("notes.txt", "the words of the file")
        .file("more.py", "def shout(text: str) -> str:\n    return text.upper()\n");
    let lines = "one\n/attach notes.txt\n/attachments\ntwo\n/attach nowhere\n/tool add more\nthree\n\
                 /tool add nothing\n/reload\nfour\n";
    let run = project.command(&["run", "role.yaml", "-i"]).stdin(lines).run();
    for answer in ["One.", "Two.", "Three.", "Four."] {
        assert!(run.stdout.contains(answer), "{run}");
    }
    assert!(run.stderr.contains("cannot attach nowhere"), "{run}");
    assert!(run.stderr.contains("Could not load module 'nothing'"), "{run}");
    let chats = model.chats();
    let words = "the words of the file";
    assert!(!chats[0].text.contains(words) && chats[1].text.contains(words));
    let has_tool = |chat: usize| chats[chat].body["tools"].to_string().contains("shout");
    assert!(!has_tool(1) && has_tool(2) && has_tool(3), "{run}");
    assert!(chats[2].text.contains("Two."), "the conversation goes on");
}

#[test]
fn looping_run_is_marked_in_its_json() {
    let call = Reply::calls([("current_time", json!({"timezone": "X"}))]);
    let model = ModelServer::start([call]).repeat_last();
    let project = with_role(&model, "guardrails: {max_tool_calls: 500}\n");
    let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--yes", "--format", "json"]);
    let object = run.code(5).json();
    assert_eq!(object["success"], false);
    assert!(object["error"].as_str().unwrap().contains("repeating itself"), "{object}");
}

#[test]
fn token_budgets_end_a_run() {
    for (more, args, limit) in [
        ("run_token_budget: 50", &[][..], "run_token_budget (50)"),
        ("run_token_budget: 5000", &["--token-budget", "60"], "run_token_budget (60)"),
        ("per_request_input_tokens_limit: 90", &[], "per_request_input_tokens_limit (90)"),
        ("input_tokens_limit: 90", &[], "input_tokens_limit (90)"),
        ("total_tokens_limit: 90", &[], "total_tokens_limit (90)"),
    ] {
        let model = ModelServer::start([
            Reply::calls([("current_time", json!({}))]).usage(100, 10),
            Reply::text("Late.").usage(100, 10),
        ]);
        let project = with_role(&model, &format!("guardrails: {{{more}}}\n"));
        assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
        let run = project.brynhild(&[&["run", "role.yaml", "-p", "go"][..], args].concat());
        assert!(run.code(5).stderr.contains(limit), "{run}");
        assert_eq!(model.chats().len(), 1, "{run}");
    }
}

#[test]
fn session_ends_when_its_budget_is_used_up() {
    let model = ModelServer::start([
        Reply::text("One.").usage(80, 5),
        Reply::text("Two.").usage(80, 5),
        Reply::text("Three."),
    ]);
    let project = with_role(&model, "guardrails: {session_token_budget: 100}\n");
    assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
    let run = project.command(&["run", "role.yaml", "-i"]).stdin("one\ntwo\nthree\n").run();
    assert_eq!(run.code(5).stdout, "One.\nTwo.\n", "{run}");
    assert!(run.stderr.contains("85% of session token budget consumed (85/100)"), "{run}");
    let wanted = "Session token budget exhausted. Stopping further execution.";
    assert!(run.stderr.contains(wanted), "{run}");
}
