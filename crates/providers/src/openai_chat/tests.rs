use std::sync::Arc;

use contract::id::CallId;
use contract::message::{Message, Part, Reply, StopReason, ToolCall, Usage};
use contract::provider::{Delivery, Delta, Failure, ReasoningFormat, ReasoningLevel};
use serde_json::{Value, json};

use super::decode::ChatDecoder;
use super::encode::{Address, Echo, body};
use crate::body::Memos;
use crate::catalog::{Quirks, vendor};
use crate::reply::{Decoder, Deltas};
use crate::tests::conformance::{check, decode, origin};
use crate::tests::test_server::{Answer, Server, collect, entry, request, tools};

const RECORDING: &str = concat!(
    ": OPENROUTER PROCESSING\n\n",
    "data: {\"id\":\"gen-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",",
    "\"reasoning\":\"Let me \",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"Let me \",\"index\":0}]}}]}\n\n",
    "data: {\"id\":\"gen-1\",\"choices\":[{\"delta\":{\"reasoning\":\"look 漢🦀\",",
    "\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"look 漢🦀\",\"signature\":\"sig\",\"index\":0}]}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"I will \"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"read \\ud83e\\udd80.\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",",
    "\"function\":{\"name\":\"Read\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"file_\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"Bash\",\"arguments\":\"{}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"path\\\":\\\"x\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"cost\":0.25,",
    "\"prompt_tokens_details\":{\"cached_tokens\":4},\"completion_tokens_details\":{\"reasoning_tokens\":3}}}\n\n",
    "data: [DONE]\n\n",
);

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: CallId(id.into()), name: name.into(), args, opaque: None }
}

fn recorded() -> Vec<Delta> {
    vec![
        Delta::Thinking("Let me look 漢🦀".into()),
        Delta::ThinkingOpaque(json!([
            {"type": "reasoning.text", "text": "Let me look 漢🦀", "index": 0, "signature": "sig"},
            "reasoning"
        ])),
        Delta::Text("I will read 🦀.".into()),
        Delta::CallStarted { name: "Read".into() },
        Delta::CallStarted { name: "Bash".into() },
        Delta::Call(call("a", "Read", json!({"file_path": "x"}))),
        Delta::Call(call("b", "Bash", json!({}))),
        Delta::Usage(Usage {
            input_tokens: 10,
            output_tokens: 5,
            reasoning_tokens: Some(3),
            cached_tokens: Some(4),
            cache_write_tokens: None,
            cost_usd: Some(0.25),
            generation_id: Some("gen-1".into()),
            ..Usage::default()
        }),
        Delta::Stopped(StopReason::ToolUse),
    ]
}

fn events(lines: &[&str]) -> (Vec<Delta>, Result<(), contract::provider::ProviderError>) {
    let text = lines.iter().fold(String::new(), |text, line| text + &format!("data: {line}\n\n"));
    decode(ChatDecoder::new(origin()), [text.as_bytes()])
}

