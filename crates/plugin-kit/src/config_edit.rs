//! Sets one value in the text of a YAML file. All other lines, comments and the order stay.

use std::path::Path;

use files::private::{self, Durability};
use formats::yaml::tree::{Content, Tree};
use formats::yaml::{Options, parse, resolve};
use serde_json::{Map, Value};

/// The text could not be edited; the lines to add by hand.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("this file cannot be edited automatically; add by hand:\n{0}")]
pub struct EditError(pub String);

/// Sets the value at a path of keys. The result is parsed again: if anything but that value
/// changed, it is an error.
pub fn set(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let by_hand = || EditError(nested(path, value, 0));
    let tree = parse(text, Options::default()).map_err(|_| by_hand())?;
    let edited = edit(text, &tree, path, value).ok_or_else(by_hand)?;
    let mut expected = tree.to_value();
    put(&mut expected, path, value);
    match parse(&edited, Options::default()) {
        Ok(tree) if tree.to_value() == expected => Ok(edited),
        _ => Err(by_hand()),
    }
}

/// Sets values in a file. Nothing is written if one cannot be set.
///
/// # Errors
///
/// The reason why the file stays as it is.
pub fn write(file: &Path, settings: &[([&str; 2], Value)]) -> Result<(), String> {
    let _lock = private::lock(file).map_err(|error| error.to_string())?;
    let bytes = private::read(file).map_err(|error| error.to_string())?.unwrap_or_default();
    let mut text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    for (path, value) in settings {
        text = set(&text, path, value).map_err(|error| error.to_string())?;
    }
    private::replace(file, text.as_bytes(), Durability::Synced).map_err(|error| error.to_string())
}

fn put(target: &mut Value, path: &[&str], value: &Value) {
    let Some((first, rest)) = path.split_first() else {
        value.clone_into(target);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Some(entries) = target.as_object_mut() {
        put(entries.entry(*first).or_insert(Value::Null), rest, value);
    }
}

/// An entry that begins its own line.
struct BlockEntry {
    depth: usize,
    /// The index of its first line, and of the first line after it.
    lines: (usize, usize),
    indent: usize,
}

fn edit(text: &str, tree: &Tree, path: &[&str], value: &Value) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let Some(entry) = deepest_entry(&lines, tree, path) else {
        let is_block = tree.is_null() || tree.as_map().is_some();
        lines.push(nested(path, value, 0));
        return is_block.then(|| joined(&lines));
    };
    let (first, end) = entry.lines;
    let node = tree.find(&path[..entry.depth])?;
    let rest = &path[entry.depth..];
    let is_block = node.is_null() || matches!(node.content, Content::Map(_));
    let head = lines.get(first)?;
    let is_open = without_comment(head).trim_end().ends_with(':');
    if !rest.is_empty() && is_block && is_open {
        let children = lines.get(first + 1..end)?.iter().filter(|line| is_content(line));
        let indent = children.map(|line| indent(line)).next().unwrap_or(entry.indent + 2);
        lines.insert(end, nested(rest, value, indent));
        return Some(joined(&lines));
    }
    // A tag would be lost.
    if lines.get(first..end)?.iter().any(|line| line.contains(" !")) {
        return None;
    }
    let mut merged = node.to_value();
    put(&mut merged, rest, value);
    let line = nested(&path[entry.depth - 1..entry.depth], &merged, entry.indent);
    lines.splice(first..end, [line]);
    Some(joined(&lines))
}

