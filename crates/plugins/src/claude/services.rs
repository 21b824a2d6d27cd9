//! Services for handlers: calls of MCP tools, and agents. The implementation applies the rules.

use async_trait::async_trait;
use contract::policy::Mode;
use formats::template::{fill, lookup};
use serde_json::{Map, Value};

/// The session of services for handlers. Handlers that need services are not asked about it: they
/// could go on without end.
pub const SERVICE_SESSION: &str = "hook-aide";

#[derive(Clone, Debug, PartialEq)]
pub struct McpCall {
    /// The plugin whose handler it is; none for the project's.
    pub plugin: Option<String>,
    pub server: String,
    pub tool: String,
    pub input: Value,
    pub mode: Mode,
}

/// Does for handlers what needs a conversation.
#[async_trait]
pub trait HookServices: Send + Sync {
    /// Calls a server's tool if rules allow it. The error says why it did not run.
    async fn call(&self, call: McpCall) -> Result<String, String>;

    /// Has an agent look into something, and returns its last words.
    async fn look_into(
        &self,
        model: Option<&str>,
        prompt: &str,
        mode: Mode,
    ) -> Result<String, String>;
}

/// Arguments with `${path}` replaced by what the event says at that path. One that is nothing else
/// keeps its kind; one that the event does not have is empty.
pub(super) fn filled(input: &Value, event: &Map<String, Value>) -> Value {
    match input {
        Value::String(text) => text_with(text, event),
        Value::Array(items) => items.iter().map(|item| filled(item, event)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), filled(value, event))).collect()
        }
        other => other.clone(),
    }
}

fn text_with(text: &str, event: &Map<String, Value>) -> Value {
    let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let whole = whole.filter(|path| !path.contains("${"));
    if let Some(found) = whole.and_then(|path| lookup(event, path)) {
        return found.clone();
    }
    let shown = |path: &str| match lookup(event, path) {
        Some(Value::String(found)) => found.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    fill(text, ("${", "}"), |path| Some(shown(path))).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_filled_from_the_event() {
        let event = json!({"tool_input": {"file_path": "/a", "limit": 3, "list": [{"x": "y"}]}});
        let wanted = json!({
            "file": "${tool_input.file_path}",
            "limit": "${tool_input.limit}",
            "words": "of ${tool_input.file_path}: ${tool_input.limit} ${tool_input.none}${",
            "deep": [{"one": "${tool_input.list.0.x}"}],
            "missing": "${nothing}",
            "plain": 7,
        });
        let made = json!({
            "file": "/a", "limit": 3, "words": "of /a: 3 ${", "deep": [{"one": "y"}],
            "missing": "", "plain": 7,
        });
        assert_eq!(filled(&wanted, event.as_object().unwrap()), made);
    }
}
