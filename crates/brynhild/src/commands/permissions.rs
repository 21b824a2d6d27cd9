//! `permissions`, `policy` and `audit`: lists and revokes remembered permissions, explains how a
//! call would be judged without running it, and shows the record of decisions.

use std::io::Write as _;

use ::audit::decisions::Entry;
use ::audit::runs::{self, RunFilter};
use ::audit::security_event::SecurityEvent;
use ::tui::masks::unmasked;
use approvals::listing;
use approvals::remembered::{Remembered, take};
use args::{AuditCommand, AuditExportArgs, PermissionsCommand, PolicyCommand};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output::{self, table};
use assemble::permissions::remembered;
use assemble::role::stores;
use assemble::run_context::RunContext;
use assemble::setup::{self, ToolListing};
use assemble::{audit, named_file, permissions};
use contract::policy::{Decision, Reason, Ruling};
use contract::sandbox::Access;
use contract::tool::Plan;
use serde_json::{Value, json};
use tui::question;

use super::json_input;

const NONE_REMEMBERED: &str = "No permission is remembered.";

pub(crate) async fn run(run: &RunContext, command: Option<PermissionsCommand>) -> Outcome {
    let rules = remembered::open(run.config_dir()?);
    match command.unwrap_or(PermissionsCommand::List) {
        PermissionsCommand::List => {
            let all = rules.read().map_err(broken)?;
            if all.is_empty() {
                return run.report(&all, NONE_REMEMBERED);
            }
            run.report(&listing::data(&all), table(listing::rows(&all)))
        }
        PermissionsCommand::Revoke { rule } => {
            let revoked = rules.change(|all| take(all, &rule)).map_err(broken)?;
            if revoked.is_empty() {
                return Err(Problem::misuse(format!("no remembered permission is `{rule}`"))
                    .hint("`brynhild permissions` lists them with their numbers"));
            }
            report_revoked(run, &revoked)
        }
        PermissionsCommand::Clear => {
            let count = rules.read().map_err(broken)?.len();
            if count > 0 && !run.global.yes && !is_confirmed(run, count).await? {
                output::line("Nothing was forgotten.")?;
                return Ok(Exit::Failed);
            }
            report_revoked(run, &rules.change(std::mem::take).map_err(broken)?)
        }
    }
}

fn broken(problem: String) -> Problem {
    Problem::misuse(problem).hint("repair or remove the file; nothing in it holds until then")
}

