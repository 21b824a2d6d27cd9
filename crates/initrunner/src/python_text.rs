//! Values as Python's `str()` formats them.

use serde_json::Value;

/// A text, number or truth value as Python shows it.
pub(crate) fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::from("None"),
        Value::Bool(true) => String::from("True"),
        Value::Bool(false) => String::from("False"),
        Value::Number(number) => number_text(&number.to_string()),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A number with Python's exponent: a sign, and two digits at least.
fn number_text(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent.trim_start_matches('+')),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_in_python() {
        let written = |value| scalar_text(&value);
        assert_eq!(written(json!(1e16)), "1e+16");
        assert_eq!(written(json!(1.5e-7)), "1.5e-07");
        assert_eq!(written(json!(1e15)), "1000000000000000.0");
        assert_eq!(written(json!(12)), "12");
    }
}
