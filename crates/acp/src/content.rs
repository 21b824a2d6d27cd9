//! The prompt that the blocks of a client make.

use formats::percent;

use crate::host::Failure;
use crate::wire::{PromptBlock, Resource};

/// The text of a prompt: words and links in their order, then the content of resources.
pub(crate) fn text(blocks: Vec<PromptBlock>) -> Result<String, Failure> {
    let mut words = String::new();
    let mut resources = String::new();
    for block in blocks {
        match block {
            PromptBlock::Text { text } => words.push_str(&text),
            PromptBlock::ResourceLink { uri, name } => words.push_str(&link(&uri, &name)),
            PromptBlock::Resource { resource } => {
                let Resource { uri, text, blob } = resource;
                let place = place(&uri);
                words.extend(["`", &place, "`"]);
                match (text, blob) {
                    (Some(text), _) => {
                        resources.extend([
                            "

<file path=\"",
                            &place,
                            "\">
",
                            &text,
                            "
</file>",
                        ]);
                    }
                    (None, Some(_)) => words.push_str(" (binary, not included)"),
                    (None, None) => return Err(Failure::params("a resource has no text or blob")),
                }
            }
            PromptBlock::Image {} | PromptBlock::Audio {} => {
                return Err(Failure::params(
                    "a prompt holds an image or audio, which `promptCapabilities` does not offer",
                ));
            }
        }
    }
    if words.trim().is_empty() && resources.is_empty() {
        return Err(Failure::params("the prompt is empty"));
    }
    Ok(words + &resources)
}

fn link(uri: &str, name: &str) -> String {
    match file(uri) {
        Some(path) => format!("`{path}`"),
        None => format!("[{name}]({uri})"),
    }
}

fn place(uri: &str) -> String {
    file(uri).unwrap_or_else(|| uri.to_owned())
}

/// The path of a `file:` URI, with its fragment if it has one.
fn file(uri: &str) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let path = &path[path.find('/')?..];
    String::from_utf8(percent::decode(path)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(blocks: Value) -> Result<String, Failure> {
        text(serde_json::from_value(blocks).unwrap())
    }

    #[test]
    fn words_links_and_resources_make_one_text() {
        let prompt = read(json!([
            {"type": "text", "text": "Compare "},
            {"type": "resource_link", "uri": "file:///a/b%20c.rs", "name": "b c.rs"},
            {"type": "text", "text": " with "},
            {"type": "resource", "resource": {"uri": "file:///d.rs#L3", "text": "fn d() {}"}},
            {"type": "resource_link", "uri": "https://x.test/", "name": "x"},
        ]));
        let wanted = "Compare `/a/b c.rs` with `/d.rs#L3`[x](https://x.test/)\n\n\
                      <file path=\"/d.rs#L3\">\nfn d() {}\n</file>";
        assert_eq!(prompt.unwrap(), wanted);
    }

    #[test]
    fn empty_prompts_and_images_are_refused() {
        assert!(read(json!([])).is_err());
        assert!(read(json!([{"type": "text", "text": " "}])).is_err());
        assert!(read(json!([{"type": "image", "data": "", "mimeType": "image/png"}])).is_err());
        assert!(read(json!([{"type": "resource", "resource": {"uri": "x:y"}}])).is_err());
    }

    #[test]
    fn broken_escapes_stay_as_they_are() {
        assert_eq!(file("file:///a%2").as_deref(), Some("/a%2"));
        assert_eq!(file("file://localhost/a").as_deref(), Some("/a"));
        assert_eq!(file("file:///%ff"), None);
    }
}
