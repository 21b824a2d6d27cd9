//! The two shapes of a role's file, and its parts.

use std::path::Path;

use contract::text::closest;
use serde_json::{Map, Value};

use super::fields::Fields;
use super::guardrails::DAEMON_NOTE;
use super::import_rules;
use super::{
    AutonomySettings, ContentSettings, Finding, Guardrails, IngestSettings, MemorySettings,
    Reading, ReasoningSettings, Role, Severity, ToolEntry,
};
use crate::variables;

pub(crate) const METADATA: &[&str] = &[
    "name",
    "description",
    "tags",
    "author",
    "team",
    "version",
    "dependencies",
    "bundle",
    "spec_version",
];

pub(super) const SUPPORTED: &[&str] = &[
    "role",
    "prompt",
    "model",
    "output",
    "tools",
    "skills",
    "auto_skills",
    "memory",
    "ingest",
    "deps_schema",
    "guardrails",
    "autonomy",
    "reasoning",
    "execution",
    "resources",
    "security",
];

pub(super) const UNSUPPORTED: &[&str] =
    &["triggers", "sinks", "daemon", "observability", "capabilities", "tool_search"];

const DAEMON_ONLY: &[&str] = &["triggers", "sinks", "daemon"];

pub(crate) const COMPOSED: &[&str] = &[
    "agents",
    "run",
    "debate",
    "ensemble",
    "handoff_max_chars",
    "shared_memory",
    "shared_documents",
    "durability",
];

pub(crate) fn read(document: &Map<String, Value>, file: &Path) -> Reading {
    let mut fields = Fields::default();
    let role = if is_enveloped(document) {
        envelope(document, &mut fields)
    } else {
        flat(document, &mut fields)
    };
    let role = role.map(|role| Role { file: file.to_owned(), ..role });
    let findings = fields.findings;
    let is_sound = findings.iter().all(|finding: &Finding| finding.severity != Severity::Error);
    Reading { role: role.filter(|_| is_sound), findings }
}

pub(crate) fn is_enveloped(document: &Map<String, Value>) -> bool {
    document.contains_key("apiVersion") || document.contains_key("spec")
}

fn envelope(document: &Map<String, Value>, fields: &mut Fields) -> Option<Role> {
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or("Agent");
    match kind {
        "Agent" => {}
        "Compose" => {
            fields.error("kind", "`kind: Compose` is called `kind: Flow`");
            return None;
        }
        "Team" | "Flow" => {
            fields.error("kind", format!("a {} {SEVERAL}", kind.to_lowercase()));
            return None;
        }
        other => {
            let what = format!("`kind: {other}` is not supported; there are Agent, Team and Flow");
            fields.error("kind", what);
            return None;
        }
    }
    if let Some(version) = document.get("apiVersion").filter(|version| *version != VERSION) {
        fields.error("apiVersion", format!("{version} is not known; there is `{VERSION}`"));
    }
    let empty = Map::new();
    let part = |key: &str| document.get(key).and_then(Value::as_object);
    let metadata = part("metadata").unwrap_or(&empty);
    let Some(spec) = part("spec") else {
        fields.error("spec", "it is missing");
        return None;
    };
    for key in spec.keys().filter(|key| !is_known(key)) {
        fields.warning(&format!("spec.{key}"), "it is not known and is ignored");
    }
    let name = fields.required_text(metadata, "name", "metadata.");
    if let Some(name) = &name
        && (name.len() < 2 || !is_name(name))
    {
        fields.error("metadata.name", NAME_RULE);
    }
    let prompt = fields.required_text(spec, "role", "spec.");
    let role = parts(spec, fields);
    Some(Role {
        name: name.unwrap_or_default(),
        description: fields.text(metadata, "description", "metadata.").unwrap_or_default(),
        tags: fields.texts(metadata, "tags"),
        prompt: prompt.unwrap_or_default(),
        is_enveloped: true,
        ..role
    })
}

fn flat(document: &Map<String, Value>, fields: &mut Fields) -> Option<Role> {
    if let Some(key) = document.keys().find(|key| COMPOSED.contains(&key.as_str())) {
        fields.error(key, format!("a document with this key {SEVERAL}"));
        return None;
    }
    let name = fields.required_text(document, "name", "");
    if name.as_ref().is_some_and(|name| !is_name(name)) {
        fields.error("name", NAME_RULE);
    }
    if !["prompt", "model", "tools"].iter().any(|key| document.contains_key(*key)) {
        fields.error("", "this is not a role: it has none of `prompt`, `model` and `tools`");
    }
    let own = |key: &&String| !is_known(key) && !METADATA.contains(&key.as_str());
    for key in document.keys().filter(own) {
        let known = SUPPORTED.iter().chain(UNSUPPORTED).chain(METADATA).copied();
        let meant = closest(key, known).map(|it| format!("; did you mean `{it}`?"));
        fields.error(key, format!("it is not known{}", meant.unwrap_or_default()));
    }
    let prompt = fields.text(document, "prompt", "").or_else(|| fields.text(document, "role", ""));
    let role = parts(document, fields);
    Some(Role {
        name: name.unwrap_or_default(),
        description: fields.text(document, "description", "").unwrap_or_default(),
        tags: fields.texts(document, "tags"),
        prompt: prompt.unwrap_or_default(),
        ..role
    })
}

