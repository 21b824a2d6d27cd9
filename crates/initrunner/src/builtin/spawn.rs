//! `spawn`: agents that work in the background until the session ends.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::tool::{Risk, Tool};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::function::{self, Function};
use super::options::Options;
use super::{About, ToolHost, text};
use crate::task::{Detail, RunScope, SpawnLimits};

/// An agent that can work in the background.
pub struct SpawnableAgent {
    pub name: String,
    pub description: String,
    /// The host of an agent of another program.
    pub host: Option<String>,
    /// Begins work on a prompt within the conversation of the present call.
    pub start: Start,
}

pub type Start = Box<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// The limits in an entry: tasks at the same time, and the time of each.
pub fn spawn_limits(fields: &Map<String, Value>) -> Result<(usize, Duration), String> {
    let options = Options::new(fields);
    let key = if fields.contains_key("timeout") { "timeout" } else { "timeout_seconds" };
    let seconds = options.count_within(key, 300, 1..=86_400)? as u64;
    let max_concurrent = options.count_within("max_concurrent", 4, 1..=16)?;
    Ok((max_concurrent, Duration::from_secs(seconds)))
}

/// The tools that start agents and look after their tasks.
pub fn spawn_tools(
    agents: Vec<SpawnableAgent>,
    (max_concurrent, timeout): (usize, Duration),
    tool_host: &ToolHost,
) -> Vec<Arc<dyn Tool>> {
    let shared = Arc::new(Spawning {
        agents,
        limits: SpawnLimits { places: Arc::new(Semaphore::new(max_concurrent)), timeout },
        run: tool_host.run.clone(),
    });
    let kinds = [Kind::Spawn, Kind::Poll, Kind::AwaitAll, Kind::AwaitAny, Kind::Cancel];
    let tool = |kind: Kind| {
        let spec = about(kind, &shared.agents, tool_host);
        function::tool(SpawnFunction { kind, shared: Arc::clone(&shared) }, spec)
    };
    kinds.into_iter().map(tool).collect()
}

struct Spawning {
    agents: Vec<SpawnableAgent>,
    limits: SpawnLimits,
    run: RunScope,
}

#[derive(Clone, Copy)]
enum Kind {
    Spawn,
    Poll,
    AwaitAll,
    AwaitAny,
    Cancel,
}

fn about(kind: Kind, agents: &[SpawnableAgent], tool_host: &ToolHost) -> contract::tool::ToolSpec {
    let ids = json!({
        "type": "array", "items": {"type": "string"}, "description": "Ids of tasks",
    });
    let known = agents.iter().map(|it| format!("\n- {}: {}", it.name, it.description));
    let spawn = format!(
        "Start an agent in the background and go on at once. Agents:{}",
        known.collect::<String>()
    );
    let (name, description, properties, required): (_, &str, _, &[&str]) = match kind {
        Kind::Spawn => {
            let properties = json!({
                "agent_name": {"type": "string", "description": "The agent"},
                "prompt": {
                    "type": "string",
                    "description": "The whole task: the agent knows nothing but this",
                },
            });
            ("spawn_agent", &spawn, properties, &["agent_name", "prompt"])
        }
        Kind::Poll => {
            let about = "List spawned tasks with their status and the beginning of their results.";
            ("poll_tasks", about, json!({"task_ids": ids}), &[])
        }
        Kind::AwaitAll => {
            let about = "Wait until all of these tasks have ended, and get their results.";
            ("await_tasks", about, json!({"task_ids": ids}), &["task_ids"])
        }
        Kind::AwaitAny => {
            let about = "Wait until one of these tasks has ended, and get their results.";
            ("await_any", about, json!({"task_ids": ids}), &["task_ids"])
        }
        Kind::Cancel => {
            let id = json!({"task_id": {"type": "string", "description": "The id of the task"}});
            ("cancel_task", "Cancel a spawned task that has not ended.", id, &["task_id"])
        }
    };
    // The calls of an agent are judged one by one, but a prompt may leave the machine.
    let is_remote = matches!(kind, Kind::Spawn) && agents.iter().any(|it| it.host.is_some());
    let risk = if is_remote { Risk::Mutating } else { Risk::ReadOnly };
    About { name, description, kind: "spawn", risk, properties, required }.spec(tool_host)
}

struct SpawnFunction {
    kind: Kind,
    shared: Arc<Spawning>,
}

impl SpawnFunction {
    fn agent(&self, args: &Value) -> Result<&SpawnableAgent, String> {
        let name = text(args, "agent_name");
        let agents = &self.shared.agents;
        agents.iter().find(|agent| agent.name == name).ok_or_else(|| {
            let known: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
            format!("Unknown agent '{name}'. Available: {}", known.join(", "))
        })
    }