/// The deepest entry on the path that begins its own line.
fn deepest_entry(lines: &[String], tree: &Tree, path: &[&str]) -> Option<BlockEntry> {
    let entries = (1..=path.len()).rev().filter_map(|depth| {
        let first = tree.find(&path[..depth])?.place.line.checked_sub(1)?;
        let line = lines.get(first)?;
        let key = path[depth - 1];
        let begins = [key.to_owned(), format!("\"{key}\""), format!("'{key}'")];
        let rest = begins.iter().find_map(|key| line.trim_start().strip_prefix(key.as_str()))?;
        if !rest.trim_start().starts_with(':') {
            return None;
        }
        let own = indent(line);
        let is_inside = |line: &&String| {
            let is_item = indent(line) == own && line.trim_start().starts_with("- ");
            !is_content(line) || indent(line) > own || is_item
        };
        let after = lines[first + 1..].iter().take_while(is_inside);
        // Comments and empty lines after an entry belong to the next one.
        let last = after.enumerate().filter(|(_, line)| is_content(line)).last();
        let end = last.map_or(first + 1, |(index, _)| first + 2 + index);
        Some(BlockEntry { depth, lines: (first, end), indent: own })
    });
    entries.into_iter().next()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_content(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

fn without_comment(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line)
}

fn joined(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The lines of nested keys, the last with the value.
fn nested(path: &[&str], value: &Value, indent: usize) -> String {
    let last = path.len().saturating_sub(1);
    let lines = path.iter().enumerate().map(|(depth, key)| {
        let margin = " ".repeat(indent + 2 * depth);
        let key = scalar(key);
        if depth == last {
            format!("{margin}{key}: {}", flow(value))
        } else {
            format!("{margin}{key}:")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A value on one line.
pub fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}: {}", scalar(key), flow(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Text without quotes if it needs none.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./~".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || "_./~".contains(c));
    let yes_no = Options { yes_no: true, ..Options::default() };
    if begins && text.chars().all(is_plain) && text != "~" && resolve(text, yes_no).is_string() {
        return text.to_owned();
    }
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PATH: [&str; 3] = ["plugins", "todo", "sandbox"];

    fn edited(text: &str) -> String {
        set(text, &PATH, &json!({"network": ["a.test"], "read": ["~/n"]})).unwrap()
    }

    #[test]
    fn edit_adds_missing_keys_at_the_end() {
        let added = "plugins:\n  todo:\n    sandbox: {network: [a.test], read: [~/n]}\n";
        assert_eq!(edited(""), added);
        assert_eq!(edited("# mine\nmode: ask"), format!("# mine\nmode: ask\n{added}"));
    }

    #[test]
    fn edit_keeps_comments_and_order() {
        let text = "plugins: # all\n    # first\n    other:\n        timeout: 5 # s\n\n# models\nmodels:\n  x: 1\n";
        let expected = "plugins: # all\n    # first\n    other:\n        timeout: 5 # s\n    todo:\n      \
                        sandbox: {network: [a.test], read: [~/n]}\n\n# models\nmodels:\n  x: 1\n";
        assert_eq!(edited(text), expected);
        let text = "plugins:\n  todo:\n    timeout: 5\nmodels: {}\n";
        let expected = "plugins:\n  todo:\n    timeout: 5\n    sandbox: {network: [a.test], read: \
                        [~/n]}\nmodels: {}\n";
        assert_eq!(edited(text), expected);
    }

    #[test]
    fn edit_replaces_the_value_alone() {
        let text = "plugins:\n  todo:\n    sandbox:\n      network: true\n    timeout: 5 # s\n";
        let expected = "plugins:\n  todo:\n    sandbox: {network: [a.test], read: [~/n]}\n    timeout: 5 # s\n";
        assert_eq!(edited(text), expected);
        let text = "a: 1 # one\nplugins: {todo: {timeout: 5, sandbox: {}}, x: {}}\nb: 2\n";
        let expected = "a: 1 # one\nplugins: {todo: {timeout: 5, sandbox: {network: [a.test], read: \
                        [~/n]}}, x: {}}\nb: 2\n";
        assert_eq!(edited(text), expected);
        assert!(
            edited("plugins:\n")
                .ends_with("plugins:\n  todo:\n    sandbox: {network: [a.test], read: [~/n]}\n")
        );
    }

    #[test]
    fn edit_refuses_text_that_it_cannot_keep() {
        for text in ["{\"a\": 1}", "- a\n", "plugins: [\n", "plugins: {todo: !replace {a: 1}}\n"] {
            let error = set(text, &PATH, &json!({})).unwrap_err();
            assert_eq!(error.0, "plugins:\n  todo:\n    sandbox: {}", "{text}");
        }
    }

    #[test]
    fn scalars_are_quoted_where_yaml_needs_it() {
        for text in ["true", "no", "1.0", "", "~", "- a", "a: b", "*", "a b", "é", "-x"] {
            assert!(flow(&json!(text)).starts_with('"'), "{text}");
        }
        assert_eq!(flow(&json!(["~/a", "a.test", "1password"])), "[~/a, a.test, 1password]");
    }
}
