//! A call in an answer: `[tool_call: Name(key="value", number=5)]`.

use std::sync::Arc;

use contract::tool::ToolSpec;
use serde_json::{Map, Value};

use super::{Candidate, named};

const TAG: &str = "[tool_call:";

/// The last call in `text` that can be read.
pub(super) fn find(text: &str, specs: &[&Arc<ToolSpec>]) -> Option<Candidate> {
    text.rmatch_indices(TAG).find_map(|(at, _)| {
        let (name, rest) = text[at + TAG.len()..].split_once('(')?;
        let args = arguments(rest)?;
        let tool = Arc::clone(named(name.trim(), specs)?);
        Some(Candidate { tool, args, kind: "content_tag", is_thought: false })
    })
}

/// Reads `key=value, key=value)]`.
fn arguments(mut rest: &str) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(end) = rest.strip_prefix(')') {
            return end.trim_start().starts_with(']').then_some(arguments);
        }
        let (key, after) = rest.split_once('=')?;
        let (value, after) = value(after.trim_start())?;
        arguments.insert(key.trim().to_owned(), value);
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// Reads one value, and returns what follows it.
fn value(text: &str) -> Option<(Value, &str)> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let (inside, rest) = quoted.split_once('\'')?;
        return Some((Value::String(inside.to_owned()), rest));
    }
    let words = [("True", Value::Bool(true)), ("False", Value::Bool(false)), ("None", Value::Null)];
    for (word, value) in words {
        if let Some(rest) = text.strip_prefix(word) {
            return Some((value, rest));
        }
    }
    if !text.starts_with(['"', '[', '{']) {
        let end = text.find([',', ')'])?;
        let value = serde_json::from_str(text[..end].trim()).ok()?;
        return Some((value, &text[end..]));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}
