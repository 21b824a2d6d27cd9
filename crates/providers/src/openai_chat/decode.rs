//! Replies in the format of chat completions. Calls are returned only when the reply is complete.

use std::sync::Arc;

use contract::id::CallId;
use contract::message::{StopReason, ToolCall, Usage};
use contract::provider::{Delta, ProviderError};
use contract::text::visible;
use serde_json::{Value, json};

use super::chunk::{CallPiece, Choice, Chunk, Piece, words};
use crate::body::{Ended, arguments, fresh_call_id, parse};
use crate::failure::Origin;
use crate::reply::{Deltas, EventDecoder, EventReply, Stage};
use crate::think_tags::ThinkTags;

pub(super) type ChatDecoder = EventDecoder<ChatReply>;

#[derive(Default)]
pub(super) struct ChatReply {
    origin: Arc<Origin>,
    id: Option<String>,
    details: Vec<Value>,
    /// The field in which the text of the reasoning arrived.
    field: Option<&'static str>,
    calls: Vec<PartialCall>,
    usage: Option<Value>,
    stop: Option<StopReason>,
    refused: bool,
    tags: ThinkTags,
    stage: Stage,
}

#[derive(Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<Value>,
    is_announced: bool,
}

impl EventReply for ChatReply {
    fn new(origin: Arc<Origin>) -> Self {
        Self { origin, ..Self::default() }
    }

    fn event(&mut self, data: &str, out: &mut Deltas) -> Result<(), ProviderError> {
        if self.stage == Stage::Done || data.is_empty() {
            return Ok(());
        }
        if data.trim() == "[DONE]" {
            self.stage = Stage::Done;
            return Ok(());
        }
        self.chunk(data, out).map(|_| ())
    }

    fn whole(&mut self, body: &str, out: &mut Deltas) -> Result<(), ProviderError> {
        if !self.chunk(body, out)? {
            return Err(self.origin.garbled("a reply without an answer", body.as_bytes()));
        }
        self.stage = Stage::Done;
        Ok(())
    }

    fn end(&mut self, out: &mut Deltas) {
        self.tags.end(out);
        self.flush_details(out);
        let reason = self.stop.take().unwrap_or_default();
        let ended = match reason {
            StopReason::EndTurn | StopReason::ToolUse => Ended::Properly,
            _ => Ended::Early,
        };
        self.announce(out);
        let called = !self.calls.is_empty();
        for call in self.calls.drain(..) {
            out.push(Delta::Call(call.close(ended)));
        }
        if let Some(usage) = &self.usage {
            out.push(Delta::Usage(read_usage(usage, self.id.take())));
        }
        out.stopped(match reason {
            StopReason::EndTurn if called => StopReason::ToolUse,
            StopReason::EndTurn if self.refused => StopReason::Refusal,
            reason => reason,
        });
    }

    fn state(&self) -> (&Origin, Stage) {
        (&self.origin, self.stage)
    }
}

