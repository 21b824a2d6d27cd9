//! The native API of Gemini: contents of parts, function calls as values, thoughts whose signatures
//! go back with the part that they came with.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use contract::id::CallId;
use contract::message::{Entry, Message, Part, Reply, StopReason, ToolCall, Usage};
use contract::provider::{
    Delivery, Delta, Model, Provider, ProviderError, ReasoningLevel, ReplyStream, Request,
};
use contract::text::visible;
use contract::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::body::{
    Memos, arguments_object, assemble, fresh_call_id, json_bytes, merge, merge_params, parse,
};
use crate::catalog::{Quirks, Vendor};
use crate::endpoint::Endpoint;
use crate::failure::Origin;
use crate::http::Http;
use crate::images::{Image, Images};
use crate::reply::{Deltas, EventDecoder, EventReply, Stage, receive};

/// The name of the encoding of entries.
const FORMAT: &str = "gemini";

pub(crate) struct Gemini {
    vendor: &'static Vendor,
    http: Http,
    memos: Memos,
}

impl Gemini {
    pub(crate) fn new(vendor: &'static Vendor, http: Http) -> Self {
        Self { vendor, http, memos: Memos::default() }
    }
}

/// The base address of the methods, from one with or without the version, or the address that is
/// compatible with OpenAI's.
pub(crate) fn normalize(endpoint: Endpoint) -> Endpoint {
    endpoint.with_path(|path| match path.strip_suffix("/openai").unwrap_or(path) {
        "" => "/v1beta".to_owned(),
        path => path.to_owned(),
    })
}

#[async_trait]
impl Provider for Gemini {
    fn name(&self) -> &str {
        &self.http.name
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        let listing = self.http.get("/models?pageSize=1000").await?;
        let Some(models) = listing.get("models").and_then(Value::as_array) else {
            let sample = listing.to_string();
            return Err(self.http.origin.garbled("no list of models", sample.as_bytes()));
        };
        Ok(models.iter().filter_map(model).collect())
    }

    async fn stream(&self, request: Request) -> Result<ReplyStream, ProviderError> {
        let body = body(&self.vendor.quirks, &request, &self.memos);
        let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
        let method = match request.delivery {
            Delivery::Streamed => "streamGenerateContent?alt=sse",
            Delivery::Whole => "generateContent",
        };
        let path = format!("/models/{model}:{method}");
        let response = self.http.post(&path, body, request.delivery).await?;
        let decoder = GeminiDecoder::new(self.http.origin.clone());
        receive(&self.http, response, request.delivery, decoder).await
    }
}

fn model(entry: &Value) -> Option<Model> {
    let methods = entry.get("supportedGenerationMethods").and_then(Value::as_array);
    if methods.is_some_and(|methods| !methods.iter().any(|method| method == "generateContent")) {
        return None;
    }
    let id = entry.get("name")?.as_str()?;
    Some(Model {
        id: id.strip_prefix("models/").unwrap_or(id).to_owned(),
        name: entry.get("displayName").and_then(Value::as_str).map(str::to_owned),
        context: entry.get("inputTokenLimit").and_then(Value::as_u64),
        tools: Some(true),
        ..Model::default()
    })
}

/// The names of parameters here.
const PARAMS: &[(&str, &str)] = &[
    ("top_p", "generationConfig.topP"),
    ("top_k", "generationConfig.topK"),
    ("seed", "generationConfig.seed"),
    ("stop_sequences", "generationConfig.stopSequences"),
    ("presence_penalty", "generationConfig.presencePenalty"),
    ("frequency_penalty", "generationConfig.frequencyPenalty"),
    ("parallel_tool_calls", ""),
    ("logit_bias", ""),
];

