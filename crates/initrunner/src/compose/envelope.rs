//! The envelopes `kind: Team` and `kind: Flow`, turned into the flat shape.

use serde_json::{Map, Value, json};

use crate::role::{COMPOSED, Fields, METADATA, VERSION};

/// The keys of a specification that the flat shape has too.
const SHARED: &[&str] = &["model", "tools", "guardrails", "security", "observability", "resources"];
const FLOW_AGENT: &[&str] =
    &["role", "sink", "needs", "environment", "trigger", "health_check", "restart"];

pub(super) fn flattened(
    document: &Map<String, Value>,
    fields: &mut Fields,
) -> Option<Map<String, Value>> {
    let kind = document.get("kind").and_then(Value::as_str)?;
    let is_flow = match kind {
        "Team" => false,
        "Flow" => true,
        _ => return None,
    };
    if let Some(version) = document.get("apiVersion").filter(|version| *version != VERSION) {
        fields.error("apiVersion", format!("{version} is not known; there is `{VERSION}`"));
    }
    let part = |key: &str| document.get(key).and_then(Value::as_object);
    let mut flat = Map::new();
    for (key, value) in part("metadata").into_iter().flatten() {
        if METADATA.contains(&key.as_str()) {
            flat.insert(key.clone(), value.clone());
        }
    }
    if part("spec").is_none() {
        fields.error("spec", "it is missing");
    }
    for (key, value) in part("spec").into_iter().flatten() {
        let key = match key.as_str() {
            "personas" if !is_flow => "agents",
            "strategy" if !is_flow => "run",
            known if COMPOSED.contains(&known) || SHARED.contains(&known) => known,
            unknown => {
                fields.warning(&format!("spec.{unknown}"), "it is not known and is ignored");
                continue;
            }
        };
        flat.insert(key.to_owned(), value.clone());
    }
    if !is_flow {
        flat.entry("run").or_insert_with(|| json!("sequential"));
    }
    let agents = flat.entry("agents").or_insert_with(|| json!({}));
    for (name, agent) in agents.as_object_mut().into_iter().flatten() {
        let Some(keys) = agent.as_object_mut() else { continue };
        if is_flow {
            *agent = flow_agent(name, keys, fields);
        } else if let Some(prompt) = keys.remove("role") {
            keys.insert(String::from("prompt"), prompt);
        }
    }
    Some(flat)
}

fn flow_agent(name: &str, keys: &Map<String, Value>, fields: &mut Fields) -> Value {
    fields.warn_unknown(keys, &format!("agents.{name}"), FLOW_AGENT);
    let mut agent = Map::new();
    for (old, new) in [("role", "use"), ("needs", "after"), ("environment", "environment")] {
        if let Some(value) = keys.get(old) {
            agent.insert(new.to_owned(), value.clone());
        }
    }
    if keys.get("trigger").is_some_and(|trigger| !trigger.is_null()) {
        let path = format!("agents.{name}.trigger");
        fields.warning(&path, "it is not supported and does nothing here");
    }
    match keys.get("sink") {
        Some(Value::Object(sink)) if sink.get("type").is_none_or(|kind| kind == "delegate") => {
            let mut then = sink.clone();
            then.remove("type");
            if let Some(target) = then.remove("target") {
                then.insert(String::from("to"), target);
            }
            agent.insert(String::from("then"), then.into());
        }
        None | Some(Value::Null) => {}
        Some(_) => {
            let path = format!("agents.{name}.sink");
            fields.warning(&path, "only `type: delegate` is supported; it does nothing here");
        }
    }
    agent.into()
}
