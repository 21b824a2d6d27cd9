//! A call in an answer: `[tool_call: Name(key="value", number=5)]`.

use std::sync::Arc;

use contract::tool::ToolSpec;
use serde_json::{Map, Value};

use super::{Candidate, EXAMPLES, named, says};

const TAG: &str = "[tool_call:";
const CANDIDATES: usize = 20;

/// The last call in `text` that can be read.
pub(super) fn find(text: &str, specs: &[&Arc<ToolSpec>]) -> Option<Candidate> {
    text.rmatch_indices(TAG).take(CANDIDATES).find_map(|(at, _)| {
        let (name, rest) = text[at + TAG.len()..].split_once('(')?;
        let args = arguments(rest)?;
        if says(&text[..at], EXAMPLES) || is_quoted(text, at) {
            return None;
        }
        let tool = Arc::clone(named(name.trim(), specs)?);
        Some(Candidate { tool, args, kind: "content_tag", is_thought: false })
    })
}

/// Returns true if a call at this place is quoted as code within a sentence.
fn is_quoted(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = &text[line..at];
    before.matches('`').count() % 2 == 1 && !before.trim_start_matches(['`', ' ']).is_empty()
}

/// All calls in `text`, in order. The arguments of one that cannot be read are its text.
pub(super) fn tags(text: &str) -> Vec<(&str, Value)> {
    let mut parts = text.split(TAG);
    parts.next();
    let tag = |part: &'_ str| {
        let (name, rest) = part.split_once('(')?;
        let args = arguments(rest).map_or_else(|| Value::String(rest.to_owned()), Value::Object);
        Some((name.len(), args))
    };
    parts.filter_map(|part| tag(part).map(|(end, args)| (part[..end].trim(), args))).collect()
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
        let key = key.trim();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if key.is_empty() || !key.chars().all(is_name) {
            return None;
        }
        arguments.insert(key.to_owned(), value);
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

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
    if let Some(Ok(value)) = values.next() {
        return Some((value, &text[values.byte_offset()..]));
    }
    // Models break lines within quotes as they are.
    let end = 1 + closing_quote(text.strip_prefix('"')?)?;
    let escaped = text[..=end].replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    Some((serde_json::from_str(&escaped).ok()?, &text[end + 1..]))
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}
