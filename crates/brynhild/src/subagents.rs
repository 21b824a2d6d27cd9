//! Agents that the model hands work to: where they are found, the tool that hands it to them, and
//! what they begin with. Each works in a conversation within the one that called it, with the same
//! rules, hooks, questions and sandbox; `agent::nested` holds it.

mod errand;
mod narrow;
mod report;
mod roster;
mod scoped;
mod task;

use std::path::Path;
use std::sync::Arc;

use contract::tool::Tool;

use crate::assemble::{Knowledge, Mind};
use crate::output;
use crate::world::World;
pub(crate) use errand::{FAMILIAR, Persona, Workplace, tighten};
pub(crate) use roster::{Agent, Kind, PLAIN, Roster};
use task::Task;

/// The tool that hands work to agents; none where it is off.
pub(crate) fn tool(
    world: &World,
    root: &Path,
    mind: Option<&Arc<Mind>>,
    knowledge: &Arc<Knowledge>,
) -> Option<Arc<dyn Tool>> {
    let disabled = &world.config().tools.disabled;
    let is_off = |name: &str| disabled.get(name).copied().unwrap_or(false);
    if is_off("__builtin__") || is_off(task::NAME) || world.config().agents.max_depth == 0 {
        return None;
    }
    let roster = Roster::find(world);
    for problem in &roster.problems {
        output::warning(&format!("{problem} ({})", problem.hint));
    }
    let workplace = Workplace::new(world, root, (mind, Arc::clone(knowledge)), &roster);
    Some(Arc::new(Task::new(roster, workplace)))
}
