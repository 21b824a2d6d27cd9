//! Values as Python writes them, which is what files made for Python programs expect.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A value as `str()` gives it.
pub fn to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            represented(value)
        }
    }
}

/// A floating-point number as `str()` gives it.
pub fn float_text(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 || (1e-4..1e16).contains(&magnitude) {
        let text = number.to_string();
        return if text.contains('.') { text } else { format!("{text}.0") };
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) =
                exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float_text(float),
        _ => number.to_string(),
    }
}

/// A value as `repr()` gives it.
fn represented(value: &Value) -> String {
    match value {
        Value::Null => String::from("None"),
        Value::Bool(true) => String::from("True"),
        Value::Bool(false) => String::from("False"),
        Value::Number(number) => number_text(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(represented).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                format!("{}: {}", quoted(key), represented(value))
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut quoted = String::from(quote);
    for character in text.chars() {
        match character {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\\' => quoted.push_str("\\\\"),
            same if same == quote => {
                quoted.push('\\');
                quoted.push(same);
            }
            control if control.is_control() => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(control));
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push(quote);
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_formatted_as_in_python() {
        let value = json!({"n": true, "z": null, "f": 1.0, "l": [1, "it's", "a\"'b", "\n\u{1}"]});
        let text = r#"{'n': True, 'z': None, 'f': 1.0, 'l': [1, "it's", 'a"\'b', '\n\x01']}"#;
        assert_eq!(to_text(&value), text);
        assert_eq!(to_text(&json!("it's")), "it's");
    }

    #[test]
    fn floats_have_a_point_or_an_exponent() {
        for (number, text) in [
            (2.0, "2.0"),
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (1.5e-5, "1.5e-05"),
            (123_456_789.0, "123456789.0"),
            (1e100, "1e+100"),
        ] {
            assert_eq!(float_text(number), text);
        }
    }
}