#[tokio::test]
async fn streamed_reply_has_reasoning_text_calls_and_usage() {
    let server = Server::start(vec![Answer::events(RECORDING)]).await;
    let (deltas, error) = collect(&*server.provider("openrouter"), request()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(deltas, recorded());
    let sent = &server.requests()[0];
    assert!(sent.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{sent}");
    for header in ["authorization: Bearer sk-test-key", "x-title: Brynhild"] {
        assert!(sent.contains(header), "{header}");
    }
}

#[test]
fn recording_survives_every_cut_and_chunking() {
    check(|| ChatDecoder::new(origin()), RECORDING);
}

#[tokio::test]
async fn whole_reply_equals_a_streamed_one() {
    let reply = json!({"id": "gen-1", "choices": [{"message": {
        "content": "I will read 🦀.", "reasoning": "Let me look 漢🦀",
        "reasoning_details": [{"type": "reasoning.text", "text": "Let me look 漢🦀", "index": 0, "signature": "sig"}],
        "tool_calls": [
            {"id": "a", "function": {"name": "Read", "arguments": "{\"file_path\":\"x\"}"}},
            {"id": "b", "function": {"name": "Bash", "arguments": {}}},
        ]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 3}}});
    let server = Server::start(vec![Answer::json(&reply)]).await;
    for delivery in [Delivery::Whole, Delivery::Streamed] {
        let asked = contract::provider::Request { delivery, ..request() };
        let (deltas, error) = collect(&*server.provider("openai"), asked).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(deltas, recorded());
    }
    let mut deltas = Deltas::default();
    let nothing = ChatDecoder::new(origin()).whole(b"{\"choices\":[]}", &mut deltas);
    assert_eq!(nothing.unwrap_err().kind, Failure::Garbled);
}

#[test]
fn stream_without_a_finish_reason_or_done_is_cut() {
    let text = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let complete = [Delta::Text("a".into()), Delta::Stopped(StopReason::EndTurn)];
    assert_eq!(events(&[text, stop]).0, complete);
    assert_eq!(events(&[text, "[DONE]"]).0, complete);
    assert_eq!(events(&[text, stop, "[DONE]", "[DONE]", text, "junk"]).0, complete);
    let (deltas, result) = events(&[text]);
    assert_eq!(deltas, complete[..1]);
    assert_eq!(result.unwrap_err().kind, Failure::Cut);
}

#[test]
fn an_error_inside_a_stream_is_an_error() {
    let (_, result) = events(&[
        r#"{"choices":[{"delta":{"content":"a"}}]}"#,
        r#"{"error":{"code":502,"message":"upstream died"},"choices":[{"delta":{},"finish_reason":"error"}]}"#,
    ]);
    let error = result.unwrap_err();
    assert_eq!(error.kind, Failure::Unavailable(None));
    assert!(error.message.contains("upstream died"));
    assert_eq!(events(&["{oops"]).1.unwrap_err().kind, Failure::Garbled);
}

#[test]
fn calls_are_separated_under_any_numbering() {
    let same_index = r#"{"choices":[{"delta":{"tool_calls":[
        {"index":0,"id":"a","function":{"name":"Read","arguments":"{\"n\":1}"}},
        {"index":0,"id":"b","function":{"name":"Read","arguments":"{\"n\":2}"}}]}}]}"#;
    let no_index = r#"{"choices":[{"delta":{"tool_calls":[
        {"id":"a","function":{"name":"Read","arguments":"{\"n\":"}},{"function":{"arguments":"1}"}},
        {"id":"b","function":{"name":"Read","arguments":"{\"n\":2}"}}]}}]}"#;
    for chunk in [same_index, no_index] {
        let (deltas, _) = events(&[&chunk.replace('\n', ""), "[DONE]"]);
        assert_eq!(deltas[2], Delta::Call(call("a", "Read", json!({"n": 1}))));
        assert_eq!(deltas[3], Delta::Call(call("b", "Read", json!({"n": 2}))));
        assert_eq!(deltas[4], Delta::Stopped(StopReason::ToolUse));
    }
    let missing =
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"Read"}}]}}]}"#;
    let (deltas, _) = events(&[missing, "[DONE]"]);
    assert_eq!(deltas[1], Delta::Call(call("call_made_up", "Read", json!({}))));
}

#[test]
fn invalid_json_arguments_stay_text() {
    let piece = |arguments: &str, reason: &str| {
        let call =
            json!({"index": 0, "id": "a", "function": {"name": "Read", "arguments": arguments}});
        let chunk =
            json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": reason}]});
        events(&[&chunk.to_string()]).0[1].clone()
    };
    let broken = piece("{\"a\": tru", "tool_calls");
    assert_eq!(broken, Delta::Call(call("a", "Read", json!("{\"a\": tru"))));
    // A call that the limit on the reply may have cut is not one without arguments.
    assert_eq!(piece("", "length"), Delta::Call(call("a", "Read", json!(""))));
}

