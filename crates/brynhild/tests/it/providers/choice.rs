//! Which provider answers, with which model, and why.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{nothing, project_at, project_of};
use crate::project;

/// Three instances: `one` and `two` answer with their names, `off` is switched off.
struct Pair {
    one: ModelServer,
    two: ModelServer,
}

impl Pair {
    fn start() -> Self {
        let answering = |name: &str| ModelServer::start([Reply::text(name)]).repeat_last();
        Self { one: answering("one"), two: answering("two") }
    }

    fn project(&self, default: &str) -> Project {
        let project = project();
        project.config(&format!(
            "providers:\n{default}  instances:\n    one: {{type: openai, base_url: {}/v1, \
             default_model: m1}}\n    two: {{type: anthropic, base_url: {}, default_model: m2}}\n    \
             off: {{type: openai, base_url: {}/v1, enabled: false}}\n",
            self.one.url(),
            self.two.url(),
            self.one.url(),
        ));
        project
    }
}

fn providers(project: &Project) -> Vec<Value> {
    let run = project.brynhild(&["api", "providers", "--json"]);
    run.success().json().as_array().unwrap().clone()
}

fn provider(project: &Project, name: &str) -> Value {
    let all = providers(project);
    all.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {all:#?}")).clone()
}

#[test]
fn provider_is_chosen_by_flag_config_then_order() {
    let pair = Pair::start();
    let cases: [(&str, &[&str], &str); 4] = [
        ("  default: two\n", &["--provider", "one", "chat", "hi"], "one\n"),
        ("  default: two\n", &["chat", "--provider", "one", "hi"], "one\n"),
        ("  default: two\n", &["chat", "hi"], "two\n"),
        ("", &["chat", "hi"], "one\n"),
    ];
    for (default, args, expected) in cases {
        let run = pair.project(default).brynhild(args);
        assert_eq!(run.success().stdout, expected, "{args:?}");
    }
}

#[test]
fn environment_variable_names_the_default_provider() {
    let pair = Pair::start();
    let project = pair.project("  default: one\n").env("BRYNHILD_PROVIDERS__DEFAULT", "two");
    assert_eq!(project.brynhild(&["chat", "hi"]).success().stdout, "two\n");
}

#[test]
fn unknown_provider_lists_the_known_ones() {
    let pair = Pair::start();
    let run = pair.project("").brynhild(&["--provider", "nope", "chat", "hi"]);
    run.code(2);
    assert!(
        run.stderr.contains("Unknown provider 'nope'. Available: anthropic, cerebras, "),
        "{run}"
    );
    assert!(run.stderr.contains(" one, "), "{run}");
    assert!(!run.stderr.contains(" off, "), "{run}");
    let run = pair.project("  default: nope\n").brynhild(&["chat", "hi"]);
    run.code(2);
    assert!(run.stderr.contains("Unknown provider 'nope'."), "{run}");
    assert!(run.stderr.contains("config.yaml"), "it says who named it\n{run}");
}

#[test]
fn disabled_instance_is_neither_chosen_nor_used() {
    let pair = Pair::start();
    let run = pair.project("").brynhild(&["--provider", "off", "chat", "hi"]);
    run.code(2);
    assert!(run.stderr.contains("'off' is switched off"), "{run}");
    let names: Vec<Value> =
        providers(&pair.project("")).iter().map(|it| it["name"].clone()).collect();
    assert!(!names.contains(&json!("off")), "{names:?}");
    let project = project().env("OPENROUTER_API_KEY", "sk-x").env("ANTHROPIC_API_KEY", "sk-y");
    project.config("providers: {instances: {openrouter: {type: openrouter, enabled: false}}}\n");
    assert_eq!(provider(&project, "anthropic")["chosen"], true);
}

#[test]
fn instance_of_an_unknown_type_is_reported() {
    let project = project();
    project.config("providers: {instances: {odd: {type: opneai, base_url: 'http://x/v1'}}}\n");
    let run = project.brynhild(&["--provider", "odd", "chat", "hi"]);
    run.code(2);
    assert!(run.stderr.contains("unknown type 'opneai'"), "{run}");
    assert!(run.stderr.contains("openai"), "the types there are\n{run}");
}

#[test]
fn first_key_found_chooses_the_provider() {
    for (variables, chosen) in [
        (&["ANTHROPIC_API_KEY"][..], "anthropic"),
        (&["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"], "openrouter"),
        (&["GROQ_API_KEY", "OPENAI_API_KEY"], "openai"),
    ] {
        let project = variables.iter().fold(project(), |project, name| project.env(name, "sk-123"));
        let found = provider(&project, chosen);
        assert_eq!(found["chosen"], true, "{variables:?}");
        assert_eq!(found["key_configured"], true);
        assert_eq!(found["available"], true);
        let run = project.brynhild(&["api", "providers"]);
        let variable = found["key_env_var"].as_str().unwrap();
        let reason = format!("{chosen} would answer: {variable} holds its key");
        assert!(run.success().stdout.contains(&reason), "{run}");
    }
    let project = project().env("OPENROUTER_API_KEY", "").env("ANTHROPIC_API_KEY", "sk-y");
    assert_eq!(provider(&project, "anthropic")["chosen"], true, "an empty key is none");
}

#[test]
fn key_in_the_env_file_is_used() {
    let project = project();
    project.file("my.env", "ANTHROPIC_API_KEY=sk-from-file\n");
    let path = project.path().join("my.env");
    let project = project.env("BRYNHILD_ENV_FILE", path);
    assert_eq!(provider(&project, "anthropic")["chosen"], true);
}

#[test]
fn local_server_is_found_without_a_key() {
    let server = ModelServer::start([Reply::text("from ollama")]).models(["x", "llama3:latest"]);
    let project = project().env("OLLAMA_HOST", server.address().to_string());
    let run = project.brynhild(&["chat", "hi"]);
    assert_eq!(run.success().stdout, "from ollama\n");
    let request = &server.chats()[0];
    assert_eq!(request.path, "/api/chat");
    assert_eq!(request.body["model"], "llama3");
    let run = project.brynhild(&["api", "providers"]);
    let reason = format!("ollama would answer: a server answers at {}", server.address());
    assert!(run.success().stdout.contains(&reason), "{run}");
    let found = provider(&project, "ollama");
    assert_eq!(found["available"], true);
    assert_eq!(found["host_env_var"], "OLLAMA_HOST");
}

#[test]
fn a_local_server_answers_with_a_model_that_it_has() {
    let server = ModelServer::start([Reply::text("hello")]).repeat_last();
    let server = server.models(["nomic-embed-text", "qwen3:8b", "other"]);
    let project = project().env("OLLAMA_HOST", server.address().to_string());
    project.brynhild(&["chat", "hi"]).success();
    project.brynhild(&["chat", "hi", "--model", "mine"]).success();
    let configured = project.command(&["chat", "hi"]).env("BRYNHILD_MODELS__DEFAULT", "set").run();
    configured.success();
    let asked: Vec<_> = server.chats().iter().map(|chat| chat.body["model"].clone()).collect();
    assert_eq!(asked, ["qwen3:8b", "mine", "set"], "what the user names is never replaced");
}

#[test]
fn own_ollama_variable_overrides_the_general_one() {
    let server = ModelServer::start([Reply::text("mine")]);
    let project = project()
        .env("OLLAMA_HOST", "127.0.0.1:9")
        .env("BRYNHILD_OLLAMA_HOST", format!("http://{}/", server.address()));
    let run = project.brynhild(&["--provider", "ollama", "chat", "hi"]);
    assert_eq!(run.success().stdout, "mine\n");
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn ollama_host_without_a_port_gets_the_default() {
    // Any address of the loopback network is this machine; no other test uses this one.
    let Ok(_listener) = std::net::TcpListener::bind("127.0.0.77:11434") else {
        eprintln!("skipped: 127.0.0.77:11434 cannot be had");
        return;
    };
    let project = project().env("OLLAMA_HOST", "127.0.0.77");
    let found = provider(&project, "ollama");
    assert_eq!(found["available"], true, "{found:#}");
    assert_eq!(found["chosen"], true, "{found:#}");
}

#[test]
fn the_list_of_providers_has_its_documented_form() {
    let project = project_at("openai", "http://127.0.0.1:9/v1", &["api_key_env: MY_KEY"]);
    for it in providers(&project) {
        for field in ["name", "type", "description", "available", "key_configured", "source"] {
            assert!(!it[field].is_null(), "{field} of {it:#}");
        }
        assert!(it.get("key_env_var").is_some() && it.get("default_model").is_some(), "{it:#}");
    }
    let test = provider(&project, "test");
    assert_eq!(test["key_env_var"], "MY_KEY");
    assert_eq!(test["key_configured"], false);
    assert_eq!(test["available"], false);
    assert_eq!(test["default_model"], "test-model");
    assert_eq!(test["source"], "config");
    assert_eq!(provider(&project, "openrouter")["source"], "builtin");
    assert_eq!(provider(&project, "script")["available"], true);
}

#[test]
fn credentials_are_read_from_a_file() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    for path in ["~/keys/mine.json", "$HOME/keys/mine.json"] {
        let more = [format!("credentials_path: {path}")];
        let project = project_at("openai", &server.url(), &[more[0].as_str()])
            .env("OPENAI_API_KEY", "sk-from-environment");
        let directory = project.home().join("keys");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("mine.json"), r#"{"api_key": "sk-from-file"}"#).unwrap();
        project.brynhild(&["chat", "hi"]).success();
        let request = server.chats().pop().unwrap();
        assert_eq!(request.header("authorization"), Some("Bearer sk-from-file"), "{path}");
    }
}

#[test]
fn unusable_credentials_are_reported() {
    let cases = [
        (None, "cannot read the credentials file"),
        (Some("{oops"), "is not valid JSON"),
        (Some("[]"), "has no text under `api_key`"),
        (Some(r#"{"api_key": 5}"#), "has no text under `api_key`"),
    ];
    for (text, words) in cases {
        let project =
            project_at("openai", "http://127.0.0.1:9/v1", &["credentials_path: ~/k.json"]);
        if let Some(text) = text {
            std::fs::write(project.home().join("k.json"), text).unwrap();
        }
        let run = project.brynhild(&["chat", "hi"]);
        run.code(2);
        assert!(run.stderr.contains(words), "{run}");
        assert!(run.stderr.contains("k.json"), "{run}");
    }
}

#[test]
fn model_follows_flag_instance_config_then_type() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let with = |instance: &str, models: &str| {
        let project = project();
        project.config(&format!(
            "providers: {{default: test, instances: {{test: {{type: anthropic, base_url: '{}'\
             {instance}}}}}}}\n{models}",
            server.url()
        ));
        project
    };
    let own = ", default_model: own-model";
    let general = "models: {default: general-model}\n";
    for (instance, models, flag, expected) in [
        (own, general, &["--model", "asked-model"][..], "asked-model"),
        (own, general, &[], "own-model"),
        ("", general, &[], "general-model"),
        ("", "", &[], "claude-sonnet-4-5"),
    ] {
        let project = with(instance, models);
        project.brynhild(&[flag, &["chat", "hi"]].concat()).success();
        assert_eq!(server.chats().pop().unwrap().body["model"], expected);
    }
}

#[test]
fn aliases_and_bindings_map_to_provider_names() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let models = "models:\n  aliases: {big: family/big, plain: some/model}\n  registry:\n    \
                  family/big:\n      bindings: {openrouter: fam/big-or, anthropic: big-latest, \
                  test: {model_id: big-test}}\n      aliases: {grande: the same}\n";
    for (kind, name, asked, expected) in [
        ("anthropic", "other", "big", "big-latest"),
        ("openrouter", "other", "family/big", "fam/big-or"),
        ("openrouter", "other", "grande", "fam/big-or"),
        ("anthropic", "test", "big", "big-test"),
        ("anthropic", "test", "plain", "some/model"),
        ("anthropic", "test", "unheard-of", "unheard-of"),
        ("anthropic", "test", "opus", "claude-opus-4-5"),
        ("ollama", "test", "openai/gpt-oss-20b", "gpt-oss:20b"),
    ] {
        let project = project();
        project.config(&format!(
            "providers: {{default: {name}, instances: {{{name}: {{type: {kind}, base_url: '{}'}}}}}}\n\
             {models}",
            server.url()
        ));
        project.brynhild(&["chat", "--model", asked, "hi"]).success();
        assert_eq!(server.chats().pop().unwrap().body["model"], expected, "{kind} {asked}");
    }
}

#[test]
fn offline_provider_test_shows_the_setup() {
    let server = ModelServer::start([]);
    let project = project_at("openai", &server.url(), &["api_key_env: MY_KEY"]);
    let report = project.brynhild(&["api", "test", "--json"]).code(2).json();
    assert_eq!(report["provider"], "test");
    assert_eq!(report["model"], "test-model");
    assert_eq!(report["api_key_configured"], false);
    assert_eq!(report["status"], "missing_api_key");
    let project = project.env("MY_KEY", "sk-0123456789");
    let report = project.brynhild(&["api", "test", "--json"]).success().json();
    assert_eq!(report["api_key_configured"], true);
    assert_eq!(report["status"], "configured");
    assert!(server.requests().is_empty(), "nothing was sent");
    let report = nothing().brynhild(&["api", "test", "--json"]).code(2).json();
    assert_eq!(report["provider"], "openrouter");
    assert_eq!(report["status"], "missing_api_key");
    assert_eq!(report["error"], "OPENROUTER_API_KEY is not set");
}

#[test]
fn live_provider_test_asks_and_reports() {
    for kind in super::TYPES {
        let server = ModelServer::start([Reply::text("ready"), Reply::failure(401)]);
        let project = project_of(kind, &server);
        let report = project.brynhild(&["api", "test", "--live", "--json"]).success().json();
        assert_eq!(report["status"], "ok", "{kind}");
        assert_eq!(report["response"], "ready", "{kind}");
        assert!(report["latency_ms"].is_u64(), "{kind}");
        let run = project.brynhild(&["api", "test", "--live", "--json"]);
        let report = run.code(1).json();
        assert_eq!(report["status"], "failed", "{kind}");
        assert!(report["error"].as_str().unwrap().contains("answered HTTP 401"), "{kind}");
    }
    let server = ModelServer::start([Reply::failure(404)]);
    let run = project_of("openai", &server).brynhild(&["api", "test", "--live"]);
    run.code(1);
    assert!(run.stderr.contains("answered HTTP 404"), "{run}");
    assert!(run.stderr.contains("hint:"), "{run}");
}

#[test]
fn provider_list_works_with_an_unknown_choice() {
    let project = project();
    project.config("providers: {default: nope}\n");
    let run = project.brynhild(&["api", "providers"]);
    assert!(run.success().stdout.contains("Unknown provider 'nope'"), "{run}");
    assert!(providers(&project).iter().all(|it| it["chosen"] == false));
}
