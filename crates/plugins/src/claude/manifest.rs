//! `.claude-plugin/plugin.json`: where a plugin keeps its parts. Unknown keys are told and ignored;
//! a known key of the wrong kind keeps the plugin from being loaded.

use std::path::{Component, Path, PathBuf};

use ::files::foreign::{self, Boundary};
use contract::text::visible;
use serde_json::{Map, Value};

use crate::plugin::Manifest;
use crate::problem::{Problem, text_file};
use crate::words::Words;

pub(crate) const FILE: &str = ".claude-plugin/plugin.json";

/// The most names of unused parts in one line.
const NAMES_LIMIT: usize = 20;

/// Keys that describe the plugin.
const DESCRIPTION: Words = Words(
    "$schema name displayName version description author homepage repository license keywords \
     metadata defaultEnabled",
);
/// Keys of the parts that are loaded.
pub(super) const PARTS: Words = Words("commands agents skills hooks mcpServers userConfig");

/// Parts that other programs load and this one does not, by key and by what lies in the directory.
pub(super) const UNUSED: [(&str, &str, &str); 9] = [
    ("workflows", "workflows", "workflows are not run"),
    ("outputStyles", "output-styles", "output styles are not used"),
    ("lspServers", ".lsp.json", "language servers are not started"),
    ("experimental.themes", "themes", "themes are not used"),
    ("experimental.monitors", "monitors", "monitors are not run"),
    ("channels", "", "channels are not used"),
    ("dependencies", "", "plugins that it needs have to be installed by hand"),
    ("", "bin", "its programs are not put on the search path of commands"),
    ("", "settings.json", "settings of a plugin are not used"),
];

/// The kind of a plugin's directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    Claude,
    Portable,
    #[default]
    Bare,
}

impl Form {
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude-style plugin",
            Self::Portable => "Agent Plugins 1.0.0",
            Self::Bare => "directory without a manifest",
        }
    }
}

/// A document of its own, or a file that holds it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    File(PathBuf),
    Inline(Value),
}

#[derive(Clone, Debug, Default)]
pub struct Declared {
    pub form: Form,
    pub manifest: Manifest,
    /// True unless the plugin is off by itself.
    pub is_on: bool,
    pub(crate) commands: Vec<PathBuf>,
    pub(crate) agents: Vec<PathBuf>,
    pub(crate) skills: Vec<PathBuf>,
    pub(crate) hooks: Vec<Given>,
    pub(crate) servers: Vec<Given>,
    pub(crate) options: Value,
    pub(crate) ignored: Vec<String>,
}

/// Reads the manifest of a directory; `root` is canonical.
pub fn read(root: &Path) -> Result<Declared, Problem> {
    if root.join(FILE).symlink_metadata().is_ok() {
        return claude(root);
    }
    if root.join(super::portable::FILE).symlink_metadata().is_ok() {
        return super::portable::read(root);
    }
    let mut declared = usual(root);
    declared.form = Form::Bare;
    declared.manifest.name = directory_name(root);
    Ok(declared)
}

pub(crate) fn json(root: &Path, file: &Path) -> Result<Value, Problem> {
    let directories = [root.to_path_buf()];
    let text = text_file(file, Boundary::Within(&directories))?;
    serde_json::from_str(&text).map_err(|error| {
        Problem::new(file, format!("this is not valid JSON: {error}"), "correct the file")
    })
}

pub(crate) fn directory_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    tidy(&name).unwrap_or_else(|| "unnamed".to_owned())
}

fn tidy(name: &str) -> Option<String> {
    let usable = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.trim().chars().map(usable).take(64).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    (!name.is_empty()).then_some(name)
}

fn usual(root: &Path) -> Declared {
    let mut declared = Declared {
        form: Form::Claude,
        is_on: true,
        commands: vec![root.join("commands")],
        agents: vec![root.join("agents")],
        skills: vec![root.join("skills")],
        hooks: vec![Given::File(root.join("hooks/hooks.json"))],
        servers: vec![Given::File(root.join(".mcp.json"))],
        ..Declared::default()
    };
    declared.ignored.extend(UNUSED.iter().filter_map(|(_, part, why)| {
        let is_there = !part.is_empty() && root.join(part).exists();
        is_there.then(|| format!("{part}: {why}{}", listed(&names_in(root, part))))
    }));
    if root.join("CLAUDE.md").exists() {
        declared.ignored.push("CLAUDE.md: a plugin's instructions are not loaded".to_owned());
    }
    declared
}

