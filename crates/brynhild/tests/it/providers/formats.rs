//! Replies in every wire format, streamed and whole.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{TYPES, project_at, project_of};

const WAYS: [&[&str]; 2] = [&[], &["--no-stream"]];

#[test]
fn only_the_answer_is_printed() {
    for kind in TYPES {
        for way in WAYS {
            let server = ModelServer::start([Reply::text("Grüße, 漢字 🦀").usage(12, 3)]);
            let run = project_of(kind, &server).brynhild(&[&["chat", "hi"], way].concat());
            run.success();
            assert_eq!(run.stdout, "Grüße, 漢字 🦀\n", "{kind} {way:?}");
            assert_eq!(run.stderr, "", "{kind} {way:?}");
            let request = &server.chats()[0];
            assert_eq!(request.body["model"], "test-model", "{kind}");
            assert_eq!(request.body["stream"], way.is_empty(), "{kind}");
            assert!(request.text.contains("hi"), "{kind}: {}", request.text);
        }
    }
}

#[test]
fn answer_survives_single_byte_chunks() {
    for kind in TYPES {
        let reply = Reply::text("Grüße, 漢字 🦀").thinking("hm, 漢").chunk_size(1).delta_size(1);
        let server = ModelServer::start([reply]);
        let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
        run.success();
        assert_eq!(run.stdout, "Grüße, 漢字 🦀\n", "{kind}");
    }
}

#[test]
fn json_answer_names_model_and_usage() {
    for kind in TYPES {
        for way in WAYS {
            let server = ModelServer::start([Reply::text("done").usage(120, 30)]);
            let args = [&["chat", "--json", "hi"], way].concat();
            let run = project_of(kind, &server).brynhild(&args);
            let answer = run.success().json();
            assert_eq!(answer["response"], "done", "{kind} {way:?}");
            assert_eq!(answer["provider"], "test", "the name of the instance");
            assert_eq!(answer["model"], "test-model");
            assert_eq!(answer["stop_reason"], "end_turn", "{kind} {way:?}");
            assert_eq!(
                answer["usage"],
                json!({"input_tokens": 120, "output_tokens": 30, "total_tokens": 150}),
                "{kind} {way:?}"
            );
            assert_eq!(answer["prompt_source"]["content"], "hi");
            assert_eq!(answer.get("cost_usd"), None, "{kind}: nobody named a price");
            assert_eq!(answer.get("error"), None, "{kind}");
        }
    }
}

#[test]
fn cached_tokens_are_part_of_the_input() {
    for kind in ["openrouter", "openai", "anthropic"] {
        let server = ModelServer::start([Reply::text("done").usage(120, 30).cached(100)]);
        let answer = project_of(kind, &server).brynhild(&["chat", "--json", "hi"]).json();
        assert_eq!(answer["usage"]["input_tokens"], 120, "{kind}");
    }
}

/// The message in which a model called tools.
fn calling_message(messages: &Value) -> &Value {
    let messages = messages.as_array().unwrap();
    messages.iter().find(|message| message["role"] == "assistant").unwrap()
}

#[test]
fn tool_results_use_the_provider_format() {
    for kind in TYPES {
        for way in WAYS {
            let call = ("Read", json!({"file_path": "note.txt"}));
            let server = ModelServer::start([
                Reply::calls([call]).thinking("let me look").usage(10, 5),
                Reply::text("it says hello").usage(20, 6),
            ]);
            let project = project_of(kind, &server);
            project.file("note.txt", "hello\n");
            let run = project.brynhild(&[&["chat", "--json", "look"], way].concat());
            let answer = run.success().json();
            assert_eq!(answer["response"], "it says hello", "{kind} {way:?}");
            assert_eq!(answer["tool_calls"][0]["tool"], "Read");
            assert_eq!(answer["tool_calls"][0]["input"], json!({"file_path": "note.txt"}));
            assert_eq!(answer["tool_results"][0]["success"], true);
            assert_eq!(answer["tool_results"][0]["id"], answer["tool_calls"][0]["id"]);
            assert_eq!(answer["usage"]["input_tokens"], 30, "{kind}: both rounds count");
            assert_eq!(answer["usage"]["output_tokens"], 11, "{kind}: both rounds count");
            let chats = server.chats();
            assert_eq!(chats.len(), 2, "{kind} {way:?}");
            let second = &chats[1].body["messages"];
            let calling = calling_message(second).clone();
            let result = second.as_array().unwrap().last().unwrap().clone();
            check_round(kind, &calling, &result);
        }
    }
}