    fn spawn(&self, args: &Value) -> Result<String, String> {
        let prompt = text(args, "prompt");
        if prompt.trim().is_empty() {
            return Err(String::from("the prompt is empty"));
        }
        let Spawning { limits, run, .. } = &*self.shared;
        let SpawnableAgent { name, description, start, .. } = self.agent(args)?;
        let id = run.spawned().start(name, start(prompt.to_owned()), limits.clone());
        let about = if description.is_empty() { String::new() } else { format!(": {description}") };
        Ok(format!("Spawned {name} as {id}{about}"))
    }
}

#[async_trait]
impl Function for SpawnFunction {
    fn actions(&self, args: &Value) -> Result<Vec<Action>, String> {
        // A name that is not known is answered by the call.
        let host = self.agent(args).ok().and_then(|agent| agent.host.clone());
        Ok(host.map(|host| Action::Connect { host }).into_iter().collect())
    }

    async fn call(&self, args: &Value) -> Result<String, String> {
        let tasks = self.shared.run.spawned();
        let ids = args.get("task_ids").and_then(Value::as_array).map(|ids| {
            ids.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<String>>()
        });
        match self.kind {
            Kind::Spawn => self.spawn(args),
            Kind::Poll => Ok(tasks.text(ids.as_deref(), Detail::Preview)),
            Kind::AwaitAll => {
                let ids = ids.unwrap_or_default();
                tasks.ended(&ids).await;
                Ok(tasks.text(Some(&ids), Detail::Whole))
            }
            Kind::AwaitAny => {
                let ids = ids.unwrap_or_default();
                let is_known = tasks.any_ended(&ids).await;
                Ok(if is_known {
                    tasks.text(Some(&ids), Detail::Whole)
                } else {
                    String::from("No tasks found.")
                })
            }
            Kind::Cancel => {
                let id = text(args, "task_id");
                Ok(if tasks.cancel(id) {
                    format!("Cancelled {id}.")
                } else {
                    format!("Task '{id}' not found or already finished.")
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::fixture;
    use super::*;

    fn agent(name: &str, result: Option<Result<&'static str, &'static str>>) -> SpawnableAgent {
        let start: Start = Box::new(move |_| match result {
            Some(result) => {
                Box::pin(async move { result.map(str::to_owned).map_err(str::to_owned) })
            }
            None => Box::pin(std::future::pending()),
        });
        SpawnableAgent { name: name.to_owned(), description: String::new(), host: None, start }
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_end_fail_time_out_and_are_cancelled() {
        let tool_host = fixture::tool_host(Path::new("/"));
        let agents = vec![
            agent("good", Some(Ok("done"))),
            agent("bad", Some(Err("no"))),
            agent("slow", None),
        ];
        let tools = spawn_tools(agents, (2, Duration::from_mins(1)), &tool_host);
        let [spawn, poll, await_all, await_any, cancel] = &tools[..] else { panic!("five tools") };
        assert_eq!(fixture::output(poll, json!({})).await, "No spawned tasks.");
        let mut ids = Vec::new();
        for name in ["good", "bad", "slow", "slow"] {
            let args = json!({"agent_name": name, "prompt": "x"});
            let said = fixture::output(spawn, args).await;
            let id = said.strip_prefix(&format!("Spawned {name} as ")).expect(&said);
            assert_eq!(id.len(), 8);
            ids.push(id.to_owned());
        }
        let said = fixture::output(await_any, json!({"task_ids": [ids[0]]})).await;
        assert_eq!(said, format!("Spawned Tasks:\n  {} [good] completed (0.0s) -> done", ids[0]));
        let cancelled = fixture::output(cancel, json!({"task_id": ids[3]})).await;
        assert_eq!(cancelled, format!("Cancelled {}.", ids[3]));
        let again = fixture::output(cancel, json!({"task_id": ids[3]})).await;
        assert_eq!(again, format!("Task '{}' not found or already finished.", ids[3]));
        let said = fixture::output(await_all, json!({"task_ids": ids[1..]})).await;
        let wanted = format!(
            "Spawned Tasks:\n  {} [bad] failed (0.0s) -> ERROR: no\n  {} [slow] timeout (60.0s) -> \
             TIMEOUT: Timed out after 60s",
            ids[1], ids[2]
        );
        assert_eq!(said, wanted);
        let none = fixture::output(await_any, json!({"task_ids": ["x"]})).await;
        assert_eq!(none, "No tasks found.");
    }
}