#[test]
fn split_names_and_legacy_calls_are_calls() {
    let started = |name: &str| Delta::CallStarted { name: name.into() };
    for (name, more) in [("Re", "ad"), ("Read", "Read"), ("Re", "Read")] {
        let (mut deltas, _) = events(&[
            &json!({"choices": [{"delta": {"tool_calls": [
                {"index": 0, "id": "a", "function": {"name": name, "arguments": ""}}]}}]})
            .to_string(),
            &json!({"choices": [{"delta": {"tool_calls": [
                {"index": 0, "function": {"name": more}}]}}]})
            .to_string(),
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
        ]);
        deltas.truncate(2);
        assert_eq!(deltas, [started("Read"), Delta::Call(call("a", "Read", json!({})))]);
    }
    let (deltas, _) = events(&[
        r#"{"choices":[{"delta":{"content":null,"function_call":{"name":"Read","arguments":""}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"{\"file_path\":"}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"\"x\"}"}},"finish_reason":"function_call"}]}"#,
    ]);
    assert_eq!(deltas[0], started("Read"));
    let Delta::Call(called) = &deltas[1] else { panic!("{deltas:?}") };
    assert_eq!((called.name.as_str(), &called.args), ("Read", &json!({"file_path": "x"})));
    assert!(!called.id.as_str().is_empty());
}

#[test]
fn unusual_content_shapes_are_read() {
    let (deltas, _) = events(&[
        r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"x","reasoning":"x","content":null,"tool_calls":null}}]}"#,
        r#"{"choices":[{"delta":{"content":"\ud83e"}},{"index":1,"delta":{"content":"other"}}]}"#,
        r#"{"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}],"usage":null}"#,
    ]);
    let expected = [
        Delta::Thinking("hm".into()),
        Delta::Text("a".into()),
        Delta::Thinking("x".into()),
        Delta::ThinkingOpaque(json!(["reasoning"])),
        Delta::Text("\u{fffd}no".into()),
        Delta::Stopped(StopReason::Refusal),
    ];
    assert_eq!(deltas, expected);
}

fn reply() -> Reply {
    let opaque = Some(json!([{"type": "reasoning.encrypted", "data": "zz"}]));
    let mut read = call("a", "Read", json!({"file_path": "x"}));
    read.opaque = Some(json!({"extra_content": {"google": {"thought_signature": "s"}}}));
    Reply {
        parts: vec![
            Part::Thinking { text: "hm".into(), opaque },
            Part::Call(read),
            Part::Call(call("b", "Bash", json!("ls -"))),
        ],
        stop: StopReason::ToolUse,
    }
}

fn sent(quirks: &Quirks, request: &contract::provider::Request) -> Value {
    serde_json::from_slice(&body(quirks, Address::Vendor, request, &Memos::default())).unwrap()
}

