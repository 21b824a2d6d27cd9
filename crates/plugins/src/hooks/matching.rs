//! When a hook runs: every condition of its `match` must fit what happened.

use std::fmt::Write as _;

use formats::template::lookup;
use formats::yaml::tree::{Content, Tree as Node};
use serde_json::{Map, Number, Value};

use super::pattern::Pattern;

#[derive(Clone, Debug, Default)]
pub(crate) struct Matcher(Vec<(String, Condition)>);

#[derive(Clone, Debug)]
enum Condition {
    Text(Pattern),
    Same(Value),
    Any(Vec<Condition>),
    Inside(Matcher),
}

impl Matcher {
    /// Understands a `match`, and tells what in it cannot mean what it seems to.
    pub(crate) fn new(pairs: &[(String, Node)]) -> (Self, Vec<(usize, String)>) {
        let mut complaints = Vec::new();
        let conditions = conditions(pairs, &mut complaints);
        (Self(conditions), complaints)
    }

    /// The conditions that make sense, by the names that there are; fewer of them fit more.
    pub(crate) fn of_sense(pairs: &[(String, Node)], names: &[&str]) -> Self {
        let is_known = |key: &str| names.contains(&key.split('.').next().unwrap_or(key));
        let known = pairs.iter().filter(|(key, _)| is_known(key));
        let sound = known.filter_map(|(key, node)| {
            let mut complaints = Vec::new();
            let condition = condition(node, &mut complaints);
            complaints.is_empty().then(|| (key.clone(), condition))
        });
        Self(sound.collect())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.split('.').next().unwrap_or(key))
    }

    pub(crate) fn fits(&self, context: &Map<String, Value>) -> bool {
        self.0.iter().all(|(key, condition)| {
            let value = lookup(context, key).filter(|value| !value.is_null());
            value.is_some_and(|value| condition.fits(value))
        })
    }
}

fn conditions(
    pairs: &[(String, Node)],
    complaints: &mut Vec<(usize, String)>,
) -> Vec<(String, Condition)> {
    pairs.iter().map(|(key, node)| (key.clone(), condition(node, complaints))).collect()
}

fn condition(node: &Node, complaints: &mut Vec<(usize, String)>) -> Condition {
    match &node.content {
        Content::Scalar(Value::String(text)) => {
            let (pattern, complaint) = Pattern::new(text);
            if let Some(why) = complaint {
                let kind =
                    if matches!(pattern, Pattern::Glob(_)) { "a glob" } else { "plain text" };
                let mut what = format!("the pattern `{text}` looks like a regular expression, ");
                let _ = write!(what, "which it is not here ({why}); it is treated as {kind}");
                complaints.push((node.place.line, what));
            }
            Condition::Text(pattern)
        }
        Content::Scalar(value) => Condition::Same(value.clone()),
        Content::List(items) => {
            Condition::Any(items.iter().map(|item| condition(item, complaints)).collect())
        }
        Content::Map(pairs) => Condition::Inside(Matcher(conditions(pairs, complaints))),
    }
}

impl Condition {
    fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any(conditions), value) => conditions.iter().any(|one| one.fits(value)),
            (Self::Inside(matcher), Value::Object(fields)) => matcher.fits(fields),
            (one, Value::Array(items)) => items.iter().any(|item| one.fits(item)),
            (Self::Inside(_), _) | (_, Value::Null | Value::Object(_)) => false,
            (Self::Text(pattern), Value::String(text)) => pattern.fits(text),
            (Self::Text(pattern), scalar) => pattern.fits(&scalar.to_string()),
            (Self::Same(Value::Number(wanted)), Value::String(text)) => {
                text.parse().is_ok_and(|number: Number| number == *wanted)
            }
            (Self::Same(wanted), value) => is_same(wanted, value),
        }
    }
}

fn is_same(wanted: &Value, value: &Value) -> bool {
    match (wanted.as_f64(), value.as_f64()) {
        // Numbers are equal where their values are, however they are written.
        (Some(wanted), Some(value)) => (wanted - value).abs() == 0.0,
        _ => wanted == value,
    }
}

#[cfg(test)]
mod tests {
    use formats::yaml::tree::Position;
    use serde_json::json;

    use super::*;

    fn fits(matcher: &Value, context: &Value) -> bool {
        let node = Node::from_value(matcher.clone(), &Position::default());
        let (matcher, _) = Matcher::new(node.as_map().unwrap());
        matcher.fits(context.as_object().unwrap())
    }

    fn call() -> Value {
        json!({
            "tool": "Bash",
            "tool_input": {
                "command": "rm -rf x", "timeout": 5, "wait": true, "none": null,
                "paths": ["a.py", "b.rs"], "edits": [{"path": "c"}],
            },
        })
    }

    #[test]
    fn every_condition_must_match() {
        assert!(fits(&json!({}), &call()));
        assert!(fits(&json!({"tool": "Bash", "tool_input.command": "rm*"}), &call()));
        assert!(!fits(&json!({"tool": "Bash", "tool_input.command": "ls*"}), &call()));
    }

    #[test]
    fn dotted_and_nested_keys_are_equivalent() {
        assert!(fits(&json!({"tool_input": {"command": "*rm*"}}), &call()));
        assert!(fits(&json!({"tool_input.edits.0.path": "c"}), &call()));
        assert!(fits(&json!({"tool_input": {"edits.0.path": "c"}}), &call()));
        assert!(!fits(&json!({"tool_input": {"edits.1.path": "c"}}), &call()));
        assert!(!fits(&json!({"tool": {"name": "*"}}), &call()));
    }

    #[test]
    fn list_matches_any_element_on_both_sides() {
        assert!(fits(&json!({"tool": ["Write", "B?sh"]}), &call()));
        assert!(!fits(&json!({"tool": ["Write", "Edit"]}), &call()));
        assert!(!fits(&json!({"tool": []}), &call()));
        assert!(fits(&json!({"tool_input.paths": "*.rs"}), &call()));
        assert!(!fits(&json!({"tool_input.paths": "*.c"}), &call()));
    }

    #[test]
    fn missing_or_null_matches_nothing() {
        for key in ["tool_name", "tool_input.none", "tool_input.absent", "tool.x", "tool_input"] {
            assert!(!fits(&json!({ key: "*" }), &call()), "{key}");
        }
        assert!(!fits(&json!({"tool_input.none": null}), &call()));
    }

    #[test]
    fn numbers_and_booleans_are_compared_by_value() {
        assert!(fits(&json!({"tool_input.timeout": 5.0}), &call()));
        assert!(fits(&json!({"tool_input.timeout": "5"}), &call()));
        assert!(!fits(&json!({"tool_input.timeout": 6}), &call()));
        assert!(fits(&json!({"tool_input.wait": true}), &call()));
        assert!(!fits(&json!({"tool_input.wait": false}), &call()));
        assert!(!fits(&json!({"tool_input.wait": 1}), &call()));
    }
}
