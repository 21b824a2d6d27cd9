//! `plugin.json` and `mcp.json` of Agent Plugins 1.0.0: closed formats, of which unknown keys of
//! the manifest are told and everything else that is wrong refuses the part it stands in.

use std::path::{Component, Path, PathBuf};

use formats::address;
use serde_json::{Map, Value, json};

use super::manifest::{self, Declared, Form, Given};
use crate::plugin::Manifest;
use crate::problem::Problem;

pub(crate) const FILE: &str = "plugin.json";
pub(crate) const SERVERS: &str = "mcp.json";

const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
const SERVERS_SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";
const TEXTS: [&str; 5] = ["version", "description", "homepage", "repository", "license"];

pub(crate) fn read(root: &Path) -> Result<Declared, Problem> {
    let file = root.join(FILE);
    let document = manifest::json(root, &file)?;
    let mut ignored = Vec::new();
    let manifest = checked(&document, &mut ignored)
        .map_err(|what| Problem::new(&file, what, "correct the manifest"))?;
    for part in ["commands", "agents", "hooks", ".mcp.json"] {
        if root.join(part).exists() {
            ignored.push(format!("{part}: Agent Plugins have skills and `mcp.json` alone"));
        }
    }
    Ok(Declared {
        form: Form::Portable,
        manifest,
        is_on: true,
        skills: vec![root.join("skills")],
        servers: vec![Given::File(root.join(SERVERS))],
        ignored,
        ..Declared::default()
    })
}

fn checked(document: &Value, ignored: &mut Vec<String>) -> Result<Manifest, String> {
    let Value::Object(keys) = document else {
        return Err("the manifest is not an object".to_owned());
    };
    match keys.get("$schema").and_then(Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("`$schema` is {other:?}, and only 1.0.0 is understood")),
        None => return Err(format!("`$schema` is missing; it has to be `{SCHEMA}`")),
    }
    let name = keys.get("name").and_then(Value::as_str).unwrap_or_default();
    if !is_name(name) {
        return Err(format!("`name` {name:?} is not 1 to 64 letters, digits, hyphens and dots"));
    }
    let text = |key: &str| match keys.get(key) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("`{key}` is not text")),
    };
    for key in TEXTS {
        text(key)?;
    }
    let is_texts =
        |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    if keys.get("keywords").is_some_and(|keywords| !is_texts(keywords)) {
        return Err("`keywords` is not a list of texts".to_owned());
    }
    let author = author(keys.get("author"))?;
    match keys.get("extensions") {
        None => {}
        Some(Value::Object(extensions)) => {
            let names = extensions.keys();
            ignored.extend(names.map(|name| format!("extension `{name}`: it is for others")));
        }
        Some(_) => ignored.push("`extensions` in the manifest: it is not an object".to_owned()),
    }
    let known = ["$schema", "name", "author", "keywords", "extensions"];
    let is_known = |key: &str| known.contains(&key) || TEXTS.contains(&key);
    for key in keys.keys().filter(|key| !is_known(key)) {
        ignored.push(format!("`{key}` in the manifest: the key is not known"));
    }
    Ok(Manifest {
        name: name.to_owned(),
        version: text("version")?,
        description: text("description")?,
        author,
        license: text("license")?,
        ..Manifest::default()
    })
}

fn author(value: Option<&Value>) -> Result<String, String> {
    let author = match value {
        None => return Ok(String::new()),
        Some(Value::Object(author)) => author,
        Some(_) => return Err("`author` is not an object".to_owned()),
    };
    for (key, value) in author {
        if !["name", "email", "url"].contains(&key.as_str()) || !value.is_string() {
            return Err(format!("`author.{key}` is not understood"));
        }
    }
    Ok(author.get("name").and_then(Value::as_str).unwrap_or_default().to_owned())
}

fn is_name(name: &str) -> bool {
    let is_end = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = name.as_bytes();
    let has_ends =
        bytes.first().is_some_and(|c| is_end(*c)) && bytes.last().is_some_and(|c| is_end(*c));
    has_ends
        && bytes.len() <= 64
        && bytes.iter().all(|c| is_end(*c) || b".-".contains(c))
        && !name.contains("--")
        && !name.contains("..")
}

