//! `run -a`: lets a role work on a task by itself.

use std::mem::take;

use args::RunArgs;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use assemble::role::{self, stores};
use audit::runs::PendingCall;
use initrunner::autonomy::{self, AutonomousRun, DryConversation, Status};
use initrunner::host::RoleConversation as _;
use initrunner::role::Interval;
use serde_json::json;

use super::approvals::{self, Decided};
use super::role_runner::Runner;

pub(super) async fn run(assembly: &Assembly, args: &RunArgs, prompt: &str) -> Outcome {
    let chosen = assembly.role.as_ref().ok_or_else(|| Problem::failed("there is no role"))?;
    if args.dry_run {
        role::rehearse(assembly).await?;
        let mut conversation = DryConversation::default();
        let result = autonomy::run(&mut conversation, None, &chosen.role, prompt).await;
        if !assembly.wants_json() {
            output::line(&result.total.output)?;
        }
        return shown(assembly, &result, ("dry-run", &[]));
    }
    work(assembly, prompt, Vec::new()).await
}

/// Works on a task, or continues with it after the user has decided about calls.
pub(super) async fn work(assembly: &Assembly, prompt: &str, decided: Decided) -> Outcome {
    let chosen = assembly.role.as_ref().ok_or_else(|| Problem::failed("there is no role"))?;
    let runner = Runner::new(assembly);
    let mut conversation = runner.open_shown().await?;
    conversation.decided = decided;
    let id = conversation.id.clone();
    let result = autonomy::run(&mut conversation, Some(&runner), &chosen.role, prompt).await;
    let (role, waiting) = (conversation.role.clone(), take(&mut conversation.waiting));
    Box::new(conversation).close().await;
    let waiting = approvals::store(assembly, role.as_deref(), &id, waiting)?;
    if chosen.has_schema() && !assembly.wants_json() && result.total.error.is_none() {
        output::line(output::answer(&result.total.output))?;
    }
    let exit = shown(assembly, &result, (id.as_str(), &waiting))?;
    if let Some(memory) = stores::open_memory(assembly, &chosen.role) {
        result.record(&memory).unwrap_or_else(|what| output::warning(&what));
    }
    if !matches!(result.status, Status::Interrupted | Status::Paused) {
        let times = [Interval::AfterSession, Interval::AfterAutonomous];
        stores::end_session(assembly, runner.answering().await?, &times).await;
    }
    Ok(exit)
}

fn shown(
    assembly: &Assembly,
    result: &AutonomousRun,
    (id, waiting): (&str, &[PendingCall]),
) -> Outcome {
    if assembly.wants_json() {
        let mut object = result.to_json(id);
        if !waiting.is_empty() {
            object["pending_approvals"] = json!(waiting);
        }
        output::json(&object)?;
    } else {
        output::note(&result.report());
        if !waiting.is_empty() {
            approvals::tell(waiting);
        }
    }
    Ok(match result.status {
        Status::Completed | Status::MaxIterations => Exit::Done,
        Status::Blocked | Status::Failed => Exit::Failed,
        Status::Timeout | Status::BudgetExceeded => Exit::Limited,
        Status::Paused => Exit::Paused,
        Status::Error | Status::Interrupted => Exit::Command(result.total.exit_code),
    })
}
