//! Agents that the model delegates to: their files and their starting state. Each runs in a nested
//! conversation (`agent::nested`) with the same rules, hooks, questions and sandbox.

mod subagent_run;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use contract::tool::{Tool, ToolError, ToolOutput};
use subagents::{DelegatedWork, NAME, Task};

use crate::agent_list::AgentList;
use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::knowledge::Knowledge;
use crate::output;
pub(crate) use subagent_run::{Persona, Workplace, take_over, tighten};

pub(crate) fn tool(
    assembly: &Assembly,
    root: &Path,
    answering: Option<&Arc<AnsweringModel>>,
    knowledge: &Arc<Knowledge>,
) -> Option<Arc<dyn Tool>> {
    let disabled = &assembly.config().tools.disabled;
    let is_off = |name: &str| disabled.get(name).copied().unwrap_or(false);
    if is_off("__builtin__") || is_off(NAME) || assembly.config().agents.max_depth == 0 {
        return None;
    }
    let list = AgentList::find(assembly);
    output::problems(&list.problems);
    let workplace = Workplace::new(assembly, root, (answering, Arc::clone(knowledge)), &list);
    let agents = list.agents.clone();
    Some(Arc::new(Task::new(agents, Box::new(ListedWork { list, workplace }))))
}

struct ListedWork {
    list: AgentList,
    workplace: Workplace,
}

#[async_trait]
impl DelegatedWork for ListedWork {
    async fn hand_on(&self, agent: &str, prompt: String) -> Option<Result<ToolOutput, ToolError>> {
        Some(self.workplace.hand_on(self.list.get(agent)?, prompt).await)
    }
}
