//! The rules on imports in `security.tools` of a role; the sandbox replaces the rest, which is named.

use serde_json::{Map, Value, json};

use crate::role::{Fields, ProgramNetwork};

const COUNTED: &[&str] = &["allowed_custom_modules", "blocked_custom_modules", "restrict_db_paths"];

/// Keys of InitRunner's audit hooks, and values that change nothing.
const CONFINED: [(&str, &str); 7] = [
    ("audit_hooks_enabled", "false"),
    ("allowed_write_paths", "[]"),
    ("allowed_network_hosts", "[]"),
    ("block_private_ips", "true"),
    ("allow_subprocess", "false"),
    ("allow_eval_exec", "false"),
    ("sandbox_violation_action", "\"raise\""),
];

const CONFINED_NOTE: &str = "it has no effect: the sandbox confines every tool, and the user's own \
                             configuration says what it may do";

pub(crate) fn read(value: Option<&Value>, fields: &mut Fields) -> Value {
    let none = json!({"allowed": [], "blocked": null});
    let security = match value {
        None | Some(Value::Null) => return none,
        Some(Value::Object(security)) => security,
        Some(_) => {
            fields.error("security", "it is not a mapping");
            return none;
        }
    };
    for key in security.keys() {
        let path = format!("security.{key}");
        match key.as_str() {
            // InitRunner accepts `audit` and ignores it.
            "tools" | "resources" | "preset" | "content" | "audit" | "server" | "rate_limit" => {}
            "sandbox" => check_sandbox(&security[key], fields),
            _ => fields.error(&path, "it is not known"),
        }
    }
    let empty = Map::new();
    let tools = security.get("tools").and_then(Value::as_object).unwrap_or(&empty);
    for (key, value) in tools.iter().filter(|(key, _)| !COUNTED.contains(&key.as_str())) {
        let (path, written) = (format!("security.tools.{key}"), value.to_string());
        match CONFINED.iter().find(|(name, _)| name == key) {
            Some((_, usual)) if written == *usual => {}
            Some(_) => fields.warning(&path, CONFINED_NOTE),
            None if value.as_array().is_some_and(Vec::is_empty) => {}
            None => fields.warning(&path, "it is not supported and does nothing here"),
        }
    }
    let mut names = |key: &str| -> Option<Vec<String>> {
        let names = tools.get(key).filter(|value| !value.is_null())?;
        let items = names.as_array().map(|items| items.iter().map(|item| item.as_str()));
        let names = items.and_then(|items| items.map(|it| it.map(str::to_owned)).collect());
        if names.is_none() {
            fields.error(&format!("security.tools.{key}"), "it is not a list of modules");
        }
        names
    };
    let allowed = names("allowed_custom_modules").unwrap_or_default();
    json!({"allowed": allowed, "blocked": names("blocked_custom_modules")})
}

/// Warns of keys of `security.sandbox` that ask for another sandbox than that of every tool.
fn check_sandbox(value: &Value, fields: &mut Fields) {
    let Some(sandbox) = fields.mapping(Some(value), "security.sandbox") else { return };
    for (key, value) in sandbox {
        let holds = match key.as_str() {
            "backend" => ["none", "auto", "bwrap"].iter().any(|it| value == it),
            "network" => value == "none",
            "read_only_rootfs" => *value == true,
            "allowed_read_paths" | "allowed_write_paths" | "bind_mounts" | "env_passthrough" => {
                value.as_array().is_some_and(Vec::is_empty)
            }
            "memory_limit" | "cpu_limit" | "docker" | "ssh" => false,
            _ => {
                fields.error(&format!("security.sandbox.{key}"), "it is not known");
                continue;
            }
        };
        if !holds && !value.is_null() {
            fields.warning(&format!("security.sandbox.{key}"), CONFINED_NOTE);
        }
    }
}

/// Reads `security.sandbox.network`, which may be stricter than the user's grant.
pub(crate) fn network(security: Option<&Value>) -> ProgramNetwork {
    let named = security.map(|security| &security["sandbox"]["network"]);
    let is_none = named.is_some_and(|named| named == "none");
    if is_none { ProgramNetwork::None } else { ProgramNetwork::Granted }
}

/// Returns true if `security.tools.restrict_db_paths` is false.
pub(crate) fn has_free_store_paths(security: Option<&Value>, fields: &mut Fields) -> bool {
    let tools = security.and_then(|security| security.get("tools")?.as_object());
    tools.is_some_and(|tools| !fields.flag(tools, "security.tools.restrict_db_paths", true))
}
