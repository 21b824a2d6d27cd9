//! Turns a turn of a scenario into the stream of a reply, or into a failure.

use std::time::Duration;

use contract::id::CallId;
use contract::message::{StopReason, ToolCall, Usage};
use contract::provider::{Delivery, Delta, Failure, ProviderError, ReplyStream};
use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use super::scenario::{Call, Fault, FaultKind, Turn};
use super::sent::Sent;
use super::template;

const CHUNK: usize = 16;

/// A turn with its placeholders filled in, ready to be played.
pub(super) struct Playing {
    pub(super) delay: Duration,
    parts: Vec<Part>,
    chunk: usize,
    failure: Option<ProviderError>,
}

enum Part {
    Text(String),
    Thinking(String),
    Delta(Delta),
}

impl Playing {
    /// Prepares a turn; `replies` is the number of replies before it.
    pub(super) fn prepare(turn: &Turn, sent: &Sent<'_>, replies: usize) -> Result<Self, String> {
        let mut playing = Self {
            delay: Duration::from_millis(turn.delay_ms),
            parts: Vec::new(),
            chunk: turn.chunk.map_or(CHUNK, std::num::NonZeroUsize::get),
            failure: turn.error.as_ref().map(failure),
        };
        if let Some(fault) = &turn.error {
            if let Some(text) = &fault.after_text {
                playing.parts.push(Part::Text(template::fill(text, sent)?));
            }
            return Ok(playing);
        }
        if let Some(thinking) = &turn.thinking {
            let thinking = template::fill(thinking, sent)?;
            playing.parts.push(Part::Thinking(thinking));
        }
        if let Some(text) = &turn.text {
            playing.parts.push(Part::Text(template::fill(text, sent)?));
        }
        for (call, number) in turn.tool_calls.iter().zip(1..) {
            let id = match &call.id {
                Some(id) => id.clone(),
                None => format!("call_{}_{number}", replies + 1),
            };
            let call = tool_call(call, id, sent)?;
            playing.parts.push(Part::Delta(Delta::CallStarted { name: call.name.clone() }));
            playing.parts.push(Part::Delta(Delta::Call(call)));
        }
        if let Some(usage) = &turn.usage {
            playing.parts.push(Part::Delta(Delta::Usage(Usage {
                input_tokens: usage.input,
                output_tokens: usage.output,
                cached_tokens: usage.cached,
                cost_usd: usage.cost,
                ..Usage::default()
            })));
        }
        let stop = Delta::Stopped(stop_reason(turn));
        playing.parts.push(Part::Delta(stop));
        Ok(playing)
    }

    /// A reply of one text.
    pub(super) fn text(text: &str, sent: &Sent<'_>) -> Result<Self, String> {
        Ok(Self {
            delay: Duration::ZERO,
            parts: vec![
                Part::Text(template::fill(text, sent)?),
                Part::Delta(Delta::Stopped(StopReason::EndTurn)),
            ],
            chunk: CHUNK,
            failure: None,
        })
    }

    /// Returns true if it ends in a failure.
    pub(super) fn fails(&self) -> bool {
        self.failure.is_some()
    }

    /// The reply. A failure follows the text before it, or replaces the reply.
    pub(super) fn stream(self, delivery: Delivery) -> Result<ReplyStream, ProviderError> {
        let streamed = delivery == Delivery::Streamed;
        match self.failure {
            Some(failure) if !streamed || self.parts.is_empty() => return Err(failure),
            _ => {}
        }
        let chunk = if streamed { self.chunk } else { usize::MAX };
        let deltas = self
            .parts
            .into_iter()
            .filter(move |part| streamed || !matches!(part, Part::Delta(Delta::CallStarted { .. })))
            .flat_map(move |part| pieces(part, chunk));
        let items = deltas.map(Ok).chain(self.failure.map(Err));
        // A stream that is always ready would keep other tasks from running.
        let items = stream::iter(items).then(|item| async {
            tokio::task::consume_budget().await;
            item
        });
        Ok(items.boxed())
    }
}

fn pieces(part: Part, chunk: usize) -> Box<dyn Iterator<Item = Delta> + Send> {
    match part {
        Part::Text(text) => Box::new(Chunks::of(text, chunk).map(Delta::Text)),
        Part::Thinking(text) => Box::new(Chunks::of(text, chunk).map(Delta::Thinking)),
        Part::Delta(delta) => Box::new(std::iter::once(delta)),
    }
}

/// Splits a text into pieces of so many characters.
struct Chunks {
    text: String,
    at: usize,
    size: usize,
}

impl Chunks {
    fn of(text: String, size: usize) -> Self {
        Self { text, at: 0, size }
    }
}

impl Iterator for Chunks {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let rest = &self.text[self.at..];
        let end = rest.char_indices().nth(self.size).map(|(end, _)| end);
        let piece = &rest[..end.unwrap_or(rest.len())];
        self.at += piece.len();
        (!piece.is_empty()).then(|| piece.to_owned())
    }
}

fn tool_call(call: &Call, id: String, sent: &Sent<'_>) -> Result<ToolCall, String> {
    let args = match (&call.input, &call.input_text) {
        (Some(input), _) => template::fill_value(input, sent)?,
        (None, Some(text)) => {
            let text = template::fill(text, sent)?;
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        (None, None) => Value::Object(serde_json::Map::new()),
    };
    Ok(ToolCall { id: CallId(id), name: call.name.clone(), args, opaque: None })
}

fn stop_reason(turn: &Turn) -> StopReason {
    match turn.stop_reason.as_deref() {
        None if turn.tool_calls.is_empty() => StopReason::EndTurn,
        None | Some("tool_use") => StopReason::ToolUse,
        Some("end_turn") => StopReason::EndTurn,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("refusal") => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

fn failure(fault: &Fault) -> ProviderError {
    let wait = fault.retry_after_ms.map(Duration::from_millis);
    let (kind, message) = match fault.kind {
        FaultKind::RateLimited => (Failure::RateLimited(wait), "too many requests"),
        FaultKind::Unavailable => (Failure::Unavailable(wait), "the model has a problem"),
        FaultKind::Auth => (Failure::Auth, "the key is not accepted"),
        FaultKind::Payment => (Failure::Payment, "the account is out of credit"),
        FaultKind::NotFound => (Failure::NotFound, "there is no such model"),
        FaultKind::TooLong => (Failure::TooLong, "the request is too long for the model"),
        FaultKind::Rejected => (Failure::Rejected, "the request was rejected"),
        FaultKind::Unreachable => (Failure::Unreachable, "the model cannot be reached"),
        FaultKind::Idle => (Failure::Idle, "no data arrived in time"),
        FaultKind::Cut => (Failure::Cut, "the reply was cut off"),
        FaultKind::Garbled => (Failure::Garbled, "the reply cannot be parsed"),
    };
    ProviderError {
        kind,
        message: match &fault.message {
            Some(message) => message.clone(),
            None => format!("{message}, as the scenario says"),
        },
        hint: None,
    }
}
