//! The record of a team or a flow: a row for the task and each vote, and the results of a durable flow.

use std::time::Duration;

use args::RunArgs;
use assemble::assembly::Assembly;
use assemble::exit::Problem;
use assemble::role::stores;
use audit::tasks::{FlowResults, TaskJournal, TaskRecord};
use initrunner::compose::{Composed, Kind};
use initrunner::member_run::{ComposedRun, VoteRecord};
use serde_json::{Value, json};

/// Opens the record of a task, with the results of the flow that is resumed.
pub(super) fn open(
    assembly: &Assembly,
    composed: &Composed,
    args: &RunArgs,
) -> Result<(Option<TaskJournal>, Option<FlowResults>), Problem> {
    let is_durable = matches!(&composed.kind, Kind::Flow(graph) if graph.is_durable);
    let Some(store) = stores::audit(assembly).map_err(Problem::failed)? else {
        if is_durable {
            let text = format!("{} is durable, which needs the record of runs", composed.name);
            return Err(Problem::misuse(text).hint("leave out `--no-audit`"));
        }
        return Ok((None, None));
    };
    let found = args.flow_run.as_ref().map(|run_id| {
        let none = || {
            Problem::failed(format!("there is no flow run {run_id} to resume"))
                .hint("only failed runs of flows with `durability` can be resumed")
        };
        store.flow(run_id).map_err(Problem::failed)?.filter(|_| is_durable).ok_or_else(none)
    });
    let id = args.flow_run.clone().unwrap_or_else(audit::runs::new_id);
    let journal = TaskJournal { store, scrub: stores::scrub(assembly), id, is_durable };
    Ok((Some(journal), found.transpose()?))
}

pub(super) fn end(
    journal: &TaskJournal,
    composed: &Composed,
    task: &str,
    (result, time): (&ComposedRun, Duration),
) -> Result<(), String> {
    let names: Vec<&str> = result.runs.iter().map(|it| it.name.as_str()).collect();
    let total = TaskRecord {
        name: &composed.name,
        trigger_type: if matches!(composed.kind, Kind::Flow(_)) { "flow_run" } else { "team_run" },
        prompt: task,
        output: &result.output,
        error: result.error.as_deref(),
        tokens: result.tokens(),
        duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        metadata: json!({"agents": names}),
        verdicts: Value::Null,
    };
    let mut votes = Vec::new();
    for VoteRecord { task: prompt, winner: output, details, verdicts } in &result.votes {
        let (metadata, verdicts) = (details.clone(), verdicts.clone());
        let (trigger_type, name) = ("ensemble_vote", composed.name.as_str());
        let rest = TaskRecord { trigger_type, name, ..TaskRecord::default() };
        votes.push(TaskRecord { prompt, output, metadata, verdicts, ..rest });
    }
    journal.end(&total, &votes)
}
