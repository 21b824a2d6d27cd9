//! The servers that a plugin describes, with its directories and options put in.

use serde_json::{Map, Value, json};

use super::values::{Reader, Values};

pub(crate) fn read(document: &Value, values: &Values) -> Result<Map<String, Value>, String> {
    let entries = match document.get("mcpServers") {
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err("`mcpServers` is not an object".to_owned()),
        None => document.as_object().ok_or("it is not an object")?,
    };
    let mut servers = Map::new();
    for (name, entry) in entries.iter().filter(|(name, _)| !name.starts_with('$')) {
        let mut entry = put(entry, values);
        if let Value::Object(keys) = &mut entry
            && keys.contains_key("command")
        {
            let env = keys.entry("env").or_insert_with(|| json!({}));
            if let Value::Object(env) = env {
                for (name, value) in values.environment() {
                    env.entry(name).or_insert_with(|| value.into());
                }
            }
        }
        servers.insert(name.clone(), entry);
    }
    Ok(servers)
}

fn put(value: &Value, values: &Values) -> Value {
    match value {
        Value::String(text) => values.put_into(text, Reader::Program).into(),
        Value::Array(items) => items.iter().map(|item| put(item, values)).collect(),
        Value::Object(keys) => {
            let put = |(name, value): (&String, &Value)| (name.clone(), put(value, values));
            Value::Object(keys.iter().map(put).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_server_formats_are_read_and_expanded() {
        let values = Values { root: "/p".into(), data: "/d".into(), ..Values::default() };
        let entry = json!({"command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["${HOME}"]});
        for document in [json!({"s": entry}), json!({"mcpServers": {"s": entry}})] {
            let found = read(&document, &values).unwrap();
            assert_eq!(found["s"]["command"], "/p/run");
            assert_eq!(found["s"]["args"], json!(["${HOME}"]));
            assert_eq!(found["s"]["env"]["CLAUDE_PLUGIN_DATA"], "/d");
        }
        assert!(read(&json!([]), &values).is_err());
    }
}
