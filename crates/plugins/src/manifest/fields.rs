//! The keys of a manifest, one by one.

use std::path::PathBuf;

use contract::text::closest;
use serde_json::{Map, Value};

use super::{DESCRIPTION_LIMIT, Fault, RESERVED, Weight, fault_of_name, mapping, requirement};
use crate::hidden;
use crate::plugin::{Manifest, NetworkPermission, Permissions};
use crate::words::Words;

pub(super) const KEYS: Words = Words(
    "name version description author license commands tools hooks skills providers rules \
     brynhild_version dependencies sandbox",
);

const WISHES: [&str; 5] = ["network", "read", "write", "env", "exec"];

pub(super) fn read(text: &str) -> (Option<Manifest>, Vec<Fault>) {
    let keys = match mapping(text) {
        Ok(keys) => keys,
        Err(fault) => return (None, vec![fault]),
    };
    let mut reader = Reader { text, keys: &keys, faults: Vec::new() };
    let name = reader.name();
    let version = reader.version();
    let rest = reader.rest();
    reader.unknown();
    let manifest = name.zip(version).map(|(name, version)| Manifest { name, version, ..rest });
    (manifest, reader.faults)
}

pub(super) fn permissions(value: &Value, faults: &mut Vec<String>) -> Permissions {
    let Value::Object(keys) = value else {
        if !value.is_null() {
            faults.push(format!("`sandbox` is not a mapping of {}", WISHES.join(", ")));
        }
        return Permissions::default();
    };
    let mut list = |key: &str| texts(keys.get(key), &format!("sandbox.{key}"), faults);
    let paths = |texts: Vec<String>| texts.into_iter().map(PathBuf::from).collect();
    Permissions {
        read: paths(list("read")),
        write: paths(list("write")),
        env: list("env"),
        exec: list("exec"),
        network: match keys.get("network") {
            None | Some(Value::Null | Value::Bool(false)) => NetworkPermission::None,
            Some(Value::Bool(true)) => NetworkPermission::All,
            // One word is more likely a slip than a host.
            other => match list_of(other.filter(|value| !is_word(value))) {
                Some(hosts) if hosts.is_empty() => NetworkPermission::None,
                Some(hosts) => NetworkPermission::Hosts(hosts),
                None => {
                    faults.push(String::from(
                        "`sandbox.network` is neither true, false nor a list of hosts",
                    ));
                    NetworkPermission::None
                }
            },
        },
    }
}

/// Returns true if a value is one word that is not a name of a host in the network at large.
fn is_word(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text != "localhost" && !text.contains(['.', ':', '*']))
}

fn texts(value: Option<&Value>, key: &str, faults: &mut Vec<String>) -> Vec<String> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(_) => list_of(value).unwrap_or_else(|| {
            faults.push(format!("`{key}` is not a list of texts"));
            Vec::new()
        }),
    }
}

