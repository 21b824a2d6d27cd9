//! The results of servers, as the model reads them.

use contract::text::visible;
use contract::tool::{Display, ToolOutput};
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult};
use rmcp::model::{ResourceContents, Role};
use serde_json::{Value, json};

/// The fact that holds the raw content of a result.
pub(crate) const CONTENT: &str = "content";

/// The raw content of a result. None if it is plain text alone.
pub(crate) fn content(result: &CallToolResult) -> Option<Value> {
    let is_plain = |block: &ContentBlock| matches!(block, ContentBlock::Text(_));
    let is_rich = !result.content.iter().all(is_plain);
    is_rich.then(|| serde_json::to_value(&result.content).unwrap_or_default())
}

/// The largest picture that is shown to users, in characters of base64.
const MAX_PICTURE: usize = 2 << 20;

/// The result of a call.
pub(crate) fn output(result: CallToolResult) -> ToolOutput {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    parts.retain(|part| !part.is_empty());
    // By the protocol texts stand for the structure where there are any.
    if let Some(structured) = &result.structured_content
        && parts.is_empty()
    {
        parts.push(serde_json::to_string_pretty(structured).unwrap_or_default());
    }
    let text = parts.join("\n\n");
    let mut output = if result.is_error == Some(true) {
        let text = if text.is_empty() { "the server gave no reason".to_owned() } else { text };
        ToolOutput::failure(text)
    } else {
        ToolOutput::success(text)
    };
    output.display = result.content.iter().find_map(picture);
    if let Some(structured) = result.structured_content {
        output.facts.insert("structured_content".to_owned(), structured);
    }
    output
}

/// A picture for users.
fn picture(block: &ContentBlock) -> Option<Display> {
    match block {
        ContentBlock::Image(image) if image.data.len() <= MAX_PICTURE => {
            Some(Display::Image { media_type: image.mime_type.clone(), data: image.data.clone() })
        }
        _ => None,
    }
}

/// A result with content of unknown kinds, which is named. None if it is not a result of a call.
pub(crate) fn lenient(mut result: Value) -> Option<CallToolResult> {
    let content = result.get_mut("content")?.as_array_mut()?;
    for item in content {
        if serde_json::from_value::<ContentBlock>(item.clone()).is_err() {
            let kind = item.get("type").and_then(Value::as_str).unwrap_or("none");
            let text = format!("[content of an unknown kind: {}]", visible(kind));
            *item = json!({"type": "text", "text": text});
        }
    }
    serde_json::from_value(result).ok()
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
    format!("[{what}: {kind}, {} bytes, not in this text]", data.len() / 4 * 3)
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

/// A prompt as one text. Messages of the assistant are marked.
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

    fn result(value: Value) -> ToolOutput {
        output(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn content_becomes_text() {
        let output = result(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "two"}},
            {"type": "resource_link", "uri": "c:d", "name": "three", "description": "more"},
        ]}));
        assert!(output.success);
        assert_eq!(
            output.output,
            "one\n\n[image: image/png, 6 bytes, not in this text]\n\n[a:b]\ntwo\n\n\
             [resource three: c:d] more"
        );
    }

    #[test]
    fn structured_content_is_not_repeated() {
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
    fn text_replaces_structured_content() {
        let told = result(json!({
            "content": [{"type": "text", "text": "the file"}],
            "structuredContent": {"content": "the file"},
        }));
        assert_eq!(told.output, "the file");
        assert_eq!(told.facts["structured_content"], json!({"content": "the file"}));
    }

    #[test]
    fn content_of_an_unknown_kind_is_named() {
        let odd = json!({"content": [{"type": "text", "text": "t1"}, {"type": "weird"}]});
        let kept = output(lenient(odd).unwrap());
        assert_eq!(kept.output, "t1\n\n[content of an unknown kind: weird]");
        assert!(lenient(json!({"other": 1})).is_none());
    }

    #[test]
    fn error_keeps_its_text() {
        let output =
            result(json!({"content": [{"type": "text", "text": "no such file"}], "isError": true}));
        assert_eq!((output.success, output.for_model().as_str()), (false, "no such file"));
        assert!(!result(json!({"content": [], "isError": true})).for_model().is_empty());
    }
}
