//! The examples of a tool, read from the end of its description, where the model reads them.

use std::collections::BTreeMap;

use contract::tool::ToolSpec;
use serde_json::Value;

use crate::case::Case;

/// The line above the examples.
const HEADING: &str = "\n\nExamples:\n";

/// Arguments for a call of a tool and the files that it needs: of its first example, or of the first
/// scenario that calls it.
pub fn call(spec: &ToolSpec, cases: &[Case]) -> Option<(Value, BTreeMap<String, String>)> {
    let example = arguments(&spec.description, &spec.input_schema).into_iter().next();
    let of_case = |case: &Case| Some((case.arguments(&spec.name)?.clone(), case.files.clone()));
    example.map(|it| (it, BTreeMap::new())).or_else(|| cases.iter().find_map(of_case))
}

/// The arguments of the examples that are JSON objects. Prose is skipped.
pub fn arguments(description: &str, schema: &Value) -> Vec<Value> {
    let Some((_, examples)) = description.rsplit_once(HEADING) else { return Vec::new() };
    let objects = examples.lines().filter_map(|line| {
        let value: Value = serde_json::from_str(line.strip_prefix("- ")?).ok()?;
        value.is_object().then(|| unwrapped(value, schema))
    });
    objects.collect()
}

/// The arguments of an example that has them in `input` beside other keys.
fn unwrapped(mut example: Value, schema: &Value) -> Value {
    let is_parameter = schema["properties"].get("input").is_some();
    if !is_parameter && example["input"].is_object() {
        return example["input"].take();
    }
    example
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn examples_are_the_json_objects_below_the_heading() {
        let text = "Counts.\n\nExamples:\n- {\"a\": 1}\n- in words\n- {\"input\": {\"a\": 2}}";
        assert_eq!(arguments(text, &json!({})), [json!({"a": 1}), json!({"a": 2})]);
        let schema = json!({"properties": {"input": {}}});
        assert_eq!(arguments(text, &schema)[1], json!({"input": {"a": 2}}));
        assert!(arguments("Counts.\n- {\"a\": 1}", &json!({})).is_empty());
    }
}