fn claude(root: &Path) -> Result<Declared, Problem> {
    let file = root.join(FILE);
    let wrong = |what: String| Problem::new(&file, what, "correct the manifest");
    let Value::Object(keys) = json(root, &file)? else {
        return Err(wrong("the manifest is not an object".to_owned()));
    };
    let reader = Keys { root, keys: &keys };
    let mut declared = usual(root);
    declared.manifest = reader.manifest().map_err(wrong)?;
    declared.is_on = reader.switch("defaultEnabled").map_err(wrong)?.unwrap_or(true);
    for (key, place) in [("commands", &mut declared.commands), ("agents", &mut declared.agents)] {
        if let Some(paths) = reader.paths(key).map_err(wrong)? {
            *place = paths;
        }
    }
    declared.skills.extend(reader.paths("skills").map_err(wrong)?.unwrap_or_default());
    declared.hooks.extend(reader.given("hooks").map_err(wrong)?);
    declared.servers.extend(reader.given("mcpServers").map_err(wrong)?);
    declared.options = match keys.get("userConfig") {
        Some(options @ Value::Object(_)) => options.clone(),
        None | Some(Value::Null) => Value::Null,
        Some(_) => return Err(wrong("`userConfig` is not an object".to_owned())),
    };
    let is_unused = |key: &str| UNUSED.iter().any(|(it, ..)| it.split('.').next() == Some(key));
    let is_known = |key: &str| DESCRIPTION.has(key) || PARTS.has(key) || is_unused(key);
    for key in keys.keys().filter(|key| !is_known(key)) {
        declared.ignored.push(format!("`{key}` in the manifest: the key is not known"));
    }
    declared.ignored.extend(UNUSED.iter().filter_map(|(key, _, why)| {
        let (first, rest) = key.split_once('.').unwrap_or((key, ""));
        let value = keys.get(first)?;
        let value = if rest.is_empty() { value } else { value.get(rest)? };
        Some(format!("`{key}` in the manifest: {why}{}", listed(&names_of(value))))
    }));
    if root.join(super::portable::FILE).exists() {
        let what = format!("{}: {FILE} counts", super::portable::FILE);
        declared.ignored.push(what);
    }
    dedupe(&mut declared.hooks);
    dedupe(&mut declared.servers);
    declared.skills.dedup();
    Ok(declared)
}

/// The names of parts in a file, in a directory of files, or in a file of the directory's name.
fn names_in(root: &Path, part: &str) -> Vec<String> {
    let path = root.join(part);
    let document = [path.clone(), path.join(part).with_extension("json")];
    if let Some(value) = document.iter().find_map(|file| json(root, file).ok()) {
        return names_of(&value);
    }
    let entries = foreign::entries(&path, NAMES_LIMIT + 1).map(|(entries, _)| entries);
    let entries = entries.unwrap_or_default();
    let stems = entries.iter().filter_map(|entry| entry.file_stem());
    stems.map(|stem| stem.to_string_lossy().into_owned()).collect()
}

