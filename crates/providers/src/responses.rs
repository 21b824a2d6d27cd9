//! The Responses API of OpenAI: typed items in both directions, reasoning that is sent back
//! encrypted. Nothing is stored on the server.

use std::sync::Arc;

use bytes::Bytes;
use contract::id::CallId;
use contract::message::{Entry, Message, Part, Reply, StopReason, ToolCall, Usage};
use contract::provider::{
    Delivery, Delta, ProviderError, ReasoningFormat, ReasoningLevel, ReplyStream, Request,
};
use contract::text::visible;
use contract::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::body::{
    Ended, Memos, arguments, arguments_object, assemble, fresh_call_id, json_bytes, merge,
    merge_params, parse, separate, write_json,
};
use crate::catalog::{Quirks, is_listed};
use crate::failure::Origin;
use crate::http::Http;
use crate::images::{Image, Images, data_url};
use crate::reply::{Deltas, EventDecoder, EventReply, Stage, receive};

/// Asks for a reply.
pub(crate) async fn stream(
    http: &Http,
    quirks: &Quirks,
    memos: &Memos,
    request: &Request,
) -> Result<ReplyStream, ProviderError> {
    let body = body(quirks, request, memos);
    let response = http.post("/responses", body, request.delivery).await?;
    receive(http, response, request.delivery, ResponsesDecoder::new(http.origin.clone())).await
}

/// The names of parameters here.
const PARAMS: &[(&str, &str)] = &[
    ("top_k", ""),
    ("seed", ""),
    ("stop_sequences", ""),
    ("presence_penalty", ""),
    ("frequency_penalty", ""),
    ("logit_bias", ""),
];

fn body(quirks: &Quirks, request: &Request, memos: &Memos) -> Vec<u8> {
    let is_reasoning = is_listed(&quirks.responses_models, &request.model);
    let mut head = Map::new();
    head.insert("model".into(), json!(request.model));
    head.insert("max_output_tokens".into(), json!(request.max_tokens));
    head.insert("store".into(), json!(false));
    if let Some(temperature) = request.temperature.filter(|_| !is_reasoning) {
        head.insert("temperature".into(), json!(temperature));
    }
    if is_reasoning {
        head.insert("include".into(), json!(["reasoning.encrypted_content"]));
        head.insert("reasoning".into(), reasoning(quirks, &request.reasoning_level));
    }
    merge(&mut head, &quirks.body);
    merge_params(&mut head, &request.params, PARAMS);
    head.insert("stream".into(), json!(request.delivery == Delivery::Streamed));
    if !request.system.is_empty() {
        head.insert("instructions".into(), json!(&*request.system));
    }
    let (format, echo) = match request.reasoning_format {
        ReasoningFormat::None => ("responses without reasoning", Echo::Nothing),
        _ => ("responses", Echo::Reasoning),
    };
    let images = Images::of(quirks, &request.model);
    let format = images.format(format);
    let append = |out: &mut Vec<u8>, before: Option<&Entry>, entry: &Entry| {
        separate(out, before);
        let encode = |message: &Message, image: Option<&Image>| items(message, image, echo);
        out.extend_from_slice(&images.wire(&format, entry, encode));
    };
    memos.history.with(&format, &request.history, append, |history| {
        let input: &[&[u8]] = &[b"[", history, b"]"];
        if request.tools.is_empty() {
            return assemble(head, &[("input", input)]);
        }
        let tools = memos.tools.get(&request.tools, encode_tools);
        assemble(head, &[("input", input), ("tools", &[&tools])])
    })
}

fn reasoning(quirks: &Quirks, level: &ReasoningLevel) -> Value {
    let mut reasoning = json!({"summary": "auto"});
    if *level != ReasoningLevel::Auto {
        let word = quirks.level_words.get(level.as_str()).map_or(level.as_str(), String::as_str);
        reasoning["effort"] = json!(word);
    }
    reasoning
}

fn encode_tools(tools: &[Arc<ToolSpec>]) -> Bytes {
    let tool = |tool: &Arc<ToolSpec>| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
            "strict": false,
        })
    };
    json_bytes(&tools.iter().map(tool).collect::<Vec<_>>())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Reasoning,
    Nothing,
}

/// The items of a message, joined with commas; never none.
fn items(message: &Message, image: Option<&Image>, echo: Echo) -> Bytes {
    let image = image.map(|it| json!({"type": "input_image", "image_url": data_url(it)}));
    let items = match message {
        Message::User { text } => {
            let text = json!({"type": "input_text", "text": text});
            let content: Vec<Value> = [text].into_iter().chain(image).collect();
            vec![json!({"type": "message", "role": "user", "content": content})]
        }
        Message::Assistant(reply) => reply_items(reply, echo),
        Message::Tool { call, content, .. } => vec![json!({
            "type": "function_call_output",
            "call_id": call.as_str(),
            "output": content,
        })],
    };
    let mut out = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_json(&mut out, item);
    }
    out.into()
}

fn assistant_item(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text}]);
    json!({"type": "message", "role": "assistant", "content": content})
}

