//! Tasks of several agents in the database of runs: a row for each task and each vote, and the results
//! of the agents of durable flows, by which a flow is resumed.

use std::collections::BTreeMap;

use rusqlite::{Row, params};
use serde_json::{Value, json};

use crate::runs::{AuditStore, Scrub, now};

/// A task, or a vote among answers to one.
#[derive(Default)]
pub struct TaskRecord<'a> {
    /// The name of the document.
    pub name: &'a str,
    pub trigger_type: &'a str,
    pub prompt: &'a str,
    pub output: &'a str,
    pub error: Option<&'a str>,
    pub tokens: (u64, u64),
    pub duration_ms: u64,
    pub metadata: Value,
    pub verdicts: Value,
}

impl AuditStore {
    fn record_task(
        &self,
        run_id: &str,
        task: &TaskRecord<'_>,
        scrub: &Scrub,
    ) -> Result<(), String> {
        let text = |text: &str| Value::from(scrub(text));
        let json_text =
            |value: &Value| if value.is_null() { Value::Null } else { text(&value.to_string()) };
        let (read, written) = task.tokens;
        self.record_columns(json!({
            "run_id": run_id,
            "agent_name": task.name,
            "user_prompt": text(task.prompt),
            "output": text(task.output),
            "tokens_in": read,
            "tokens_out": written,
            "total_tokens": read + written,
            "duration_ms": task.duration_ms,
            "success": u8::from(task.error.is_none()),
            "error": task.error.map(text),
            "trigger_type": task.trigger_type,
            "trigger_metadata": json_text(&task.metadata),
            "judge_verdicts": json_text(&task.verdicts),
        }))
    }

    /// Keeps the output of an agent that has finished; without an agent, the task of the flow.
    fn keep_result(
        &self,
        run_id: &str,
        agent: &str,
        (prompt, output): (&str, &str),
    ) -> Result<(), String> {
        let insert = "INSERT INTO flow_checkpoints (flow_run_id, service_name, sequence_number, \
                      envelope_json, result_json, created_at) SELECT ?1, ?2, COUNT(*), ?3, ?4, ?5 \
                      FROM flow_checkpoints WHERE flow_run_id = ?1";
        let (envelope, result) = (json!({"prompt": prompt}), json!({"output": output}));
        let values = params![run_id, agent, envelope.to_string(), result.to_string(), now()];
        self.with(|it| it.execute(insert, values)).map(drop)
    }

    /// The task of a flow that has not succeeded, and the outputs of its finished agents by agent and
    /// prompt; none if there is no such flow.
    pub fn flow(&self, run_id: &str) -> Result<Option<FlowResults>, String> {
        let select = "SELECT service_name, envelope_json, result_json FROM flow_checkpoints \
                      WHERE flow_run_id = ? ORDER BY sequence_number";
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows: Vec<(String, String, String)> =
            self.with(|it| it.prepare(select)?.query_map([run_id], row)?.collect())?;
        let value = |text: &str, key: &str| {
            let value: Value = serde_json::from_str(text).unwrap_or_default();
            value[key].as_str().unwrap_or_default().to_owned()
        };
        let (mut task, mut outputs) = (None, BTreeMap::new());
        for (agent, envelope, result) in rows {
            let prompt = value(&envelope, "prompt");
            if agent.is_empty() {
                task = Some(prompt);
            } else {
                outputs.insert((agent, prompt), value(&result, "output"));
            }
        }
        Ok(task.map(|task| FlowResults { task, outputs }))
    }

    /// Removes the results of a flow that has succeeded.
    fn end_flow(&self, run_id: &str) -> Result<(), String> {
        let delete = "DELETE FROM flow_checkpoints WHERE flow_run_id = ?";
        self.with(|it| it.execute(delete, [run_id])).map(drop)
    }
}

/// The record of one task of several agents.
pub struct TaskJournal {
    pub store: AuditStore,
    pub scrub: Scrub,
    pub id: String,
    /// True if the results of finished agents are kept.
    pub is_durable: bool,
}

impl TaskJournal {
    /// Begins the task, or another attempt at it.
    pub fn begin(&self, task: &str) -> Result<(), String> {
        self.keep("", task, "")
    }

    pub fn keep(&self, agent: &str, prompt: &str, output: &str) -> Result<(), String> {
        if !self.is_durable {
            return Ok(());
        }
        self.store.keep_result(&self.id, agent, (prompt, output))
    }

    /// Records the votes and the end of a task.
    pub fn end(&self, task: &TaskRecord<'_>, votes: &[TaskRecord<'_>]) -> Result<(), String> {
        for record in votes.iter().chain([task]) {
            self.store.record_task(&self.id, record, &self.scrub)?;
        }
        if self.is_durable && task.error.is_none() { self.store.end_flow(&self.id) } else { Ok(()) }
    }
}

#[derive(Debug, Default, PartialEq)]
pub struct FlowResults {
    pub task: String,
    pub outputs: BTreeMap<(String, String), String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::new_id;

    #[test]
    fn results_of_a_flow_are_kept_until_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let store = AuditStore::open(directory.path(), None, None).unwrap();
        let (id, other) = (new_id(), new_id());
        store.keep_result(&id, "", ("do it", "")).unwrap();
        store.keep_result(&id, "a", ("do it", "one")).unwrap();
        store.keep_result(&other, "", ("another", "")).unwrap();
        let found = store.flow(&id).unwrap().unwrap();
        assert_eq!(found.task, "do it");
        let outputs = BTreeMap::from([(("a".to_owned(), "do it".to_owned()), "one".to_owned())]);
        assert_eq!(found.outputs, outputs);
        store.end_flow(&id).unwrap();
        assert_eq!(store.flow(&id).unwrap(), None);
        assert!(store.flow(&other).unwrap().is_some());
    }
}
