//! Replies in Ollama's format. Every line is a complete object, so every call in it is complete.

use std::borrow::Cow;
use std::sync::Arc;

use contract::id::CallId;
use contract::message::{StopReason, ToolCall, Usage};
use contract::provider::{Delta, ProviderError};
use contract::text::visible;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::body::{Ended, arguments, fresh_call_id, parse};
use crate::failure::Origin;
use crate::lines::Lines;
use crate::reply::{Broken, Decoder, Deltas, Stage};
use crate::think_tags::ThinkTags;

pub(super) struct LineDecoder {
    lines: Lines,
    answer: Answer,
}

impl LineDecoder {
    pub(super) fn new(origin: Arc<Origin>) -> Self {
        Self {
            lines: Lines::default(),
            answer: Answer {
                origin,
                called: false,
                stop: StopReason::EndTurn,
                tags: ThinkTags::default(),
                stage: Stage::Open,
            },
        }
    }
}

impl Decoder for LineDecoder {
    fn feed(&mut self, chunk: &[u8], out: &mut Deltas) -> Result<(), ProviderError> {
        let answer = &mut self.answer;
        self.lines
            .feed(chunk, |line| answer.line(line, out).map_err(Broken::from))
            .map_err(|broken| broken.explain(&self.answer.origin))
    }

    fn whole(&mut self, body: &[u8], out: &mut Deltas) -> Result<(), ProviderError> {
        if serde_json::from_slice::<Value>(body).is_ok() {
            self.answer.line(body, out)?;
        } else {
            self.feed(body, out)?;
        }
        self.end(out)
    }

    fn end(&mut self, out: &mut Deltas) -> Result<(), ProviderError> {
        let rest = self.lines.unfinished();
        if self.answer.stage == Stage::Open && serde_json::from_slice::<Value>(rest).is_ok() {
            self.answer.line(rest, out)?;
        }
        self.answer.end(out)
    }

    fn stage(&self) -> Stage {
        self.answer.stage
    }
}

struct Answer {
    origin: Arc<Origin>,
    called: bool,
    stop: StopReason,
    tags: ThinkTags,
    stage: Stage,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Option<Spoken<'a>>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Spoken<'a> {
    #[serde(borrow, default)]
    content: Cow<'a, str>,
    #[serde(borrow, default)]
    thinking: Cow<'a, str>,
    tool_calls: Option<Vec<Value>>,
}

impl Answer {
    fn line(&mut self, line: &[u8], out: &mut Deltas) -> Result<(), ProviderError> {
        let line = line.trim_ascii();
        if line.is_empty() || self.stage == Stage::Done {
            return Ok(());
        }
        let text = String::from_utf8_lossy(line);
        let mut repaired = None;
        let line: Line<'_> = parse(&text, &mut repaired)
            .map_err(|_| self.origin.garbled("something that is not a part of a reply", line))?;
        if let Some(error) = line.error.as_ref().filter(|error| !error.is_null()) {
            return Err(self.origin.reported(error));
        }
        if let Some(spoken) = &line.message {
            let says_something = !spoken.thinking.is_empty() || !spoken.content.is_empty();
            if says_something || spoken.tool_calls.is_some() {
                out.progress();
            }
            out.thinking(&spoken.thinking);
            self.tags.text(&spoken.content, out);
            for value in spoken.tool_calls.iter().flatten() {
                self.called = true;
                self.tags.end(out);
                let call = read_call(value);
                out.push(Delta::CallStarted { name: call.name.clone() });
                out.push(Delta::Call(call));
            }
        }
        if line.done {
            self.stop = stop_reason(line.done_reason.as_deref().unwrap_or("stop"));
            out.push(Delta::Usage(Usage {
                input_tokens: line.prompt_eval_count.unwrap_or(0),
                output_tokens: line.eval_count.unwrap_or(0),
                ..Usage::default()
            }));
            self.stage = Stage::Done;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Deltas) -> Result<(), ProviderError> {
        if self.stage == Stage::Open {
            return Err(self.origin.cut());
        }
        self.tags.end(out);
        out.stopped(match std::mem::take(&mut self.stop) {
            StopReason::EndTurn if self.called => StopReason::ToolUse,
            reason => reason,
        });
        Ok(())
    }
}

fn read_call(value: &Value) -> ToolCall {
    let function = value.get("function").unwrap_or(value);
    let id = value.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    ToolCall {
        id: CallId(id.map_or_else(fresh_call_id, str::to_owned)),
        name: name.to_owned(),
        args: match function.get("arguments") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(Value::String(text)) => arguments(text, Ended::Properly),
            Some(value) => value.clone(),
        },
        opaque: None,
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        other => StopReason::Other(visible(other).into_owned()),
    }
}
