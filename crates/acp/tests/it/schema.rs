//! The official schema.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

pub(crate) struct Schema {
    whole: Value,
    /// By `x-method`: the parameters of what we send, and the results of what we answer.
    params: BTreeMap<String, String>,
    results: BTreeMap<String, String>,
    /// Those in use; building all takes long.
    built: Mutex<BTreeMap<String, Arc<Validator>>>,
}

fn load() -> Schema {
    let whole: Value = serde_json::from_str(include_str!("../schema/v1.json")).expect("the schema");
    let (mut params, mut results) = (BTreeMap::new(), BTreeMap::new());
    for (name, definition) in whole["$defs"].as_object().expect("definitions") {
        let Some(method) = definition["x-method"].as_str() else { continue };
        match definition["x-side"].as_str() {
            Some("agent") if name.ends_with("Response") => {
                results.insert(method.to_owned(), name.clone());
            }
            Some("client" | "protocol") if !name.ends_with("Response") => {
                params.insert(method.to_owned(), name.clone());
            }
            _ => {}
        }
    }
    assert_eq!(results.len(), 12, "{:?}", results.keys());
    Schema { whole, params, results, built: Mutex::default() }
}

pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(load);

impl Schema {
    fn validator(&self, name: &str) -> Arc<Validator> {
        let mut built = self.built.lock().expect("the validators");
        let make = || {
            let document = json!({
                "$schema": self.whole["$schema"],
                "$defs": self.whole["$defs"],
                "$ref": format!("#/$defs/{name}"),
            });
            Arc::new(jsonschema::validator_for(&document).expect("a schema"))
        };
        Arc::clone(built.entry(name.to_owned()).or_insert_with(make))
    }

    fn check(&self, name: &str, value: &Value, line: &Value) {
        if let Err(error) = self.validator(name).validate(value) {
            panic!("{error} at {}: {line}", error.instance_path());
        }
    }

    /// Checks a line that we wrote; `method` is that of the request it answers.
    pub(crate) fn check_line(&self, line: &Value, method: Option<&str>) {
        assert_eq!(line["jsonrpc"], "2.0", "{line}");
        if let Some(sent) = line["method"].as_str() {
            let name = self.params.get(sent).unwrap_or_else(|| panic!("{line}"));
            self.check(name, &line["params"], line);
        } else if let Some(error) = line.get("error") {
            self.check("Error", error, line);
        } else {
            let method = method.unwrap_or_else(|| panic!("it answers nothing: {line}"));
            let name = self.results.get(method).unwrap_or_else(|| panic!("{method}: {line}"));
            self.check(name, &line["result"], line);
        }
    }
}
