//! The result of a call, as a client reads it.

use contract::tool::{BUILTIN, ToolOutput, ToolSpec};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::tool_result::CONTENT;

/// The result of a call.
pub(super) fn result(spec: &ToolSpec, output: &ToolOutput) -> CallToolResult {
    let content = server_content(output).or_else(|| plugin_content(spec, output));
    let content = content.unwrap_or_else(|| vec![ContentBlock::text(output.for_model())]);
    let mut result = if output.success {
        CallToolResult::success(content)
    } else {
        CallToolResult::error(content)
    };
    let structured = output.facts.get("structured_content");
    result.structured_content = structured.filter(|it| it.is_object()).cloned();
    result
}

/// Pictures and other content of a server of ours, as they came.
fn server_content(output: &ToolOutput) -> Option<Vec<ContentBlock>> {
    serde_json::from_value(output.facts.get(CONTENT)?.clone()).ok()
}

/// The content of a plugin's tool that answers in the protocol's own form: an object with a list
/// `content` of the kinds of content that there are.
fn plugin_content(spec: &ToolSpec, output: &ToolOutput) -> Option<Vec<ContentBlock>> {
    let is_plugin_s = spec.source != BUILTIN && output.success;
    if !is_plugin_s || !output.output.trim_start().starts_with('{') {
        return None;
    }
    let mut answer: Value = serde_json::from_str(&output.output).ok()?;
    let answer = answer.as_object_mut()?;
    let content = answer.remove("content")?;
    let content: Vec<ContentBlock> = serde_json::from_value(content).ok()?;
    (answer.is_empty() && !content.is_empty()).then_some(content)
}

#[cfg(test)]
mod tests {
    use contract::tool::{Recovery, Risk, Traits};
    use serde_json::json;

    use super::*;

    fn spec(source: &str) -> ToolSpec {
        ToolSpec {
            name: "t".into(),
            description: String::new(),
            input_schema: json!({}).into(),
            version: String::new(),
            categories: Vec::new(),
            requires_permission: false,
            risk_level: Risk::ReadOnly,
            recovery_policy: Recovery::Allow,
            parallel: false,
            source: source.into(),
            traits: Traits::default(),
        }
    }

    fn content(source: &str, output: &ToolOutput) -> Value {
        serde_json::to_value(result(&spec(source), output)).unwrap()["content"].clone()
    }

    #[test]
    fn only_a_plugin_can_answer_with_protocol_content() {
        let picture = json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]);
        let output = ToolOutput::success(json!({"content": picture}).to_string());
        assert_eq!(content("some-plugin", &output), picture);
        assert_eq!(content(BUILTIN, &output)[0]["type"], "text");
        for other in [json!({"content": []}), json!({"content": picture, "more": 1}), json!([1])] {
            let output = ToolOutput::success(other.to_string());
            assert_eq!(content("some-plugin", &output)[0]["text"], output.output);
        }
    }
}
