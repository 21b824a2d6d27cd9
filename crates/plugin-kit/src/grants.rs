//! Grants of the sandbox as JSON: what a plugin or server may use beyond the least.

use serde_json::{Map, Value, json};

/// The kinds that are lists of texts.
const LISTS: [&str; 4] = ["read", "write", "env", "exec"];

/// The grants of `base` and of `more` together.
pub fn merged(base: &Value, more: &Value) -> Value {
    let mut merged = Map::new();
    let network = match (&base["network"], &more["network"]) {
        (Value::Bool(true), _) | (_, Value::Bool(true)) => json!(true),
        (base, more) => union(base, more),
    };
    merged.insert("network".to_owned(), network);
    for kind in LISTS {
        merged.insert(kind.to_owned(), union(&base[kind], &more[kind]));
    }
    merged.retain(|_, value| *value != json!([]));
    Value::Object(merged)
}

fn union(base: &Value, more: &Value) -> Value {
    let mut items: Vec<Value> = Vec::new();
    for item in [base, more].into_iter().filter_map(Value::as_array).flatten() {
        if !items.contains(item) {
            items.push(item.clone());
        }
    }
    items.into()
}

/// One line for each kind, for people.
pub fn lines(grants: &Value) -> Vec<String> {
    let words = |kind: &str, value: &Value| {
        let list = || {
            let items = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            items.collect::<Vec<_>>().join(", ")
        };
        match kind {
            "network" if *value == true => String::from("use the whole network"),
            "network" => format!("connect to {}", list()),
            "read" => format!("read {}", list()),
            "write" => format!("write {}", list()),
            "env" => format!("see the environment variables {}", list()),
            _ => format!("run {}", list()),
        }
    };
    let kinds = ["network"].into_iter().chain(LISTS);
    let asked = kinds.filter(|kind| {
        grants[kind] == true || grants[kind].as_array().is_some_and(|items| !items.is_empty())
    });
    asked.map(|kind| words(kind, &grants[kind])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_grants_contain_both() {
        let base = json!({"network": ["a.test"], "read": ["~/a"]});
        let more = json!({"network": ["b.test", "a.test"], "env": ["X"]});
        let expected = json!({"network": ["a.test", "b.test"], "read": ["~/a"], "env": ["X"]});
        assert_eq!(merged(&base, &more), expected);
        assert_eq!(merged(&base, &json!({"network": true}))["network"], true);
        assert_eq!(merged(&Value::Null, &json!({"network": false})), json!({}));
    }

    #[test]
    fn lines_name_every_kind() {
        let grants = json!({"network": true, "read": ["~/a", "b"], "write": [], "exec": ["uv"]});
        assert_eq!(lines(&grants), ["use the whole network", "read ~/a, b", "run uv"]);
        assert_eq!(lines(&json!({"network": ["a.test"]})), ["connect to a.test"]);
    }
}
