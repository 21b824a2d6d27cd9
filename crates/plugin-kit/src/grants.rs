//! Grants of the sandbox as JSON: what a plugin or server may use beyond the least.

use std::io;
use std::path::PathBuf;

use files::private::{self, Durability};
use formats::yaml::{self, tree::Node};
use serde_json::{Map, Value, json};

use crate::config_edit;
use crate::host::{Host, HostError as _};

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

pub enum Change {
    Add(Value),
    /// Nothing is granted, which is a decision too.
    TakeBack,
}

/// A plugin or server whose grants change.
pub struct Receiver<'a> {
    /// `plugin` or `server`.
    pub kind: &'static str,
    pub name: &'a str,
    /// The key in the configuration.
    pub path: Vec<&'a str>,
    /// The grants if the configuration has none.
    pub other: Value,
}

impl Receiver<'_> {
    /// Writes the change into the user's configuration, after a yes.
    pub fn change<H: Host>(&self, host: &H, change: &Change) -> Result<(), H::Error> {
        let Self { kind, name, path, other } = self;
        let file = file(host);
        let cannot = |error: io::Error| {
            H::Error::failed(format!("cannot write {}: {error}", file.display()))
        };
        let wrong = |why: String| H::Error::failed(format!("{}: {why}", file.display()));
        let _lock = private::lock(&file).map_err(cannot)?;
        let text = String::from_utf8(private::read(&file)?.unwrap_or_default());
        let text = text.map_err(|error| H::Error::failed(error.to_string()))?;
        let tree = yaml::parse(&text, yaml::Options::default())
            .map_err(|error| H::Error::failed(error.to_string()))?;
        let current = tree.find(path).map_or_else(|| other.clone(), Node::to_value);
        let (grants, question) = match change {
            Change::TakeBack => (json!({}), format!("Grant {kind} {name} nothing?")),
            Change::Add(more) => {
                let asked = lines(more);
                if asked.is_empty() {
                    let hint = "name what to grant: `--network`, `--host`, `--read`, `--write`, \
                                `--env`, `--exec`";
                    return Err(H::Error::misuse(format!("{kind} {name} requests nothing"))
                        .hint(hint.to_owned()));
                }
                let question =
                    format!("{kind} {name} may then:\n  {}\nGrant it?", asked.join("\n  "));
                (merged(&current, more), question)
            }
        };
        let is_changed = current != grants;
        if is_changed {
            let edited =
                config_edit::set(&text, path, &grants).map_err(|error| wrong(error.to_string()))?;
            if !host.confirm(&question)? {
                return Err(H::Error::declined("nothing was granted".to_owned())
                    .hint("pass `--yes` to grant it without a question".to_owned()));
            }
            private::replace(&file, edited.as_bytes(), Durability::Synced).map_err(cannot)?;
            let detail = format!("{kind} {name}: {}", config_edit::flow(&grants));
            host.note("access granted", &detail);
        }
        let words = if is_changed { "written to" } else { "already in" };
        let line = format!("{}: {}", path.join("."), config_edit::flow(&grants));
        let data = json!({"name": name, "granted": grants, "changed": is_changed, "file": file});
        Ok(host.report(&data, &format!("`{line}` is {words} {}", file.display()))?)
    }
}

/// The user's configuration; its target if it is a symlink of the user.
fn file(host: &impl Host) -> PathBuf {
    let file = host.config_dir().join("config.yaml");
    file.canonicalize().unwrap_or(file)
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