/// The end of an error about a document that is not a single role.
const SEVERAL: &str = "has several agents, which only `brynhild run` and `validate` take";

pub(crate) const VERSION: &str = "initrunner/v1";

pub(crate) const NAME_RULE: &str =
    "a name has lower-case letters, digits and hyphens, and no hyphen at its ends";

pub(crate) fn is_name(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.chars().all(inside) && !name.starts_with('-') && !name.ends_with('-')
}

fn is_known(key: &str) -> bool {
    SUPPORTED.contains(&key) || UNSUPPORTED.contains(&key) || COMPOSED.contains(&key)
}

fn parts(spec: &Map<String, Value>, fields: &mut Fields) -> Role {
    // An empty mapping switches a thing on; an empty list holds none of them.
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Object(keys) if keys.get("enabled").is_some_and(|it| *it == false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    for key in UNSUPPORTED {
        if spec.get(*key).is_some_and(is_set) {
            let unsupported = "it is not supported and does nothing here";
            let is_daemons = DAEMON_ONLY.contains(key);
            fields.warning(key, if is_daemons { DAEMON_NOTE } else { unsupported });
        }
    }
    let tools = tools(spec.get("tools"), fields);
    let autonomy = AutonomySettings::read(spec.get("autonomy"), fields);
    let role = Role {
        model: fields.model(spec.get("model")),
        reasoning: ReasoningSettings::read(
            spec.get("reasoning"),
            (&tools, autonomy.is_some()),
            fields,
        ),
        tools,
        skills: fields.texts(spec, "skills"),
        max_auto_skills: fields.max_auto_skills(spec.get("auto_skills")),
        output: fields.output(spec.get("output")),
        guardrails: Guardrails::read(spec.get("guardrails"), fields),
        autonomy,
        answer_retries: fields.answer_retries(spec.get("execution")),
        tool_time: fields.tool_time(spec.get("execution")),
        imports: import_rules::read(spec.get("security"), fields),
        ingest: IngestSettings::read(spec.get("ingest"), spec.get("security"), fields),
        content: ContentSettings::read(spec.get("security"), fields),
        memory: MemorySettings::read(spec.get("memory"), fields),
        security: spec.get("security").cloned().unwrap_or_default(),
        network: import_rules::network(spec.get("security")),
        has_free_store_paths: import_rules::has_free_store_paths(spec.get("security"), fields),
        variables: spec.get("deps_schema").filter(|value| !value.is_null()).cloned(),
        ..Role::default()
    };
    let prompt = ["role", "prompt"].iter().find_map(|key| spec.get(*key)?.as_str());
    if let Err(what) = variables::check(prompt.unwrap_or_default(), role.variables.as_ref()) {
        fields.error("deps_schema", what);
    }
    role
}

/// Reads a list of tools: `name`, `{name: {..}}` or `{type: name, ..}`.
pub(crate) fn tools(value: Option<&Value>, fields: &mut Fields) -> Vec<ToolEntry> {
    let items = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            fields.error("tools", "it is not a list");
            return Vec::new();
        }
    };
    let mut entries = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match entry(item) {
            Some(entry) => entries.push(entry),
            None => fields.error(&format!("tools[{index}]"), "it has no `type`"),
        }
    }
    entries
}

fn entry(item: &Value) -> Option<ToolEntry> {
    let made = |kind: &str, mut entry: Map<String, Value>| {
        entry.insert("type".to_owned(), kind.into());
        Some(ToolEntry { kind: kind.to_owned(), fields: entry })
    };
    match item {
        Value::String(kind) => made(kind, Map::new()),
        Value::Object(entry) => match entry.get("type") {
            Some(kind) => made(kind.as_str()?, entry.clone()),
            None if entry.len() == 1 => {
                let (kind, inner) = entry.iter().next()?;
                match inner {
                    Value::Null => made(kind, Map::new()),
                    Value::Object(inner) => made(kind, inner.clone()),
                    Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
                }
            }
            None => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}