/// The server refuses reasoning that nothing follows.
fn reply_items(reply: &Reply, echo: Echo) -> Vec<Value> {
    let item = |part: &Part| match part {
        Part::Text { text } if text.is_empty() => None,
        Part::Text { text } => Some(assistant_item(text)),
        Part::Thinking { opaque: Some(opaque), .. } => {
            let is_own = opaque.get("type").is_some_and(|kind| kind == "reasoning");
            (is_own && echo == Echo::Reasoning).then(|| opaque.clone())
        }
        Part::Thinking { .. } => None,
        Part::Call(call) => Some(json!({
            "type": "function_call",
            "call_id": call.id.as_str(),
            "name": call.name,
            "arguments": arguments_object(&call.args).to_string(),
        })),
    };
    let mut items: Vec<Value> = reply.parts.iter().filter_map(item).collect();
    if items.last().is_none_or(|last| last["type"] == "reasoning") {
        items.push(assistant_item("(nothing)"));
    }
    items
}

/// Replies in the format of the API. A call is returned when its item is done.
pub(crate) type ResponsesDecoder = EventDecoder<ResponsesReply>;

#[derive(Default)]
pub(crate) struct ResponsesReply {
    origin: Arc<Origin>,
    has_called: bool,
    was_refused: bool,
    stop: Option<StopReason>,
    stage: Stage,
}

impl EventReply for ResponsesReply {
    fn new(origin: Arc<Origin>) -> Self {
        Self { origin, ..Self::default() }
    }

    fn event(&mut self, data: &str, out: &mut Deltas) -> Result<(), ProviderError> {
        if self.stage == Stage::Done || data.is_empty() || data.trim() == "[DONE]" {
            return Ok(());
        }
        let event: Value = parse(data, &mut None).map_err(|_| {
            self.origin.garbled("something that is not a part of a reply", data.as_bytes())
        })?;
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        if kind.starts_with("response.") {
            out.progress();
        }
        match kind {
            "response.output_text.delta" => out.text(text("delta")),
            "response.refusal.delta" => {
                self.was_refused = true;
                out.text(text("delta"));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                out.thinking(text("delta"));
            }
            "response.reasoning_summary_part.added" if event["summary_index"] != 0 => {
                out.thinking("\n\n");
            }
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                let name = event["item"]["name"].as_str().unwrap_or_default().to_owned();
                out.push(Delta::CallStarted { name });
            }
            "response.output_item.done" => self.item_done(&event["item"], out),
            "response.completed" | "response.incomplete" => self.finish(&event["response"], out),
            "response.failed" => return Err(self.origin.reported(&event["response"]["error"])),
            "error" => return Err(self.origin.reported(event.get("error").unwrap_or(&event))),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Deltas) -> Result<(), ProviderError> {
        let garbled = || self.origin.garbled("something that is not a reply", body.as_bytes());
        let response: Value = parse(body, &mut None).map_err(|_| garbled())?;
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            return Err(self.origin.reported(error));
        }
        let Some(items) = response.get("output").and_then(Value::as_array) else {
            return Err(garbled());
        };
        for item in items {
            let parts = |list: &str| item.get(list).and_then(Value::as_array).into_iter().flatten();
            for part in parts("summary") {
                out.thinking(part["text"].as_str().unwrap_or_default());
            }
            for part in parts("content").filter(|_| item["type"] == "message") {
                self.was_refused |= part["type"] == "refusal";
                let text = part.get("text").or_else(|| part.get("refusal"));
                out.text(text.and_then(Value::as_str).unwrap_or_default());
            }
            self.item_done(item, out);
        }
        self.finish(&response, out);
        Ok(())
    }

    fn end(&mut self, out: &mut Deltas) {
        out.stopped(self.stop.take().unwrap_or_default());
    }

    fn state(&self) -> (&Origin, Stage) {
        (&self.origin, self.stage)
    }
}

impl ResponsesReply {
    /// Takes an item whose text was returned in pieces.
    fn item_done(&mut self, item: &Value, out: &mut Deltas) {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "reasoning" => {
                let mut opaque = item.clone();
                if let Value::Object(fields) = &mut opaque {
                    fields.retain(|name, value| name != "status" && !value.is_null());
                }
                out.push(Delta::ThinkingOpaque(opaque));
            }
            "function_call" => {
                self.has_called = true;
                let id = match text("call_id") {
                    "" => fresh_call_id(),
                    id => id.to_owned(),
                };
                out.push(Delta::Call(ToolCall {
                    id: CallId(id),
                    name: text("name").to_owned(),
                    args: arguments(text("arguments"), Ended::Properly),
                    opaque: None,
                }));
            }
            _ => {}
        }
    }

    fn finish(&mut self, response: &Value, out: &mut Deltas) {
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
            out.push(Delta::Usage(Usage {
                input_tokens: count("/input_tokens").unwrap_or(0),
                output_tokens: count("/output_tokens").unwrap_or(0),
                reasoning_tokens: count("/output_tokens_details/reasoning_tokens"),
                cached_tokens: count("/input_tokens_details/cached_tokens"),
                generation_id: response.get("id").and_then(Value::as_str).map(str::to_owned),
                ..Usage::default()
            }));
        }
        let cause = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        self.stop = Some(match cause {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(other) => StopReason::Other(visible(other).into_owned()),
            None if self.has_called => StopReason::ToolUse,
            None if self.was_refused => StopReason::Refusal,
            None => StopReason::EndTurn,
        });
        self.stage = Stage::Done;
    }
}

#[cfg(test)]
mod tests;
