//! Writes a tree as YAML, one value a line, so that each line has one origin.

use contract::text::is_hidden;
use formats::yaml::{Options, resolve};
use serde_json::Value;

use crate::origin::{Content, Node};

/// A line with its value.
pub(crate) struct Line<'a> {
    /// The line.
    pub(crate) text: String,
    /// The value.
    pub(crate) node: &'a Node,
}

/// The lines of a tree whose top is a map.
pub(crate) fn lines(node: &Node) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    emit(node, 0, &mut lines);
    lines
}

fn emit<'a>(node: &'a Node, indent: usize, lines: &mut Vec<Line<'a>>) {
    let margin = " ".repeat(indent);
    for (name, node) in node.entries() {
        let name = scalar(&Value::from(name.as_str()));
        if let Some(value) = inline(node) {
            lines.push(Line { text: format!("{margin}{name}: {value}"), node });
            continue;
        }
        lines.push(Line { text: format!("{margin}{name}:"), node });
        emit(node, indent + 2, lines);
    }
    for item in node.items() {
        if let Some(value) = inline(item) {
            lines.push(Line { text: format!("{margin}- {value}"), node: item });
            continue;
        }
        let first = lines.len();
        emit(item, indent + 2, lines);
        if let Some(line) = lines.get_mut(first) {
            line.text.replace_range(indent..=indent, "-");
        }
    }
}

/// A value that fits on its key's line.
fn inline(node: &Node) -> Option<String> {
    match &node.content {
        Content::Scalar(value) => Some(scalar(value)),
        Content::List(items) if items.is_empty() => Some("[]".into()),
        Content::Map(entries) if entries.is_empty() => Some("{}".into()),
        Content::List(_) | Content::Map(_) => None,
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// Returns true if text reads back as itself without quotes, for every reader of YAML.
fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "nan", "inf"];
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_');
    let ends_well = text.ends_with(|c: char| c != ':' && c != ' ');
    let fits = |c: char| c.is_ascii_alphanumeric() || " _-./~@+:".contains(c);
    begins_well
        && ends_well
        && text.chars().all(fits)
        && !text.contains(": ")
        && resolve(text, Options::default()).is_string()
        && !WORDS.contains(&text.to_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if is_hidden(c) => quoted.extend(["\\U".into(), format!("{:08x}", u32::from(c))]),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
