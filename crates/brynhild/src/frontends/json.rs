//! The answer as one JSON object at the end.

use std::io::{self, Write};

use async_trait::async_trait;
use contract::event::{Event, EventKind, Level, Outcome};
use serde_json::{Map, Value, json};

use super::View;
use super::verdict::Verdict;
use crate::output;

pub(crate) struct Json {
    prompt: Value,
}

impl Json {
    pub(crate) fn new(prompt: Value) -> Self {
        Self { prompt }
    }
}

#[async_trait(?Send)]
impl View for Json {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        // Errors are in the answer.
        if let EventKind::Notice { level: Level::Warning, text, .. } = &event.kind {
            super::warn(event, text);
        }
        Ok(())
    }

    fn shows_calls_at_end(&self) -> bool {
        true
    }

    fn close(&mut self, verdict: &Verdict) -> io::Result<()> {
        output::json(&answer(verdict, &self.prompt))?;
        io::stdout().flush()
    }
}

fn answer(verdict: &Verdict, prompt: &Value) -> Value {
    let usage = &verdict.usage;
    let mut object = json!({
        "response": verdict.response,
        "provider": verdict.provider,
        "model": verdict.model,
        "stop_reason": verdict.stop_reason(),
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens(),
        },
    });
    if let Some(tokens) = usage.cached_tokens.filter(|tokens| *tokens > 0) {
        object["usage"]["cached_tokens"] = tokens.into();
    }
    if usage.estimated {
        object["usage"]["estimated"] = true.into();
    }
    let Some(fields) = object.as_object_mut() else { return object };
    if let Some(Outcome::Finished(finish)) = &verdict.outcome {
        fields.insert("finish".into(), json!(finish));
    }
    if !verdict.calls.is_empty() {
        let call = |call: &contract::message::ToolCall| {
            let is_recovered = call.id.is_recovered();
            json!({
                "tool": call.name, "input": call.args, "recovered": is_recovered, "id": call.id,
            })
        };
        fields.insert("tool_calls".into(), verdict.calls.iter().map(call).collect());
        fields.insert("tool_results".into(), verdict.results.iter().map(result).collect());
    }
    if !prompt.is_null() {
        fields.insert("prompt_source".into(), prompt.clone());
    }
    errors(verdict, fields);
    if let Some(cost) = usage.cost_usd {
        fields.insert("cost_usd".into(), json!(cost));
    }
    if usage.unpriced {
        fields.insert("cost_incomplete".into(), json!(true));
    }
    if let Some(tokens) = usage.reasoning_tokens {
        fields.insert("reasoning_tokens".into(), json!(tokens));
    }
    fields.insert("exit_code".into(), json!(verdict.exit().code()));
    object
}

pub(crate) fn result(result: &super::verdict::CallResult) -> Value {
    let mut object = json!({
        "tool": result.tool,
        "success": result.output.success,
        "output": result.output.output,
        "id": result.id,
        "outcome": result.outcome,
    });
    if let (Some(error), Some(fields)) = (&result.output.error, object.as_object_mut()) {
        fields.insert("error".into(), json!(error));
    }
    object
}

fn errors(verdict: &Verdict, fields: &mut Map<String, Value>) {
    let mut errors = verdict.errors.clone();
    if let Some(Outcome::Limited { limit, value, told }) = &verdict.outcome {
        errors.push(format!("a limit was reached: {told}"));
        fields.insert("limit".into(), json!(limit));
        fields.insert("limit_value".into(), value.clone());
    }
    if let Some(Outcome::Stuck { why }) = &verdict.outcome {
        errors.push(format!("the model goes in circles: {why}"));
    }
    match errors.as_slice() {
        [] => {}
        [error] => {
            fields.insert("error".into(), json!(error));
        }
        several => {
            fields.insert("errors".into(), json!(several));
        }
    }
}
