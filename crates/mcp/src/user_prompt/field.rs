//! One field of a form: its title, its requirements, and the check of a typed value.

use contract::text::visible;
use serde_json::{Value, json};

/// The title of a field; its key if it has none.
pub(super) fn title(name: &str, field: &Value) -> String {
    let title = field.get("title").and_then(Value::as_str).filter(|it| !it.trim().is_empty());
    visible(title.unwrap_or(name)).into_owned()
}

/// The requirements of a field in a few words; empty if any text will do.
pub(super) fn requirements(field: &Value) -> String {
    let kind = match (kind(field), format(field)) {
        ("integer", _) => "a whole number",
        ("number", _) => "a number",
        ("array", _) => "any of them, separated by commas",
        (_, "email") => "an email address",
        (_, "uri") => "a URL, such as https://example.org",
        (_, "date") => "a date, such as 2026-01-31",
        (_, "date-time") => "a time, such as 2026-01-31T12:00:00Z",
        _ => "",
    };
    let (least, most, unit) = bounds(field);
    let word = |limit: Option<&Value>| limit.map(ToString::to_string);
    let range = match (word(least), word(most)) {
        (Some(least), Some(most)) => format!("{least} to {most}{unit}"),
        (Some(least), None) => format!("at least {least}{unit}"),
        (None, Some(most)) => format!("at most {most}{unit}"),
        (None, None) => String::new(),
    };
    [kind, &range].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The typed value in the type of the field. None if it does not meet the requirements.
pub(super) fn parse(typed: &str, field: &Value) -> Option<Value> {
    let value = match kind(field) {
        "boolean" => match typed.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => json!(true),
            "n" | "no" | "false" => json!(false),
            _ => return None,
        },
        "integer" => json!(typed.parse::<i64>().ok()?),
        "number" => json!(typed.parse::<f64>().ok()?),
        "array" => json!(typed.split(',').map(str::trim).collect::<Vec<_>>()),
        _ => json!(typed),
    };
    let validator = jsonschema::options().should_validate_formats(true).build(field);
    // A broken schema forbids nothing.
    let is_invalid = validator.is_ok_and(|validator| !validator.is_valid(&value));
    (!is_invalid).then_some(value)
}

/// The values that a field, or each of its items, can have. None if it can have any.
pub(super) fn choices(field: &Value) -> Option<Vec<Value>> {
    let field = field.get("items").unwrap_or(field);
    if let Some(plain) = field.get("enum").and_then(Value::as_array) {
        return Some(plain.clone());
    }
    let titled = field.get("oneOf").or(field.get("anyOf")).and_then(Value::as_array)?;
    Some(titled.iter().filter_map(|choice| choice.get("const").cloned()).collect())
}

fn kind(field: &Value) -> &str {
    field.get("type").and_then(Value::as_str).unwrap_or("string")
}

fn format(field: &Value) -> &str {
    field.get("format").and_then(Value::as_str).unwrap_or_default()
}

/// The lower and the upper bound, and the unit they count in.
fn bounds(field: &Value) -> (Option<&Value>, Option<&Value>, &'static str) {
    let (least, most, unit) = match kind(field) {
        "integer" | "number" => ("minimum", "maximum", ""),
        "array" => ("minItems", "maxItems", " of them"),
        "boolean" => return (None, None, ""),
        _ => ("minLength", "maxLength", " characters"),
    };
    let limit = |name: &str| field.get(name).filter(|it| it.is_number());
    (limit(least), limit(most), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_value_must_be_one_of_the_choices() {
        for field in [
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}),
        ] {
            assert_eq!(parse("a", &field), Some(json!("a")));
            assert_eq!(parse("c", &field), None);
        }
        for items in
            [json!({"enum": ["a", "b"]}), json!({"anyOf": [{"const": "a"}, {"const": "b"}]})]
        {
            let field = json!({"type": "array", "items": items});
            assert_eq!(parse("a, b", &field), Some(json!(["a", "b"])));
            assert_eq!(parse("a, c", &field), None);
        }
    }

    #[test]
    fn typed_value_must_meet_the_requirements() {
        for (field, wanted, good, bad) in [
            (
                json!({"type": "integer", "minimum": 1, "maximum": 150}),
                "a whole number, 1 to 150",
                &["1", "150"][..],
                &["0", "151", "abc", "1.5"][..],
            ),
            (
                json!({"type": "number", "maximum": 2.5}),
                "a number, at most 2.5",
                &["2.5"],
                &["3", "inf"],
            ),
            (json!({"type": "string", "minLength": 2}), "at least 2 characters", &["ab"], &["a"]),
            (json!({"format": "email"}), "an email address", &["a@b.c"], &["bad", "a b@c", "@c"]),
            (
                json!({"format": "uri"}),
                "a URL, such as https://example.org",
                &["https://a", "mailto:b"],
                &["a", "://b", "a b:c"],
            ),
            (
                json!({"format": "date"}),
                "a date, such as 2026-01-31",
                &["2026-02-28"],
                &["2026-02-30"],
            ),
            (
                json!({"format": "date-time"}),
                "a time, such as 2026-01-31T12:00:00Z",
                &["2026-02-28T01:02:03Z"],
                &["2026-02-28", "soon"],
            ),
            (
                json!({"type": "array", "minItems": 2, "items": {"enum": ["a", "b"]}}),
                "any of them, separated by commas, at least 2 of them",
                &["a,b"],
                &["a"],
            ),
            (json!({"type": "string"}), "", &["x"], &[]),
        ] {
            assert_eq!(requirements(&field), wanted);
            for typed in good {
                assert!(parse(typed, &field).is_some(), "{typed}: {field}");
            }
            for typed in bad {
                assert_eq!(parse(typed, &field), None, "{typed}: {field}");
            }
        }
    }
}
