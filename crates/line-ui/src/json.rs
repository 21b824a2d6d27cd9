//! The answer as one JSON object at the end.

use std::io::{self, Write};

use async_trait::async_trait;
use contract::event::{Event, EventKind, Level, Outcome};
use contract::message::ToolCall;
use serde_json::{Value, json};

use crate::output;
use crate::verdict::{CallResult, Verdict};
use crate::view::{View, warn};

pub struct Json {
    pub prompt: Value,
}

#[async_trait(?Send)]
impl View for Json {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        // Errors are in the answer.
        if let EventKind::Notice { level: Level::Warning, text, .. } = &event.kind {
            warn(event, text);
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
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object[name] = value;
        }
    };
    let call = |call: &ToolCall| {
        let is_recovered = call.id.is_recovered();
        json!({"tool": call.name, "input": call.args, "recovered": is_recovered, "id": call.id})
    };
    let mut errors = verdict.errors.clone();
    if let Some(Outcome::Finished(finish)) = &verdict.outcome {
        add("finish", Some(json!(finish)));
    }
    let has_calls = !verdict.calls.is_empty();
    add("tool_calls", has_calls.then(|| verdict.calls.iter().map(call).collect()));
    add("tool_results", has_calls.then(|| verdict.results.iter().map(result).collect()));
    add("prompt_source", Some(prompt.clone()).filter(|prompt| !prompt.is_null()));
    match &verdict.outcome {
        Some(Outcome::Limited { limit, value, told }) => {
            errors.push(format!("a limit was reached: {told}"));
            add("limit", Some(json!(limit)));
            add("limit_value", Some(value.clone()));
        }
        Some(Outcome::Stuck { why }) => {
            errors.push(format!("the model is repeating itself: {why}"));
        }
        _ => {}
    }
    match errors.as_slice() {
        [] => {}
        [error] => add("error", Some(json!(error))),
        several => add("errors", Some(json!(several))),
    }
    add("cost_usd", usage.cost_usd.map(Value::from));
    add("cost_incomplete", usage.unpriced.then(|| json!(true)));
    add("reasoning_tokens", usage.reasoning_tokens.map(Value::from));
    add("exit_code", Some(json!(verdict.exit().code())));
    object
}

pub fn result(result: &CallResult) -> Value {
    let mut object = json!({
        "tool": result.tool,
        "success": result.output.success,
        "output": result.output.output,
        "id": result.id,
        "outcome": result.outcome,
    });
    if let Some(error) = &result.output.error {
        object["error"] = json!(error);
    }
    object
}
