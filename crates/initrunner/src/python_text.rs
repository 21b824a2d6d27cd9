//! Values as Python's `str()` formats them.

use serde_json::Value;

/// A text, number or truth value as Python shows it.
pub(crate) fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::from("None"),
        Value::Bool(true) => String::from("True"),
        Value::Bool(false) => String::from("False"),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float_text(float),
            _ => number.to_string(),
        },
        Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A number as Python's `repr()` of a float.
pub(crate) fn float_text(number: f64) -> String {
    let magnitude = number.abs();
    if number.is_nan() || number.is_infinite() {
        return number.to_string().to_lowercase();
    }
    if number == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return format!("{number:?}");
    }
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_a_point_or_an_exponent() {
        for (number, text) in
            [(2.0, "2.0"), (0.1, "0.1"), (-0.0, "-0.0"), (1e16, "1e+16"), (1.5e-5, "1.5e-05")]
        {
            assert_eq!(float_text(number), text);
        }
    }
}
