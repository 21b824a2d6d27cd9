//! `{{name}}` in a role's prompt, and where its value comes from.

use std::collections::{BTreeMap, BTreeSet};

use formats::{python, template};
use serde_json::Value;

/// The marks around a name.
const MARKS: (&str, &str) = ("{{", "}}");

const PREFIX: &str = "INITRUNNER_VAR_";

pub(crate) fn check(prompt: &str, schema: Option<&Value>) -> Result<(), String> {
    let used = names(prompt);
    let Some(schema) = schema else {
        return match used.first() {
            Some(name) => Err(format!(
                "`{{{{{name}}}}}` is used in the prompt, but there is no schema for it"
            )),
            None => Ok(()),
        };
    };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Err(String::from("it has no `properties`"));
    };
    for (name, property) in properties {
        let kind = property.get("type").and_then(Value::as_str).unwrap_or("string");
        if !["string", "integer", "number", "boolean"].contains(&kind) {
            return Err(format!("`{name}` is not text, number or truth value"));
        }
    }
    match used.iter().find(|name| !properties.contains_key(name.as_str())) {
        Some(name) => {
            Err(format!("`{{{{{name}}}}}` is used in the prompt but is not in the schema"))
        }
        None => Ok(()),
    }
}

/// The prompt with values: those given, else those of the environment, else the schema's defaults.
pub fn filled(
    prompt: &str,
    schema: Option<&Value>,
    given: &BTreeMap<String, String>,
    environment: &BTreeMap<String, String>,
) -> Result<String, String> {
    let empty = serde_json::Map::new();
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let properties = properties.unwrap_or(&empty);
    if let Some(name) = given.keys().find(|name| !properties.contains_key(*name)) {
        let known: Vec<&str> = properties.keys().map(String::as_str).collect();
        return Err(format!("the role has no variable `{name}`; it has {}", known.join(", ")));
    }
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let required: BTreeSet<&str> =
        required.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut values = BTreeMap::new();
    for (name, property) in properties {
        let set = environment.get(&format!("{PREFIX}{}", name.to_uppercase()));
        let value = match given.get(name).or(set) {
            Some(text) => Some(checked(name, property, text)?),
            None => property.get("default").map(python::to_text),
        };
        match value {
            Some(value) => values.insert(name.as_str(), value),
            None if required.contains(name.as_str()) || names(prompt).contains(name) => {
                return Err(format!("variable `{name}` has no value: pass `--var {name}=VALUE`"));
            }
            None => None,
        };
    }
    Ok(template::fill(prompt, MARKS, |text| values.get(name(text)?).cloned()))
}

fn checked(name: &str, property: &Value, text: &str) -> Result<String, String> {
    let kind = property.get("type").and_then(Value::as_str).unwrap_or("string");
    let fits = match kind {
        "integer" => text.parse::<i64>().is_ok(),
        "number" => text.parse::<f64>().is_ok(),
        "boolean" => ["true", "false"].contains(&text.to_lowercase().as_str()),
        _ => true,
    };
    if !fits {
        return Err(format!("variable `{name}` is not a valid {kind}: {text:?}"));
    }
    let among = property.get("enum").and_then(Value::as_array);
    if among.is_some_and(|among| !among.iter().any(|it| python::to_text(it) == text)) {
        return Err(format!("variable `{name}` must not be {text:?}"));
    }
    Ok(text.to_owned())
}

fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    template::fill(text, MARKS, |text| {
        names.push(name(text)?.to_owned());
        Some(String::new())
    });
    names
}

/// The name between two marks; none if it is none.
fn name(text: &str) -> Option<&str> {
    let name = text.trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn values_come_from_flags_the_environment_and_defaults() {
        let schema = json!({"properties": {
            "who": {"type": "string"}, "n": {"type": "integer", "default": 3}, "env": {"type": "string"},
        }});
        let environment = map(&[("INITRUNNER_VAR_ENV", "e"), ("INITRUNNER_VAR_WHO", "other")]);
        let text = filled(
            "{{who}} {{ n }} {{env}} {{",
            Some(&schema),
            &map(&[("who", "{{n}}")]),
            &environment,
        );
        assert_eq!(text.unwrap(), "{{n}} 3 e {{");
    }

    #[test]
    fn invalid_values_are_reported() {
        let schema = json!({"properties": {"n": {"type": "integer"}}});
        let said = |given: &[(&str, &str)]| {
            filled("{{n}}", Some(&schema), &map(given), &map(&[])).unwrap_err()
        };
        assert!(said(&[]).contains("`--var n=VALUE`"));
        assert!(said(&[("n", "x")]).contains("is not a valid integer"));
        assert!(said(&[("m", "1"), ("n", "1")]).contains("no variable `m`"));
        assert!(check("{{x}}", None).unwrap_err().contains("no schema"));
        assert!(check("{{x}}", Some(&schema)).unwrap_err().contains("not in the schema"));
    }
}