/// A list of texts; one text counts as a list of itself.
fn list_of(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

struct Reader<'a> {
    text: &'a str,
    keys: &'a Map<String, Value>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn line(&self, key: &str) -> (usize, &str) {
        let find = |(index, line): (usize, &'_ str)| {
            let rest = line.trim_start_matches(['"', '\'']).strip_prefix(key)?;
            let rest = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?;
            let offset = line.len() - rest.len();
            Some((index + 1, offset))
        };
        let found = self.text.lines().enumerate().find_map(find);
        let (line, offset) = found.unwrap_or((1, 0));
        let rest =
            self.text.lines().nth(line - 1).map_or("", |line| &line[offset.min(line.len())..]);
        (line, rest)
    }

    fn fault(&mut self, key: &str, what: impl Into<String>, hint: &str, weight: Weight) {
        let (line, _) = self.line(key);
        let (what, hint) = (what.into(), hint.to_owned());
        self.faults.push(Fault { line, what, hint, weight });
    }

    fn name(&mut self) -> Option<String> {
        let hint = "use 1 to 64 lower-case letters, digits and hyphens, such as `name: my-plugin`";
        match self.keys.get("name") {
            Some(Value::String(name)) => match fault_of_name(name) {
                None => {
                    if RESERVED.contains(&name.as_str()) {
                        let what = format!(
                            "the name `{name}` is a key of the configuration, so nothing can be \
                             set for this plugin"
                        );
                        self.fault("name", what, "give the plugin another name", Weight::Part);
                    }
                    return Some(name.clone());
                }
                Some(fault) => {
                    self.fault("name", format!("the name {name:?} {fault}"), hint, Weight::Fatal);
                }
            },
            None | Some(Value::Null) => {
                self.fault("name", "`name` is missing", hint, Weight::Fatal);
            }
            Some(_) => self.fault(
                "name",
                "`name` is not text",
                "put it in quotes, such as `name: \"7\"`",
                Weight::Fatal,
            ),
        }
        None
    }

    fn version(&mut self) -> Option<String> {
        let hint = "put it in quotes, such as `version: \"1.0\"`";
        match self.keys.get("version") {
            Some(Value::String(version)) if !version.trim().is_empty() => {
                return Some(self.stripped("version", version));
            }
            Some(Value::Number(_)) => {
                // The number 1.10 would be 1.1, so what was typed counts.
                let (_, typed) = self.line("version");
                let typed = typed.split(" #").next().unwrap_or(typed).trim().to_owned();
                let what = format!("`version: {typed}` is a number and is read as text");
                self.fault("version", what, hint, Weight::Note);
                return Some(typed);
            }
            None | Some(Value::Null | Value::String(_)) => {
                let hint = "add a line such as `version: \"1.0.0\"`";
                self.fault("version", "`version` is missing", hint, Weight::Fatal);
            }
            Some(_) => self.fault("version", "`version` is not text", hint, Weight::Fatal),
        }
        None
    }

    fn rest(&mut self) -> Manifest {
        let brynhild_version = self.words("brynhild_version");
        if let Some(obstacle) = requirement::unmet(&brynhild_version) {
            self.fault(
                "brynhild_version",
                obstacle,
                "look for another release of the plugin",
                Weight::Part,
            );
        }
        let mut description = self.words("description");
        if description.chars().count() > DESCRIPTION_LIMIT {
            description = description.chars().take(DESCRIPTION_LIMIT).collect();
            let what = "`description` is longer than 1024 characters and is cut";
            self.fault("description", what, "shorten it", Weight::Part);
        }
        let (tools, apis) = self.tools();
        Manifest {
            description,
            author: self.words("author"),
            license: self.words("license"),
            commands: self.list("commands"),
            tools,
            apis,
            hooks: self.hooks(),
            hooks_off: self.keys.get("hooks") == Some(&Value::Bool(false)),
            skills: self.list("skills"),
            providers: self.list("providers"),
            rules: self.list("rules"),
            brynhild_version,
            dependencies: self.list("dependencies"),
            sandbox: self.sandbox(),
            ..Manifest::default()
        }
    }

    fn words(&mut self, key: &str) -> String {
        match self.keys.get(key) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => self.stripped(key, text),
            Some(Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
                self.fault(key, format!("`{key}` is not text"), "put it in quotes", Weight::Part);
                String::new()
            }
        }
    }

    fn stripped(&mut self, key: &str, text: &str) -> String {
        let stripped = hidden::strip(text);
        if let Some(report) = stripped.report {
            self.fault(key, format!("`{key}`: {report}"), hidden::HINT, Weight::Part);
        }
        stripped.text
    }

    fn list(&mut self, key: &str) -> Vec<String> {
        let hint = format!("write a list, such as `{key}: [one, two]`");
        match self.keys.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(one)) => {
                let what = format!("`{key}` is one text and is read as a list of it");
                self.fault(key, what, &hint, Weight::Note);
                vec![one.clone()]
            }
            Some(Value::Array(items)) => {
                let texts: Vec<String> =
                    items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                if texts.len() < items.len() {
                    let what = format!("`{key}` has entries that are not text; they are left out");
                    self.fault(key, what, &hint, Weight::Part);
                }
                texts
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                let what = format!("`{key}` is not a list and is ignored");
                self.fault(key, what, &hint, Weight::Part);
                Vec::new()
            }
        }
    }

    /// Names of tools, and the HTTP interfaces that stand among them.
    fn tools(&mut self) -> (Vec<String>, Vec<Value>) {
        let Some(Value::Array(items)) = self.keys.get("tools") else {
            return (self.list("tools"), Vec::new());
        };
        let is_api = |item: &&Value| item.get("type").is_some_and(|kind| kind == "api");
        let apis: Vec<Value> = items.iter().filter(is_api).cloned().collect();
        let texts = items.iter().filter_map(Value::as_str).map(str::to_owned);
        let names: Vec<String> = texts.collect();
        if names.len() + apis.len() < items.len() {
            let what =
                "`tools` has entries that are neither text nor of `type: api`; they are left out";
            let hint = "write names, such as `tools: [one, two]`, or mappings with `type: api`";
            self.fault("tools", what, hint, Weight::Part);
        }
        (names, apis)
    }

    fn hooks(&mut self) -> bool {
        match self.keys.get("hooks") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(hooks)) => *hooks,
            Some(Value::Array(events)) if !events.is_empty() => {
                let what = "`hooks` is a list and is read as `true`";
                self.fault(
                    "hooks",
                    what,
                    "write `hooks: true`; events are declared in hooks.yaml",
                    Weight::Note,
                );
                true
            }
            Some(_) => {
                let what = "`hooks` is not true or false and is ignored";
                self.fault("hooks", what, "write `hooks: true` or leave it out", Weight::Part);
                false
            }
        }
    }

    fn sandbox(&mut self) -> Permissions {
        let Some(value) = self.keys.get("sandbox") else {
            return Permissions::default();
        };
        let unknown = |key: &&String| !WISHES.contains(&key.as_str());
        let names = value.as_object().into_iter().flat_map(Map::keys).filter(unknown);
        let mut faults: Vec<String> = names
            .map(|key| format!("`sandbox.{key}` is not known; there are {}", WISHES.join(", ")))
            .collect();
        let permissions = permissions(value, &mut faults);
        for fault in faults {
            let hint = "`docs/reference/manifest.md` shows how a plugin says what it wants";
            self.fault("sandbox", fault, hint, Weight::Part);
        }
        permissions
    }

    fn unknown(&mut self) {
        let keys = self.keys;
        for key in keys.keys().filter(|key| !KEYS.has(key)) {
            let what = format!("`{key}` is not a key of a manifest and is ignored");
            let hint = match (key.as_str(), closest(key, KEYS)) {
                ("profiles", _) => String::from(
                    "remove it: every file in the plugin's `profiles` directory is loaded",
                ),
                (_, Some(known)) => format!("did you mean `{known}`?"),
                (_, None) => String::from("remove it; `docs/reference/manifest.md` lists the keys"),
            };
            self.fault(key, what, &hint, Weight::Ignored);
        }
    }
}
