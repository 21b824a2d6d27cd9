//! The Responses API and Gemini's native API, with tool calls and reasoning that goes back.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::project_at;

fn server() -> ModelServer {
    let read = json!({"file_path": "notes.txt"});
    ModelServer::start([
        Reply::calls([("Read", read)]).thinking("I should look.").usage(100, 20),
        Reply::text("It says notes.").usage(150, 10),
    ])
}

fn ask(project: &Project) -> Value {
    project.file("notes.txt", "the notes");
    let run = project.brynhild(&["chat", "--json", "what is in it?"]);
    let report = run.success().json();
    assert_eq!(report["response"], "It says notes.", "{run}");
    report
}

#[test]
fn responses_api_runs_calls_and_returns_reasoning() {
    let server = server();
    let project = project_at("openai", &format!("{}/v1", server.url()), &["api: responses"]);
    let report = ask(&project);
    assert_eq!(report["usage"]["input_tokens"], 250, "{report}");
    let chats = server.chats();
    assert!(chats.iter().all(|chat| chat.path == "/v1/responses"), "{chats:?}");
    let first = &chats[0].body;
    assert_eq!(first["input"][0]["role"], "user");
    assert!(first["instructions"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(first["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "Read"));
    let items = chats[1].body["input"].as_array().unwrap();
    let kinds: Vec<&Value> = items.iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["message", "reasoning", "function_call", "function_call_output"]);
    assert_eq!(items[1]["encrypted_content"], "c2VjcmV0");
    assert!(items[3]["output"].as_str().unwrap().contains("the notes"));
}

#[test]
fn instance_with_its_own_address_uses_chat_completions() {
    let server = ModelServer::start([Reply::text("hi")]);
    let project = project_at("openai", &format!("{}/v1", server.url()), &[]);
    project.brynhild(&["--model", "gpt-5.1", "chat", "hi"]).success();
    assert_eq!(server.requests()[0].path, "/v1/chat/completions");
}

#[test]
fn unknown_api_of_an_instance_is_refused() {
    let project = project_at("openai", "http://127.0.0.1:1", &["api: response"]);
    let run = project.brynhild(&["chat", "hi"]);
    run.code(2);
    assert!(run.stderr.contains("expected one of chat, responses"), "{run}");
}

#[test]
fn gemini_runs_calls_and_returns_signatures() {
    let server = server();
    let project = project_at("gemini", &server.url(), &["api_key_env: MY_KEY"]);
    let project = project.env("MY_KEY", "key-12345678");
    let report = ask(&project);
    assert_eq!(report["usage"]["input_tokens"], 250, "{report}");
    let chats = server.chats();
    let path = "/v1beta/models/test-model:streamGenerateContent?alt=sse";
    assert!(chats.iter().all(|chat| chat.path == path), "{chats:?}");
    assert_eq!(chats[0].header("x-goog-api-key"), Some("key-12345678"));
    let contents = &chats[1].body["contents"];
    let called = &contents[1]["parts"][0];
    assert_eq!(called["functionCall"]["name"], "Read");
    assert_eq!(called["thoughtSignature"], "c2lnbmF0dXJl");
    let result = contents[2]["parts"][0]["functionResponse"].to_string();
    assert!(result.contains("the notes"), "{result}");
}

#[test]
fn gemini_can_be_asked_in_the_format_of_openai() {
    let server = ModelServer::start([Reply::text("hi")]);
    let project = project_at("gemini", &server.url(), &["api: chat"]);
    project.brynhild(&["chat", "hi"]).success();
    assert_eq!(server.requests()[0].path, "/v1beta/openai/chat/completions");
}

#[test]
fn gemini_lists_its_models_with_context() {
    let server = ModelServer::start([]).models(["gemini-x"]);
    let project = project_at("gemini", &server.url(), &["api_key_env: MY_KEY"]);
    let run = project.env("MY_KEY", "key-12345678").brynhild(&["models", "list"]);
    assert!(run.success().stdout.contains("gemini-x"), "{run}");
    assert!(run.stdout.contains("1000000"), "{run}");
}
