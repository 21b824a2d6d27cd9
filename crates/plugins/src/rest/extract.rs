//! Takes one value out of an answer, by a path such as `$.items.0.name`.

use formats::python;
use serde_json::Value;

/// The value at a path; the whole answer if it is not JSON or the path has another form.
pub(super) fn extract(path: &str, answer: String) -> Result<String, String> {
    let Some(names) = path.strip_prefix("$.") else { return Ok(answer) };
    let Ok(document) = serde_json::from_str::<Value>(&answer) else { return Ok(answer) };
    let found = names.split('.').try_fold(&document, step);
    found.map(python::to_text).ok_or_else(|| format!("JSONPath '{path}' not found in response"))
}

fn step<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(name),
        Value::Array(items) => {
            let is_index = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
            is_index.then(|| items.get(name.parse::<usize>().ok()?)).flatten()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extracted(path: &str) -> Result<String, String> {
        extract(path, r#"{"a": {"b": [{"n": true}, 1.0]}, "0": "zero", "z": null}"#.to_owned())
    }

    #[test]
    fn path_of_fields_and_indices_finds_a_value() {
        assert_eq!(extracted("$.a.b.0.n").unwrap(), "True");
        assert_eq!(extracted("$.a.b.1").unwrap(), "1.0");
        assert_eq!(extracted("$.a.b").unwrap(), "[{'n': True}, 1.0]");
        assert_eq!(extracted("$.0").unwrap(), "zero");
        assert_eq!(extracted("$.z").unwrap(), "None");
    }

    #[test]
    fn missing_path_is_reported() {
        for path in ["$.nope", "$.a.b.2", "$.a.b.-1", "$.", "$.a.b.0.n.x"] {
            let text = format!("JSONPath '{path}' not found in response");
            assert_eq!(extracted(path).unwrap_err(), text);
        }
    }

    #[test]
    fn other_paths_and_answers_give_the_whole() {
        assert!(extracted("$").unwrap().starts_with('{'));
        assert!(extracted("a.b").unwrap().starts_with('{'));
        assert_eq!(extract("$.a", "plain".to_owned()).unwrap(), "plain");
    }
}
