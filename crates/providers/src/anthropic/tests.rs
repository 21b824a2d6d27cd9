use std::sync::Arc;

use contract::id::CallId;
use contract::message::{Message, Part, Reply, StopReason, ToolCall, Usage};
use contract::provider::{
    Delivery, Delta, Failure, ProviderError, ReasoningFormat, ReasoningLevel, Request,
};
use serde_json::{Value, json};

use super::decode::MessagesDecoder;
use super::encode::{FORMAT, body};
use crate::body::Memos;
use crate::tests::conformance::{check, decode, origin};
use crate::tests::test_server::{Answer, Server, collect, entry, request, tools};

const RECORDING: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":",
    "{\"input_tokens\":3,\"cache_creation_input_tokens\":5,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm 漢\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EqQ\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"xx\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"I will \"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"read 🦀.\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"Read\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"file_\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"path\\\":\\\"x\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":4,\"content_block\":{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"Bash\",\"input\":{}}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":4}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":50}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: CallId(id.into()), name: name.into(), args, opaque: None }
}

fn usage(output_tokens: u64) -> Delta {
    Delta::Usage(Usage {
        input_tokens: 15,
        output_tokens,
        cached_tokens: Some(7),
        cache_write_tokens: Some(5),
        generation_id: Some("msg_1".into()),
        ..Usage::default()
    })
}

fn content() -> Vec<Delta> {
    vec![
        Delta::Thinking("Hm 漢".into()),
        Delta::ThinkingOpaque(json!({"type": "thinking", "signature": "EqQ"})),
        Delta::ThinkingOpaque(json!({"type": "redacted_thinking", "data": "xx"})),
        Delta::Text("I will read 🦀.".into()),
        Delta::CallStarted { name: "Read".into() },
        Delta::Call(call("a", "Read", json!({"file_path": "x"}))),
        Delta::CallStarted { name: "Bash".into() },
    ]
}

fn events(events: &[Value]) -> (Vec<Delta>, Result<(), ProviderError>) {
    let text =
        events.iter().fold(String::new(), |text, event| text + &format!("data: {event}\n\n"));
    decode(MessagesDecoder::new(origin()), [text.as_bytes()])
}

#[tokio::test]
async fn streamed_reply_has_thinking_text_calls_and_usage() {
    let server = Server::start(vec![Answer::events(RECORDING)]).await;
    let (deltas, error) = collect(&*server.provider("anthropic"), request()).await;
    assert!(error.is_none(), "{error:?}");
    let mut expected = vec![usage(1)];
    expected.extend(content());
    expected.extend([
        usage(50),
        Delta::Call(call("b", "Bash", json!({}))),
        Delta::Stopped(StopReason::ToolUse),
    ]);
    assert_eq!(deltas, expected);
    let sent = &server.requests()[0];
    assert!(sent.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{sent}");
    for header in ["x-api-key: sk-test-key", "anthropic-version: 2023-06-01"] {
        assert!(sent.contains(header), "{header}");
    }
}

#[test]
fn recording_survives_every_cut_and_chunking() {
    check(|| MessagesDecoder::new(origin()), RECORDING);
}

#[tokio::test]
async fn whole_reply_equals_a_streamed_one() {
    let reply = json!({"id": "msg_1", "type": "message", "content": [
        {"type": "thinking", "thinking": "Hm 漢", "signature": "EqQ"},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "text", "text": "I will read 🦀."},
        {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "x"}},
        {"type": "tool_use", "id": "b", "name": "Bash", "input": {}},
        {"type": "unknown_block"},
    ], "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 50,
        "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7}});
    let server = Server::start(vec![Answer::json(&reply)]).await;
    let asked = Request { delivery: Delivery::Whole, ..request() };
    let (deltas, error) = collect(&*server.provider("anthropic"), asked).await;
    assert!(error.is_none(), "{error:?}");
    let mut expected = content();
    expected.extend([
        usage(50),
        Delta::Call(call("b", "Bash", json!({}))),
        Delta::Stopped(StopReason::ToolUse),
    ]);
    assert_eq!(deltas, expected);
}

#[test]
fn truncated_call_is_no_call_without_arguments() {
    let stream = |json: &str, reason: &str| {
        let (deltas, result) = events(&[
            json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": json}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ]);
        result.unwrap();
        deltas[1].clone()
    };
    assert_eq!(stream("", "max_tokens"), Delta::Call(call("a", "Bash", json!(""))));
    assert_eq!(stream("{\"c", "max_tokens"), Delta::Call(call("a", "Bash", json!("{\"c"))));
    assert_eq!(stream("", "tool_use"), Delta::Call(call("a", "Bash", json!({}))));
}

#[test]
fn unknown_events_are_ignored_and_errors_are_not() {
    let (deltas, result) = events(&[
        json!({"type": "something_else", "delta": "odd", "index": "odd"}),
        json!({"type": "content_block_delta", "index": 9, "delta": {"type": "odd_delta"}}),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ]);
    assert_eq!(deltas, []);
    assert_eq!(result.unwrap_err().kind, Failure::Unavailable(None));
    let broken = decode(MessagesDecoder::new(origin()), [&b"data: {oops\n\n"[..]]);
    assert_eq!(broken.1.unwrap_err().kind, Failure::Garbled);
}

fn sent(request: &Request) -> Value {
    serde_json::from_slice(&body(&crate::catalog::Quirks::default(), request, &Memos::default()))
        .unwrap()
}

fn result(id: &str, is_error: bool) -> Message {
    Message::Tool { call: CallId(id.into()), name: "Read".into(), content: "text".into(), is_error }
}

fn reply(parts: Vec<Part>) -> Message {
    Message::Assistant(Reply { parts, stop: StopReason::ToolUse })
}

fn signed() -> Part {
    let opaque = Some(json!({"type": "thinking", "signature": "EqQ"}));
    Part::Thinking { text: "Hm".into(), opaque }
}

#[test]
fn request_merges_results_and_marks_cacheable_parts() {
    let foreign = Part::Thinking { text: "x".into(), opaque: Some(json!([{"type": "other"}])) };
    let unsigned = Part::Thinking { text: "x".into(), opaque: None };
    let mut asked = request();
    asked.tools = tools();
    asked.temperature = Some(1.5);
    Arc::make_mut(&mut asked.history).extend([
        entry(reply(vec![
            signed(),
            foreign,
            unsigned,
            Part::Text { text: " \n".into() },
            Part::Call(call("functions.Read:0", "Read", json!("oops"))),
            Part::Call(call("b", "Read", json!({"a": 1}))),
        ])),
        entry(result("functions.Read:0", true)),
        entry(result("b", false)),
    ]);
    let cache = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "test-model", "max_tokens": 8192, "temperature": 1.0, "stream": true,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": cache}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "EqQ"},
                {"type": "tool_use", "id": "functions_Read_0", "name": "Read", "input": {"invalid_arguments": "oops"}},
                {"type": "tool_use", "id": "b", "name": "Read", "input": {"a": 1}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "functions_Read_0", "content": "text", "is_error": true},
                {"type": "tool_result", "tool_use_id": "b", "content": "text", "cache_control": cache},
            ]},
        ],
        "tools": [
            {"name": "Read", "description": "Read something", "input_schema": {"type": "object"}},
            {"name": "Bash", "description": "Bash something", "input_schema": {"type": "object"}, "cache_control": cache},
        ],
    });
    assert_eq!(sent(&asked), expected);
    for known in asked.history.iter() {
        known.wire(FORMAT, |_| panic!("this entry was not kept"));
    }
    asked.reasoning_format = ReasoningFormat::None;
    assert_eq!(sent(&asked)["messages"][1]["content"][0]["type"], "tool_use");
}

