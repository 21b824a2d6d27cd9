//! `Task`: the model delegates work to an agent and reads the result.

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::text::head;
use contract::tool::{
    Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Agent, PLAIN};

pub const NAME: &str = "Task";

/// Agents described to the model; of others it sees the names.
const DESCRIBED: usize = 50;
/// The most characters of one agent's description.
const MAX_DESCRIPTION_CHARS: usize = 500;

#[derive(Deserialize)]
struct Args {
    prompt: String,
    subagent_type: Option<String>,
}

#[async_trait]
pub trait DelegatedWork: Send + Sync {
    /// Delegates work to an agent within the conversation of a call; none if there is no agent of
    /// that name.
    async fn hand_on(&self, agent: &str, prompt: String) -> Option<Result<ToolOutput, ToolError>>;
}

pub struct Task {
    spec: Arc<ToolSpec>,
    names: Vec<String>,
    work: Box<dyn DelegatedWork>,
}

impl Task {
    pub fn new<F>(agents: Vec<Agent<F>>, work: Box<dyn DelegatedWork>) -> Self {
        let spec = spec(&agents).into();
        Self { spec, names: agents.into_iter().map(|agent| agent.name).collect(), work }
    }
}

fn spec<F>(agents: &[Agent<F>]) -> ToolSpec {
    let mut words = include_str!("task.md").trim_end().to_owned();
    for agent in agents.iter().take(DESCRIBED) {
        let about = agent.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let short = head(&about, MAX_DESCRIPTION_CHARS);
        let more = if short.len() < about.len() { "…" } else { "" };
        let _ = write!(words, "\n- {}: {short}{more}", agent.name);
    }
    let others: Vec<&str> =
        agents.iter().skip(DESCRIBED).map(|agent| agent.name.as_str()).collect();
    if !others.is_empty() {
        let _ = write!(words, "\n- further: {}", others.join(", "));
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "description": {
                "type": "string",
                "description": "What the work is, in three to five words"
            },
            "prompt": {
                "type": "string",
                "description": "The whole task: the agent knows nothing but this"
            },
            "subagent_type": {
                "type": "string",
                "description": format!("The agent to use; {PLAIN} where none is named")
            }
        },
        "required": ["description", "prompt"]
    });
    ToolSpec {
        name: NAME.to_owned(),
        description: words,
        input_schema: schema.into(),
        version: "1.0.0".to_owned(),
        categories: vec!["agents".to_owned()],
        requires_permission: false,
        // The tool itself changes nothing; the agent's calls are judged one by one.
        risk_level: Risk::ReadOnly,
        recovery_policy: Recovery::Allow,
        parallel: true,
        source: "builtin".to_owned(),
        traits: Traits::default(),
    }
}

#[async_trait]
impl Tool for Task {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, call: &ToolCall, _context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args: Args = serde_json::from_value(call.args.clone())
            .map_err(|error| ToolError::Input(format!("Invalid input: {error}")))?;
        if args.prompt.trim().is_empty() {
            return Ok(ToolOutput::failure("`prompt` is empty: say what the agent is to do"));
        }
        let named = args.subagent_type.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let name = named.unwrap_or(PLAIN);
        self.work.hand_on(name, args.prompt).await.unwrap_or_else(|| {
            let known = self.names.join(", ");
            Ok(ToolOutput::failure(format!("there is no agent {name}; available: {known}")))
        })
    }
}
