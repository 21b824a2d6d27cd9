//! Words of servers on their way to the model: without characters that nobody sees, and not
//! longer than is useful.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use contract::text::{escaped, head, is_hidden};
use serde_json::{Map, Value, json};

use crate::catalog::Catalog;

/// The longest description that is passed on.
const LONGEST: usize = 8 * 1024;
/// How many of a kind a report lists one by one.
const LISTED: usize = 5;

/// Whether a text is of plain letters alone, and so hides nothing: nearly every one is, and a start
/// looks at thousands.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

/// Whether a text holds something that nobody sees.
fn hides(text: &str) -> bool {
    !is_plain(text) && text.contains(is_hidden)
}

/// A text without hidden characters, cut where it is too long.
pub(crate) fn clean(text: &str) -> String {
    let seen: Cow<'_, str> =
        if hides(text) { text.chars().filter(|&c| !is_hidden(c)).collect() } else { text.into() };
    let seen = seen.trim();
    if seen.len() <= LONGEST {
        return seen.to_owned();
    }
    format!("{}…", head(seen, LONGEST))
}

/// A schema of arguments as providers take it: an object, its texts clean. A property whose name
/// hides something is left out: under another name the server would not know it.
pub(crate) fn arguments(mut schema: Map<String, Value>) -> Value {
    tidy_object(&mut schema);
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        schema.insert("type".to_owned(), json!("object"));
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    Value::Object(schema)
}

/// Takes out what is hidden, in place: hardly any schema hides anything, and a start reads many.
fn tidy(value: &mut Value) {
    match value {
        Value::String(text) if hides(text) => text.retain(|c| !is_hidden(c)),
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(object) => tidy_object(object),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn tidy_object(object: &mut Map<String, Value>) {
    if object.keys().any(|key| hides(key)) {
        object.retain(|key, _| !hides(key));
    }
    let is_odd = |name: &Value| name.as_str().is_some_and(hides);
    for (key, value) in object {
        match value {
            Value::Array(names) if key == "required" => names.retain(|name| !is_odd(name)),
            value => tidy(value),
        }
    }
}

/// What a server tells the model and no person would see, as a sentence; none where there is
/// nothing of it.
pub(crate) fn report(catalog: &Catalog) -> Option<String> {
    let mut found = Hidden::default();
    found.text(&catalog.instructions);
    for tool in &catalog.tools {
        found.text(&tool.description);
        found.text(tool.title.as_deref().unwrap_or_default());
        found.object(&tool.input_schema);
        let odd = tool.name.chars().filter(|c| !c.is_ascii() || is_hidden(*c));
        let before = found.characters.len();
        found.characters.extend(odd);
        if found.characters.len() > before {
            found.names.insert(plain(&tool.name));
        }
    }
    for prompt in &catalog.prompts {
        found.text(&prompt.description);
        prompt.arguments.iter().for_each(|argument| found.text(&argument.name));
    }
    found.told()
}

/// What was found of hidden characters.
#[derive(Default)]
struct Hidden {
    characters: BTreeSet<char>,
    /// Tools whose names hold some.
    names: BTreeSet<String>,
    /// Properties whose names hold some.
    left_out: BTreeSet<String>,
}

impl Hidden {
    fn text(&mut self, text: &str) {
        if is_plain(text) {
            return;
        }
        // The end of a line as Windows writes it hides nothing.
        let hidden = text.chars().filter(|&c| c != '\r' && is_hidden(c));
        self.characters.extend(hidden);
    }

    fn schema(&mut self, schema: &Value) {
        match schema {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.schema(item)),
            Value::Object(object) => self.object(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, object: &Map<String, Value>) {
        for (key, value) in object {
            if hides(key) {
                self.characters.extend(key.chars().filter(|&c| is_hidden(c)));
                self.left_out.insert(plain(key));
            }
            self.schema(value);
        }
    }

    fn told(&self) -> Option<String> {
        let points = self.characters.iter().map(|c| format!("U+{:04X}", u32::from(*c)));
        let points: BTreeSet<String> = points.collect();
        if points.is_empty() {
            return None;
        }
        let mut told = format!(
            "hidden characters were removed from what it tells the model: {}",
            list(&points)
        );
        for (what, names) in
            [("left out were the properties", &self.left_out), ("tools named so", &self.names)]
        {
            if !names.is_empty() {
                let _ = write!(told, "; {what}: {}", list(names));
            }
        }
        Some(told)
    }
}

/// A name with everything escaped that is no plain letter.
fn plain(name: &str) -> String {
    let name = head(name, 200);
    let is_odd = |c: char| !c.is_ascii_graphic() && c != ' ';
    format!("`{}`", escaped(name, name.char_indices().filter(|(_, c)| is_odd(*c))))
}

fn list(items: &BTreeSet<String>) -> String {
    let first: Vec<&str> = items.iter().take(LISTED).map(String::as_str).collect();
    let more = items.len().saturating_sub(LISTED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_words_do_not_reach_the_model() {
        assert_eq!(clean(" Adds\u{200b}\u{e0041} numbers\u{202e}. "), "Adds numbers.");
        let schema = json!({"properties": {"a": {"description": "x\u{feff}y", "type": "string"}}});
        let Value::Object(schema) = schema else { unreachable!() };
        assert_eq!(
            arguments(schema),
            json!({
                "properties": {"a": {"description": "xy", "type": "string"}},
                "type": "object",
            })
        );
        assert!(clean(&"x".repeat(100_000)).len() < 9000);
    }

    #[test]
    fn a_property_whose_name_hides_something_is_left_out_and_reported() {
        let schema = json!({
            "properties": {"a\u{e0041}": {"type": "string"}, "b": {"enum": ["x\u{fe01}"]}},
            "required": ["a\u{e0041}", "b"],
        });
        let Value::Object(schema) = schema else { unreachable!() };
        let expected = json!({
            "properties": {"b": {"enum": ["x"]}}, "required": ["b"], "type": "object",
        });
        assert_eq!(arguments(schema.clone()), expected);
        let tool = |name: &str, input_schema| crate::catalog::ToolEntry {
            name: name.to_owned(),
            input_schema,
            ..Default::default()
        };
        let tools = vec![tool("t", schema), tool("R\u{435}ad", Map::new())];
        let told = report(&Catalog { tools, ..Catalog::default() }).unwrap();
        assert_eq!(
            told,
            "hidden characters were removed from what it tells the model: U+0435, U+E0041, \
             U+FE01; left out were the properties: `a\\u{e0041}`; tools named so: `R\\u{435}ad`"
        );
        let plain = tool("read", Map::new());
        assert_eq!(report(&Catalog { tools: vec![plain], ..Catalog::default() }), None);
    }
}
