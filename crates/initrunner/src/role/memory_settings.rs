//! The key `memory` of a role.

use std::path::Path;

use serde_json::{Map, Value};

use super::{EmbeddingSettings, Fields, Role};

const KEYS: &[&str] = &[
    "store_path",
    "store_backend",
    "max_sessions",
    "max_resume_messages",
    "embeddings",
    "episodic",
    "semantic",
    "procedural",
    "consolidation",
];

/// The key `memory` of a role. A kind without a limit is disabled.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySettings {
    pub(crate) store_path: Option<String>,
    /// True if the store may lie outside of InitRunner's home, as one that delegates share.
    pub has_free_path: bool,
    pub(crate) max_sessions: usize,
    pub(crate) max_resume_messages: usize,
    pub(crate) max_events: Option<usize>,
    pub(crate) max_facts: Option<usize>,
    pub(crate) max_procedures: Option<usize>,
    pub consolidation: Option<Consolidation>,
    pub embeddings: Option<EmbeddingSettings>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Consolidation {
    pub interval: Interval,
    pub model: Option<String>,
    pub(crate) max_episodes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    AfterSession,
    AfterAutonomous,
    Manual,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            store_path: None,
            has_free_path: false,
            max_sessions: 10,
            max_resume_messages: 20,
            max_events: Some(500),
            max_facts: Some(1000),
            max_procedures: Some(100),
            consolidation: Some(Consolidation {
                interval: Interval::AfterSession,
                model: None,
                max_episodes: 20,
            }),
            embeddings: None,
        }
    }
}

impl MemorySettings {
    pub(crate) fn read(value: Option<&Value>, fields: &mut Fields) -> Option<Self> {
        let usual = Self::default();
        let memory = fields.mapping(value, "memory")?;
        if memory.contains_key("max_memories") {
            fields.error("memory.max_memories", "it is called `semantic.max_memories`");
        }
        fields.warn_unknown(memory, "memory", &[KEYS, &["max_memories"]].concat());
        let mut limit = |name: &str, key: &str, usual| {
            let Some(kind) = fields.mapping(memory.get(name), &format!("memory.{name}")) else {
                return usual;
            };
            fields.warn_unknown(kind, &format!("memory.{name}"), &["enabled", key]);
            let limit = fields.size(kind, &format!("memory.{name}.{key}"));
            let is_enabled = fields.flag(kind, &format!("memory.{name}.enabled"), true);
            limit.or(usual).filter(|_| is_enabled)
        };
        Some(Self {
            has_free_path: false,
            max_events: limit("episodic", "max_episodes", usual.max_events),
            max_facts: limit("semantic", "max_memories", usual.max_facts),
            max_procedures: limit("procedural", "max_procedures", usual.max_procedures),
            store_path: fields.text(memory, "store_path", "memory."),
            max_sessions: fields.size(memory, "memory.max_sessions").unwrap_or(usual.max_sessions),
            max_resume_messages: fields
                .size(memory, "memory.max_resume_messages")
                .unwrap_or(usual.max_resume_messages),
            consolidation: consolidation(memory, fields),
            embeddings: EmbeddingSettings::read(memory, "memory.embeddings", fields),
        })
    }
}

fn consolidation(memory: &Map<String, Value>, fields: &mut Fields) -> Option<Consolidation> {
    let usual = MemorySettings::default().consolidation?;
    let Some(value) = fields.mapping(memory.get("consolidation"), "memory.consolidation") else {
        return Some(usual);
    };
    let known = ["enabled", "interval", "max_episodes_per_run", "model_override"];
    fields.warn_unknown(value, "memory.consolidation", &known);
    let interval = match fields.text(value, "interval", "memory.consolidation.").as_deref() {
        None | Some("after_session") => Interval::AfterSession,
        Some("after_autonomous") => Interval::AfterAutonomous,
        Some("manual") => Interval::Manual,
        Some(_) => {
            let known = "it is none of `after_session`, `after_autonomous` and `manual`";
            fields.error("memory.consolidation.interval", known);
            usual.interval
        }
    };
    let max_episodes = fields.size(value, "memory.consolidation.max_episodes_per_run");
    let consolidation = Consolidation {
        interval,
        model: fields.text(value, "model_override", "memory.consolidation."),
        max_episodes: max_episodes.unwrap_or(usual.max_episodes),
    };
    fields.flag(value, "memory.consolidation.enabled", true).then_some(consolidation)
}

/// One memory for several roles.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    store_path: Option<String>,
    max_facts: Option<usize>,
    has_free_path: bool,
}

impl SharedMemory {
    /// Reads the key of a document; none if it is not enabled.
    pub(crate) fn read(value: Option<&Value>, fields: &mut Fields) -> Option<Self> {
        let keys = fields.mapping(value, "shared_memory")?;
        let known = ["enabled", "store_path", "store_backend", "max_memories"];
        fields.warn_unknown(keys, "shared_memory", &known);
        let shared = Self {
            store_path: fields.text(keys, "store_path", "shared_memory."),
            max_facts: fields.size(keys, "shared_memory.max_memories"),
            has_free_path: false,
        };
        fields.flag(keys, "shared_memory.enabled", false).then_some(shared)
    }

    /// Reads the key of a tool; the path is relative to the role's directory.
    pub fn of_tool(entry: &Map<String, Value>, directory: &Path) -> Result<Option<Self>, String> {
        let mut fields = Fields::default();
        let shared = fields.mapping(entry.get("shared_memory"), "shared_memory").map(|keys| {
            let path = fields.required_text(keys, "store_path", "shared_memory.");
            let path = directory.join(path.unwrap_or_default());
            Self {
                store_path: Some(path.to_string_lossy().into_owned()),
                max_facts: fields.size(keys, "shared_memory.max_memories"),
                has_free_path: true,
            }
        });
        match fields.findings.first() {
            Some(finding) => Err(format!("`{}`: {}", finding.path, finding.message)),
            None => Ok(shared),
        }
    }

    /// Has a role use this memory; one without memory gets it with the usual settings.
    pub fn give(&self, role: &mut Role, document: &str) {
        let memory = role.memory.get_or_insert_with(MemorySettings::default);
        let usual = || format!("memory/{document}-shared.db");
        memory.store_path = Some(self.store_path.clone().unwrap_or_else(usual));
        memory.max_facts = self.max_facts.or(memory.max_facts);
        memory.has_free_path = self.has_free_path;
    }
}
