use std::sync::Arc;

use contract::id::CallId;
use contract::message::{Message, Part, Reply, StopReason, ToolCall, Usage};
use contract::provider::{Delivery, Delta, Failure, ReasoningFormat, ReasoningLevel, Request};
use serde_json::{Value, json};

use super::decode::LineDecoder;
use super::encode::body;
use crate::body::Memos;
use crate::tests::conformance::{check, decode, origin};
use crate::tests::test_server::{Answer, Server, collect, entry, request, tools};

const RECORDING: &str = concat!(
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"Hm \"},\"done\":false}\n",
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"漢\"},\"done\":false}\n",
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"I will \"},\"done\":false}\r\n",
    "\n{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"read 🦀.\"},\"done\":false}\n",
    "{\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"Read\",\"arguments\":{\"file_path\":\"x\"}}},",
    "{\"id\":\"own\",\"function\":{\"name\":\"Bash\",\"arguments\":\"{}\"}}]},\"done\":false}\n",
    "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":11,\"eval_count\":7}\n",
);

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: CallId(id.into()), name: name.into(), args, opaque: None }
}

fn recorded() -> Vec<Delta> {
    vec![
        Delta::Thinking("Hm 漢".into()),
        Delta::Text("I will read 🦀.".into()),
        Delta::CallStarted { name: "Read".into() },
        Delta::Call(call("call_made_up", "Read", json!({"file_path": "x"}))),
        Delta::CallStarted { name: "Bash".into() },
        Delta::Call(call("own", "Bash", json!({}))),
        Delta::Usage(Usage { input_tokens: 11, output_tokens: 7, ..Usage::default() }),
        Delta::Stopped(StopReason::ToolUse),
    ]
}

#[test]
fn recording_survives_every_cut_and_chunking() {
    check(|| LineDecoder::new(origin()), RECORDING);
    let (deltas, result) = decode(LineDecoder::new(origin()), [RECORDING.as_bytes()]);
    result.unwrap();
    assert_eq!(deltas, recorded());
}

#[tokio::test]
async fn streamed_reply_arrives_over_http() {
    let headers = "content-type: application/x-ndjson\r\n";
    let server = Server::start(vec![Answer::new(200, headers, RECORDING)]).await;
    let (deltas, error) = collect(&*server.provider("ollama"), request()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(deltas.len(), recorded().len());
    assert_eq!(deltas[..2], recorded()[..2]);
    let sent = &server.requests()[0];
    assert!(sent.starts_with("POST /api/chat HTTP/1.1\r\n"), "{sent}");
    assert!(sent.contains("authorization: Bearer sk-test-key"));
}

#[tokio::test]
async fn a_whole_reply_is_one_object_even_over_several_lines() {
    let reply = json!({"message": {"content": "a", "thinking": "b"}, "done": true,
        "done_reason": "length", "prompt_eval_count": 1, "eval_count": 2});
    let pretty = serde_json::to_string_pretty(&reply).unwrap();
    let headers = "content-type: application/json\r\n";
    let server = Server::start(vec![Answer::new(200, headers, pretty)]).await;
    let asked = Request { delivery: Delivery::Whole, ..request() };
    let (deltas, error) = collect(&*server.provider("ollama"), asked).await;
    assert!(error.is_none(), "{error:?}");
    let expected = [
        Delta::Thinking("b".into()),
        Delta::Text("a".into()),
        Delta::Usage(Usage { input_tokens: 1, output_tokens: 2, ..Usage::default() }),
        Delta::Stopped(StopReason::MaxTokens),
    ];
    assert_eq!(deltas, expected);
    assert_eq!(server.last_body()["stream"], false);
}

#[test]
fn an_error_in_a_line_is_an_error() {
    let decoded = |text: &str| decode(LineDecoder::new(origin()), [text.as_bytes()]).1.unwrap_err();
    let missing = decoded("{\"error\":\"model 'x' not found, try pulling it first\"}\n");
    assert_eq!(missing.kind, Failure::NotFound);
    assert_eq!(decoded("{\"error\":\"cuda died\"}\n").kind, Failure::Unavailable(None));
    assert_eq!(decoded("oops\n").kind, Failure::Garbled);
    assert_eq!(decoded("").kind, Failure::Cut);
}

fn sent(request: &Request) -> Value {
    serde_json::from_slice(&body(&crate::catalog::Quirks::default(), request, &Memos::default()))
        .unwrap()
}

#[test]
fn request_has_object_arguments_and_named_results() {
    let mut asked = request();
    asked.tools = tools();
    asked.temperature = Some(0.5);
    asked.params = [("options".into(), json!({"num_ctx": 32768}))].into();
    Arc::make_mut(&mut asked.history).push(entry(Message::Assistant(Reply {
        parts: vec![
            Part::Thinking { text: "hm".into(), opaque: None },
            Part::Text { text: "a".into() },
            Part::Call(call("a", "Read", json!({"file_path": "x"}))),
        ],
        stop: StopReason::ToolUse,
    })));
    Arc::make_mut(&mut asked.history).push(entry(Message::Tool {
        call: CallId("a".into()),
        name: "Read".into(),
        content: "text".into(),
        is_error: false,
    }));
    let function = |name: &str| {
        json!({"type": "function", "function": {
            "name": name, "description": format!("{name} something"), "parameters": {"type": "object"}}})
    };
    let expected = json!({
        "model": "test-model", "stream": true,
        "options": {"num_predict": 8192, "temperature": 0.5, "num_ctx": 32768},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "a", "thinking": "hm",
             "tool_calls": [{"function": {"name": "Read", "arguments": {"file_path": "x"}}}]},
            {"role": "tool", "tool_name": "Read", "content": "text"},
        ],
        "tools": [function("Read"), function("Bash")],
    });
    assert_eq!(sent(&asked), expected);
    for known in asked.history.iter() {
        known.wire("ollama", |_| panic!("this entry was not kept"));
    }
    asked.reasoning_format = ReasoningFormat::ThinkingTags;
    let tags = sent(&asked)["messages"][2].clone();
    assert_eq!(tags["content"], "<thinking>\nhm\n</thinking>\n\na");
    assert_eq!(tags.get("thinking"), None);
    asked.reasoning_format = ReasoningFormat::None;
    assert_eq!(sent(&asked)["messages"][2].get("thinking"), None);
}

