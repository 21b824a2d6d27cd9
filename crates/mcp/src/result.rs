//! What a server returns, as the model reads it.

use contract::tool::ToolOutput;
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult};
use rmcp::model::{ResourceContents, Role};
use serde_json::Value;

/// The result of a call.
pub(crate) fn output(result: CallToolResult) -> ToolOutput {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    if let Some(structured) = &result.structured_content
        && !is_told(structured, &result.content)
    {
        parts.push(serde_json::to_string_pretty(structured).unwrap_or_default());
    }
    parts.retain(|part| !part.is_empty());
    let text = parts.join("\n\n");
    let mut output = if result.is_error == Some(true) {
        let text = if text.is_empty() { "the server gave no reason".to_owned() } else { text };
        ToolOutput::failure(text)
    } else {
        ToolOutput::success(text)
    };
    if let Some(structured) = result.structured_content {
        output.facts.insert("structured_content".to_owned(), structured);
    }
    output
}

/// Whether one of the texts says the same.
fn is_told(structured: &Value, content: &[ContentBlock]) -> bool {
    content.iter().any(|block| match block {
        ContentBlock::Text(text) => {
            serde_json::from_str::<Value>(&text.text).is_ok_and(|told| told == *structured)
        }
        _ => false,
    })
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => described("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => described("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => contents(&embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let about = link.description.as_deref().or(link.title.as_deref()).unwrap_or_default();
            let text = format!("[resource {}: {}] {about}", link.name, link.uri);
            text.trim_end().to_owned()
        }
        _ => "[content of an unknown kind]".to_owned(),
    }
}

fn described(what: &str, kind: &str, data: &str) -> String {
    format!("[{what}: {kind}, {} bytes, not shown]", data.len() / 4 * 3)
}

fn contents(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
            format!("[{uri}]\n{}", described("binary", kind, blob))
        }
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// The contents of a resource.
pub(crate) fn resource(result: &ReadResourceResult) -> String {
    result.contents.iter().map(contents).collect::<Vec<_>>().join("\n\n")
}

/// A prompt as one text. What the server puts into the model's mouth is marked.
pub(crate) fn prompt(result: &GetPromptResult) -> String {
    let messages = result.messages.iter().map(|message| {
        let text = block(&message.content);
        match message.role {
            Role::Assistant => format!("[assistant]\n{text}"),
            Role::User => text,
        }
    });
    messages.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(value: Value) -> ToolOutput {
        output(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn texts_pictures_and_resources_become_words() {
        let output = result(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "two"}},
            {"type": "resource_link", "uri": "c:d", "name": "three", "description": "more"},
        ]}));
        assert!(output.success);
        assert_eq!(
            output.output,
            "one\n\n[image: image/png, 6 bytes, not shown]\n\n[a:b]\ntwo\n\n\
             [resource three: c:d] more"
        );
    }

    #[test]
    fn structured_content_is_told_once() {
        let structured = json!({"n": 1});
        let twice = result(json!({
            "content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": structured,
        }));
        assert_eq!(twice.output, "{\"n\":1}");
        assert_eq!(twice.facts["structured_content"], structured);
        let once = result(json!({"content": [], "structuredContent": structured}));
        assert_eq!(once.output, "{\n  \"n\": 1\n}");
    }

    #[test]
    fn an_error_is_an_error_and_keeps_its_words() {
        let output =
            result(json!({"content": [{"type": "text", "text": "no such file"}], "isError": true}));
        assert_eq!((output.success, output.for_model().as_str()), (false, "no such file"));
        assert!(!result(json!({"content": [], "isError": true})).for_model().is_empty());
    }
}
