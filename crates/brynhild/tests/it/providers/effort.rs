//! The reasoning effort of a session, models that do not exist, and the models of all providers.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{project_at, project_of};
use crate::project;

#[test]
fn effort_is_sent_in_each_format_until_it_changes() {
    for (kind, field, low, high) in [
        ("openai", "/reasoning_effort", json!("low"), json!("high")),
        ("openrouter", "/reasoning/effort", json!("low"), json!("high")),
        ("anthropic", "/thinking/budget_tokens", json!(2048), json!(16384)),
        ("ollama", "/think", json!(true), json!(true)),
    ] {
        let server = ModelServer::start([Reply::text("done")]).repeat_last();
        let project = project_of(kind, &server);
        project.config_more("behavior: {max_tokens: 64000}\n");
        let lines = "one\n/effort low\ntwo\n/effort high\nthree\n/effort\n";
        let run = project.command(&["--plain"]).stdin(lines).run();
        assert!(run.success().stdout.contains("The reasoning effort is high."), "{kind}: {run}");
        let sent: Vec<Option<Value>> =
            server.chats().iter().map(|chat| chat.body.pointer(field).cloned()).collect();
        assert_eq!(sent, [None, Some(low), Some(high)], "{kind}: {run}");
    }
}

#[test]
fn unknown_effort_lists_the_levels() {
    let server = ModelServer::start([]);
    let project = project_of("openai", &server);
    let run = project.command(&["--plain"]).stdin("/effort hard\n").run();
    assert!(run.stderr.contains("`hard` is not a reasoning effort"), "{run}");
    assert!(run.stderr.contains("there are auto, off, low, medium, high, maximum"), "{run}");
}

#[test]
fn slash_effort_names_a_vendor_without_effort() {
    let server = ModelServer::start([]);
    let project = project_of("mistral", &server);
    let run = project.command(&["--plain"]).stdin("/effort high\n").run();
    assert!(run.stdout.contains("Mistral takes no reasoning effort"), "{run}");
}

#[test]
fn model_that_a_fresh_list_lacks_is_refused() {
    let server = ModelServer::start([Reply::text("hi")]).models(["big-model", "small-model"]);
    let project = project_of("openai", &server);
    // Without a list any name is tried.
    project.brynhild(&["--model", "bigmodel", "chat", "hi"]).success();
    project.brynhild(&["models", "list"]).success();
    let run = project.brynhild(&["--model", "bigmodel", "chat", "hi"]);
    run.code(2);
    assert!(run.stderr.contains("test has no model `bigmodel`"), "{run}");
    assert!(run.stderr.contains("did you mean `big-model`?"), "{run}");
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn slash_model_keeps_the_model_if_the_new_one_is_unknown() {
    let server =
        ModelServer::start([Reply::text("hi")]).repeat_last().models(["test-model", "other"]);
    let project = project_of("openai", &server);
    project.brynhild(&["models", "list"]).success();
    let run = project.command(&["--plain"]).stdin("/model othre\nhi\n").run();
    assert!(run.stderr.contains("did you mean `other`?"), "{run}");
    assert_eq!(server.chats()[0].body["model"], "test-model");
}

#[test]
fn models_of_all_providers_are_listed_with_their_provider() {
    let one = ModelServer::start([]).models(["alpha"]);
    let two = ModelServer::start([]).models(["beta"]);
    let project = project();
    let off = |name: &str| format!("  {name}: {{type: {name}, enabled: false}}\n");
    let off: String = ["ollama", "lmstudio", "vllm", "llamacpp"].map(off).concat();
    project.config(&format!(
        "providers:\n  one: {{type: openai, base_url: {}/v1}}\n  two: {{type: anthropic, base_url: \
         {}}}\n  gone: {{type: openai, base_url: 'http://127.0.0.1:1/v1'}}\n{off}",
        one.url(),
        two.url()
    ));
    let run = project.brynhild(&["models", "list", "--all"]);
    let text = &run.success().stdout;
    assert!(text.contains("PROVIDER") && text.contains("one") && text.contains("alpha"), "{run}");
    assert!(text.contains("two") && text.contains("beta"), "{run}");
    assert!(run.stderr.contains("gone"), "{run}");
    let list = project.brynhild(&["models", "list", "--all", "--json"]).success().json();
    assert_eq!(list[0]["provider"], "one");
    assert_eq!(list[0]["model"]["id"], "alpha");
}

#[test]
fn effort_reaches_the_responses_api_and_gemini() {
    for (kind, more, field) in [
        ("openai", "api: responses", "/reasoning/effort"),
        ("gemini", "cache_ttl: 10", "/generationConfig/thinkingConfig/thinkingLevel"),
    ] {
        let server = ModelServer::start([Reply::text("hi")]);
        let project = project_at(kind, &server.url(), &[more]);
        let args = ["--plain", "--model", "gpt-5.1"];
        let run = project.command(&args).stdin("/effort high\nhi\n").run();
        let sent = server.requests();
        assert_eq!(sent[0].body.pointer(field), Some(&json!("high")), "{kind}: {run}");
    }
}
