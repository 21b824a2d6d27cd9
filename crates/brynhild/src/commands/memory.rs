//! `memory`: lists, clears, exports, imports and consolidates the memory of a role.

use std::io::Write;
use std::path::Path;

use args::{ClearedPart, MemoryCommand, MemoryKind};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::{named_file, role};
use initrunner::memory::{Kind, Memory, MemoryFilter, MemoryStore};
use serde_json::{Value, json};

use super::confirmed;

const SHOWN_CHARS: usize = 100;

pub(crate) async fn run(assembly: &Assembly, command: &MemoryCommand) -> Outcome {
    let (agent, memory) = open(assembly, command.role())?;
    let failed = |what: String| Problem::failed(what);
    match command {
        MemoryCommand::List { kind, category, limit, .. } => {
            let filter = MemoryFilter { kind: kind.map(kind_of), category: category.clone() };
            let memories = memory.list(&filter, *limit).map_err(failed)?;
            let lines: Vec<String> = memories.iter().map(line).collect();
            let none = String::from("No memories found.");
            assembly.report(&memories, if lines.is_empty() { none } else { lines.join("\n") })
        }
        MemoryCommand::Clear { what, kind, force, .. } => {
            let question = format!("Clear the memory of {agent}?");
            if !force && !confirmed(assembly, &question)? {
                return Err(Problem::failed("nothing was cleared").hint("`--force` asks nothing"));
            }
            let filter = MemoryFilter { kind: kind.map(kind_of), category: None };
            let (mut memories, mut sessions) = (0, 0);
            if *what != ClearedPart::Sessions {
                memories = memory.clear(&filter).map_err(failed)?;
            }
            if *what != ClearedPart::Memories && kind.is_none() {
                sessions = memory.clear_sessions().map_err(failed)?;
            }
            let text = format!("Cleared {memories} memories and {sessions} sessions.");
            assembly.report(&json!({"memories": memories, "sessions": sessions}), text)
        }
        MemoryCommand::Export { output, .. } => {
            let memories = memory.list(&MemoryFilter::default(), usize::MAX).map_err(failed)?;
            let text = serde_json::to_string_pretty(&memories).map_err(anyhow::Error::from)?;
            let mut file = named_file::create(assembly, output)?;
            writeln!(file, "{text}")?;
            let text = format!("Exported {} memories to {}.", memories.len(), output.display());
            assembly.report(&json!({"exported": memories.len(), "path": output}), text)
        }
        MemoryCommand::Import { file, .. } => {
            let count = import(assembly, &memory, file)?;
            assembly.report(&json!({"imported": count}), format!("Imported {count} memories."))
        }
        MemoryCommand::Consolidate { .. } => {
            let answering = assemble::answering_model::answering(assembly).await?;
            let (episodes, facts) =
                role::stores::consolidate(assembly, &answering, &memory).await?;
            let text = match episodes {
                0 => String::from("No episodes to consolidate."),
                _ => format!("Consolidated {episodes} episodes into {facts} memories."),
            };
            assembly.report(&json!({"episodes": episodes, "memories": facts}), text)
        }
    }
}

fn open(assembly: &Assembly, path: &Path) -> Result<(String, MemoryStore), Problem> {
    let role = role::valid(assembly, path)?;
    let memory = role::stores::memory(assembly, &role).map_err(Problem::failed)?;
    let missing = || Problem::failed("No memory config in role definition.");
    Ok((role.name, memory.ok_or_else(missing)?))
}

fn import(assembly: &Assembly, memory: &MemoryStore, file: &Path) -> Result<usize, Problem> {
    let wrong = |what: String| Problem::new(Exit::Failed, format!("{}: {what}", file.display()));
    let bytes = std::fs::read(assembly.environment.cwd.join(file));
    let bytes = bytes.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let records: Value =
        serde_json::from_slice(&bytes).map_err(|error| wrong(format!("no JSON: {error}")))?;
    memory.import(&records).map_err(wrong)
}

fn kind_of(kind: MemoryKind) -> Kind {
    match kind {
        MemoryKind::Semantic => Kind::Semantic,
        MemoryKind::Episodic => Kind::Episodic,
        MemoryKind::Procedural => Kind::Procedural,
    }
}

fn line(memory: &Memory) -> String {
    let content: String = memory.content.chars().take(SHOWN_CHARS).collect();
    format!(
        "#{} [{}:{}] ({}) {}",
        memory.id,
        memory.memory_type.name(),
        memory.category,
        memory.created_at,
        contract::text::visible(&content).replace('\n', " ")
    )
}
