//! A provider's events, made into the pieces of a reply.

use std::collections::VecDeque;

use contract::id::CallId;
use contract::message::{StopReason, ToolCall, Usage};
use contract::provider::Delta;
use serde::Deserialize;
use serde_json::Value;

use crate::conversation::additions;

/// An event as a worker passes it on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Event {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    tool_use: Option<ToolUse>,
    tool_input_delta: Option<String>,
    usage: Option<Value>,
    error: Option<String>,
    stop_reason: Option<String>,
}

/// A whole answer as a worker passes it on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Response {
    content: Option<Value>,
    stop_reason: Option<String>,
    usage: Option<Value>,
    tool_uses: Vec<ToolUse>,
    thinking: Option<String>,
}

/// A request to run a tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ToolUse {
    id: Option<String>,
    name: String,
    input: Value,
    wire: Value,
}

/// Gathers events into deltas.
#[derive(Debug, Default)]
pub(crate) struct ReplyBuilder {
    deltas: VecDeque<Delta>,
    /// A call whose arguments may still be coming.
    open: Option<ToolUse>,
    arguments: String,
    calls: Vec<ToolUse>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    has_spoken: bool,
    /// True if the provider said that something of the reply is over.
    is_closed: bool,
}

impl ReplyBuilder {
    /// Takes an event; an error that the provider reports ends the reply.
    pub(crate) fn take(&mut self, event: Event) -> Result<(), String> {
        if let Some(usage) = event.usage.as_ref().and_then(read_usage) {
            self.count(usage);
        }
        if let Some(reason) = event.stop_reason.as_deref() {
            self.stop = Some(stop_reason(reason));
        }
        let closes = matches!(event.kind.as_str(), "content_stop" | "message_stop");
        self.is_closed |= closes || event.stop_reason.is_some();
        match event.kind.as_str() {
            "text_delta" => {
                self.close();
                self.say(event.text, Delta::Text);
            }
            "thinking_delta" => self.say(event.thinking.or(event.text), Delta::Thinking),
            "tool_use_start" => {
                self.close();
                if let Some(tool_use) = event.tool_use {
                    self.deltas.push_back(Delta::CallStarted { name: tool_use.name.clone() });
                    self.open = Some(tool_use);
                }
            }
            "tool_use_delta" => {
                self.arguments.push_str(event.tool_input_delta.as_deref().unwrap_or_default());
            }
            "content_stop" => self.stop_content(event.tool_use),
            "message_stop" => {
                self.close();
                self.has_spoken = true;
                self.stop.get_or_insert(StopReason::EndTurn);
            }
            "error" => {
                let words = event.error.or(event.text);
                return Err(words.unwrap_or_else(|| "the provider reports an error".to_owned()));
            }
            // Beginnings and what is not known bring nothing of their own.
            _ => {}
        }
        Ok(())
    }

    /// Takes a whole answer.
    pub(crate) fn take_whole(&mut self, response: Response) {
        self.say(response.thinking, Delta::Thinking);
        let text = match response.content {
            Some(Value::String(text)) => Some(text),
            Some(Value::Array(blocks)) => Some(
                blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<String>(),
            ),
            _ => None,
        };
        self.say(text, Delta::Text);
        for tool_use in response.tool_uses {
            self.call(tool_use);
        }
        if let Some(usage) = response.usage.as_ref().and_then(read_usage) {
            self.count(usage);
        }
        self.stop = response.stop_reason.as_deref().map(stop_reason);
        self.has_spoken = true;
    }

    /// The next piece that is ready.
    pub(crate) fn pop(&mut self) -> Option<Delta> {
        self.deltas.pop_front()
    }

    /// Returns true if the provider said that the reply, or a part of it, is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Ends the reply. False where the provider has said nothing at all.
    pub(crate) fn finish(&mut self) -> bool {
        self.close();
        if !self.has_spoken && self.stop.is_none() {
            return false;
        }
        if let Some(usage) = self.usage.take() {
            self.deltas.push_back(Delta::Usage(usage));
        }
        let by_itself =
            if self.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        let stop = match self.stop.take() {
            // A reply with calls wants them run, whatever word the provider has for its end.
            Some(StopReason::EndTurn) | None => by_itself,
            Some(reason) => reason,
        };
        self.deltas.push_back(Delta::Stopped(stop));
        true
    }

