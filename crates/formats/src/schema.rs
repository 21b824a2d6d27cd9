//! Schemas for arguments to Python: they accept whatever Python converts. Python has the last word.

use serde_json::{Map, Value, json};

/// A schema that also lets texts stand for numbers and truth values, and knows the parameters that
/// a model does not fill: what it sends there is not looked at.
pub fn loosen(strict: &Value, hidden: &[String]) -> Value {
    let mut schema = loosened(strict);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for name in hidden {
            properties.entry(name).or_insert_with(|| json!({}));
        }
    }
    schema
}

fn loosened(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut loose = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "properties" | "$defs" => each(value),
            "items" | "additionalProperties" => loosened(value),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => match value {
                Value::Array(items) => items.iter().map(loosened).collect(),
                other => other.clone(),
            },
            "type" => kinds(value),
            // A set takes what is in it twice.
            "uniqueItems" => continue,
            // What is not of the type as it is written must not fail by its value or its form.
            "enum" | "const" | "format" if takes_texts(fields) => continue,
            _ => value.clone(),
        };
        loose.insert(key.clone(), value);
    }
    Value::Object(loose)
}

fn each(properties: &Value) -> Value {
    match properties {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, it)| (name.clone(), loosened(it))).collect())
        }
        other => other.clone(),
    }
}

fn kinds(kind: &Value) -> Value {
    match kind.as_str() {
        Some("integer" | "number" | "boolean") => json!(["boolean", "number", "string"]),
        _ => kind.clone(),
    }
}

fn takes_texts(fields: &Map<String, Value>) -> bool {
    let kind = fields.get("type").and_then(Value::as_str);
    matches!(kind, Some("integer" | "number" | "boolean")) || fields.contains_key("format")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_may_be_written_as_text() {
        let strict = json!({
            "type": "object", "required": ["n"], "additionalProperties": false,
            "properties": {
                "n": {"type": "integer", "minimum": 1, "enum": [1, 2]},
                "s": {"type": "string", "enum": ["a"]},
                "l": {"type": "array", "items": {"$ref": "#/$defs/P"}},
            },
            "$defs": {"P": {"type": "object", "properties": {"x": {"type": "number"}}}},
        });
        let loose = loosen(&strict, &["tool_config".to_owned()]);
        let wide = json!(["boolean", "number", "string"]);
        assert_eq!(loose["properties"]["n"], json!({"type": wide, "minimum": 1}));
        assert_eq!(loose["properties"]["s"], strict["properties"]["s"]);
        assert_eq!(loose["$defs"]["P"]["properties"]["x"]["type"], wide);
        assert_eq!(loose["properties"]["tool_config"], json!({}));
        assert_eq!(loose["additionalProperties"], json!(false));
        assert_eq!(loose["required"], json!(["n"]));
    }
}