/// Checks the call and its result as this type of provider reads them.
fn check_round(kind: &str, calling: &Value, result: &Value) {
    let read = "     1|hello";
    match kind {
        "anthropic" => {
            let blocks = calling["content"].as_array().unwrap();
            assert_eq!(blocks[0]["type"], "thinking");
            assert_eq!(blocks[0]["thinking"], "let me look");
            assert_eq!(blocks[0]["signature"], "c2lnbmF0dXJl");
            assert_eq!(blocks[1]["type"], "tool_use");
            assert_eq!(blocks[1]["input"], json!({"file_path": "note.txt"}));
            assert_eq!(result["role"], "user");
            assert_eq!(result["content"][0]["type"], "tool_result");
            assert_eq!(result["content"][0]["tool_use_id"], blocks[1]["id"]);
            assert!(result["content"][0]["content"].as_str().unwrap().contains(read));
        }
        "ollama" => {
            assert_eq!(calling["thinking"], "let me look");
            let function = &calling["tool_calls"][0]["function"];
            assert_eq!(function["arguments"], json!({"file_path": "note.txt"}));
            assert_eq!(result["role"], "tool");
            assert_eq!(result["tool_name"], "Read");
            assert!(result["content"].as_str().unwrap().contains(read));
        }
        _ => {
            if kind == "openrouter" {
                assert_eq!(calling["reasoning"], "let me look");
            }
            let call = &calling["tool_calls"][0];
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert_eq!(arguments, r#"{"file_path":"note.txt"}"#);
            assert_eq!(result["role"], "tool");
            assert_eq!(result["tool_call_id"], call["id"]);
            assert!(result["content"].as_str().unwrap().contains(read));
        }
    }
}

#[test]
fn tools_are_offered_unless_disabled() {
    for kind in TYPES {
        let server = ModelServer::start([Reply::text("a"), Reply::text("b")]);
        let project = project_of(kind, &server);
        project.brynhild(&["chat", "hi"]).success();
        project.brynhild(&["chat", "--no-tools", "hi"]).success();
        let chats = server.chats();
        assert_eq!(chats[0].body["tools"].as_array().unwrap().len(), 13, "{kind}");
        assert_eq!(chats[1].body.get("tools"), None, "{kind}");
        assert_eq!(chats[1].body.get("tool_choice"), None, "{kind}");
    }
}

#[test]
fn provider_costs_are_summed() {
    let call = ("Inspect", json!({"operation": "cwd"}));
    let server = ModelServer::start([
        Reply::calls([call]).usage(10, 5).cost(0.25),
        Reply::text("ok").usage(10, 5).cost(0.5),
    ]);
    let answer = project_of("openrouter", &server).brynhild(&["chat", "--json", "hi"]).json();
    assert_eq!(answer["cost_usd"], 0.75);
}

#[test]
fn anthropic_requests_mark_cacheable_parts() {
    let server = ModelServer::start([Reply::text("ok")]);
    project_of("anthropic", &server).brynhild(&["chat", "hi"]).success();
    let request = &server.chats()[0];
    let marked = |value: &Value| value["cache_control"]["type"] == "ephemeral";
    assert!(marked(&request.body["system"][0]));
    assert!(marked(request.body["tools"].as_array().unwrap().last().unwrap()));
    let last = request.body["messages"].as_array().unwrap().last().unwrap();
    assert!(marked(last["content"].as_array().unwrap().last().unwrap()));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.path, "/v1/messages");
}

#[test]
fn keys_and_headers_follow_the_format() {
    for kind in TYPES {
        let server = ModelServer::start([Reply::text("ok")]);
        let more = ["api_key_env: MY_KEY", "headers: {X-Team: blue}"];
        let project = project_at(kind, &server.url(), &more).env("MY_KEY", " sk-0123456789\n");
        project.brynhild(&["chat", "hi"]).success();
        let request = &server.chats()[0];
        assert_eq!(request.header("x-team"), Some("blue"), "{kind}");
        if kind == "anthropic" {
            assert_eq!(request.header("x-api-key"), Some("sk-0123456789"));
            assert_eq!(request.header("authorization"), None);
        } else {
            assert_eq!(request.header("authorization"), Some("Bearer sk-0123456789"), "{kind}");
        }
    }
}

#[test]
fn configured_limits_and_levels_are_sent() {
    let fields = [
        ("openrouter", json!(77), "/max_tokens", json!("high"), "/reasoning/effort"),
        ("openai", json!(77), "/max_completion_tokens", json!("high"), "/reasoning_effort"),
        ("ollama", json!(77), "/options/num_predict", json!(true), "/think"),
    ];
    for (kind, limit, limit_place, level, level_place) in fields {
        let server = ModelServer::start([Reply::text("ok")]);
        let project = project_of(kind, &server)
            .env("BRYNHILD_BEHAVIOR__MAX_TOKENS", "77")
            .env("BRYNHILD_BEHAVIOR__REASONING_LEVEL", "high");
        project.brynhild(&["chat", "hi"]).success();
        let body = &server.chats()[0].body;
        assert_eq!(body.pointer(limit_place), Some(&limit), "{kind}");
        assert_eq!(body.pointer(level_place), Some(&level), "{kind}");
    }
}

#[test]
fn reply_at_its_limit_is_reported() {
    for (kind, word) in [("openai", "length"), ("anthropic", "max_tokens"), ("ollama", "length")] {
        let server = ModelServer::start([Reply::text("half a sen").stop(word)]);
        let answer = project_of(kind, &server).brynhild(&["chat", "--json", "hi"]).json();
        assert_eq!(answer["stop_reason"], "max_tokens", "{kind}");
        assert_eq!(answer["response"], "half a sen", "{kind}");
    }
}

#[test]
fn whole_answer_to_a_stream_request_is_read() {
    let body = json!({"id": "x", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "all at once"}}]});
    let reply = Reply::bytes(body.to_string()).header("content-type", "application/json");
    let server = ModelServer::start([reply]);
    let run = project_of("openai", &server).brynhild(&["chat", "hi"]);
    assert_eq!(run.success().stdout, "all at once\n");
}

#[test]
fn address_works_with_and_without_its_path() {
    let endings: [(&str, &[&str]); 3] = [
        ("openai", &["/v1", "/v1/", "/v1/chat/completions"]),
        ("anthropic", &["", "/", "/v1", "/v1/messages"]),
        ("ollama", &["", "/", "/v1", "/api"]),
    ];
    for (kind, endings) in endings {
        for ending in endings {
            let server = ModelServer::start([Reply::text("ok")]);
            let project = project_at(kind, &format!("{}{ending}", server.url()), &[]);
            project.brynhild(&["chat", "hi"]).success();
            let expected = match kind {
                "openai" => "/v1/chat/completions",
                "anthropic" => "/v1/messages",
                _ => "/api/chat",
            };
            assert_eq!(server.chats()[0].path, expected, "{kind} at {ending:?}");
        }
    }
}
