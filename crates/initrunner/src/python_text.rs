//! Values as Python's `str()` formats them.

use serde_json::Value;

/// A text, number or truth value as Python shows it.
pub(crate) fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::from("None"),
        Value::Bool(true) => String::from("True"),
        Value::Bool(false) => String::from("False"),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
