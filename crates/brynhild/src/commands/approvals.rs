//! `pending` and `approve`: the calls of a role that wait for approval after its run has ended.

use std::path::PathBuf;

use args::{ApproveArgs, Global};
use assemble::assembly::Assembly;
use assemble::chosen_role::ChosenRole;
use assemble::exit::{Outcome, Problem};
use assemble::output;
use assemble::role::{OpenRole, stores};
use assemble::run_context::RunContext;
pub(super) use audit::pending_calls::Decided;
use audit::runs::{AuditStore, PendingCall, RunFilter};
use contract::id::{CallId, SessionId};
use line_ui::tee::Approvals;
use serde_json::Value;

use super::{autonomous, role};

/// Pauses a run at calls that the role wants approved.
pub(super) fn of_role(role: &OpenRole, decided: Decided) -> Approvals {
    let guards = role.guards();
    let concerns = Box::new(move |tool: &str| guards.asks(tool));
    Approvals { concerns, decided, waiting: Vec::new() }
}

/// Stores the calls that wait, and returns them.
pub(super) fn store(
    assembly: &Assembly,
    role: Option<&OpenRole>,
    id: &SessionId,
    waiting: Vec<(CallId, String, Value)>,
) -> Result<Vec<PendingCall>, Problem> {
    let (Some(role), false) = (role, waiting.is_empty()) else { return Ok(Vec::new()) };
    let agent_name = assembly.role.as_ref().map(|it| it.name().to_owned()).unwrap_or_default();
    let role_path = role.files.first().cloned().unwrap_or_default();
    let call = |(call, tool_name, arguments): (CallId, String, Value)| PendingCall {
        run_id: id.as_str().to_owned(),
        tool_call_id: call.0,
        tool_name,
        agent_name: agent_name.clone(),
        role_path: assembly.environment.cwd.join(&role_path),
        arguments,
        variables: role.given().clone(),
        created_at: String::new(),
    };
    let calls: Vec<PendingCall> = waiting.into_iter().map(call).collect();
    let lost = |what: String| {
        let names: Vec<&str> = calls.iter().map(|call| call.tool_name.as_str()).collect();
        Problem::failed(format!("calls need approval and cannot wait for it: {}", names.join(", ")))
            .hint(what)
    };
    let store = stores::audit(assembly).map_err(lost)?;
    let store = store.ok_or_else(|| lost("run it without `--no-audit`".to_owned()))?;
    store.add_pending(&calls).map_err(lost)?;
    Ok(calls)
}

pub(super) fn tell(waiting: &[PendingCall]) {
    let (run_id, count) = (&waiting[0].run_id, waiting.len());
    output::note(&format!("Run {run_id} paused — {count} tool call(s) awaiting approval."));
    for call in waiting {
        output::note(&line(call));
    }
    output::hint(&format!("`brynhild approve {run_id} --all`"));
}

fn line(call: &PendingCall) -> String {
    format!("  {} {} {}", call.tool_call_id, call.tool_name, call.arguments)
}

pub(super) fn pending(run: &RunContext, limit: usize) -> Outcome {
    let store = stores::recorded(run).map_err(Problem::failed)?;
    let calls = store.map(|store| store.pending(None, limit)).transpose();
    let calls = calls.map_err(Problem::failed)?.unwrap_or_default();
    if calls.is_empty() {
        return run.report(&calls, "No calls are waiting for approval.");
    }
    let row = |call: &PendingCall| {
        let at: String = call.created_at.chars().take(19).collect();
        let arguments = call.arguments.to_string();
        let PendingCall { run_id, agent_name, tool_call_id, tool_name, .. } = call.clone();
        [at, run_id, agent_name, tool_call_id, tool_name, arguments]
    };
    run.report(&calls, output::table(calls.iter().map(row)))
}

fn audit(run: &RunContext) -> Result<AuditStore, Problem> {
    let store = stores::audit(run).map_err(Problem::failed)?;
    store.ok_or_else(|| Problem::failed("no runs are recorded"))
}

/// Returns true if a run was started with `-a`.
pub(super) fn is_autonomous(run: &RunContext, run_id: &str) -> Result<bool, Problem> {
    let filter = RunFilter {
        run_id: Some(run_id.to_owned()),
        trigger_type: Some(ChosenRole::AUTONOMOUS.to_owned()),
        limit: 1,
        ..RunFilter::default()
    };
    Ok(!audit(run)?.runs(&filter).map_err(Problem::failed)?.is_empty())
}

/// The role of a paused run, with its variables, and the flags that continue the run's session.
pub(super) fn paused(
    global: Global,
    args: &ApproveArgs,
) -> Result<(Global, PathBuf, Vec<PendingCall>), Problem> {
    let run = RunContext::read(global.clone())?;
    let calls = audit(&run)?.pending(Some(&args.run_id), usize::MAX).map_err(Problem::failed)?;
    let none = || {
        Problem::failed(format!("no calls of run {} are waiting for approval", args.run_id))
            .hint("`brynhild pending` lists waiting calls")
    };
    let path = calls.first().ok_or_else(none)?.role_path.clone();
    if let Some(id) = &args.tool_call_id
        && !calls.iter().any(|call| call.tool_call_id == *id)
    {
        return Err(none());
    }
    let global = Global { resume: Some(args.run_id.clone()), ..global };
    Ok((global, path, calls))
}

pub(super) async fn approve(assembly: &Assembly, args: &ApproveArgs) -> Outcome {
    let store = audit(assembly)?;
    let calls = store.pending(Some(&args.run_id), usize::MAX).map_err(Problem::failed)?;
    let is_named = |id: &str| args.tool_call_id.as_deref().is_none_or(|named| named == id);
    let decision = |id: &str| Some(is_named(id) && !args.deny);
    let decided = store.decide(calls, decision, &args.resolved_by);
    let (prompt, decided) = decided.map_err(Problem::failed)?;
    output::note("Resumed.");
    if assembly.role.as_ref().is_some_and(|chosen| chosen.role.is_autonomous) {
        return autonomous::work(assembly, &prompt, decided).await;
    }
    role::play(assembly, prompt, decided).await
}
