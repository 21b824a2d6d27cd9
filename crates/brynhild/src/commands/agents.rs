//! `agents`: lists the agents that the model can hand work to.

use std::fmt::Write as _;

use contract::text::head;
use serde_json::{Value, json};

use crate::args::AgentsCommand;
use crate::assemble::assembly::Assembly;
use crate::assemble::subagents::{Agent, AgentList, Kind};
use crate::exit::{Exit, Outcome};
use crate::output;

/// Runs an `agents` command.
pub(crate) fn run(assembly: &Assembly, command: &AgentsCommand) -> Outcome {
    match command {
        AgentsCommand::List => list(assembly),
    }
}

fn list(assembly: &Assembly) -> Outcome {
    let roster = AgentList::find(assembly);
    for problem in &roster.problems {
        output::warning(&format!("{problem} ({})", problem.hint));
    }
    if assembly.wants_json() {
        let rows: Vec<Value> = roster.agents.iter().map(described).collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    let row = |agent: &Agent| {
        let about = agent.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut about = head(&about, 80).to_owned();
        if let Kind::File(file) = &agent.kind
            && !file.ignored.is_empty()
        {
            // Writing to a string cannot fail.
            let _ = write!(about, " (without effect: {})", file.ignored.join(", "));
        }
        vec![agent.name.clone(), agent.source.clone(), about]
    };
    let rows: Vec<Vec<String>> = roster.agents.iter().map(row).collect();
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

fn described(agent: &Agent) -> Value {
    let mut object = json!({
        "name": agent.name,
        "description": agent.description,
        "source": agent.source,
        "path": agent.path().map(|path| path.display().to_string()),
    });
    if let Kind::File(file) = &agent.kind {
        object["tools"] = json!(file.tools);
        object["disallowed_tools"] = json!(file.disallowed_tools);
        object["model"] = json!(file.model);
        object["max_turns"] = json!(file.max_turns);
        object["permission_mode"] = json!(file.permission_mode);
        object["skills"] = json!(file.skills);
        object["ignored"] = json!(file.ignored);
    }
    object
}