    fn say(&mut self, text: Option<String>, delta: fn(String) -> Delta) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.has_spoken = true;
            self.deltas.push_back(delta(text));
        }
    }

    fn stop_content(&mut self, whole: Option<ToolUse>) {
        let Some(whole) = whole else { return self.close() };
        let is_same = |open: &ToolUse| open.id == whole.id && open.name == whole.name;
        if self.open.as_ref().is_some_and(is_same) {
            self.open = None;
            // The pieces of the input are used if the complete call has none.
            let has_input = whole.input.as_object().is_some_and(|input| !input.is_empty());
            if !has_input && !self.arguments.is_empty() {
                self.open = Some(whole);
                return self.close();
            }
            self.arguments.clear();
        }
        self.close();
        self.call(whole);
    }

    /// Ends the call that is open.
    fn close(&mut self) {
        let arguments = std::mem::take(&mut self.arguments);
        if let Some(mut open) = self.open.take() {
            if !arguments.trim().is_empty() {
                open.input = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
            }
            self.call(open);
        }
    }

    fn call(&mut self, tool_use: ToolUse) {
        let is_same = |other: &ToolUse| {
            other.id == tool_use.id && other.name == tool_use.name && other.input == tool_use.input
        };
        // Some providers announce a call and repeat it at its end.
        if tool_use.name.is_empty() || (tool_use.id.is_some() && self.calls.iter().any(is_same)) {
            return;
        }
        self.has_spoken = true;
        let id = tool_use.id.clone().filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| format!("call_{}", self.calls.len() + 1));
        let args = match &tool_use.input {
            Value::Null => Value::Object(serde_json::Map::new()),
            input => input.clone(),
        };
        let opaque = additions(&tool_use.wire);
        let name = tool_use.name.clone();
        self.deltas.push_back(Delta::Call(ToolCall { id: CallId(id), name, args, opaque }));
        self.calls.push(tool_use);
    }

    /// Later numbers replace earlier ones if they are not zero.
    fn count(&mut self, usage: Usage) {
        let known = self.usage.take().unwrap_or_default();
        let number = |later: u64, earlier: u64| if later > 0 { later } else { earlier };
        self.usage = Some(Usage {
            input_tokens: number(usage.input_tokens, known.input_tokens),
            output_tokens: number(usage.output_tokens, known.output_tokens),
            reasoning_tokens: usage.reasoning_tokens.or(known.reasoning_tokens),
            cached_tokens: usage.cached_tokens.or(known.cached_tokens),
            cache_write_tokens: usage.cache_write_tokens.or(known.cache_write_tokens),
            cost_usd: usage.cost_usd.or(known.cost_usd),
            generation_id: usage.generation_id.or(known.generation_id),
            ..Usage::default()
        });
    }
}

