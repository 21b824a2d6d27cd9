//! `--agent NAME`: a run that is an agent's from its first word. The agent is a role, or one that a
//! file of instructions describes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agent::registry::IsHidden;
use contract::tool::Tool;
use files::private;
use plugins::claude::{self, AgentFile};
use subagents::FAMILIAR;

use super::{choose, named};
use crate::agent_list::{AgentList, Kind};
use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::knowledge::Knowledge;
use crate::output;
use crate::run_context::RunContext;
use crate::subagents::{Persona, Workplace};

/// Makes an agent answer in this run: a role, a file, or one of the known agents.
pub fn choose_agent(assembly: &mut Assembly, name: &str) -> Result<(), Problem> {
    let path = match named(assembly, name) {
        Ok(path) => path,
        Err(problem) => match AgentList::find(assembly).get(name).map(|agent| agent.kind.clone()) {
            Some(Kind::File(file)) => {
                use_agent(assembly, file);
                return Ok(());
            }
            Some(Kind::Role(path)) => path,
            Some(Kind::Plain) => return Ok(()),
            None => return Err(problem),
        },
    };
    if path.extension().is_none_or(|it| it != "md") {
        assembly.global.role_file = Some(path.clone());
        return choose(assembly, &path, &BTreeMap::new());
    }
    use_agent(assembly, Arc::new(read(&path)?));
    Ok(())
}

fn read(path: &Path) -> Result<AgentFile, Problem> {
    let cannot = |why: &str| Problem::misuse(format!("cannot read {}: {why}", path.display()));
    let bytes = private::read(path).map_err(|error| cannot(&error.to_string()))?;
    let bytes = bytes.ok_or_else(|| cannot("there is no such file"))?;
    claude::agent_of(path, &bytes)
        .map_err(|problem| Problem::misuse(problem.to_string()).hint(problem.hint))
}

/// Takes a file's agent, and its model where the user names none and has one of that name.
fn use_agent(run: &mut RunContext, file: Arc<AgentFile>) {
    let is_known = |name: &&String| run.config().models.aliases.contains_key(*name);
    let is_usable = |name: &&String| is_known(name) || !FAMILIAR.contains(&name.as_str());
    let model = file.model.as_ref().filter(is_usable);
    if let (None, Some(model)) = (&run.global.model, model) {
        run.global.model = Some(model.clone());
    } else if let Some(name) = file.model.as_ref().filter(|_| run.global.model.is_none()) {
        output::warning(&format!("there is no model {name} here; the default model is used"));
    }
    run.agent = Some(file);
}

/// The tools and the system prompt of a file's agent. Warns about tools that it does not get.
pub(crate) fn with_agent(
    assembly: &Assembly,
    answering: Option<&Arc<AnsweringModel>>,
    file: &AgentFile,
    tools: (Vec<Arc<dyn Tool>>, Option<IsHidden>),
    knowledge: &Arc<Knowledge>,
) -> Persona {
    let knowledge = Arc::clone(knowledge);
    let place =
        Workplace::new(assembly, assembly.place(), (answering, knowledge), &AgentList::default());
    let persona = place.persona(file, tools, answering.map(AsRef::as_ref));
    for remark in persona.unknown_exclusions.iter().chain(&persona.remarks) {
        output::warning(&format!("{}: {remark}", file.path.display()));
    }
    persona
}
