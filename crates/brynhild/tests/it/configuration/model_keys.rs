//! `models` and `providers`: who answers, and by which name the model is asked for.

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use crate::project;

fn with(server: &ModelServer, yaml: &str) -> Project {
    let project = project();
    project.config(&yaml.replace("URL", &format!("{}/v1", server.url())));
    project
}

/// The model that is asked for.
fn requested_model(yaml: &str, args: &[&str]) -> String {
    let server = ModelServer::start([Reply::text("done")]);
    let project = with(&server, yaml);
    project.brynhild(&[&["chat", "--no-log", "go"], args].concat()).success();
    server.chats()[0].body["model"].as_str().unwrap().to_owned()
}

const MINE: &str = "providers:\n  default: mine\n  mine: {type: openai, base_url: URL}\n";

#[test]
fn aliases_are_expanded() {
    let aliases = format!("models: {{aliases: {{quick: a/b}}}}\n{MINE}");
    assert_eq!(requested_model(&aliases, &["--model", "quick"]), "a/b");
    assert_eq!(
        requested_model(&format!("models: {{default: opus}}\n{MINE}"), &[]),
        "anthropic/claude-opus-4.5"
    );
}

#[test]
fn cost_is_computed_from_registry_prices() {
    for binding in
        ["openai: {model_id: m, PRICES}", "mine: {model_id: m, PRICES}", "mine: {PRICES}"]
    {
        let server = ModelServer::start([Reply::text("done").usage(1_000_000, 500_000)]);
        let binding = binding.replace("PRICES", "pricing_tiers: [{input: 2.0, output: 4.0}]");
        let registry = format!("models:\n  registry:\n    m/m:\n      bindings: {{{binding}}}\n");
        let project = with(&server, &format!("{registry}{MINE}"));
        let run = project.brynhild(&["chat", "--no-log", "--json", "--model", "m/m", "go"]);
        assert_eq!(run.json()["cost_usd"], 4.0, "{binding}: {run}");
    }
}

#[test]
fn registry_completes_provider_model_data() {
    let registry = "models:\n  registry:\n    vendor/thing:\n      bindings:\n        mine: {model_id: \
                    thing-1, max_context: 4096, alternatives: [thing-latest], pricing_tiers: {input: 2, \
                    output: 8}, extra: {region: eu}}\n      descriptor: {family: thing, series: \
                    three, size: 70B, active_size: 7B, architecture: moe, context_size: 8192, variant: instruct, extra: \
                    {license: open}}\n      confidence: curated\n      notes: a good one\n    \
                    vendor/other:\n      bindings: {mine: other-1}\n      descriptor: {family: other, context_size: 9000}\n";
    let models = ["thing-1", "thing-latest", "other-1", "unknown-1"];
    let server = ModelServer::start([Reply::text("done").usage(1_000_000, 0)]).models(models);
    let project = with(&server, &format!("{registry}{MINE}"));
    let listed = project.brynhild(&["models", "list", "--json"]).success().json();
    let known = |id: &str| {
        let model = listed.as_array().unwrap().iter().find(|model| model["id"] == id).unwrap();
        (model["context"].clone(), model["input_price"].clone())
    };
    assert_eq!(known("thing-1"), (json!(4096), json!(2.0)));
    assert_eq!(known("thing-latest"), (json!(4096), json!(2.0)));
    assert_eq!(known("other-1"), (json!(9000), json!(null)));
    assert_eq!(known("unknown-1"), (json!(null), json!(null)));
    let info = project.brynhild(&["models", "info", "thing-latest"]).success().json();
    let registered = &info["registered"];
    assert_eq!(registered["canonical_id"], "vendor/thing");
    assert_eq!(registered["bindings"]["mine"]["extra"]["region"], "eu");
    let descriptor = &registered["descriptor"];
    for (key, value) in [
        ("series", "three"),
        ("size", "70B"),
        ("active_size", "7B"),
        ("architecture", "moe"),
        ("variant", "instruct"),
    ] {
        assert_eq!(descriptor[key], value, "{key}");
    }
    assert_eq!(descriptor["extra"]["license"], "open");
    assert_eq!(
        (&registered["confidence"], &registered["notes"]),
        (&json!("curated"), &json!("a good one"))
    );
    let answer =
        project.brynhild(&["chat", "--json", "--model", "thing-latest", "go"]).success().json();
    assert_eq!(answer["cost_usd"], 2.0, "another name has the same prices");
    assert_eq!(server.chats()[0].body["model"], "thing-latest");
}

#[test]
fn headers_and_keys_of_an_instance_are_sent() {
    let server = ModelServer::start([Reply::text("done")]).repeat_last();
    let project = with(
        &server,
        "providers:\n  default: mine\n  mine: {type: openai, base_url: URL, api_key_env: MY_KEY, \
         headers: {X-Team: blue}}\n",
    );
    let words = ["chat", "--no-log", "go"];
    let run = project.brynhild(&words);
    run.code(2);
    assert!(run.stderr.contains("MY_KEY"), "{run}");
    project.command(&words).env("MY_KEY", "abc").run().success();
    let request = server.chats().remove(0);
    assert_eq!(request.header("authorization"), Some("Bearer abc"));
    assert_eq!(request.header("x-team"), Some("blue"));
}

#[test]
fn openrouter_key_is_read_from_config_or_env_file() {
    let state = |project: &Project| {
        let run = project.brynhild(&["api", "providers", "--json"]);
        run.success();
        let providers = run.json();
        let of = |name: &str| {
            let found = providers.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
            found["key_configured"] == json!(true)
        };
        (of("openrouter"), of("anthropic"))
    };
    let project = project();
    assert_eq!(state(&project), (false, false));
    project.config("openrouter_api_key: abc");
    assert_eq!(state(&project), (true, false));
    project.config("OPENROUTER_API_KEY: abc");
    assert_eq!(state(&project), (true, false));
    project.config("");
    project.file("own.env", "OPENROUTER_API_KEY=abc\nANTHROPIC_API_KEY=def\n");
    let own = project.path().join("own.env");
    assert_eq!(state(&project.env("BRYNHILD_ENV_FILE", own)), (true, true));
}

#[test]
fn model_choice_names_the_origin_of_the_setting() {
    let server = ModelServer::start([]);
    let project = with(&server, MINE);
    let file = project.config_directory().join("config.yaml");
    let run = project.brynhild(&["api", "providers"]);
    let told = format!("mine would answer: `providers.default` in {}:2 names it", file.display());
    assert!(run.stdout.ends_with(&format!("{told}\n")), "{run}");
}
