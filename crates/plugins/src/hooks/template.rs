//! Texts with placeholders for parts of an event, and values with a path in them.

use serde_json::{Map, Value};

/// Fills placeholders between two marks. `value` gives the text of a name; a placeholder for which
/// it gives none stays. Texts that are put in are not looked at again.
pub(crate) fn fill(
    text: &str,
    (open, close): (&str, &str),
    value: impl Fn(&str) -> Option<String>,
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
pub(crate) fn lookup<'a>(fields: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
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