async fn is_confirmed(run: &RunContext, count: usize) -> Result<bool, Problem> {
    if !run.can_ask() {
        let text = format!("nobody can be asked whether {count} permissions are to be forgotten");
        return Err(Problem::new(Exit::PermissionNeeded, text).hint("pass `--yes`"));
    }
    let answer = question::line(&format!("Forget {count} permissions? [y]es, [N]o: ")).await?;
    let answer = answer.unwrap_or_default();
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn report_revoked(run: &RunContext, revoked: &[Remembered]) -> Outcome {
    let rules: Vec<&str> = revoked.iter().map(|entry| entry.rule.as_str()).collect();
    let line = |entry: &Remembered| format!("Revoked: {} ({})\n", entry.rule, entry.scope());
    let lines: String = revoked.iter().map(line).collect();
    let lines = if revoked.is_empty() { NONE_REMEMBERED } else { &lines };
    run.report(&json!({ "revoked": rules }), lines)
}

pub(crate) async fn policy(assembly: &Assembly, command: &PolicyCommand) -> Outcome {
    match command {
        PolicyCommand::Check { command } => {
            judge(assembly, "Bash", &json!({ "command": command })).await
        }
        PolicyCommand::Explain { tool, input } => {
            judge(assembly, tool, &json_input("--input", input)?).await
        }
    }
}

async fn judge(assembly: &Assembly, name: &str, args: &Value) -> Outcome {
    let root = assembly.root()?;
    let registry = setup::known_tools(assembly, ToolListing::List).await?;
    registry.check(name, args).map_err(Problem::misuse)?;
    let tool =
        registry.get(name).ok_or_else(|| Problem::misuse(format!("Unknown tool: {name}")))?;
    let policy = permissions::policy(assembly, root)?;
    let (actions, ruling) = match tool.actions(args) {
        Ok(Plan { actions, .. }) => {
            let ruling = policy.judge(&tool.spec(), &actions, assembly.mode());
            (actions, ruling)
        }
        Err(refusal) => (Vec::new(), refused(name, refusal.to_string())),
    };
    let reason = |Reason { decision, subject, why, origin }: &Reason| {
        format!("  {:<5} {subject}: {why} ({origin})\n", word(*decision))
    };
    let reasons: String = ruling.reasons.iter().map(reason).collect();
    let text = format!("{}\n{reasons}", word(ruling.decision));
    assembly.report(&json!({"tool": name, "actions": actions, "ruling": ruling}), text)?;
    Ok(match ruling.decision {
        Decision::Allow => Exit::Done,
        Decision::Ask => Exit::PermissionNeeded,
        Decision::Deny => Exit::Failed,
    })
}

/// The ruling on a call that the tool itself refuses.
fn refused(tool: &str, why: String) -> Ruling {
    let (decision, access) = (Decision::Deny, Access::ReadOnly);
    let reason = Reason { decision, subject: tool.to_owned(), why, origin: format!("tool {tool}") };
    Ruling { decision, reasons: vec![reason], access, destructive: false }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

pub(crate) fn audit(run: &RunContext, command: Option<AuditCommand>) -> Outcome {
    let (entries, mut problems) = audit::open(run.config_dir()?).read().map_err(Problem::misuse)?;
    match command.unwrap_or(AuditCommand::List) {
        AuditCommand::List if entries.is_empty() => {
            run.report(&entries, "Nothing was decided yet.")
        }
        AuditCommand::List => {
            let row = |entry: &Entry| {
                let at = entry.at.to_string().chars().take(19).collect();
                [at, unmasked(&entry.what).into_owned(), unmasked(&entry.detail).into_owned()]
            };
            run.report(&entries, table(entries.iter().map(row)))
        }
        AuditCommand::Verify => {
            let recorded = stores::recorded(run).map_err(Problem::failed)?;
            let verified = recorded.map(|store| store.verify()).transpose();
            let (runs, changed) = verified.map_err(Problem::failed)?.unwrap_or_default();
            let text = |row: usize| format!("run {row} of the roles was changed, or one before it");
            problems.extend(changed.map(text));
            let data = json!({"entries": entries.len(), "runs": runs, "problems": problems});
            if problems.is_empty() {
                let and_runs = if runs == 0 { String::new() } else { format!(" and {runs} runs") };
                let text = format!("{} entries{and_runs}, none changed", entries.len());
                return run.report(&data, text);
            }
            run.report(&data, "")?;
            for problem in problems.iter().filter(|_| !run.wants_json()) {
                output::error(problem);
            }
            Ok(Exit::Failed)
        }
        AuditCommand::Export(args) => export(run, args),
        AuditCommand::SecurityEvents { limit } => {
            let recorded = stores::recorded(run).map_err(Problem::failed)?;
            let events = recorded.map(|store| store.security_events(limit)).transpose();
            let events = events.map_err(Problem::failed)?.unwrap_or_default();
            if events.is_empty() {
                return run.report(&events, "Nothing was refused yet.");
            }
            run.report(&events, table(events.iter().map(SecurityEvent::row)))
        }
        AuditCommand::Prune { days } => {
            let recorded = stores::recorded(run).map_err(Problem::failed)?;
            let removed = recorded.map(|store| store.prune(days)).transpose();
            let removed = removed.map_err(Problem::failed)?.unwrap_or_default();
            run.report(&json!({"removed": removed}), format!("Removed {removed} runs."))
        }
    }
}

fn export(run: &RunContext, args: AuditExportArgs) -> Outcome {
    let AuditExportArgs { format, output, agent, run_id, trigger_type, since, until, limit } = args;
    let filter = RunFilter { agent, run_id, trigger_type, since, until, limit };
    let recorded = stores::recorded(run).map_err(Problem::failed)?;
    let records = recorded.map(|store| store.runs(&filter)).transpose();
    let records = records.map_err(Problem::failed)?.unwrap_or_default();
    let text = match format.as_str() {
        "csv" => runs::csv(&records).map_err(Problem::failed)?,
        _ => serde_json::to_string_pretty(&records)? + "\n",
    };
    let Some(path) = output else {
        output::line(text.trim_end())?;
        return Ok(Exit::Done);
    };
    named_file::create(run, &path)?.write_all(text.as_bytes())?;
    let text = format!("Exported {} runs to {}.", records.len(), path.display());
    run.report(&json!({"exported": records.len(), "path": path}), text)
}