/// The servers of `mcp.json` in the form of other documents, and the faults of others.
pub(crate) fn servers(
    document: &Value,
    root: &Path,
    data: &Path,
) -> Result<(Map<String, Value>, Vec<String>), String> {
    let Value::Object(keys) = document else { return Err("it is not an object".to_owned()) };
    if keys.get("$schema").and_then(Value::as_str) != Some(SERVERS_SCHEMA) {
        return Err(format!("`$schema` has to be `{SERVERS_SCHEMA}`"));
    }
    if let Some(key) = keys.keys().find(|key| !["$schema", "mcpServers"].contains(&key.as_str())) {
        return Err(format!("the key `{key}` is not known"));
    }
    let Some(Value::Object(servers)) = keys.get("mcpServers") else {
        return Err("`mcpServers` is not an object".to_owned());
    };
    let (mut found, mut ignored) = (Map::new(), Vec::new());
    let directories = Directories { root, data };
    for (name, server) in servers {
        match directories.server(server) {
            Ok(server) => {
                found.insert(name.clone(), server);
            }
            Err(why) => ignored.push(format!("server `{name}`: {why}")),
        }
    }
    Ok((found, ignored))
}

struct Directories<'a> {
    root: &'a Path,
    data: &'a Path,
}

impl Directories<'_> {
    fn server(&self, server: &Value) -> Result<Value, String> {
        let Value::Object(keys) = server else { return Err("it is not an object".to_owned()) };
        let known: &[&str] = match keys.get("type").and_then(Value::as_str) {
            Some("stdio") => &["type", "command", "args", "env", "cwd"],
            Some("streamable-http" | "sse") => &["type", "url", "headers"],
            _ => return Err("`type` is neither stdio, streamable-http nor sse".to_owned()),
        };
        if let Some(key) = keys.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!("the key `{key}` is not known"));
        }
        if known.contains(&"url") { Self::remote(keys) } else { self.local(keys) }
    }

    fn remote(keys: &Map<String, Value>) -> Result<Value, String> {
        let url = keys.get("url").and_then(Value::as_str).ok_or("`url` is missing")?;
        let (scheme, rest) = url.split_once("://").ok_or("`url` is not absolute")?;
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let host = match authority.strip_prefix('[') {
            Some(six) => six.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        };
        match scheme {
            "https" => {}
            "http" if address::is_loopback(host) => {}
            _ => return Err("`url` has to begin with https".to_owned()),
        }
        if authority.is_empty() || authority.contains('@') || url.contains('#') {
            return Err("`url` holds a user, a fragment or no host".to_owned());
        }
        let headers = texts(keys.get("headers"), "headers")?;
        let headers: Map<String, Value> =
            headers.into_iter().map(|(name, value)| (name, literal(&value).into())).collect();
        Ok(json!({"type": keys["type"], "url": literal(url), "headers": headers}))
    }

    fn local(&self, keys: &Map<String, Value>) -> Result<Value, String> {
        let command = keys.get("command").and_then(Value::as_str).ok_or("`command` is missing")?;
        if command.is_empty() || command.contains(char::is_whitespace) {
            return Err("`command` is not one word".to_owned());
        }
        let command = match command.strip_prefix("./") {
            Some(path) => self.inside(path)?.display().to_string(),
            None if command.contains('/') => {
                return Err("`command` is neither a bare name nor begins with `./`".to_owned());
            }
            None => command.to_owned(),
        };
        let args = match keys.get("args") {
            None => Vec::new(),
            Some(Value::Array(args)) => args
                .iter()
                .map(|arg| arg.as_str().map(|arg| self.expanded(arg)))
                .collect::<Option<Vec<String>>>()
                .ok_or("`args` holds what is not text")?,
            Some(_) => return Err("`args` is not a list".to_owned()),
        };
        let mut env = Map::new();
        for (name, value) in texts(keys.get("env"), "env")? {
            if ["PLUGIN_ROOT", "PLUGIN_DATA"].contains(&name.as_str()) {
                return Err(format!("`env` must not define {name}"));
            }
            env.insert(name, self.expanded(&value).into());
        }
        env.insert("PLUGIN_ROOT".to_owned(), literal(&self.root.display().to_string()).into());
        env.insert("PLUGIN_DATA".to_owned(), literal(&self.data.display().to_string()).into());
        let cwd = self.cwd(keys.get("cwd"))?;
        Ok(json!({
            "type": "stdio", "command": literal(&command), "args": args, "env": env,
            "cwd": cwd.display().to_string(),
        }))
    }

    fn cwd(&self, value: Option<&Value>) -> Result<PathBuf, String> {
        let Some(value) = value else { return Ok(self.root.to_owned()) };
        let text = value.as_str().ok_or("`cwd` is not text")?;
        let below = |prefix: &str| {
            let rest = text.strip_prefix(prefix)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
        };
        if let Some(path) = text.strip_prefix("./").or_else(|| below("${PLUGIN_ROOT}")) {
            return self.inside(path);
        }
        let Some(path) = below("${PLUGIN_DATA}") else {
            let what = "`cwd` begins with neither `./`, `${PLUGIN_ROOT}` nor `${PLUGIN_DATA}`";
            return Err(what.to_owned());
        };
        if leaves(path) {
            return Err("`cwd` is outside the plugin's data directory".to_owned());
        }
        Ok(self.data.join(path))
    }

    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let full = self.root.join(path);
        let real = full.canonicalize().unwrap_or_else(|_| full.clone());
        if leaves(path) || !real.starts_with(self.root) {
            return Err(format!("{path:?} is outside the plugin"));
        }
        Ok(full)
    }

    /// A text with the two directories put in, and nothing else ever.
    fn expanded(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(position) = rest.find("${PLUGIN_") {
            out.push_str(&literal(&rest[..position]));
            rest = &rest[position..];
            let known = [("${PLUGIN_ROOT}", self.root), ("${PLUGIN_DATA}", self.data)];
            let found = known.into_iter().find(|(name, _)| rest.starts_with(name));
            let (value, length) = match found {
                Some((name, directory)) => (directory.display().to_string(), name.len()),
                None => ("${".to_owned(), 2),
            };
            out.push_str(&literal(&value));
            rest = &rest[length..];
        }
        out.push_str(&literal(rest));
        out
    }
}

