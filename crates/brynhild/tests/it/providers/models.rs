//! Models of providers, and models of the configuration.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{TYPES, nothing, project_of};
use crate::project;

fn ids(models: &Value) -> Vec<&str> {
    models.as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect()
}

fn add(project: &Project, more: &str) {
    let path = project.config_directory().join("config.yaml");
    project.config(&format!("{}{more}", std::fs::read_to_string(path).unwrap()));
}

#[test]
fn models_are_listed_in_every_format() {
    for kind in TYPES {
        let server = ModelServer::start([]).models(["zeta", "alpha", "beta-2"]);
        let project = project_of(kind, &server);
        let listed = project.brynhild(&["models", "list", "--json"]).success().json();
        assert_eq!(ids(&listed), ["alpha", "beta-2", "zeta"], "{kind}");
        let text = project.brynhild(&["models", "list", "--limit", "2"]);
        assert!(text.success().stdout.contains("alpha"), "{kind}\n{text}");
        assert!(!text.stdout.contains("zeta"), "{kind}\n{text}");
    }
}

#[test]
fn favorites_are_listed_first() {
    let server = ModelServer::start([]).models(["zeta", "alpha", "beta"]);
    let project = project_of("openai", &server);
    add(&project, "models: {favorites: {zeta: true, beta: {enabled: false}}}\n");
    let listed = project.brynhild(&["models", "list", "--json"]).success().json();
    assert_eq!(ids(&listed), ["zeta", "alpha", "beta"]);
    let text = project.brynhild(&["models", "list"]);
    let marked: Vec<&str> =
        text.success().stdout.lines().filter(|line| line.starts_with('*')).collect();
    assert_eq!(marked.len(), 1, "{text}");
    assert!(marked[0].contains("zeta"), "{text}");
    let aliases = project.brynhild(&["models", "aliases", "--json"]).json();
    assert_eq!(aliases["favorites"], json!(["zeta"]));
}

#[test]
fn prices_contexts_and_tools_are_read_and_sorted_by() {
    let listing = json!({"data": [
        {"id": "dear", "name": "Dear", "context_length": 1000,
         "pricing": {"prompt": "0.000003", "completion": "0.000015"},
         "supported_parameters": ["tools"]},
        {"id": "cheap", "name": "Cheap", "context_length": 500,
         "pricing": {"prompt": "0.000001", "completion": "0.000002"},
         "supported_parameters": []},
        {"id": "odd"},
        {"name": "without an id"},
        "not even an object",
    ]});
    let reply = Reply::bytes(listing.to_string());
    let server = ModelServer::start([]).models_reply(reply);
    let project = project_of("openrouter", &server);
    let list = |args: &[&str]| {
        project.brynhild(&[&["models", "list", "--json"], args].concat()).success().json()
    };
    assert_eq!(ids(&list(&["--sort", "cost"])), ["cheap", "dear", "odd"]);
    assert_eq!(ids(&list(&["--sort", "context"])), ["dear", "cheap", "odd"]);
    assert_eq!(ids(&list(&["--tools-only"])), ["dear", "odd"]);
    let dear = list(&["--sort", "context"])[0].clone();
    assert_eq!(dear["input_price"], 3.0);
    assert_eq!(dear["output_price"], 15.0);
    assert_eq!(dear["context"], 1000);
}

#[test]
fn model_search_ignores_case() {
    let server = ModelServer::start([]).models(["acme/Coder-1", "acme/writer", "other/CODER"]);
    let project = project_of("openai", &server);
    let found = project.brynhild(&["models", "search", "coder", "--json"]).success().json();
    assert_eq!(ids(&found), ["acme/Coder-1", "other/CODER"]);
    let none = project.brynhild(&["models", "search", "nothing-like-it", "--json"]);
    assert_eq!(none.success().json(), json!([]));
    let none = project.brynhild(&["models", "search", "nothing-like-it"]);
    assert!(none.success().stderr.contains("no model"), "{none}");
}

#[test]
fn model_data_merges_provider_and_registry() {
    let server = ModelServer::start([]).models(["claude-opus-4-5", "other"]);
    let project = project_of("anthropic", &server);
    for name in ["opus", "anthropic/claude-opus-4.5"] {
        let info = project.brynhild(&["models", "info", name, "--json"]).success().json();
        assert_eq!(info["id"], "anthropic/claude-opus-4.5", "{name}");
        assert_eq!(info["offered"]["id"], "claude-opus-4-5", "{name}");
        assert_eq!(info["family"], "claude");
        assert_eq!(info["context_size"], 200_000);
        assert_eq!(info["bindings"]["anthropic"], "claude-opus-4-5");
    }
    let info = project.brynhild(&["models", "info", "other", "--json"]).success().json();
    assert_eq!(info["offered"]["id"], "other");
    let run = project.brynhild(&["models", "info", "nothing"]);
    run.code(1);
    assert!(run.stderr.contains("Model not found: nothing"), "{run}");
    let run = project.brynhild(&["models", "info", "nothing", "--json"]);
    assert_eq!(run.code(1).json()["error"], "Model not found: nothing");
}

#[test]
fn aliases_are_shown_without_any_provider() {
    let project = project();
    project.config(
        "models: {aliases: {mine: a/b, opus: !delete }, favorites: {a/b: true, c/d: false}}\n",
    );
    let shown = project.brynhild(&["models", "aliases", "--json"]).success().json();
    assert_eq!(shown["aliases"]["mine"], "a/b");
    assert_eq!(shown["aliases"]["haiku"], "anthropic/claude-haiku-4.5");
    assert_eq!(shown["aliases"].get("opus"), None);
    assert_eq!(shown["favorites"], json!(["a/b"]));
    assert_eq!(shown["registry"]["openai/gpt-oss-120b"]["ollama"], "gpt-oss:120b");
    let text = project.brynhild(&["models", "aliases"]);
    assert!(text.success().stdout.contains("mine = a/b\n"), "{text}");
}

