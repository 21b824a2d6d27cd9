//! A conversation as Brynhild's Python providers know it.

use bytes::Bytes;
use contract::message::{Message, Reply, ToolCall};
use contract::provider::{ReasoningFormat, Request};
use serde_json::{Map, Value, json};

/// How past reasoning is sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echo {
    Field,
    Tags,
    Nothing,
}

impl Echo {
    /// Chooses by the configuration, or else by the provider's own default.
    fn choose(format: ReasoningFormat, default: Option<&str>) -> Self {
        match (format, default) {
            (ReasoningFormat::ReasoningField, _)
            | (ReasoningFormat::Auto, Some("reasoning_field")) => Self::Field,
            (ReasoningFormat::ThinkingTags, _) | (ReasoningFormat::Auto, Some("thinking_tags")) => {
                Self::Tags
            }
            (ReasoningFormat::Auto | ReasoningFormat::None, _) => Self::Nothing,
        }
    }

    fn format_key(self) -> &'static str {
        match self {
            Self::Field => "brynhild reasoning",
            Self::Tags => "brynhild <thinking>",
            Self::Nothing => "brynhild",
        }
    }
}

/// The conversation of a request as a JSON array. What earlier rounds have sent is not encoded
/// again.
pub(crate) fn messages(request: &Request, default_format: Option<&str>) -> Vec<u8> {
    let echo = Echo::choose(request.reasoning_format, default_format);
    let mut all = Vec::from(b"[");
    for (number, entry) in request.history.iter().enumerate() {
        if number > 0 {
            all.push(b',');
        }
        let encoded =
            entry.wire(echo.format_key(), |message| Bytes::from(encode(message, echo).to_string()));
        all.extend_from_slice(&encoded);
    }
    all.push(b']');
    all
}

/// The tools of a request; none where there are none.
pub(crate) fn tools(request: &Request) -> Value {
    if request.tools.is_empty() {
        return Value::Null;
    }
    let tool = |spec: &contract::tool::ToolSpec| {
        json!({
            "name": spec.name,
            "description": spec.description,
            "input_schema": spec.input_schema,
        })
    };
    Value::Array(request.tools.iter().map(|spec| tool(spec)).collect())
}

fn encode(message: &Message, echo: Echo) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant(reply) => assistant(reply, echo),
        Message::Tool { call, content, is_error, .. } => json!({
            "role": "tool_result",
            "tool_use_id": call,
            "content": content,
            "is_error": is_error,
        }),
    }
}

fn assistant(reply: &Reply, echo: Echo) -> Value {
    let thinking = reply.thinking();
    let mut text = reply.text();
    if echo == Echo::Tags && !thinking.is_empty() {
        text = format!("<thinking>\n{thinking}\n</thinking>\n\n{text}");
    }
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    message.insert("content".into(), json!(text));
    let calls: Vec<Value> = reply.calls().map(encode_call).collect();
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    if echo == Echo::Field && !thinking.is_empty() {
        message.insert("reasoning".into(), json!(thinking));
    }
    Value::Object(message)
}

fn encode_call(call: &ToolCall) -> Value {
    // A model's broken arguments must not break the provider as well.
    let arguments = if call.args.is_object() { call.args.to_string() } else { "{}".to_owned() };
    let mut value = json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    });
    if let Some(Value::Object(kept)) = call.opaque.as_ref().and_then(|it| it.get(ADDITIONS_KEY)) {
        for (name, extra) in kept {
            match (&mut value[name], extra) {
                (Value::Null, extra) => value[name] = extra.clone(),
                (Value::Object(own), Value::Object(extra)) => {
                    for (name, extra) in extra {
                        own.entry(name).or_insert_with(|| extra.clone());
                    }
                }
                _ => {}
            }
        }
    }
    value
}

/// The key under which a call keeps what its class adds to the usual form.
const ADDITIONS_KEY: &str = "tool_call";

/// The additions of a call's class to the usual form; none if it adds nothing.
pub(crate) fn additions(wire: &Value) -> Option<Value> {
    let mut extra = wire.as_object()?.clone();
    for usual in ["id", "type"] {
        extra.remove(usual);
    }
    if let Some(Value::Object(mut function)) = extra.remove("function") {
        function.remove("name");
        function.remove("arguments");
        if !function.is_empty() {
            extra.insert("function".to_owned(), Value::Object(function));
        }
    }
    (!extra.is_empty()).then(|| json!({ ADDITIONS_KEY: extra }))
}

#[cfg(test)]
mod tests {
    use contract::id::CallId;
    use contract::message::Part;

    use super::*;

    fn call(opaque: Option<Value>) -> ToolCall {
        ToolCall { id: CallId("c".into()), name: "t".into(), args: json!({"a": 1}), opaque }
    }

    #[test]
    fn messages_have_the_shape_of_python_providers() {
        let reply = Reply {
            parts: vec![
                Part::Thinking { text: "hm".into(), opaque: None },
                Part::Text { text: "hi".into() },
                Part::Call(call(None)),
            ],
            ..Reply::default()
        };
        let encoded = encode(&Message::Assistant(reply.clone()), Echo::Field);
        assert_eq!(
            encoded,
            json!({
                "role": "assistant", "content": "hi", "reasoning": "hm",
                "tool_calls": [{"id": "c", "type": "function",
                                "function": {"name": "t", "arguments": "{\"a\":1}"}}],
            })
        );
        let tagged = encode(&Message::Assistant(reply), Echo::Tags);
        assert_eq!(tagged["content"], "<thinking>\nhm\n</thinking>\n\nhi");
        let result = Message::Tool {
            call: CallId("c".into()),
            name: "t".into(),
            content: "out".into(),
            is_error: true,
        };
        assert_eq!(
            encode(&result, Echo::Nothing),
            json!({"role": "tool_result", "tool_use_id": "c", "content": "out", "is_error": true})
        );
    }

    #[test]
    fn additions_of_a_provider_to_a_call_are_returned() {
        let wire = json!({
            "id": "x", "type": "function", "thought_signature": "s",
            "function": {"name": "t", "arguments": "{}", "strict": true},
        });
        let opaque = additions(&wire).unwrap();
        let encoded = encode_call(&call(Some(opaque)));
        assert_eq!(encoded["thought_signature"], "s");
        assert_eq!(encoded["function"]["strict"], true);
        assert_eq!(
            (&encoded["id"], &encoded["function"]["arguments"]),
            (&json!("c"), &json!("{\"a\":1}"))
        );
        assert_eq!(
            additions(
                &json!({"id": "x", "type": "function", "function": {"name": "t", "arguments": "{}"}})
            ),
            None
        );
    }
}
