use contract::message::{Message, Part, Reply};
use contract::provider::{Failure, ReasoningLevel};

use super::*;
use crate::catalog::vendor;
use crate::reply::Decoder;
use crate::tests::conformance::{check, decode, origin};
use crate::tests::test_server::{entry, request, tools};

const RECORDING: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}}\n\n",
    "data: {\"type\":\"response.reasoning_summary_part.added\",\"summary_index\":0}\n\n",
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"Hm 漢\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"encrypted_content\":\"xx\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Hm 漢\"}],\"status\":null}}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"delta\":\"I will \"}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"delta\":\"read 🦀.\"}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"name\":\"Read\",\"call_id\":\"a\",\"arguments\":\"\"}}\n\n",
    "data: {\"type\":\"response.function_call_arguments.delta\",\"delta\":\"{\\\"file_\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"name\":\"Read\",\"call_id\":\"a\",\"arguments\":\"{\\\"file_path\\\":\\\"x\\\"}\"}}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"usage\":",
    "{\"input_tokens\":15,\"input_tokens_details\":{\"cached_tokens\":7},\"output_tokens\":50,\"output_tokens_details\":{\"reasoning_tokens\":20}}}}\n\n",
);

fn opaque() -> Value {
    let summary = json!([{"type": "summary_text", "text": "Hm 漢"}]);
    json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "xx", "summary": summary})
}

fn call() -> ToolCall {
    let args = json!({"file_path": "x"});
    ToolCall { id: CallId("a".into()), name: "Read".into(), args, opaque: None }
}

fn content() -> Vec<Delta> {
    vec![
        Delta::Thinking("Hm 漢".into()),
        Delta::ThinkingOpaque(opaque()),
        Delta::Text("I will read 🦀.".into()),
        Delta::CallStarted { name: "Read".into() },
        Delta::Call(call()),
        Delta::Usage(Usage {
            input_tokens: 15,
            output_tokens: 50,
            reasoning_tokens: Some(20),
            cached_tokens: Some(7),
            generation_id: Some("resp_1".into()),
            ..Usage::default()
        }),
        Delta::Stopped(StopReason::ToolUse),
    ]
}

fn encoded(request: &Request) -> Value {
    let quirks = &vendor("openai").unwrap().quirks;
    serde_json::from_slice(&body(quirks, request, &Memos::default())).unwrap()
}

#[test]
fn streamed_reply_has_reasoning_text_calls_and_usage() {
    let (deltas, result) = decode(ResponsesDecoder::new(origin()), [RECORDING.as_bytes()]);
    assert!(result.is_ok());
    assert_eq!(deltas, content());
    check(|| ResponsesDecoder::new(origin()), RECORDING);
}

#[test]
fn whole_reply_equals_the_streamed_one() {
    let message = json!({"type": "message", "content": [
        {"type": "output_text", "text": "I will read 🦀."},
    ]});
    let called = json!({"type": "function_call", "call_id": "a", "name": "Read",
        "arguments": "{\"file_path\":\"x\"}"});
    let usage = json!({"input_tokens": 15, "input_tokens_details": {"cached_tokens": 7},
        "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 20}});
    let body = json!({"id": "resp_1", "error": null, "output": [opaque(), message, called],
        "usage": usage});
    let mut deltas = Deltas::default();
    ResponsesDecoder::new(origin()).whole(body.to_string().as_bytes(), &mut deltas).unwrap();
    let mut expected = content();
    expected.remove(3);
    assert_eq!(deltas.drain(), expected);
}

#[test]
fn incomplete_and_failed_responses_are_told_apart() {
    let event = |text: &str| decode(ResponsesDecoder::new(origin()), [text.as_bytes()]);
    let (deltas, _) = event(
        "data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":\
         {\"reason\":\"max_output_tokens\"}}}\n\n",
    );
    assert_eq!(deltas, [Delta::Stopped(StopReason::MaxTokens)]);
    let (_, result) = event(
        "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\
         \"rate_limit_exceeded\",\"message\":\"slow down\"}}}\n\n",
    );
    assert_eq!(result.unwrap_err().kind, Failure::RateLimited(None));
    let (_, result) = event("data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n");
    assert_eq!(result.unwrap_err().kind, Failure::Cut);
}

#[test]
fn history_goes_back_as_items_with_reasoning() {
    let parts = vec![
        Part::Thinking { text: "Hm".into(), opaque: Some(opaque()) },
        Part::Thinking { text: "foreign".into(), opaque: Some(json!({"type": "thinking"})) },
        Part::Text { text: "I will.".into() },
        Part::Call(call()),
    ];
    let result = Message::Tool {
        call: CallId("a".into()),
        name: "Read".into(),
        content: "text".into(),
        is_error: false,
    };
    let mut asked = request();
    asked.model = "gpt-5.1".into();
    asked.temperature = Some(0.5);
    asked.reasoning_level = ReasoningLevel::Maximum;
    asked.tools = tools();
    asked.history = Arc::new(vec![
        entry(Message::User { text: "hi".into() }),
        entry(Message::Assistant(Reply { parts, ..Reply::default() })),
        entry(result),
    ]);
    let body = encoded(&asked);
    assert_eq!(body["instructions"], "Be brief.");
    assert_eq!(body["reasoning"], json!({"effort": "xhigh", "summary": "auto"}));
    assert_eq!((&body["store"], body.get("temperature")), (&json!(false), None));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["tools"][0]["name"], "Read");
    let kinds: Vec<_> = body["input"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["message", "reasoning", "message", "function_call", "function_call_output"]);
    assert_eq!(body["input"][1], opaque());
    assert_eq!(
        body["input"][4],
        json!({
            "type": "function_call_output", "call_id": "a", "output": "text",
        })
    );
}

#[test]
fn reasoning_without_words_is_followed_by_a_message() {
    let parts = vec![Part::Thinking { text: "Hm".into(), opaque: Some(opaque()) }];
    let mut asked = request();
    asked.history = Arc::new(vec![entry(Message::Assistant(Reply { parts, ..Reply::default() }))]);
    let body = encoded(&asked);
    assert_eq!(body["input"][1]["content"][0]["text"], "(nothing)");
    assert_eq!(body.get("reasoning"), None, "the model is not known to reason");
}