fn read_usage(value: &Value) -> Option<Usage> {
    let fields = value.as_object()?;
    let number = |name: &str| fields.get(name).and_then(Value::as_u64);
    let details = fields.get("details").unwrap_or(&Value::Null);
    let detail = |name: &str| details.get(name).or_else(|| fields.get(name));
    Some(Usage {
        input_tokens: number("input_tokens").unwrap_or(0),
        output_tokens: number("output_tokens").unwrap_or(0),
        reasoning_tokens: detail("reasoning_tokens").and_then(Value::as_u64),
        cached_tokens: detail("cached_tokens").and_then(Value::as_u64),
        cache_write_tokens: detail("cache_write_tokens").and_then(Value::as_u64),
        cost_usd: detail("cost").and_then(Value::as_f64),
        generation_id: detail("generation_id").and_then(Value::as_str).map(str::to_owned),
        ..Usage::default()
    })
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" | "tool_calls" => StopReason::ToolUse,
        "max_tokens" | "length" => StopReason::MaxTokens,
        "refusal" | "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gathered(events: Value) -> Vec<Delta> {
        let mut builder = ReplyBuilder::default();
        for event in serde_json::from_value::<Vec<Event>>(events).unwrap() {
            builder.take(event).unwrap();
        }
        assert!(builder.finish());
        std::iter::from_fn(|| builder.pop()).collect()
    }

    fn call(id: &str, args: Value) -> Delta {
        Delta::Call(ToolCall { id: CallId(id.into()), name: "t".into(), args, opaque: None })
    }

    #[test]
    fn reply_passes_text_thinking_usage_and_end() {
        let deltas = gathered(json!([
            {"type": "message_start", "usage": {"input_tokens": 7}},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "text_delta", "text": "hi"},
            {"type": "text_delta", "text": null},
            {"type": "what_is_this"},
            {"type": "message_delta", "stop_reason": "max_tokens"},
            {"type": "message_stop", "usage": {"output_tokens": 2, "details": {"cost": 0.5}}},
        ]));
        let usage =
            Usage { input_tokens: 7, output_tokens: 2, cost_usd: Some(0.5), ..Usage::default() };
        assert_eq!(
            deltas,
            [
                Delta::Thinking("hm".into()),
                Delta::Text("hi".into()),
                Delta::Usage(usage),
                Delta::Stopped(StopReason::MaxTokens),
            ]
        );
    }

    #[test]
    fn call_is_emitted_once_in_any_form() {
        let started = Delta::CallStarted { name: "t".into() };
        let stopped = Delta::Stopped(StopReason::ToolUse);
        let use_ = |input: Value| json!({"id": "a", "name": "t", "input": input});
        let whole = gathered(json!([
            {"type": "tool_use_start", "tool_use": use_(json!({"x": 1}))},
            {"type": "content_stop", "tool_use": use_(json!({"x": 1}))},
            {"type": "message_stop", "stop_reason": "end_turn"},
        ]));
        assert_eq!(whole, [started.clone(), call("a", json!({"x": 1})), stopped.clone()]);
        let pieces = gathered(json!([
            {"type": "tool_use_start", "tool_use": use_(json!({}))},
            {"type": "tool_use_delta", "tool_input_delta": "{\"x\""},
            {"type": "tool_use_delta", "tool_input_delta": ": 1}"},
            {"type": "content_stop"},
        ]));
        assert_eq!(pieces, [started, call("a", json!({"x": 1})), stopped.clone()]);
        let end = gathered(json!([
            {"type": "content_stop", "tool_use": use_(json!({"x": 1}))},
            {"type": "content_stop", "tool_use": {"id": "b", "name": "t", "input": {}}},
            {"type": "content_stop", "tool_use": {"id": "", "name": "", "input": {}}},
        ]));
        assert_eq!(end, [call("a", json!({"x": 1})), call("b", json!({})), stopped]);
    }

    #[test]
    fn error_event_is_an_error_and_silence_is_no_reply() {
        let mut builder = ReplyBuilder::default();
        let event = serde_json::from_value(json!({"type": "error", "error": "no"})).unwrap();
        assert_eq!(builder.take(event), Err("no".to_owned()));
        assert!(!ReplyBuilder::default().finish());
    }

    #[test]
    fn whole_reply_gives_equal_pieces() {
        let mut builder = ReplyBuilder::default();
        let response = json!({
            "id": "r", "content": "hi", "thinking": "hm", "stop_reason": null, "usage": null,
            "tool_uses": [{"id": "a", "name": "t", "input": {"x": 1}}],
        });
        builder.take_whole(serde_json::from_value(response).unwrap());
        assert!(builder.finish());
        let deltas: Vec<Delta> = std::iter::from_fn(|| builder.pop()).collect();
        assert_eq!(
            deltas,
            [
                Delta::Thinking("hm".into()),
                Delta::Text("hi".into()),
                call("a", json!({"x": 1})),
                Delta::Stopped(StopReason::ToolUse),
            ]
        );
    }
}