fn leaves(path: &str) -> bool {
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !Path::new(path).components().all(is_inside)
}

/// A text in which those who replace variables find none.
fn literal(text: &str) -> String {
    text.replace("${", &format!("{DOLLAR}{{"))
}

/// A dollar sign, for those who replace variables.
const DOLLAR: &str = "${BRYNHILD_NOTHING:-$}";

/// A text as people wrote it.
pub fn unquoted(text: &str) -> String {
    text.replace(DOLLAR, "$")
}

fn texts(value: Option<&Value>, key: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = || format!("`{key}` is not an object of texts");
    match value {
        None => Ok(Vec::new()),
        Some(Value::Object(keys)) => keys
            .iter()
            .map(|(name, value)| Ok((name.clone(), value.as_str().ok_or_else(wrong)?.to_owned())))
            .collect(),
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(more: &str) -> (Result<Manifest, String>, Vec<String>) {
        let text = format!(r#"{{"$schema": "{SCHEMA}", "name": "a.b-c"{more}}}"#);
        let mut ignored = Vec::new();
        let checked = checked(&serde_json::from_str(&text).unwrap(), &mut ignored);
        (checked, ignored)
    }

    #[test]
    fn unknown_keys_are_reported_and_other_faults_refuse() {
        let (fine, ignored) = manifest(r#", "x": 1, "extensions": [], "author": {"name": "n"}"#);
        assert_eq!(fine.unwrap().author, "n");
        assert_eq!(ignored.len(), 2, "{ignored:?}");
        for wrong in [r#", "version": 1"#, r#", "author": "n""#, r#", "keywords": [1]"#] {
            assert!(manifest(wrong).0.is_err(), "{wrong}");
        }
        for name in ["", "A", "a--b", "a..b", "-a", "a.", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn servers_are_confined_and_have_two_placeholders() {
        let (root, data) = (Path::new("/p"), Path::new("/d"));
        let document = |server: Value| {
            let document = json!({"$schema": SERVERS_SCHEMA, "mcpServers": {"s": server}});
            servers(&document, root, data).unwrap()
        };
        let (found, _) = document(json!({
            "type": "stdio", "command": "./run", "args": ["${PLUGIN_ROOT}/x", "${HOME}"],
            "env": {"A": "${PLUGIN_DATA}"},
        }));
        assert_eq!(found["s"]["command"], "/p/run");
        assert_eq!(found["s"]["args"], json!(["/p/x", "${BRYNHILD_NOTHING:-$}{HOME}"]));
        assert_eq!(found["s"]["env"]["A"], "/d");
        assert_eq!(found["s"]["cwd"], "/p");
        for wrong in [
            json!({"command": "x"}),
            json!({"type": "stdio", "command": "x y"}),
            json!({"type": "stdio", "command": "../x"}),
            json!({"type": "stdio", "command": "./../x"}),
            json!({"type": "stdio", "command": "x", "more": 1}),
            json!({"type": "stdio", "command": "x", "cwd": "/etc"}),
            json!({"type": "stdio", "command": "x", "env": {"PLUGIN_ROOT": "y"}}),
            json!({"type": "sse", "url": "http://example.org"}),
            json!({"type": "sse", "url": "https://me@example.org"}),
        ] {
            let (found, ignored) = document(wrong.clone());
            assert!(found.is_empty() && ignored.len() == 1, "{wrong}");
        }
    }
}
