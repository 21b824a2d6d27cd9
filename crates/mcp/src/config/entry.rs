//! One server's entry, in any of the spellings in use.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use contract::sandbox::{Hosts, Network};
use contract::secret::Secret;
use formats::address;
use reqwest::Url;
use serde_json::{Map, Value};

use super::expand::expand;
use super::{
    Address, Grants, Program, Scope, Server, Source, ToolFilter, Transport, unpinned_package,
};

/// The default time to start: long enough for a package to be fetched.
const DEFAULT_START_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_mins(2);

/// Keys that only the entry of a server has.
const ENTRY_KEYS: [&str; 7] = ["command", "cmd", "url", "httpUrl", "serverUrl", "uri", "type"];
const URL_KEYS: [&str; 4] = ["httpUrl", "url", "serverUrl", "uri"];

/// Keys that are understood.
#[rustfmt::skip]
const KNOWN: [&str; 35] = [
    "type", "command", "cmd", "args", "env", "environment", "envs", "env_vars", "env_keys", "cwd", "url", "httpUrl",
    "serverUrl", "uri", "headers", "http_headers", "env_http_headers", "bearer_token_env_var", "enabled", "disabled",
    "timeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "enabled_tools", "includeTools",
    "available_tools", "disabled_tools", "excludeTools", "sandbox", "unpinned", "name", "description", "display_name",
    "bundled",
];

/// Keys of other clients that are ignored, with what takes their place.
const FOREIGN: [(&str, &str); 11] = [
    ("headersHelper", "no program is run for headers; name a variable with `env_http_headers`"),
    ("trust", "permission rules decide what runs unasked"),
    ("default_tools_approval_mode", "permission rules decide what runs unasked"),
    ("autoApprove", "permission rules decide what runs unasked"),
    ("alwaysAllow", "permission rules decide what runs unasked"),
    ("alwaysLoad", "`mcp.defer_above` decides what is offered at once"),
    ("required", "a server that does not start is reported, and the others are used"),
    ("supports_parallel_tool_calls", "the annotations of a tool decide"),
    ("authProviderType", "`brynhild mcp login` signs in"),
    ("oauth", "`brynhild mcp login` signs in"),
    ("scopes", "the server's metadata name them"),
];

/// Keys by which the user grants a server something.
pub(super) const GRANT_KEYS: [&str; 2] = ["sandbox", "unpinned"];

/// Returns true if an object is the entry of a server rather than a map of entries.
pub(super) fn is_entry(object: &Map<String, Value>) -> bool {
    ENTRY_KEYS.iter().any(|key| object.get(*key).is_some_and(|value| !value.is_object()))
}

/// Returns true if an entry only grants something to a server that is configured elsewhere.
pub(super) fn is_grant_alone(value: &Value) -> bool {
    let grants = |entry: &Map<String, Value>| GRANT_KEYS.iter().any(|key| entry.contains_key(*key));
    value.as_object().is_some_and(|entry| grants(entry) && !is_entry(entry))
}

/// Returns true if an entry wants the newest version of its package.
pub(super) fn is_unpinned(entry: &Value) -> bool {
    entry.get("unpinned").and_then(Value::as_bool).unwrap_or(false)
}

/// The reason why an entry is not a server.
pub(super) enum EntryError {
    /// An environment variable without a default is not set.
    UnsetVariable(String),
    Invalid(String),
}

impl From<String> for EntryError {
    fn from(reason: String) -> Self {
        Self::Invalid(reason)
    }
}

impl From<&str> for EntryError {
    fn from(reason: &str) -> Self {
        Self::Invalid(reason.to_owned())
    }
}

