//! Models that answer in place of one that fails.

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::closed_address;
use crate::project;

/// A project with the instances `one` (the default, with model `m1`) and `two` (Anthropic's format).
fn project_of(one: &str, two: &str, models: &str) -> Project {
    let project = project();
    project.config(&format!(
        "models: {models}\nproviders:\n  default: one\n  instances:\n    one: {{type: openai, \
         base_url: {one}/v1, default_model: m1}}\n    two: {{type: anthropic, base_url: {two}}}\n"
    ));
    project
}

#[test]
fn next_model_answers_after_lasting_failure() {
    let one = ModelServer::start([Reply::failure(401)]);
    let two = ModelServer::start([
        Reply::calls([("Glob", json!({"pattern": "*.rs"}))]),
        Reply::text("from two").usage(1000, 500),
    ]);
    let project = project_of(&one.url(), &two.url(), "{fallback: [two/m2]}");
    let run = project.brynhild(&["chat", "--json", "hi"]);
    let report = run.success().json();
    assert_eq!(report["response"], "from two", "{run}");
    assert_eq!((&report["provider"], &report["model"]), (&json!("two"), &json!("m2")));
    assert_eq!(run.stderr.matches("one/m1 failed: ").count(), 1, "{run}");
    assert!(run.stderr.contains("; using two/m2"), "{run}");
    assert_eq!((one.chats().len(), two.chats().len()), (1, 2));
    assert_eq!(two.chats()[0].body["model"], "m2");
}

#[test]
fn rate_limit_is_repeated_before_the_next_model_answers() {
    let limited = || Reply::failure(429).header("retry-after", "0");
    let one = ModelServer::start([limited()]).repeat_last();
    let two = ModelServer::start([Reply::text("from two")]);
    let project = project_of(&one.url(), &two.url(), "{fallback: [two/m2]}");
    assert_eq!(project.brynhild(&["chat", "hi"]).success().stdout, "from two\n");
    assert_eq!(one.chats().len(), 3);
}

#[test]
fn fallback_without_provider_is_a_model_of_the_chosen_one() {
    let one = ModelServer::respond_with(|request| match request.body["model"].as_str() {
        Some("m1") => Reply::failure(404),
        model => Reply::text(format!("{model:?}")),
    });
    let project = project_of(&one.url(), "http://127.0.0.1:1", "{fallback: [vendor/small]}");
    assert_eq!(project.brynhild(&["chat", "hi"]).success().stdout, "Some(\"vendor/small\")\n");
}

#[test]
fn failure_of_all_models_names_each() {
    let closed = format!("http://{}", closed_address());
    let two = ModelServer::start([Reply::failure(403)]);
    let project = project_of(&closed, &two.url(), "{fallback: [two/m2]}");
    let run = project.brynhild(&["chat", "hi"]);
    run.code(1);
    assert!(run.stderr.contains("All 2 fallback models failed: [one/m1 failed: "), "{run}");
    assert!(run.stderr.contains(", two/m2 failed: two ("), "{run}");
    assert!(run.stderr.contains(") answered HTTP 403: "), "{run}");
}

#[test]
fn rejected_request_is_not_sent_to_another_model() {
    let one = ModelServer::start([Reply::failure(400)]);
    let two = ModelServer::start([Reply::text("from two")]);
    let project = project_of(&one.url(), &two.url(), "{fallback: [two/m2]}");
    project.brynhild(&["chat", "hi"]).code(1);
    assert!(two.chats().is_empty());
}

#[test]
fn fallback_without_key_is_left_out_with_a_warning() {
    let one = ModelServer::start([Reply::text("from one")]);
    let project = project_of(&one.url(), "http://127.0.0.1:1", "{fallback: [groq/llama]}");
    let run = project.brynhild(&["chat", "hi"]);
    assert_eq!(run.success().stdout, "from one\n");
    let expected = "Could not resolve fallback model 'groq/llama'. GROQ_API_KEY is not set";
    assert!(run.stderr.contains(expected), "{run}");
}

#[test]
fn role_falls_back_on_the_failures_that_it_names() {
    let one = ModelServer::start([Reply::failure(500)]).repeat_last();
    let two = ModelServer::start([Reply::text("from two")]).repeat_last();
    let project = project_of(&one.url(), &two.url(), "{}");
    let role = |more: &str| {
        format!(
            "name: helper\nprompt: You help.\nmodel: {{provider: one, name: m1, fallback: [fast]\
             {more}}}\n"
        )
    };
    project.file("role.yaml", role(""));
    project.file("strict.yaml", role(", fallback_on: [UnexpectedModelBehavior]"));
    let home = project.home().join(".initrunner");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("models.yaml"), "aliases: {fast: 'two:m2'}\n").unwrap();
    let run = project.brynhild(&["run", "role.yaml", "-p", "hi"]);
    assert_eq!(run.success().stdout.trim(), "from two", "{run}");
    assert!(!run.stderr.contains("not supported"), "{run}");
    assert_eq!(two.chats()[0].body["model"], "m2");
    project.brynhild(&["run", "strict.yaml", "-p", "hi"]).code(1);
}

#[test]
fn role_falls_back_on_a_content_filter_if_it_says_so() {
    let filtered = || Reply::text("I cannot").stop("content_filter");
    let rejected = Reply::failure(400).body(r#"{"error": {"code": "content_filter"}}"#);
    let one = ModelServer::start([filtered(), rejected, filtered()]);
    let two = ModelServer::start([Reply::text("from two")]).repeat_last();
    let project = project_of(&one.url(), &two.url(), "{}");
    let role = |more: &str| {
        let model = format!("{{provider: one, name: m1, fallback: ['two:m2']{more}}}");
        format!("name: helper\nprompt: You help.\nmodel: {model}\n")
    };
    project.file("role.yaml", role(", fallback_on: [ContentFilterError]"));
    project.file("usual.yaml", role(""));
    for _ in ["in the reply", "as a status"] {
        let run = project.brynhild(&["run", "role.yaml", "-p", "hi"]);
        assert_eq!(run.success().stdout.trim(), "from two", "{run}");
        assert!(run.stderr.contains("; using two/m2"), "{run}");
    }
    let run = project.brynhild(&["run", "usual.yaml", "-p", "hi"]);
    assert_eq!(run.stdout.trim(), "I cannot", "{run}");
    assert_eq!((one.chats().len(), two.chats().len()), (3, 2));
}

#[test]
fn role_names_fallback_on_without_fallback() {
    let project = project();
    project
        .file("role.yaml", "name: a\nprompt: x\nmodel: {name: m, fallback_on: [ModelAPIError]}\n");
    let run = project.brynhild(&["run", "role.yaml", "-p", "hi", "--provider", "script"]);
    assert!(run.stderr.contains("fallback_on has no effect without fallback models."), "{run}");
}
