use contract::provider::Failure;

use super::*;
use crate::tests::conformance::{check, decode, origin};
use crate::tests::test_server::{Answer as Canned, Server, collect, entry, request, tools};

const RECORDING: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hm 漢\",\"thought\":true}],\"role\":\"model\"}}],\"responseId\":\"g1\"}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"I will \",\"thoughtSignature\":\"s1\"}]}}]}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"read 🦀.\"}]}}]}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"Read\",\"args\":{\"file_path\":\"x\"},\"id\":\"a\"},\"thoughtSignature\":\"s2\"},",
    "{\"functionCall\":{\"name\":\"Bash\",\"args\":{},\"id\":\"b\"}}]},\"finishReason\":\"STOP\"}],",
    "\"usageMetadata\":{\"promptTokenCount\":15,\"cachedContentTokenCount\":7,\"candidatesTokenCount\":30,\"thoughtsTokenCount\":20},\"responseId\":\"g1\"}\r\n\r\n",
);

fn call(id: &str, name: &str, args: Value, opaque: Option<Value>) -> ToolCall {
    ToolCall { id: CallId(id.into()), name: name.into(), args, opaque }
}

fn calls() -> [ToolCall; 2] {
    let signature = Some(json!({"thoughtSignature": "s2"}));
    [call("a", "Read", json!({"file_path": "x"}), signature), call("b", "Bash", json!({}), None)]
}

fn encoded(request: &Request) -> Value {
    serde_json::from_slice(&body(&Quirks::default(), request, &Memos::default())).unwrap()
}

#[tokio::test]
async fn streamed_reply_has_thoughts_text_calls_and_usage() {
    let server = Server::start(vec![Canned::events(RECORDING)]).await;
    let (deltas, error) = collect(&*server.provider("gemini"), request()).await;
    assert!(error.is_none(), "{error:?}");
    let [first, second] = calls();
    assert_eq!(
        deltas,
        [
            Delta::Thinking("Hm 漢".into()),
            Delta::ThinkingOpaque(json!({"thoughtSignature": "s1"})),
            Delta::Text("I will read 🦀.".into()),
            Delta::CallStarted { name: "Read".into() },
            Delta::Call(first),
            Delta::CallStarted { name: "Bash".into() },
            Delta::Call(second),
            Delta::Usage(Usage {
                input_tokens: 15,
                output_tokens: 50,
                reasoning_tokens: Some(20),
                cached_tokens: Some(7),
                generation_id: Some("g1".into()),
                ..Usage::default()
            }),
            Delta::Stopped(StopReason::ToolUse),
        ]
    );
    check(|| GeminiDecoder::new(origin()), RECORDING);
}

#[test]
fn signatures_go_back_with_their_parts() {
    let signed = Some(json!({"thoughtSignature": "s1"}));
    let mut parts = vec![
        Part::Thinking { text: "Hm".into(), opaque: signed },
        Part::Text { text: "I will.".into() },
    ];
    parts.extend(calls().map(Part::Call));
    let result = |id: &str, name: &str, is_error| {
        let (call, content) = (CallId(id.into()), "out".to_owned());
        entry(Message::Tool { call, name: name.into(), content, is_error })
    };
    let mut asked = request();
    asked.tools = tools();
    asked.history = Arc::new(vec![
        entry(Message::User { text: "hi".into() }),
        entry(Message::Assistant(Reply { parts, ..Reply::default() })),
        result("a", "Read", false),
        result("b", "Bash", true),
    ]);
    let body = encoded(&asked);
    assert_eq!(body["systemInstruction"]["parts"][0]["text"], "Be brief.");
    assert_eq!(body["tools"][0]["functionDeclarations"][1]["name"], "Bash");
    assert_eq!(
        body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [
                {"text": "I will.", "thoughtSignature": "s1"},
                {"functionCall": {"name": "Read", "args": {"file_path": "x"}},
                 "thoughtSignature": "s2"},
                {"functionCall": {"name": "Bash", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "Read", "response": {"output": "out"}}},
                {"functionResponse": {"name": "Bash", "response": {"error": "out"}}},
            ]},
        ])
    );
}

#[test]
fn thinking_level_or_budget_follows_the_model() {
    let config = |model: &str, level: &str| {
        let mut asked = request();
        asked.model = model.into();
        asked.reasoning_level = ReasoningLevel::parse(level);
        encoded(&asked)["generationConfig"]["thinkingConfig"].clone()
    };
    assert_eq!(config("gemini-3-pro", "auto"), json!({"includeThoughts": true}));
    assert_eq!(config("gemini-3-pro", "high")["thinkingLevel"], "high");
    assert_eq!(config("gemini-2.5-flash", "low")["thinkingBudget"], 2048);
    assert_eq!(config("gemini-2.5-flash", "off"), json!({"thinkingBudget": 0}));
}

#[test]
fn blocked_prompts_and_errors_are_explained() {
    let event = |text: &str| decode(GeminiDecoder::new(origin()), [text.as_bytes()]);
    let (deltas, _) = event("data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n");
    assert_eq!(deltas.last(), Some(&Delta::Stopped(StopReason::Refusal)));
    let (_, result) = event(
        "data: {\"error\":{\"code\":429,\"message\":\"quota\",\"status\":\"RESOURCE_EXHAUSTED\"}}\n\n",
    );
    assert_eq!(result.unwrap_err().kind, Failure::RateLimited(None));
}

#[test]
fn listed_model_must_be_able_to_answer() {
    let listed = json!({"name": "models/gemini-x", "displayName": "X", "inputTokenLimit": 100,
        "supportedGenerationMethods": ["generateContent"]});
    let found = model(&listed).unwrap();
    assert_eq!((found.id.as_str(), found.context), ("gemini-x", Some(100)));
    let embedding = json!({"name": "models/e", "supportedGenerationMethods": ["embedContent"]});
    assert_eq!(model(&embedding), None);
}