pub(super) fn server(
    source: &Source,
    (name, value): (&str, &Value),
    variables: &BTreeMap<String, String>,
    problems: &mut Vec<String>,
) -> Result<Server, EntryError> {
    let Value::Object(object) = value else { return Err("it is not an object".into()) };
    problems.extend(object.keys().filter_map(|key| ignored(key)));
    let reader = Reader { object, variables };
    reader.check_limits()?;
    let transport = reader.transport()?;
    let grants = match (object.get("sandbox"), &source.scope) {
        (Some(value), Scope::User) => grants(name, value, problems),
        (Some(_), Scope::Plugin(_) | Scope::Project) => {
            problems.push(format!(
                "cannot grant itself anything: `sandbox` is ignored (`brynhild mcp grant {name}` \
                 can)"
            ));
            Grants::default()
        }
        (None, _) => Grants::default(),
    };
    let is_wanted = is_unpinned(value);
    if is_wanted && source.scope != Scope::User {
        problems.push(format!(
            "cannot say `unpinned` itself (your own `mcp.servers.{name}.unpinned` can)"
        ));
    }
    let unpinned = unpinned_package(value).filter(|_| !is_wanted || source.scope != Scope::User);
    let (start_timeout, call_timeout) = reader.timeouts();
    let identity = serde_json::json!([source.scope.label(), name, without_grants(object)]);
    Ok(Server {
        name: name.to_owned(),
        scope: source.scope.clone(),
        origin: source.origin.clone(),
        transport,
        shown: reader.shown(),
        enabled: reader.is_enabled(),
        start_timeout,
        call_timeout,
        filter: reader.filter(),
        grants,
        unpinned,
        digest: crate::catalog::digest(identity),
    })
}

fn without_grants(object: &Map<String, Value>) -> Map<String, Value> {
    let mut object = object.clone();
    object.retain(|key, _| !GRANT_KEYS.contains(&key.as_str()) && key != "enabled");
    object
}

/// The message about a key that is ignored. None if it is not.
pub(super) fn ignored(key: &str) -> Option<String> {
    if let Some((_, instead)) = FOREIGN.iter().find(|(known, _)| *known == key) {
        return Some(format!("has `{key}`, which is ignored: {instead}"));
    }
    (!KNOWN.contains(&key)).then(|| format!("has `{key}`, which is unknown and ignored"))
}

pub(super) fn grants(name: &str, value: &Value, problems: &mut Vec<String>) -> Grants {
    let Value::Object(object) = value else {
        problems.push("has a `sandbox` that is not an object; nothing is granted".to_owned());
        return Grants::default();
    };
    let paths = |key: &str| texts(object.get(key)).into_iter().map(PathBuf::from).collect();
    for key in object.keys() {
        if !["network", "read", "write", "env", "exec"].contains(&key.as_str()) {
            problems.push(format!("has `sandbox.{key}`, which is unknown and ignored"));
        }
    }
    let network = match object.get("network") {
        None | Some(Value::Bool(false) | Value::Null) => Network::None,
        Some(Value::Bool(true)) => Network::Host,
        Some(Value::Array(hosts)) if hosts.is_empty() => Network::None,
        Some(Value::Array(_) | Value::String(_)) => Network::Hosts(Hosts {
            names: texts(object.get("network")),
            key: format!("mcp.servers.{name}.sandbox.network"),
        }),
        Some(Value::Number(_) | Value::Object(_)) => {
            problems.push(
                "has a `sandbox.network` that is neither true, false nor a list of hosts; it has \
                 no network"
                    .to_owned(),
            );
            Network::None
        }
    };
    Grants {
        network,
        read: paths("read"),
        write: paths("write"),
        env: texts(object.get("env")),
        exec: paths("exec"),
    }
}

/// A text, or the texts of a list.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

