//! The worker of a role: which files it depends on, what it is told, what it may see.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::files::foreign;
use serde_json::{Map, Value, json};

use crate::initrunner::registry::Types;
use crate::initrunner::{Entry, RoleFacts, kind};
use crate::plugin::{Dialect, Manifest, Place, Plugin, PluginSettings};

const MAX_DIRECTORY_ENTRIES: usize = 2000;

pub struct Wanted<'a> {
    pub role: &'a RoleFacts<'a>,
    /// Those that are Python.
    pub entries: Vec<&'a Entry>,
    pub types: Types,
    /// Directories of packages that count for it beside those of its interpreter.
    pub sites: Vec<PathBuf>,
    pub depth: Depth,
}

/// How far a worker goes with what entries name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    #[default]
    Run,
    /// It reads its text, and runs none of it.
    Look,
}

/// The plugin that a role's worker serves, under the user's settings for that role. The variables
/// that its entries name are among what these grant, or stay as they are written.
pub fn plugin(wanted: &Wanted<'_>, settings: PluginSettings) -> Plugin {
    let role = wanted.role;
    let mut settings = PluginSettings { own: told(wanted, &settings), ..settings };
    settings.timeout = settings.timeout.or(role.tool_time);
    let (points, files) = (&wanted.types.points, &wanted.types.files);
    let seen = &mut settings.grants.read;
    seen.extend(points.iter().flat_map(|point| [point.root.clone(), point.site.clone()]));
    seen.extend(files.iter().map(|file| file.path.clone()));
    seen.sort();
    seen.dedup();
    let manifest = Manifest {
        name: role.name.to_owned(),
        version: String::from("0.0.0"),
        tools: watched(wanted),
        dialect: Dialect::InitRunner,
        ..Manifest::default()
    };
    Plugin {
        manifest,
        root: directory(role),
        place: Place::Flag,
        enabled: true,
        trusted: true,
        settings,
        package: None,
    }
}

fn directory(role: &RoleFacts<'_>) -> PathBuf {
    let directory = role.directory();
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

pub fn variables(entries: &[&Entry]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in entries {
        for value in entry.values() {
            named(value, &mut names);
        }
    }
    names
}

fn named(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            for part in text.split("${").skip(1) {
                let is_name = |name: &str| {
                    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
                };
                let name = part.split_once('}').map(|(name, _)| name);
                names.extend(name.filter(|name| is_name(name)).map(str::to_owned));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, names)),
        Value::Object(fields) => fields.values().for_each(|item| named(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn told(wanted: &Wanted<'_>, settings: &PluginSettings) -> Map<String, Value> {
    let role = wanted.role;
    let entries: Vec<Value> = wanted.entries.iter().map(|entry| told_entry(entry)).collect();
    let has_types = wanted.entries.iter().any(|entry| kind(entry) != "custom");
    let mut told = Map::new();
    let mut tell = |key: &str, value: Value| told.insert(key.to_owned(), value);
    tell("entries", Value::Array(entries));
    tell("imports", role.imports.clone());
    let names = variables(&wanted.entries);
    let given: Vec<&String> =
        settings.grants.env.iter().filter(|name| names.contains(*name)).collect();
    tell("variables", json!(given));
    if wanted.depth == Depth::Look {
        let kinds: Vec<&String> = wanted.types.files.iter().flat_map(|file| &file.kinds).collect();
        tell("only_look", true.into());
        tell("kinds", json!(kinds));
    }
    if has_types {
        let files: Vec<&Path> = wanted.types.files.iter().map(|file| file.path.as_path()).collect();
        tell("entry_points", json!(wanted.types.points));
        tell("files", json!(files));
        tell("sites", json!(wanted.sites));
        let metadata = json!({"name": role.name, "description": role.description});
        tell(
            "role",
            json!({"metadata": metadata, "spec": {"role": role.prompt, "tools": wanted.role.tools}}),
        );
    }
    told
}

fn told_entry(entry: &Entry) -> Value {
    if kind(entry) == "custom" {
        let field = |key: &str| entry.get(key).cloned().unwrap_or_default();
        return json!({
            "type": "custom",
            "module": field("module"),
            "function": field("function"),
            "config": field("config"),
        });
    }
    let mut config = entry.clone();
    config.remove("type");
    json!({"type": kind(entry), "config": config})
}

/// The files and directories whose changes may change what the entries bring: the modules and packages
/// beside the role, files with types, and packages that are being developed.
fn watched(wanted: &Wanted<'_>) -> Vec<String> {
    let directory = directory(wanted.role);
    let modules: BTreeSet<&str> = wanted
        .entries
        .iter()
        .filter_map(|entry| entry.get("module")?.as_str()?.split('.').next())
        .collect();
    let counts = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        path.extension().is_some_and(|ending| ending == "py")
            || (path.is_dir() && (modules.contains(name) || path.join("__init__.py").is_file()))
    };
    let beside = foreign::entries(&directory, MAX_DIRECTORY_ENTRIES)
        .map(|(paths, _)| paths)
        .unwrap_or_default();
    let mut watched: Vec<PathBuf> = beside.into_iter().filter(counts).collect();
    watched.extend(wanted.types.files.iter().map(|file| file.path.clone()));
    let roots = wanted.types.points.iter().filter(|point| point.root != point.site);
    watched.extend(roots.map(|point| point.root.clone()));
    if watched.is_empty() {
        // A role without any module beside it has a worker all the same.
        watched.push(wanted.role.file.to_owned());
    }
    watched.sort();
    watched.dedup();
    watched.into_iter().map(|path| path.display().to_string()).collect()
}
