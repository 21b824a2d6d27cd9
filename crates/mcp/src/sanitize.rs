//! Descriptions of servers on their way to the model: without invisible characters, and of limited
//! length.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use contract::text::{escaped, head, is_hidden};
use serde_json::{Map, Value, json};

use crate::catalog::Catalog;

/// The longest description that is passed on.
const MAX_DESCRIPTION: usize = 8 * 1024;
/// How many of a kind a report lists one by one.
const MAX_LISTED: usize = 5;
/// Signs with an emoji outside of the ranges of emoji: ©, ®, ‼, ⁉, ™, ℹ, 〰, 〽, ㊗, ㊙.
const SIGNS: &str = "\u{a9}\u{ae}\u{203c}\u{2049}\u{2122}\u{2139}\u{3030}\u{303d}\u{3297}\u{3299}";

/// Returns true for plain ASCII, which hides nothing. Nearly every text is, and a start reads
/// thousands.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

/// The invisible characters of a text, with their positions.
fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(|&(at, c)| match c {
        // It selects the emoji form of the character before it.
        '\u{fe0f}' => !has_emoji(text[..at].chars().next_back(), text[at..].chars().nth(1)),
        _ => is_hidden(c),
    })
}

/// Returns true if a variation selector makes an emoji of a character, given what follows.
fn has_emoji(c: Option<char>, next: Option<char>) -> bool {
    match c {
        Some('0'..='9' | '#' | '*') => next == Some('\u{20e3}'),
        Some('\u{2800}') | None => false,
        Some(c) => {
            matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}') || SIGNS.contains(c)
        }
    }
}

/// Returns true if a text has invisible characters.
fn has_hidden(text: &str) -> bool {
    !is_plain(text) && hidden(text).next().is_some()
}

/// A text without invisible characters.
fn without_hidden(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return text.into();
    }
    let (mut kept, mut end) = (String::new(), 0);
    for (at, c) in hidden(text) {
        kept.push_str(&text[end..at]);
        end = at + c.len_utf8();
    }
    if end == 0 { text.into() } else { Cow::Owned(kept + &text[end..]) }
}

/// A text without hidden characters, cut where it is too long.
pub(crate) fn clean(text: &str) -> String {
    let seen = without_hidden(text);
    let seen = seen.trim();
    if seen.len() <= MAX_DESCRIPTION {
        return seen.to_owned();
    }
    format!("{}…", head(seen, MAX_DESCRIPTION))
}

/// A schema of arguments as providers take it: an object, its texts clean. A property with an
/// invisible character in its name is left out: the server would not know it by another name.
pub(crate) fn arguments(mut schema: Map<String, Value>) -> Value {
    remove_hidden_in_object(&mut schema);
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        schema.insert("type".to_owned(), json!("object"));
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    Value::Object(schema)
}

/// Removes invisible characters in place: hardly any schema has some, and a start reads many.
fn remove_hidden(value: &mut Value) {
    match value {
        Value::String(text) if has_hidden(text) => *text = without_hidden(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(remove_hidden),
        Value::Object(object) => remove_hidden_in_object(object),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn remove_hidden_in_object(object: &mut Map<String, Value>) {
    if object.keys().any(|key| has_hidden(key)) {
        object.retain(|key, _| !has_hidden(key));
    }
    let is_odd = |name: &Value| name.as_str().is_some_and(has_hidden);
    for (key, value) in object {
        match value {
            Value::Array(names) if key == "required" => names.retain(|name| !is_odd(name)),
            value => remove_hidden(value),
        }
    }
}

/// A sentence about the invisible characters in a catalog. None if there are none.
pub(crate) fn report(catalog: &Catalog) -> Option<String> {
    let mut found = HiddenText::default();
    found.text(&catalog.instructions);
    for tool in &catalog.tools {
        found.text(&tool.description);
        found.text(tool.title.as_deref().unwrap_or_default());
        found.object(&tool.input_schema);
        let odd = tool.name.chars().filter(|c| !c.is_ascii() || is_hidden(*c));
        let before = found.characters.len();
        found.characters.extend(odd);
        if found.characters.len() > before {
            found.names.insert(quoted(&tool.name));
        }
    }
    for prompt in &catalog.prompts {
        found.text(&prompt.description);
        prompt.arguments.iter().for_each(|argument| found.text(&argument.name));
    }
    found.sentence()
}

/// The invisible characters of a catalog.
#[derive(Default)]
struct HiddenText {
    characters: BTreeSet<char>,
    /// Tools whose names hold some.
    names: BTreeSet<String>,
    /// Properties whose names hold some.
    left_out: BTreeSet<String>,
}

impl HiddenText {
    fn text(&mut self, text: &str) {
        if is_plain(text) {
            return;
        }
        // The end of a line as Windows writes it hides nothing.
        self.characters.extend(hidden(text).map(|(_, c)| c).filter(|&c| c != '\r'));
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
            if has_hidden(key) {
                self.characters.extend(hidden(key).map(|(_, c)| c));
                self.left_out.insert(quoted(key));
            }
            self.schema(value);
        }
    }

    fn sentence(&self) -> Option<String> {
        let points = self.characters.iter().map(|c| format!("U+{:04X}", u32::from(*c)));
        let points: BTreeSet<String> = points.collect();
        if points.is_empty() {
            return None;
        }
        let mut sentence = format!(
            "hidden characters were removed from what it tells the model: {}",
            list(&points)
        );
        for (what, names) in
            [("left out were the properties", &self.left_out), ("tools named so", &self.names)]
        {
            if !names.is_empty() {
                let _ = write!(sentence, "; {what}: {}", list(names));
            }
        }
        Some(sentence)
    }
}

/// A name with everything escaped but plain characters.
fn quoted(name: &str) -> String {
    let name = head(name, 200);
    let is_odd = |c: char| !c.is_ascii_graphic() && c != ' ';
    format!("`{}`", escaped(name, name.char_indices().filter(|(_, c)| is_odd(*c))))
}

fn list(items: &BTreeSet<String>) -> String {
    let first: Vec<&str> = items.iter().take(MAX_LISTED).map(String::as_str).collect();
    let more = items.len().saturating_sub(MAX_LISTED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_do_not_reach_the_model() {
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
    fn emoji_selector_stays_behind_an_emoji_alone() {
        let asking = "❤\u{fe0f} ⚠\u{fe0f}! 1\u{fe0f}\u{20e3} ©\u{fe0f}";
        assert!(!has_hidden(asking));
        assert_eq!(clean(asking), asking);
        let hiding = "a\u{fe0f}b 1\u{fe0f}2 ❤\u{fe0f}\u{fe0f}\u{fe0f}";
        assert!(has_hidden(hiding));
        assert_eq!(clean(hiding), "ab 12 ❤\u{fe0f}");
    }

    #[test]
    fn property_with_a_hidden_name_is_left_out_and_reported() {
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