#[test]
fn thinking_is_a_level_for_one_family_only() {
    let mut asked = request();
    let mut think = |model: &str, level: &str| {
        asked.model = model.into();
        asked.reasoning_level = ReasoningLevel::parse(level);
        sent(&asked)["think"].clone()
    };
    assert_eq!(think("qwen3", "auto"), Value::Null);
    assert_eq!(think("qwen3", "off"), json!(false));
    assert_eq!(think("qwen3", "low"), json!(true));
    assert_eq!(think("qwen3", "raw:false"), json!(false));
    assert_eq!(think("gpt-oss:20b", "medium"), json!("medium"));
    assert_eq!(think("gpt-oss:20b", "maximum"), json!("high"));
    assert_eq!(think("gpt-oss:20b", "raw:extreme"), json!("extreme"));
}

#[tokio::test]
async fn models_are_listed_below_any_form_of_the_address() {
    let listing = json!({"models": [{"name": "llama3:latest", "size": 1}]});
    let server = Server::start(vec![Answer::json(&listing)]).await;
    let host = server.base_url.strip_prefix("http://").unwrap();
    for (base_url, path) in [
        (host.to_owned(), "/api/tags"),
        (format!("{host}/v1"), "/api/tags"),
        (format!("http://{host}/ollama/"), "/ollama/api/tags"),
    ] {
        let mut instance = server.instance("ollama");
        instance.base_url = Some(base_url.clone());
        let models = crate::connect(instance).ok().unwrap().models().await.unwrap();
        assert_eq!(models[0].id, "llama3:latest");
        let sent = server.requests();
        let sent = &sent[sent.len() - 2];
        assert!(sent.starts_with(&format!("GET {path} ")), "{base_url}: {sent}");
    }
}

#[tokio::test]
async fn running_model_reports_its_actual_context() {
    let installed = json!({"models": [
        {"name": "small:1b", "details": {"context_length": 131_072}},
        {"name": "large:9b", "details": {"context_length": 8192}},
    ]});
    let running = json!({"models": [{"name": "small:1b", "context_length": 4096}]});
    let server = Server::start(vec![Answer::json(&installed), Answer::json(&running)]).await;
    let models = crate::connect(server.instance("ollama")).ok().unwrap().models().await.unwrap();
    let contexts: Vec<_> = models.iter().map(|model| model.context).collect();
    assert_eq!(contexts, [Some(4096), Some(8192)]);
}
