//! Agents that the model delegates to: their files, the tool, and their starting state. Each runs
//! in a nested conversation (`agent::nested`) with the same rules, hooks, questions and sandbox.

mod agent_list;
mod report;
mod scoped;
mod subagent_run;
mod task;
mod tool_filter;

use std::path::Path;
use std::sync::Arc;

use contract::tool::Tool;

use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::assembly::Assembly;
use crate::assemble::{Knowledge, report};
pub(crate) use agent_list::{Agent, AgentList, Kind, PLAIN};
pub(crate) use subagent_run::{FAMILIAR, Persona, Workplace, tighten};
use task::Task;

pub(crate) fn tool(
    assembly: &Assembly,
    root: &Path,
    answering: Option<&Arc<AnsweringModel>>,
    knowledge: &Arc<Knowledge>,
) -> Option<Arc<dyn Tool>> {
    let disabled = &assembly.config().tools.disabled;
    let is_off = |name: &str| disabled.get(name).copied().unwrap_or(false);
    if is_off("__builtin__") || is_off(task::NAME) || assembly.config().agents.max_depth == 0 {
        return None;
    }
    let list = AgentList::find(assembly);
    report(&list.problems);
    let workplace = Workplace::new(assembly, root, (answering, Arc::clone(knowledge)), &list);
    Some(Arc::new(Task::new(list, workplace)))
}
