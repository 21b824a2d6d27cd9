//! Markdown files of these plugins, read leniently: front matter and quotes may be missing.

use serde_json::{Map, Value};

use crate::frontmatter::{self, Error, Reading};
use crate::skills::split_tools;

/// Keys whose value is plain words, whatever they begin with.
const PLAIN: [&str; 5] = ["argument-hint", "description", "when_to_use", "allowed-tools", "paths"];

pub(crate) struct Document {
    pub(crate) keys: Map<String, Value>,
    pub(crate) body: String,
}

pub(crate) fn read(text: &str) -> Result<Document, Error> {
    let first = text.lines().next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Ok(Document { keys: Map::new(), body: text.trim().to_owned() });
    }
    if let Some(body) = without_keys(text) {
        return Ok(Document { keys: Map::new(), body });
    }
    match frontmatter::parse(text, Reading::Lenient) {
        Ok(document) => Ok(Document { keys: document.keys, body: document.body.to_owned() }),
        Err(error) => match frontmatter::parse(&quoted(text), Reading::Lenient) {
            Ok(document) => Ok(Document { keys: document.keys, body: document.body.to_owned() }),
            Err(_) => Err(error),
        },
    }
}

fn without_keys(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('\n')?;
    let (block, body) = match rest.strip_prefix("---") {
        Some(body) => ("", body),
        None => rest.split_once("\n---")?,
    };
    block.trim().is_empty().then(|| body.trim().to_owned())
}

/// The text with the values of [`PLAIN`] keys in quotes.
fn quoted(text: &str) -> String {
    let mut is_head = true;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        is_head &= index == 0 || !line.starts_with("---");
        let plain = line.split_once(':').filter(|(key, value)| {
            let is_quoted = value.trim_start().starts_with(['"', '\'', '|', '>']);
            is_head && PLAIN.contains(key) && !is_quoted && !value.trim().is_empty()
        });
        lines.push(match plain {
            Some((key, value)) => format!("{key}: '{}'", value.trim().replace('\'', "''")),
            None => line.to_owned(),
        });
    }
    lines.join("\n")
}

impl Document {
    pub(crate) fn words(&self, key: &str) -> Option<String> {
        let text = match self.keys.get(key)? {
            Value::Null | Value::Object(_) => return None,
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(plain).collect();
                format!("[{}]", items.join(", "))
            }
            other => other.to_string(),
        };
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(crate) fn names(&self, key: &str) -> Vec<String> {
        match self.keys.get(key) {
            Some(Value::String(text)) => split_tools(text),
            Some(Value::Array(items)) => items.iter().map(plain).collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn switch(&self, key: &str) -> Option<bool> {
        let word = match self.keys.get(key)? {
            Value::Bool(switch) => return Some(*switch),
            other => plain(other).to_lowercase(),
        };
        match word.as_str() {
            "yes" | "on" | "true" | "1" => Some(true),
            "no" | "off" | "false" | "0" => Some(false),
            _ => None,
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient_front_matter_is_read() {
        let text = "---\nargument-hint: [issue] [priority]\ndescription: fix: now\n\
                    allowed-tools: Bash(git add:*), Read\nuser-invocable: off\n---\nbody\n";
        let document = read(text).unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(document.words("argument-hint").as_deref(), Some("[issue] [priority]"));
        assert_eq!(document.words("description").as_deref(), Some("fix: now"));
        assert_eq!(document.names("allowed-tools"), ["Bash(git add:*)", "Read"]);
        assert_eq!(document.switch("user-invocable"), Some(false));
        assert_eq!(document.body, "body");
    }

    #[test]
    fn front_matter_may_be_missing_or_empty() {
        for text in ["body\n", "---\n---\nbody", "---\n\n---\nbody\n"] {
            let document = read(text).unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!((document.body.as_str(), document.keys.len()), ("body", 0), "{text}");
        }
        assert!(read("---\na: [\n---\nbody").is_err());
    }
}