impl ChatReply {
    /// Takes a chunk. Returns true if it has a part of the answer.
    fn chunk(&mut self, data: &str, out: &mut Deltas) -> Result<bool, ProviderError> {
        let mut repaired = None;
        let chunk: Chunk<'_> = parse(data, &mut repaired).map_err(|_| {
            self.origin.garbled("something that is not a part of a reply", data.as_bytes())
        })?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(self.origin.reported(&error));
        }
        if self.id.is_none() {
            self.id = chunk.id.map(|id| id.text.into_owned()).filter(|id| !id.is_empty());
        }
        let choices = chunk.choices.unwrap_or_default();
        let mut first = choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0);
        let among_own = chunk.x_groq.and_then(|mut own| own.get_mut("usage").map(Value::take));
        let beside = first.as_mut().and_then(|choice| choice.usage.take());
        let usage = [chunk.usage, among_own, beside].into_iter().flatten();
        if let Some(usage) = usage.into_iter().find(Value::is_object) {
            out.progress();
            self.usage = Some(usage);
        }
        let found = first.is_some();
        if let Some(choice) = first {
            self.choice(choice, out);
        }
        Ok(found)
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut Deltas) {
        if let Some(piece) = choice.delta.or_else(|| choice.message.map(numbered)) {
            self.piece(piece, out);
        }
        let reason = words(choice.finish_reason.as_ref());
        if !reason.is_empty() {
            out.progress();
            self.stop = Some(stop_reason(reason));
            self.stage = Stage::Complete;
        }
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Deltas) {
        self.reasoning(&piece, out);
        let content = words(piece.content.as_ref());
        let refusal = words(piece.refusal.as_ref());
        self.refused |= !refusal.is_empty();
        for text in [content, refusal] {
            if !text.is_empty() {
                out.progress();
                self.flush_details(out);
                self.tags.text(text, out);
            }
        }
        let alone = piece.function_call.map(|function| CallPiece {
            index: Some(0),
            function: Some(function),
            ..CallPiece::default()
        });
        for call in piece.tool_calls.unwrap_or_default().into_iter().chain(alone) {
            self.tags.end(out);
            self.flush_details(out);
            self.call(call, out);
        }
    }

    fn reasoning(&mut self, piece: &Piece<'_>, out: &mut Deltas) {
        let among_parts = piece.content.as_ref().map(|content| content.thinking.as_str());
        let (field, mut spoken) = [
            (Some("reasoning"), words(piece.reasoning.as_ref())),
            (Some("reasoning_content"), words(piece.reasoning_content.as_ref())),
            (None, among_parts.unwrap_or_default()),
        ]
        .into_iter()
        .find(|(_, text)| !text.is_empty())
        .unzip();
        self.field = field.flatten().or(self.field);
        if let Some(Value::Array(items)) = &piece.reasoning_details {
            for item in items {
                out.progress();
                let text = ["text", "summary"].iter().find_map(|name| item.get(*name)?.as_str());
                if let (None, Some(text)) = (spoken, text) {
                    out.thinking(text);
                }
                add_detail(&mut self.details, item);
            }
        }
        if let Some(text) = spoken.take() {
            out.progress();
            out.thinking(text);
        }
    }

    /// Adds the name of the field in which the text of the reasoning arrived to its details.
    fn flush_details(&mut self, out: &mut Deltas) {
        let mut details = std::mem::take(&mut self.details);
        details.extend(self.field.take().map(Value::from));
        if !details.is_empty() {
            out.push(Delta::ThinkingOpaque(Value::Array(details)));
        }
    }

    fn call(&mut self, piece: CallPiece<'_>, out: &mut Deltas) {
        out.progress();
        let id = words(piece.id.as_ref());
        let function = piece.function.as_ref();
        let name = words(function.and_then(|function| function.name.as_ref()));
        let position = self.position(piece.index, id, name);
        let position = position.unwrap_or_else(|| {
            // The names of the calls before it are complete.
            self.announce(out);
            self.calls.push(PartialCall { index: piece.index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[position];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.arguments.is_empty() {
            call.add_name(name);
        }
        if let Some(raw) = function.and_then(|function| function.arguments) {
            match serde_json::from_str::<Option<std::borrow::Cow<'_, str>>>(raw.get()) {
                Ok(text) => call.arguments.push_str(&text.unwrap_or_default()),
                Err(_) => call.arguments.push_str(raw.get()),
            }
        }
        if piece.extra_content.is_some() {
            call.extra = piece.extra_content;
        }
        if !call.arguments.is_empty() {
            self.announce(out);
        }
    }

    /// Reports calls whose names are complete.
    fn announce(&mut self, out: &mut Deltas) {
        for call in self.calls.iter_mut().filter(|call| !call.is_announced) {
            call.is_announced = true;
            if !call.name.is_empty() {
                out.push(Delta::CallStarted { name: call.name.clone() });
            }
        }
    }

    /// The call that a piece continues. Some servers give all calls the same index, or none.
    fn position(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let position = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        }?;
        let known = &self.calls[position];
        let is_another =
            !id.is_empty() && !name.is_empty() && !known.id.is_empty() && known.id != id;
        (!is_another).then_some(position)
    }
}

/// A message in one piece. Each of its calls is separate, whatever its id.
fn numbered(mut message: Piece<'_>) -> Piece<'_> {
    for (call, index) in message.tool_calls.iter_mut().flatten().zip(0..) {
        call.index = Some(index);
    }
    message
}

impl PartialCall {
    /// Adds a piece of the name. Some servers send all of it, or all so far, in each piece.
    fn add_name(&mut self, piece: &str) {
        if piece.starts_with(&self.name) {
            piece.clone_into(&mut self.name);
        } else {
            self.name.push_str(piece);
        }
    }

    fn close(self, ended: Ended) -> ToolCall {
        ToolCall {
            id: CallId(if self.id.is_empty() { fresh_call_id() } else { self.id }),
            name: self.name,
            args: arguments(&self.arguments, ended),
            opaque: self.extra.map(|extra| json!({"extra_content": extra})),
        }
    }
}

/// Joins pieces of structured reasoning that belong to the same block. A block that has its
/// signature, or that is encrypted, is complete.
fn add_detail(details: &mut Vec<Value>, item: &Value) {
    let continues = |known: &Value| {
        known.get("signature").is_none_or(Value::is_null)
            && item.get("data").is_none()
            && ["type", "index"].iter().all(|name| known.get(*name) == item.get(*name))
    };
    let last = details.last_mut().filter(|known| continues(known));
    let (Some(Value::Object(known)), Value::Object(fields)) = (last, item) else {
        details.push(item.clone());
        return;
    };
    for (name, value) in fields {
        let grows = matches!(name.as_str(), "text" | "summary");
        match (known.get_mut(name), value) {
            (Some(_), Value::Null) => {}
            (Some(Value::String(old)), Value::String(more)) if grows => old.push_str(more),
            (_, value) => {
                known.insert(name.clone(), value.clone());
            }
        }
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "eos" | "end_turn" => StopReason::EndTurn,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        "length" | "max_tokens" => StopReason::MaxTokens,
        "content_filter" | "refusal" => StopReason::Refusal,
        other => StopReason::Other(visible(other).into_owned()),
    }
}

fn read_usage(usage: &Value, id: Option<String>) -> Usage {
    let count = |paths: &[&str]| paths.iter().find_map(|path| number(usage.pointer(path)?));
    let input_tokens = count(&["/prompt_tokens", "/input_tokens"]).unwrap_or(0);
    let said = count(&["/completion_tokens", "/output_tokens"]).unwrap_or(0);
    // Some vendors leave reasoning out of the output tokens, and bill it.
    let all = count(&["/total_tokens"]).filter(|_| input_tokens > 0);
    let output_tokens = all.map_or(said, |all| said.max(all.saturating_sub(input_tokens)));
    Usage {
        input_tokens,
        output_tokens,
        reasoning_tokens: count(&["/completion_tokens_details/reasoning_tokens"]),
        cached_tokens: count(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"]),
        cache_write_tokens: count(&["/prompt_tokens_details/cache_write_tokens"]),
        cost_usd: usage.get("cost").and_then(Value::as_f64),
        generation_id: id,
        ..Usage::default()
    }
}

/// A number of tokens, also one with a fraction; none above a sensible limit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within bounds")]
fn number(value: &Value) -> Option<u64> {
    const MAX_TOKENS: f64 = 1e12;
    let number = value.as_f64().filter(|number| (0.0..MAX_TOKENS).contains(number))?;
    Some(number as u64)
}