fn names_of(value: &Value) -> Vec<String> {
    match value {
        Value::Object(parts) => parts.keys().cloned().collect(),
        Value::Array(parts) => {
            let name = |part: &Value| part.get("name").unwrap_or(part).as_str().map(str::to_owned);
            parts.iter().filter_map(name).collect()
        }
        Value::String(name) => vec![name.clone()],
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn listed(names: &[String]) -> String {
    let rest = if names.len() > NAMES_LIMIT { ", .." } else { "" };
    let names = names.iter().take(NAMES_LIMIT).map(|name| visible(name)).collect::<Vec<_>>();
    if names.is_empty() { String::new() } else { format!(" ({}{rest})", names.join(", ")) }
}

/// Leaves each document in once: a manifest may name the usual file.
fn dedupe(list: &mut Vec<Given>) {
    let all = std::mem::take(list);
    for given in all {
        if !list.contains(&given) {
            list.push(given);
        }
    }
}

struct Keys<'a> {
    root: &'a Path,
    keys: &'a Map<String, Value>,
}

impl Keys<'_> {
    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{key}` is not text")),
        }
    }

    fn switch(&self, key: &str) -> Result<Option<bool>, String> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(switch)) => Ok(Some(*switch)),
            Some(_) => Err(format!("`{key}` is neither true nor false")),
        }
    }

    fn manifest(&self) -> Result<Manifest, String> {
        let Some(name) = self.text("name")? else {
            return Err("`name` is missing".to_owned());
        };
        let name = tidy(&name).ok_or("`name` is empty")?;
        let author = match self.keys.get("author") {
            Some(Value::Object(author)) => author.get("name").and_then(Value::as_str),
            Some(Value::String(author)) => Some(author.as_str()),
            None | Some(Value::Null) => None,
            Some(_) => return Err("`author` is not an object".to_owned()),
        };
        Ok(Manifest {
            name,
            version: self.text("version")?.unwrap_or_default(),
            description: self.text("description")?.unwrap_or_default(),
            author: author.unwrap_or_default().to_owned(),
            license: self.text("license")?.unwrap_or_default(),
            ..Manifest::default()
        })
    }

    fn paths(&self, key: &str) -> Result<Option<Vec<PathBuf>>, String> {
        let texts = match self.keys.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(path)) => vec![path.as_str()],
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| {
                    item.as_str().ok_or_else(|| format!("`{key}` holds what is not a path"))
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(format!("`{key}` is neither a path nor a list of paths")),
        };
        texts.into_iter().map(|path| self.path(key, path)).collect::<Result<_, _>>().map(Some)
    }

    fn path(&self, key: &str, path: &str) -> Result<PathBuf, String> {
        let relative = match path.strip_prefix("./") {
            Some(relative) => relative,
            None if path == "." => "",
            None => return Err(format!("`{key}` names {path:?}, which does not begin with `./`")),
        };
        let leaves =
            |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
        if Path::new(relative).components().any(leaves) {
            return Err(format!("`{key}` names {path:?}, which is outside the plugin"));
        }
        let place = self.root.join(relative.trim_end_matches('/'));
        // What is trusted is read by these endings as well, so that no other may say what runs.
        let ending = match key {
            "commands" | "agents" if place.is_file() => "md",
            "commands" | "agents" | "skills" => return Ok(place),
            _ => "json",
        };
        if place.extension().is_none_or(|own| own != ending) {
            return Err(format!("`{key}` names {path:?}, which does not end in `.{ending}`"));
        }
        Ok(place)
    }

    fn given(&self, key: &str) -> Result<Vec<Given>, String> {
        let one = |value: &Value| match value {
            Value::String(path) => Ok(Given::File(self.path(key, path)?)),
            Value::Object(_) => Ok(Given::Inline(value.clone())),
            _ => Err(format!("`{key}` is neither a path nor an object")),
        };
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(one).collect(),
            Some(value) => Ok(vec![one(value)?]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_with(manifest: &str) -> Result<Declared, Problem> {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join(".claude-plugin")).unwrap();
        fs::write(root.join(FILE), manifest).unwrap();
        read(&root)
    }

    #[test]
    fn declared_paths_replace_or_extend_the_defaults() {
        let declared = read_with(
            r#"{"name": "demo", "commands": ["./a.md"], "skills": "./more", "surprise": 1,
                "hooks": {"hooks": {}}, "themes": "./x", "workflows": "./w"}"#,
        )
        .unwrap();
        assert!(declared.commands[0].ends_with("a.md") && declared.commands.len() == 1);
        assert_eq!(declared.skills.len(), 2);
        assert_eq!(declared.hooks.len(), 2);
        let told = declared.ignored.join("\n");
        assert!(told.contains("`surprise`") && told.contains("`workflows`"), "{told}");
    }

    #[test]
    fn a_key_of_the_wrong_kind_is_refused() {
        for manifest in [
            r#"{"name": 1}"#,
            r#"{"version": "1"}"#,
            r#"{"name": "a", "commands": 5}"#,
            r#"{"name": "a", "commands": "x"}"#,
            r#"{"name": "a", "agents": "./../x"}"#,
            r#"{"name": "a", "hooks": true}"#,
            r#"{"name": "a", "hooks": "./h.conf"}"#,
            r#"{"name": "a", "mcpServers": ["./m"]}"#,
            "[]",
            "{",
        ] {
            assert!(read_with(manifest).is_err(), "{manifest}");
        }
    }
}