fn body(quirks: &Quirks, request: &Request, memos: &Memos) -> Vec<u8> {
    let mut generation = Map::new();
    generation.insert("maxOutputTokens".into(), json!(request.max_tokens));
    if let Some(temperature) = request.temperature {
        generation.insert("temperature".into(), json!(temperature));
    }
    generation.insert("thinkingConfig".into(), thinking(request));
    let mut head = Map::new();
    head.insert("generationConfig".into(), Value::Object(generation));
    if !request.system.is_empty() {
        let system = json!({"parts": [{"text": &*request.system}]});
        head.insert("systemInstruction".into(), system);
    }
    merge(&mut head, &quirks.body);
    merge_params(&mut head, &request.params, PARAMS);
    let images = Images::of(quirks, &request.model);
    let format = images.format(FORMAT);
    let append = |out: &mut Vec<u8>, before: Option<&Entry>, entry: &Entry| {
        begin(out, before.map(speaker), speaker(entry));
        out.extend_from_slice(&images.wire(&format, entry, parts));
    };
    memos.history.with(&format, &request.history, append, |history| {
        let contents: &[&[u8]] =
            if history.is_empty() { &[b"[]"] } else { &[b"[", history, b"]}]"] };
        if request.tools.is_empty() {
            return assemble(head, &[("contents", contents)]);
        }
        let tools = memos.tools.get(&request.tools, encode_tools);
        assemble(head, &[("contents", contents), ("tools", &[&tools])])
    })
}

/// Models of the second generation take a budget, later ones a level.
fn thinking(request: &Request) -> Value {
    let has_budget = request.model.contains("gemini-2");
    let (level, budget) = match &request.reasoning_level {
        ReasoningLevel::Auto | ReasoningLevel::Other(_) => return json!({"includeThoughts": true}),
        ReasoningLevel::Off if has_budget => return json!({"thinkingBudget": 0}),
        ReasoningLevel::Off => return json!({"thinkingLevel": "minimal"}),
        ReasoningLevel::Low => ("low", 2048),
        ReasoningLevel::Medium => ("medium", 8192),
        ReasoningLevel::High | ReasoningLevel::Maximum => ("high", 24576),
        ReasoningLevel::Raw(word) => match word.parse() {
            Ok(budget) => (word.as_str(), budget),
            Err(_) => (word.as_str(), -1),
        },
    };
    if has_budget {
        json!({"includeThoughts": true, "thinkingBudget": budget})
    } else {
        json!({"includeThoughts": true, "thinkingLevel": level})
    }
}

fn encode_tools(tools: &[Arc<ToolSpec>]) -> Bytes {
    let tool = |tool: &Arc<ToolSpec>| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": tool.input_schema,
        })
    };
    let declarations: Vec<Value> = tools.iter().map(tool).collect();
    json_bytes(&json!([{"functionDeclarations": declarations}]))
}

/// The role of an entry.
fn speaker(entry: &Entry) -> &'static str {
    if matches!(entry.message, Message::Assistant(_)) { "model" } else { "user" }
}

