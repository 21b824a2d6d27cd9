//! `audit`: what was decided, and whether the record of it was changed.

use ::tui::masks::unmasked;
use serde_json::json;

use crate::args::AuditCommand;
use crate::assemble::audit::{Audit, Entry};
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Runs an `audit` command.
pub(crate) fn run(run: &RunContext, command: Option<AuditCommand>) -> Outcome {
    let audit = Audit::new(run.config_dir()?);
    let (entries, problems) = audit.read().map_err(Problem::misuse)?;
    match command.unwrap_or(AuditCommand::List) {
        AuditCommand::List => list(run, &entries),
        AuditCommand::Verify => verify(run, &entries, &problems),
    }
}

fn list(run: &RunContext, entries: &[Entry]) -> Outcome {
    if run.wants_json() {
        output::json(&entries)?;
        return Ok(Exit::Done);
    }
    if entries.is_empty() {
        output::line("Nothing was decided yet.")?;
        return Ok(Exit::Done);
    }
    let row = |entry: &Entry| {
        let at = entry.at.to_string().chars().take(19).collect();
        vec![at, unmasked(&entry.what).into_owned(), unmasked(&entry.detail).into_owned()]
    };
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

fn verify(run: &RunContext, entries: &[Entry], problems: &[String]) -> Outcome {
    let exit = if problems.is_empty() { Exit::Done } else { Exit::Failed };
    if run.wants_json() {
        output::json(&json!({"entries": entries.len(), "problems": problems}))?;
        return Ok(exit);
    }
    for problem in problems {
        output::error(problem);
    }
    if problems.is_empty() {
        output::line(format!("{} entries, none changed", entries.len()))?;
    }
    Ok(exit)
}
