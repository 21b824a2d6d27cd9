//! Words of servers on their way to the model: without characters that nobody sees, and not
//! longer than is useful.

use contract::text::{head, is_hidden};
use serde_json::{Map, Value, json};

/// The longest description that is passed on.
const LONGEST: usize = 8 * 1024;

/// A text without hidden characters, cut where it is too long.
pub(crate) fn clean(text: &str) -> String {
    let seen: String = text.chars().filter(|&c| !is_hidden(c)).collect();
    let seen = seen.trim();
    if seen.len() <= LONGEST {
        return seen.to_owned();
    }
    format!("{}…", head(seen, LONGEST))
}

/// A schema of arguments as providers take it: an object, its texts clean.
pub(crate) fn arguments(schema: Map<String, Value>) -> Value {
    let mut schema = match cleaned(Value::Object(schema)) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        schema.insert("type".to_owned(), json!("object"));
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    Value::Object(schema)
}

fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let seen = text.chars().filter(|&c| !is_hidden(c)).collect();
            Value::String(seen)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(cleaned).collect()),
        Value::Object(object) => {
            let entries = object.into_iter();
            Value::Object(entries.map(|(key, value)| (key, cleaned(value))).collect())
        }
        other => other,
    }
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
}