/// Continues the content of the same role, or starts another: results of several calls make one.
fn begin(out: &mut Vec<u8>, before: Option<&str>, speaker: &str) {
    match before {
        Some(before) if before == speaker => out.push(b','),
        before => {
            if before.is_some() {
                out.extend_from_slice(b"]},");
            }
            out.extend_from_slice(format!(r#"{{"role":"{speaker}","parts":["#).as_bytes());
        }
    }
}

/// The parts of a message, joined with commas; never none.
fn parts(message: &Message, image: Option<&Image>) -> Bytes {
    let image = image
        .map(|(media_type, data)| json!({"inlineData": {"mimeType": media_type, "data": data}}));
    let parts = match message {
        Message::User { text } => image.into_iter().chain([json!({"text": text})]).collect(),
        Message::Assistant(reply) => reply_parts(reply),
        Message::Tool { name, content, is_error, .. } => {
            let key = if *is_error { "error" } else { "output" };
            vec![json!({"functionResponse": {"name": name, "response": {key: content}}})]
        }
    };
    let list = json_bytes(&parts);
    list.slice(1..list.len() - 1)
}

/// Thoughts themselves stay here; a signature goes back with the text or the call that it came with.
fn reply_parts(reply: &Reply) -> Vec<Value> {
    let mut signature = None;
    let mut parts = Vec::new();
    for part in &reply.parts {
        let mut value = match part {
            Part::Thinking { opaque, .. } => {
                signature = opaque.as_ref().and_then(signature_of).cloned();
                continue;
            }
            Part::Text { text } if text.is_empty() => continue,
            Part::Text { text } => json!({"text": text}),
            Part::Call(call) => {
                signature = call.opaque.as_ref().and_then(signature_of).cloned().or(signature);
                json!({"functionCall": {"name": call.name, "args": arguments_object(&call.args)}})
            }
        };
        if let Some(signature) = signature.take() {
            value["thoughtSignature"] = signature;
        }
        parts.push(value);
    }
    if parts.is_empty() {
        parts.push(json!({"text": "(nothing)"}));
    }
    parts
}

fn signature_of(opaque: &Value) -> Option<&Value> {
    opaque.get("thoughtSignature")
}

/// Replies in the format of the API. Each event holds whole parts.
pub(crate) type GeminiDecoder = EventDecoder<GeminiReply>;

#[derive(Default)]
pub(crate) struct GeminiReply {
    origin: Arc<Origin>,
    has_called: bool,
    stop: Option<StopReason>,
    usage: Option<Usage>,
    stage: Stage,
}

impl EventReply for GeminiReply {
    fn new(origin: Arc<Origin>) -> Self {
        Self { origin, ..Self::default() }
    }

    fn event(&mut self, data: &str, out: &mut Deltas) -> Result<(), ProviderError> {
        if data.is_empty() {
            return Ok(());
        }
        let event: Value = parse(data, &mut None).map_err(|_| {
            self.origin.garbled("something that is not a part of a reply", data.as_bytes())
        })?;
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(self.origin.reported(error));
        }
        out.progress();
        if let Some(usage) = event.get("usageMetadata") {
            self.usage = Some(read_usage(usage, event.get("responseId")));
        }
        if let Some(cause) = event.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            out.text(&format!("[Gemini blocked the prompt: {}]", visible(cause)));
            self.stop = Some(StopReason::Refusal);
            self.stage = Stage::Complete;
        }
        let Some(candidate) = event.pointer("/candidates/0") else { return Ok(()) };
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.part(part, out);
        }
        if let Some(cause) = candidate.get("finishReason").and_then(Value::as_str) {
            self.stop = Some(stop_reason(cause));
            self.stage = Stage::Complete;
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Deltas) -> Result<(), ProviderError> {
        self.event(body, out)?;
        if self.stage == Stage::Open {
            return Err(self.origin.garbled("a reply without an answer", body.as_bytes()));
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Deltas) {
        if let Some(usage) = self.usage.take() {
            out.push(Delta::Usage(usage));
        }
        out.stopped(match self.stop.take().unwrap_or_default() {
            StopReason::EndTurn if self.has_called => StopReason::ToolUse,
            reason => reason,
        });
    }

    fn state(&self) -> (&Origin, Stage) {
        (&self.origin, self.stage)
    }
}

impl GeminiReply {
    fn part(&mut self, part: &Value, out: &mut Deltas) {
        let signature = signature_of(part).map(|it| json!({"thoughtSignature": it}));
        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
        if let Some(call) = part.get("functionCall") {
            self.has_called = true;
            let name = call["name"].as_str().unwrap_or_default().to_owned();
            let id = call["id"].as_str().filter(|id| !id.is_empty());
            out.push(Delta::CallStarted { name: name.clone() });
            out.push(Delta::Call(ToolCall {
                id: CallId(id.map_or_else(fresh_call_id, str::to_owned)),
                name,
                args: call.get("args").cloned().unwrap_or_else(|| json!({})),
                opaque: signature,
            }));
            return;
        }
        if part["thought"] == true {
            out.thinking(text);
            return;
        }
        // A signature stands before the text that it belongs to.
        if let Some(signature) = signature {
            out.push(Delta::ThinkingOpaque(signature));
        }
        out.text(text);
    }
}

fn read_usage(usage: &Value, id: Option<&Value>) -> Usage {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let thoughts = count("thoughtsTokenCount");
    Usage {
        input_tokens: count("promptTokenCount").unwrap_or(0)
            + count("toolUsePromptTokenCount").unwrap_or(0),
        output_tokens: count("candidatesTokenCount").unwrap_or(0) + thoughts.unwrap_or(0),
        reasoning_tokens: thoughts,
        cached_tokens: count("cachedContentTokenCount"),
        generation_id: id.and_then(Value::as_str).map(str::to_owned),
        ..Usage::default()
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            StopReason::Refusal
        }
        other => StopReason::Other(visible(other).into_owned()),
    }
}

#[cfg(test)]
mod tests;