struct Reader<'a> {
    object: &'a Map<String, Value>,
    variables: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    fn first(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().find_map(|key| self.object.get(*key)).filter(|value| !value.is_null())
    }

    fn expanded(&self, text: &str) -> Result<String, EntryError> {
        match expand(text, self.variables) {
            // A server that is off need not be able to start.
            Err(_) if !self.is_enabled() => Ok(text.to_owned()),
            expanded => expanded.map_err(EntryError::UnsetVariable),
        }
    }

    fn shown(&self) -> String {
        let mut words = texts(self.first(&["command", "cmd"]));
        if words.is_empty() {
            words = texts(self.first(&URL_KEYS));
        } else {
            words.extend(texts(self.first(&["args"])));
        }
        words.join(" ")
    }

    fn transport(&self) -> Result<Transport, EntryError> {
        let kind = self.first(&["type"]).and_then(Value::as_str).unwrap_or_default();
        match kind {
            "sse" => Err("the SSE transport is not supported; most such servers also speak \
                          streamable HTTP (`type: http`)"
                .into()),
            "ws" | "websocket" => Err("the WebSocket transport is not supported".into()),
            "http" | "streamable-http" | "streamable_http" | "remote" => self.address(),
            "" | "stdio" | "local" => {
                if self.first(&["command", "cmd"]).is_some() {
                    self.program()
                } else if kind.is_empty() && self.first(&URL_KEYS).is_some() {
                    self.address()
                } else {
                    Err("it has neither `command` nor `url`".into())
                }
            }
            other => {
                Err(format!("`type: {other}` is unknown; there are `stdio` and `http`").into())
            }
        }
    }

    fn program(&self) -> Result<Transport, EntryError> {
        let mut words = match self.first(&["command", "cmd"]) {
            Some(Value::String(command)) => vec![command.clone()],
            Some(value @ Value::Array(_)) => texts(Some(value)),
            _ => return Err("`command` is neither a text nor a list".into()),
        };
        let args = self.first(&["args"]).map(|args| args.as_array().ok_or("`args` is not a list"));
        for item in args.transpose()?.into_iter().flatten() {
            match item {
                Value::String(text) => words.push(text.clone()),
                Value::Number(number) => words.push(number.to_string()),
                _ => return Err("`args` holds something that is not a text".into()),
            }
        }
        let mut words = words.iter().map(|word| self.expanded(word));
        let command = words.next().ok_or("`command` is empty")??;
        if command.trim().is_empty() {
            return Err("`command` is empty".into());
        }
        let args = words.collect::<Result<Vec<_>, _>>()?;
        let env = self.secrets(&["env", "environment", "envs"])?;
        let inherited = texts(self.first(&["env_vars", "env_keys"]));
        let cwd = self.first(&["cwd"]).and_then(Value::as_str);
        let cwd = cwd.map(|cwd| self.expanded(cwd)).transpose()?.map(PathBuf::from);
        Ok(Transport::Stdio(Program { command, args, env, inherited, cwd }))
    }

    fn address(&self) -> Result<Transport, EntryError> {
        let url = self.first(&URL_KEYS).and_then(Value::as_str);
        let written = url.ok_or("it has no `url`")?;
        let url = self.expanded(written)?;
        // The URL of a server that is off is checked too, unless a variable is missing.
        if self.is_enabled() || expand(written, self.variables).is_ok() {
            check_url(&url)?;
        }
        let mut headers = self.secrets(&["headers", "http_headers"])?;
        let variable = |name: &str| {
            let value = self.variables.get(name).filter(|value| !value.is_empty()).cloned();
            let value = value.or_else(|| (!self.is_enabled()).then(String::new));
            value.ok_or_else(|| EntryError::UnsetVariable(name.to_owned()))
        };
        if let Some(Value::Object(names)) = self.first(&["env_http_headers"]) {
            for (header, name) in names {
                let name = name.as_str().ok_or("`env_http_headers` holds names of variables")?;
                headers.insert(header.clone(), Secret::new(variable(name)?));
            }
        }
        if let Some(name) = self.first(&["bearer_token_env_var"]).and_then(Value::as_str) {
            let value = format!("Bearer {}", variable(name)?);
            headers.insert("Authorization".to_owned(), Secret::new(value));
        }
        Ok(Transport::Http(Address { url, headers }))
    }

    /// Texts by name, expanded.
    fn secrets(&self, keys: &[&str]) -> Result<BTreeMap<String, Secret<String>>, EntryError> {
        let Some(value) = self.first(keys) else { return Ok(BTreeMap::new()) };
        let Value::Object(object) = value else {
            return Err(format!("`{}` is not an object", keys[0]).into());
        };
        let mut texts = BTreeMap::new();
        for (name, value) in object {
            let text = match value {
                Value::String(text) => self.expanded(text)?,
                Value::Number(number) => number.to_string(),
                Value::Bool(switch) => switch.to_string(),
                _ => return Err(format!("`{}.{name}` is not a text", keys[0]).into()),
            };
            if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
                return Err(format!("`{}.{name}` cannot be a variable", keys[0]).into());
            }
            texts.insert(name.clone(), Secret::new(text));
        }
        Ok(texts)
    }

    fn is_enabled(&self) -> bool {
        let says = |key: &str, word: bool, text: &str| {
            self.first(&[key]).is_some_and(|it| *it == Value::Bool(word) || *it == text)
        };
        !says("enabled", false, "false") && !says("disabled", true, "true")
    }

    /// Fails if a key that restricts something is invalid: it must not be ignored.
    fn check_limits(&self) -> Result<(), EntryError> {
        for key in ["enabled", "disabled"] {
            let is_switch = |it: &Value| it.is_boolean() || *it == "true" || *it == "false";
            if self.first(&[key]).is_some_and(|it| !is_switch(it)) {
                return Err(format!("`{key}` is neither true nor false").into());
            }
        }
        let lists =
            ["enabled_tools", "includeTools", "available_tools", "disabled_tools", "excludeTools"];
        let is_names = |it: &Value| match it {
            Value::Array(items) => items.iter().all(Value::is_string),
            other => other.is_string() || other.is_null(),
        };
        let odd = lists.iter().find(|key| self.first(&[**key]).is_some_and(|it| !is_names(it)));
        odd.map_or(Ok(()), |key| Err(format!("`{key}` is not a list of names of tools").into()))
    }

    /// The timeouts. `timeout` is in seconds; some clients write milliseconds, which are recognized by
    /// their size.
    fn timeouts(&self) -> (Duration, Duration) {
        let number = |key: &str| self.first(&[key]).and_then(Value::as_f64);
        let seconds = |value: f64| Duration::try_from_secs_f64(value).ok();
        let either = |value: f64| seconds(if value >= 1000.0 { value / 1000.0 } else { value });
        let all = number("timeout").and_then(either);
        let start = number("startup_timeout_sec")
            .and_then(seconds)
            .or_else(|| number("startup_timeout_ms").and_then(|value| seconds(value / 1000.0)));
        let call = number("tool_timeout_sec").and_then(seconds);
        (start.unwrap_or(DEFAULT_START_TIMEOUT), call.or(all).unwrap_or(DEFAULT_CALL_TIMEOUT))
    }

    fn filter(&self) -> ToolFilter {
        let only = self.first(&["enabled_tools", "includeTools", "available_tools"]);
        let only = Some(texts(only)).filter(|names| !names.is_empty());
        ToolFilter { only, without: texts(self.first(&["disabled_tools", "excludeTools"])) }
    }
}

/// Refuses an invalid URL, and one that would send a key unencrypted to another machine.
fn check_url(url: &str) -> Result<(), EntryError> {
    if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("`url` contains spaces or control characters".into());
    }
    let parsed = Url::parse(url).map_err(|_| format!("`{url}` is not an address"))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("`url` contains a user name or password; use `headers`".into());
    }
    let host = parsed.host_str().unwrap_or_default();
    match parsed.scheme() {
        _ if host.is_empty() => Err(format!("`{url}` names no host").into()),
        "https" => Ok(()),
        "http" if address::is_loopback(host) => Ok(()),
        "http" => {
            Err(format!("`{url}` is not encrypted; use https, or an address of this machine")
                .into())
        }
        scheme => Err(format!("`{scheme}` is not a supported scheme; use https").into()),
    }
}
