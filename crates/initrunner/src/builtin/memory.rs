//! The tools of a role's memory. They write to its store alone, so they need no permission.

use std::sync::Arc;

use async_trait::async_trait;
use contract::tool::{Risk, Tool};
use serde_json::{Value, json};

use super::function::{self, Function};
use super::{About, ToolHost, text};
use crate::memory::{Kind, MemoryFilter, MemoryStore, tidy_category};

/// Makes the tools of a memory. A disabled kind has no tool.
pub fn memory_tools(memory: &Arc<MemoryStore>, tool_host: &ToolHost) -> Vec<Arc<dyn Tool>> {
    let writers = [
        (
            Kind::Semantic,
            "remember",
            "Remembered",
            "Store a fact for later sessions: a preference, a decision, a name.",
        ),
        (
            Kind::Procedural,
            "learn_procedure",
            "Learned procedure",
            "Store a rule or procedure to follow in all later sessions.",
        ),
        (
            Kind::Episodic,
            "record_episode",
            "Recorded episode",
            "Store an event: a task that was done, and its outcome.",
        ),
    ];
    let mut tools = Vec::new();
    for (kind, name, verb, description) in writers {
        if !memory.has_kind(kind) {
            continue;
        }
        let about = About {
            name,
            description,
            kind: "memory",
            risk: Risk::ReadOnly,
            properties: json!({
                "content": {"type": "string", "description": "The text to store"},
                "category": {"type": "string", "default": "general", "description": "One word"},
            }),
            required: &["content"],
        };
        let writer = Writer { memory: Arc::clone(memory), kind, verb };
        tools.push(function::stateful(writer, about.spec(tool_host)));
    }
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let recall = About {
        name: "recall",
        description: "Search the memories of all sessions.",
        kind: "memory",
        risk: Risk::ReadOnly,
        properties: json!({
            "query": {"type": "string", "description": "Words to search for"},
            "top_k": {"type": "integer", "minimum": 1, "default": 5},
            "memory_types": {
                "type": ["array", "null"], "items": {"type": "string", "enum": kinds},
                "default": null, "description": "Kinds to search in; all if null",
            },
        }),
        required: &["query"],
    };
    let list = About {
        name: "list_memories",
        description: "List memories, newest first.",
        kind: "memory",
        risk: Risk::ReadOnly,
        properties: json!({
            "category": {"type": ["string", "null"], "default": null},
            "limit": {"type": "integer", "minimum": 1, "default": 20},
            "memory_type": {"type": ["string", "null"], "default": null, "description": kinds.join(", ")},
        }),
        required: &[],
    };
    tools.push(function::tool(Recall(Arc::clone(memory)), recall.spec(tool_host)));
    tools.push(function::tool(List(Arc::clone(memory)), list.spec(tool_host)));
    tools
}

struct Writer {
    memory: Arc<MemoryStore>,
    kind: Kind,
    verb: &'static str,
}

#[async_trait]
impl Function for Writer {
    async fn call(&self, args: &Value) -> Result<String, String> {
        let content = text(args, "content").to_owned();
        if content.trim().is_empty() {
            return Err(String::from("Error: content must not be empty"));
        }
        let category = tidy_category(text(args, "category"));
        let (memory, kind, verb) = (Arc::clone(&self.memory), self.kind, self.verb);
        function::blocking(move || {
            let id = memory.add(kind, &category, &content)?;
            Ok(format!("{verb} (id={id}, category={category})"))
        })
        .await
    }
}

struct Recall(Arc<MemoryStore>);

#[async_trait]
impl Function for Recall {
    async fn call(&self, args: &Value) -> Result<String, String> {
        let kinds = match args.get("memory_types").and_then(Value::as_array) {
            None => Kind::ALL.to_vec(),
            Some(names) => names
                .iter()
                .map(|name| Kind::parse(name.as_str().unwrap_or_default()))
                .collect::<Result<_, _>>()
                .map_err(|what| format!("Error: {what}"))?,
        };
        if self.0.is_empty()? {
            return Ok(String::from("No memories stored yet."));
        }
        let hits = self.0.recall(text(args, "query"), &kinds, count(args, "top_k", 5)).await?;
        if hits.is_empty() {
            return Ok(String::from("No relevant memories found."));
        }
        let hit = |(hit, score): &(crate::memory::Memory, f64)| {
            format!(
                "[Type: {} | Category: {} | Score: {score:.3} | {}]\n{}",
                hit.memory_type, hit.category, hit.created_at, hit.content
            )
        };
        Ok(hits.iter().map(hit).collect::<Vec<_>>().join("\n\n---\n\n"))
    }
}

struct List(Arc<MemoryStore>);

#[async_trait]
impl Function for List {
    async fn call(&self, args: &Value) -> Result<String, String> {
        let named = |key: &str| Some(text(args, key).to_owned()).filter(|it| !it.is_empty());
        let kind = named("memory_type").map(|name| Kind::parse(&name)).transpose();
        let kind = kind.map_err(|what| format!("Error: {what}"))?;
        let filter = MemoryFilter { kind, category: named("category") };
        let limit = count(args, "limit", 20);
        let memory = Arc::clone(&self.0);
        function::blocking(move || {
            let memories = memory.list(&filter, limit)?;
            if memories.is_empty() {
                return Ok(String::from("No memories found."));
            }
            let lines = memories.iter().map(|it| {
                format!("[{}:{}] ({}) {}", it.memory_type, it.category, it.created_at, it.content)
            });
            Ok(lines.collect::<Vec<_>>().join("\n"))
        })
        .await
    }
}

pub(super) fn count(args: &Value, name: &str, usual: usize) -> usize {
    let count = args.get(name).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
    count.unwrap_or(usual).max(1)
}
