//! `rules`: what the model is told about this project, and from which files.

use contract::text::visible;
use serde_json::{Value, json};

use crate::args::RulesCommand;
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::exit::{Exit, Outcome};
use crate::output;

/// Runs a `rules` command.
pub(crate) fn run(assembly: &Assembly, command: &RulesCommand) -> Outcome {
    let RulesCommand::Show = command;
    let found = assemble::rules(assembly, assembly.place());
    if assembly.wants_json() {
        let rows: Vec<Value> = found
            .rules
            .iter()
            .map(|rule| {
                let path = rule.path.display().to_string();
                json!({"path": path, "text": rule.text, "truncated": rule.truncated})
            })
            .collect();
        output::json(&json!({"rules": rows}))?;
        return Ok(Exit::Done);
    }
    if found.rules.is_empty() {
        output::line("No rules hold here.")?;
        return Ok(Exit::Done);
    }
    output::line(visible(&plugins::rules::prompt_block(&found.rules)))?;
    Ok(Exit::Done)
}