#[test]
fn models_come_from_the_registry_without_a_provider() {
    let project = nothing();
    let listed = project.brynhild(&["models", "list", "--json"]).success().json();
    assert!(ids(&listed).contains(&"openai/gpt-oss-120b"), "{listed}");
    let info = project.brynhild(&["models", "info", "opus", "--json"]).success().json();
    assert_eq!(info["family"], "claude");
    let text = project.brynhild(&["models", "search", "opus"]);
    assert!(text.success().stdout.contains("anthropic/claude-opus-4.5"), "{text}");
    assert!(text.stderr.contains("no provider is set up"), "{text}");
    project.brynhild(&["models", "list", "--provider", "openrouter"]).code(2);
}

#[test]
fn unavailable_model_list_is_reported() {
    for kind in TYPES {
        let server = ModelServer::start([]).models_reply(Reply::failure(401));
        let project = project_of(kind, &server);
        let run = project.brynhild(&["models", "list"]);
        run.code(1);
        assert!(run.stderr.contains("answered HTTP 401"), "{kind}\n{run}");
        let run = project.brynhild(&["models", "list", "--json"]);
        assert!(
            run.code(1).json()["error"].as_str().unwrap().contains("answered HTTP 401"),
            "{kind}"
        );
        let server = ModelServer::start([]).models_reply(Reply::bytes("<html><title>x</title>"));
        let run = project_of(kind, &server).brynhild(&["models", "list"]);
        run.code(1);
        assert!(run.stderr.contains("web page"), "{kind}\n{run}");
    }
}

#[test]
fn model_aliases_give_the_name_at_one_provider() {
    let server = ModelServer::start([Reply::text("a"), Reply::text("b")]);
    let project = project().env("OLLAMA_HOST", server.url());
    std::fs::create_dir_all(project.config_directory()).unwrap();
    let own = project.config_directory().join("model-aliases.yaml");
    std::fs::write(&own, "ollama:\n  big/model: big:70b\n").unwrap();
    let words = ["chat", "--provider", "ollama", "--model", "big/model", "hi"];
    project.brynhild(&words).success();
    assert_eq!(server.chats()[0].body["model"], "big:70b");
    project.file(".brynhild/model-aliases.yaml", "ollama: {big/model: small}\n");
    project.brynhild(&["trust", "--yes"]).success();
    project.brynhild(&words).success();
    assert_eq!(server.chats()[1].body["model"], "small");
}

#[test]
fn models_are_compared_by_the_price_of_a_mix() {
    let listing = json!({"data": [
        {"id": "a", "context_length": 10, "pricing": {"prompt": "0.000001", "completion": "0.000022"}},
        {"id": "b", "pricing": {"prompt": "0.0000005", "completion": "0.0000005"},
         "supported_parameters": ["tools"]},
        {"id": "c"},
    ]});
    let server = ModelServer::start([]).models_reply(Reply::bytes(listing.to_string()));
    let project = project_of("openrouter", &server);
    let run = project.brynhild(&["models", "compare", "a", "b", "missing", "--json"]);
    run.success();
    let rows = run.json();
    assert_eq!(rows[0]["model"]["id"], "b");
    assert_eq!(rows[1]["mixed_price"], 2.0);
    assert!(run.stderr.contains("no model missing"), "{run}");
    project.brynhild(&["models", "compare"]).code(2);
    let run = project.brynhild(&["models", "tools", "--json"]);
    assert_eq!(ids(&run.json()), ["b"]);
}

#[test]
fn project_aliases_never_override_typed_names() {
    let server = ModelServer::start([Reply::text("a")]).repeat_last();
    let asked = |project: &Project, words: &[&str]| {
        let run = project.brynhild(&[words, &["chat", "--provider", "ollama", "hi"]].concat());
        run.success();
        let chats = server.chats();
        let model = chats.last().unwrap().body["model"].as_str().unwrap().to_owned();
        (model, run.stderr)
    };
    for (file, text) in [
        (".brynhild/model-aliases.yaml", "ollama: {big: other}\n"),
        (".brynhild/config.yaml", "models: {aliases: {big: other}}\n"),
    ] {
        let project = project().env("OLLAMA_HOST", server.url());
        project.file(file, text).config("models: {default: big}\n");
        let (model, told) = asked(&project, &["--model", "big"]);
        assert_eq!(model, "big", "{file}");
        assert!(told.contains("has other asked where big is named; that is ignored"), "{told}");
        let (model, told) = asked(&project, &[]);
        assert_eq!(model, "other", "{file}");
        assert!(told.contains("has other asked where big is named"), "{told}");
        project.brynhild(&["trust", "--yes"]).success();
        let (model, told) = asked(&project, &["--model", "big"]);
        assert_eq!(model, "other", "{file}");
        assert!(!told.contains("has other asked"), "{told}");
    }
    let project = project().env("OLLAMA_HOST", server.url());
    project.file(".brynhild/config.yaml", "models: {aliases: {mine: other}}\n");
    project.config("models: {default: mine, aliases: {mine: own}}\n");
    let (model, told) = asked(&project, &[]);
    assert_eq!(model, "own");
    assert!(told.contains("is ignored until you trust the project"), "{told}");
}