#[test]
fn a_message_is_never_empty() {
    let mut asked = request();
    asked.history = Arc::new(vec![
        entry(Message::User { text: "  ".into() }),
        entry(reply(vec![])),
        entry(Message::User { text: "go on".into() }),
    ]);
    let sent = sent(&asked);
    assert_eq!(sent["messages"][0]["content"][0]["text"], "(nothing)");
    assert_eq!(sent["messages"][1]["content"][0]["text"], "(nothing)");
    Arc::make_mut(&mut asked.history).clear();
    assert_eq!(super::tests::sent(&asked)["messages"], json!([]));
}

#[test]
fn thinking_has_a_budget_below_the_limit_and_no_temperature() {
    let mut asked = request();
    asked.temperature = Some(0.7);
    let mut thinking = |level: &str, max_tokens: u64| {
        asked.reasoning_level = ReasoningLevel::parse(level);
        asked.max_tokens = max_tokens;
        let sent = sent(&asked);
        let on = sent["thinking"]["type"] == "enabled";
        assert!(!on || sent.get("temperature").is_none());
        sent["thinking"].clone()
    };
    assert_eq!(thinking("auto", 8192), Value::Null);
    assert_eq!(thinking("off", 8192), json!({"type": "disabled"}));
    for (level, budget) in [("low", 2048), ("medium", 8192), ("high", 16384), ("maximum", 32768)] {
        let expected = json!({"type": "enabled", "budget_tokens": budget});
        assert_eq!(thinking(level, 64000), expected);
    }
    assert_eq!(thinking("maximum", 8192)["budget_tokens"], 6144);
    assert_eq!(thinking("raw:5000", 64000)["budget_tokens"], 5000);
    assert_eq!(thinking("raw:adaptive", 64000), json!({"type": "adaptive"}));
    assert_eq!(thinking("high", 1000), Value::Null);
}

#[test]
fn thinking_is_not_switched_on_between_a_call_and_its_result() {
    let mut asked = request();
    asked.reasoning_level = ReasoningLevel::High;
    let bash = || Part::Call(call("a", "Bash", json!({})));
    Arc::make_mut(&mut asked.history)
        .extend([entry(reply(vec![bash()])), entry(result("a", false))]);
    assert_eq!(sent(&asked)["thinking"], Value::Null);
    Arc::make_mut(&mut asked.history).splice(1..2, [entry(reply(vec![signed(), bash()]))]);
    assert_eq!(sent(&asked)["thinking"]["type"], "enabled");
}

#[tokio::test]
async fn models_are_listed_below_either_form_of_the_address() {
    let listing = json!({"data": [{"id": "claude-x", "display_name": "Claude X"}]});
    let server = Server::start(vec![Answer::json(&listing)]).await;
    for ending in ["", "/", "/v1", "/v1/messages"] {
        let mut instance = server.instance("anthropic");
        instance.base_url = Some(format!("{}{ending}", server.base_url));
        let models = crate::connect(instance).ok().unwrap().models().await.unwrap();
        assert_eq!(
            (models[0].id.as_str(), models[0].name.as_deref()),
            ("claude-x", Some("Claude X"))
        );
    }
    assert!(server.requests().iter().all(|sent| sent.starts_with("GET /v1/models ")));
}
