//! Texts with placeholders, and values with a path in them.

use serde_json::{Map, Value};

/// Fills placeholders between two marks. `value` gives the text of a name; a placeholder for which
/// it gives none stays. Texts that are put in are not looked at again.
pub fn fill(
    text: &str,
    (open, close): (&str, &str),
    mut value: impl FnMut(&str) -> Option<String>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        out.push_str(before);
        let known = after.split_once(close).and_then(|(name, behind)| Some((value(name)?, behind)));
        if let Some((text, behind)) = known {
            out.push_str(&text);
            rest = behind;
        } else {
            // The mark may overlap with another one.
            let (first, behind) = rest[before.len()..].split_at(1);
            out.push_str(first);
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

/// The value at a path of keys and indices with dots between them. A key may hold dots itself.
pub fn lookup<'a>(fields: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = fields.get(path) {
        return Some(value);
    }
    let (first, mut rest) = path.split_once('.')?;
    let mut value = fields.get(first)?;
    loop {
        match value {
            Value::Object(fields) => return lookup(fields, rest),
            Value::Array(items) => {
                let (index, further) = rest.split_once('.').unwrap_or((rest, ""));
                value = items.get(index.parse::<usize>().ok()?)?;
                if further.is_empty() {
                    return Some(value);
                }
                rest = further;
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_filled_once_and_unknown_ones_stay() {
        let value = |name: &str| (name.trim() == "a").then(|| "{{a}} b".to_owned());
        let text = fill("<{{a}}> {{{ a }} {{b}} {{a", ("{{", "}}"), value);
        assert_eq!(text, "<{{a}} b> {{{a}} b {{b}} {{a");
    }

    #[test]
    fn value_is_found_at_a_path() {
        let value = json!({"a": {"b": [{"c.d": 1}]}, "x.y": 2});
        let fields = value.as_object().unwrap();
        for (path, wanted) in [("a.b.0.c.d", Some(1)), ("x.y", Some(2)), ("a.b.1", None)] {
            assert_eq!(lookup(fields, path).and_then(Value::as_i64), wanted, "{path}");
        }
    }
}