#[test]
fn request_has_conversation_tools_and_vendor_fields() {
    let mut asked = request();
    Arc::make_mut(&mut asked.history).push(entry(Message::Assistant(reply())));
    Arc::make_mut(&mut asked.history).push(entry(Message::Tool {
        call: CallId("a".into()),
        name: "Read".into(),
        content: "text".into(),
        is_error: false,
    }));
    asked.tools = tools();
    asked.temperature = Some(0.5);
    asked.params = [
        ("top_p".into(), json!(0.9)),
        ("provider".into(), json!({"sort": "price"})),
        ("messages".into(), json!("mine")),
    ]
    .into();
    let sent = sent(&vendor("openrouter").unwrap().quirks, &asked);
    let expected = json!({
        "model": "test-model", "max_tokens": 8192, "temperature": 0.5, "top_p": 0.9,
        "include_reasoning": true, "provider": {"data_collection": "deny", "sort": "price"},
        "stream": true, "stream_options": {"include_usage": true}, "tool_choice": "auto",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "reasoning": "hm",
             "reasoning_details": [{"type": "reasoning.encrypted", "data": "zz"}],
             "tool_calls": [
                {"id": "a", "type": "function", "extra_content": {"google": {"thought_signature": "s"}},
                 "function": {"name": "Read", "arguments": "{\"file_path\":\"x\"}"}},
                {"id": "b", "type": "function",
                 "function": {"name": "Bash", "arguments": "{\"invalid_arguments\":\"ls -\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "text"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "Read", "description": "Read something", "parameters": {"type": "object"}}},
            {"type": "function", "function": {"name": "Bash", "description": "Bash something", "parameters": {"type": "object"}}},
        ],
    });
    assert_eq!(sent, expected);
}

#[test]
fn past_reasoning_is_sent_in_the_configured_form() {
    let mut asked = request();
    asked.history = Arc::new(vec![entry(Message::Assistant(reply()))]);
    let mut message = |vendor_name: &str, format: ReasoningFormat| {
        asked.reasoning_format = format;
        sent(&vendor(vendor_name).unwrap().quirks, &asked)["messages"][1].clone()
    };
    assert_eq!(message("deepseek", ReasoningFormat::Auto)["reasoning_content"], "hm");
    assert_eq!(message("openai", ReasoningFormat::Auto).get("reasoning"), None);
    let field = message("openai", ReasoningFormat::ReasoningField);
    assert_eq!((&field["reasoning"], field.get("reasoning_details")), (&json!("hm"), None));
    assert_eq!(message("openrouter", ReasoningFormat::None).get("reasoning"), None);
    let tags = message("openrouter", ReasoningFormat::ThinkingTags);
    assert_eq!(tags["content"], "<thinking>\nhm\n</thinking>\n\n");
    assert_eq!(tags.get("reasoning"), None);
}

#[test]
fn reasoning_levels_use_the_names_of_the_vendor() {
    let mut asked = request();
    let mut level = |vendor_name: &str, level: &str| {
        asked.reasoning_level = ReasoningLevel::parse(level);
        let sent = sent(&vendor(vendor_name).unwrap().quirks, &asked);
        (sent["reasoning"].clone(), sent["reasoning_effort"].clone())
    };
    assert_eq!(level("openrouter", "auto"), (Value::Null, Value::Null));
    assert_eq!(level("openrouter", "off").0, json!({"effort": "none"}));
    assert_eq!(level("openrouter", "maximum").0, json!({"effort": "xhigh"}));
    assert_eq!(level("openrouter", "raw:minimal").0, json!({"effort": "minimal"}));
    assert_eq!(level("openai", "medium").1, json!("medium"));
    assert_eq!(level("mistral", "high"), (Value::Null, Value::Null));
    asked.delivery = Delivery::Whole;
    let whole = sent(&vendor("openai").unwrap().quirks, &asked);
    assert_eq!(whole["max_completion_tokens"], 8192);
    assert_eq!((&whole["stream"], whole.get("stream_options")), (&json!(false), None));
}

#[test]
fn usage_is_found_in_every_vendor_format() {
    let told = |chunk: Value| {
        let text = format!("data: {chunk}\n\ndata: [DONE]\n\n");
        let (deltas, _) = decode(ChatDecoder::new(origin()), [text.as_bytes()]);
        deltas.into_iter().find_map(|delta| match delta {
            Delta::Usage(usage) => Some((usage.input_tokens, usage.output_tokens)),
            _ => None,
        })
    };
    let done = |more: Value| {
        let mut chunk = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
        chunk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        chunk
    };
    let usage = json!({"prompt_tokens": 1000.0, "completion_tokens": 50});
    assert_eq!(told(done(json!({"usage": usage}))), Some((1000, 50)));
    assert_eq!(told(done(json!({"x_groq": {"usage": usage}}))), Some((1000, 50)));
    let among = json!({"choices": [{"delta": {}, "finish_reason": "stop", "usage": usage}]});
    assert_eq!(told(among), Some((1000, 50)));
    let beside = json!({"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1350});
    assert_eq!(told(done(json!({"usage": beside}))), Some((1000, 350)));
    let absurd = json!({"prompt_tokens": -4, "completion_tokens": 50});
    assert_eq!(told(done(json!({"usage": absurd}))), Some((0, 50)));
}

#[test]
fn call_ids_meet_the_limits_of_the_vendor() {
    let quirks = &vendor("mistral").unwrap().quirks;
    let mut asked = request();
    let calls = ["functions.Read:0", "recovered-da067d4054b5", "abcDEF123"];
    let parts = calls.map(|id| Part::Call(call(id, "Read", json!({}))));
    let reply = Reply { parts: parts.into(), ..Reply::default() };
    let history = Arc::make_mut(&mut asked.history);
    history.push(entry(Message::Assistant(reply)));
    for id in calls {
        let content = "x".to_owned();
        history.push(entry(Message::Tool {
            call: CallId(id.into()),
            name: "Read".into(),
            content,
            is_error: false,
        }));
    }
    history.push(entry(Message::Assistant(Reply::default())));
    let sent = sent(quirks, &asked);
    let messages = sent["messages"].as_array().unwrap();
    let ids: Vec<&Value> = messages
        .iter()
        .filter_map(|it| it["tool_calls"].as_array())
        .flatten()
        .map(|it| &it["id"])
        .collect();
    let answered: Vec<&Value> = messages.iter().filter_map(|it| it.get("tool_call_id")).collect();
    assert_eq!(ids, answered);
    assert_eq!(ids[2], "abcDEF123");
    for id in ids {
        let id = id.as_str().unwrap();
        assert!(id.len() == 9 && id.bytes().all(|it| it.is_ascii_alphanumeric()), "{id}");
    }
    assert_eq!(messages.last().unwrap()["content"], "(nothing)");
}

#[test]
fn an_entry_is_encoded_once_and_used_again() {
    let quirks = &vendor("openrouter").unwrap().quirks;
    let mut asked = request();
    Arc::make_mut(&mut asked.history).push(entry(Message::Assistant(reply())));
    let first = body(quirks, Address::Vendor, &asked, &Memos::default());
    let key = Echo::choose(quirks, Address::Vendor, ReasoningFormat::Auto).format_key();
    for known in asked.history.iter() {
        known.wire(&key, |_| panic!("this entry was not kept"));
    }
    assert_eq!(body(quirks, Address::Vendor, &asked, &Memos::default()), first);
}

#[tokio::test]
async fn models_are_listed_with_their_known_properties() {
    let listing = json!({"data": [
        {"id": "a/b", "name": "A: B", "context_length": 1000, "supported_parameters": ["tools"],
         "pricing": {"prompt": "0.0000015", "completion": "0.000002"}},
        {"id": "c", "max_model_len": 5, "pricing": {"prompt": "-1"}},
        {"broken": true},
    ]});
    let server = Server::start(vec![Answer::json(&listing), Answer::json(&json!({"x": 1}))]).await;
    let models = server.provider("openrouter").models().await.unwrap();
    assert!(server.requests()[0].starts_with("GET /v1/models "));
    assert_eq!(models.len(), 2);
    assert_eq!((models[0].context, models[0].tools), (Some(1000), Some(true)));
    assert!((models[0].input_price.unwrap() - 1.5).abs() < 1e-9);
    assert!((models[0].output_price.unwrap() - 2.0).abs() < 1e-9);
    assert_eq!((models[1].context, models[1].input_price, models[1].tools), (Some(5), None, None));
    let error = server.provider("openrouter").models().await.unwrap_err();
    assert_eq!(error.kind, Failure::Garbled);
}
