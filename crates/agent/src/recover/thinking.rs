//! A call in reasoning: a JSON object that fits the parameters of a tool.

use std::sync::Arc;

use contract::text::tail;
use contract::tool::ToolSpec;
use serde_json::{Map, Value};

use super::{Candidate, EXAMPLES, named, parameters, says};

/// Bytes at the end of the reasoning that are searched.
const WINDOW: usize = 16_384;
const CANDIDATES: usize = 20;
const BEGINNINGS: usize = 64;
/// Bytes that are gone through in search of objects, at most.
const WORK: usize = 4 << 20;
/// Bytes before an object in which the name of its tool is searched.
const NAMED_WITHIN: usize = 500;
/// The additional weight of a match by required parameters.
const REQUIRED_WEIGHT: usize = 10;

/// Words that make what follows an intent.
const INTENTS: &str = "let me|let's|i will|i'll|i should|i need to|now call|call |use ";

/// The last call in `text`.
pub(super) fn find(
    text: &str,
    specs: &[&Arc<ToolSpec>],
    requires_intent: bool,
) -> Option<Candidate> {
    let text = tail(text, WINDOW);
    for (start, end, object) in objects(text).take(CANDIDATES) {
        let before = &text[..start];
        if says(before, EXAMPLES) || (requires_intent && !says(before, INTENTS)) {
            continue;
        }
        let is_last = text[end..].trim().is_empty();
        let kind = if is_last { "trailing_json" } else { "json_with_trailing_text" };
        let found = |tool: &Arc<ToolSpec>, args, kind| {
            let tool = Arc::clone(tool);
            Some(Candidate { tool, args, kind, is_thought: true })
        };
        if let Some((name, args)) = envelope(&object) {
            // It is a call of the tool that it names, or none.
            return named(name, specs).and_then(|tool| found(tool, args.clone(), kind));
        }
        if let Some(tool) = best_fit(&object, specs) {
            return found(tool, object, kind);
        }
        if let Some(tool) = named_before(tail(&text[..start], NAMED_WITHIN), &object, specs) {
            return found(tool, object, "fallback_json");
        }
    }
    None
}

/// The JSON objects in a text, last first. Each is as short as possible.
fn objects(text: &str) -> impl Iterator<Item = (usize, usize, Map<String, Value>)> {
    let ends = text.rmatch_indices('}').map(|(at, _)| at + 1);
    let mut left = WORK;
    let found = ends.map_while(move |end| {
        for (start, _) in text[..end].rmatch_indices('{').take(BEGINNINGS) {
            left = left.checked_sub(end - start)?;
            if let Ok(object) = serde_json::from_str(&text[start..end]) {
                return Some(Some((start, end, object)));
            }
        }
        Some(None)
    });
    found.flatten()
}

/// The name and the input of a call that an object holds.
fn envelope(object: &Map<String, Value>) -> Option<(&str, &Map<String, Value>)> {
    let name = ["name", "tool", "tool_name"].iter().find_map(|key| object.get(*key)?.as_str())?;
    let args = ["input", "arguments", "parameters"]
        .iter()
        .find_map(|key| object.get(*key)?.as_object())?;
    Some((name, args))
}

/// The tool whose parameters fit best: all that it requires, and at least one that it knows.
fn best_fit<'a>(
    object: &Map<String, Value>,
    specs: &[&'a Arc<ToolSpec>],
) -> Option<&'a Arc<ToolSpec>> {
    let mut best: Option<(usize, &Arc<ToolSpec>)> = None;
    for spec in specs {
        let (known, required) = parameters(spec);
        let fitting = object.keys().filter(|key| known.contains(key.as_str())).count();
        if fitting == 0 || !required.iter().all(|key| object.contains_key(*key)) {
            continue;
        }
        let score = fitting + if required.is_empty() { 0 } else { REQUIRED_WEIGHT };
        if best.is_none_or(|(highest, _)| score > highest) {
            best = Some((score, spec));
        }
    }
    best.map(|(_, spec)| spec)
}

/// The tool that is named last before an object which has one of its parameters.
fn named_before<'a>(
    before: &str,
    object: &Map<String, Value>,
    specs: &[&'a Arc<ToolSpec>],
) -> Option<&'a Arc<ToolSpec>> {
    let before = before.to_lowercase();
    let place = |spec: &Arc<ToolSpec>| {
        let name = spec.name.to_lowercase();
        let forms = [name.replace('_', " "), name.replace('_', ""), name];
        forms.iter().filter_map(|form| before.rfind(form.as_str())).max()
    };
    let fits = |spec: &Arc<ToolSpec>| {
        let (known, _) = parameters(spec);
        object.keys().any(|key| known.contains(key.as_str()))
    };
    let named = specs.iter().filter(|spec| fits(spec));
    named.filter_map(|spec| Some((place(spec)?, *spec))).max_by_key(|(at, _)| *at).map(|it| it.1)
}
