//! The use of a model's context window: measured as a whole by the provider, with estimated parts.

use std::sync::Arc;

use contract::event::{Event, EventKind};
use contract::tool::ToolSpec;

/// About so many bytes of English text or code are a token.
const TOKEN_BYTES: usize = 4;

/// The names and sizes of the parts, after the events of a conversation.
pub fn rows(
    events: Vec<Event>,
    specs: &[Arc<ToolSpec>],
    window: Option<u64>,
) -> Vec<(&'static str, String)> {
    let (mut system, mut used) = (0, 0);
    for event in events.into_iter().filter(|event| event.within.is_none()) {
        match event.kind {
            EventKind::Configured { system: text, .. } => system = text.len() / TOKEN_BYTES,
            EventKind::ReplyFinished { usage, .. } => used = usage.total_tokens(),
            EventKind::Compacted { kept: 0, .. } => used = 0,
            _ => {}
        }
    }
    let size = |spec: &Arc<ToolSpec>| {
        spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
    };
    let tools = specs.iter().map(size).sum::<usize>() / TOKEN_BYTES;
    let fixed = u64::try_from(system + tools).unwrap_or(u64::MAX);
    let mut rows = vec![
        ("System prompt", format!("about {system} tokens")),
        ("Tools", format!("about {tools} tokens for {} tools", specs.len())),
    ];
    if used > 0 {
        rows.push(("Messages", format!("about {} tokens", used.saturating_sub(fixed))));
    }
    rows.push(("In use", format!("{used} tokens after the last reply")));
    rows.push(match window.filter(|window| *window > 0) {
        Some(window) => ("Window", format!("{window} tokens, {}% in use", used * 100 / window)),
        None => ("Window", "unknown for this model".to_owned()),
    });
    rows
}
