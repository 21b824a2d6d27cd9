//! `policy`: says how a call would be judged, with the whole reasoning, and runs nothing.

use contract::policy::{Decision, Reason, Ruling};
use contract::sandbox::Access;
use contract::text::visible;
use contract::tool::Plan;
use serde_json::{Value, json};

use crate::args::PolicyCommand;
use crate::assemble::assembly::Assembly;
use crate::assemble::permissions;
use crate::assemble::setup::{self, ToolListing};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Runs a `policy` command.
pub(crate) async fn run(assembly: &Assembly, command: &PolicyCommand) -> Outcome {
    match command {
        PolicyCommand::Check { command } => {
            judge(assembly, "Bash", &json!({ "command": command })).await
        }
        PolicyCommand::Explain { tool, input } => {
            let args: Value = serde_json::from_str(input).map_err(|error| {
                Problem::misuse(format!("`--input` is not valid JSON: {error}"))
            })?;
            judge(assembly, tool, &args).await
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
        Err(refusal) => (Vec::new(), refused(name, &refusal.to_string())),
    };
    if assembly.wants_json() {
        output::json(&json!({"tool": name, "actions": actions, "ruling": ruling}))?;
    } else {
        print(&ruling)?;
    }
    Ok(match ruling.decision {
        Decision::Allow => Exit::Done,
        Decision::Ask => Exit::PermissionNeeded,
        Decision::Deny => Exit::Failed,
    })
}

/// The ruling on what a tool refuses before anybody judges it.
fn refused(tool: &str, why: &str) -> Ruling {
    let reason = Reason {
        decision: Decision::Deny,
        subject: tool.to_owned(),
        why: why.to_owned(),
        origin: format!("tool {tool}"),
    };
    let (decision, access) = (Decision::Deny, Access::ReadOnly);
    Ruling { decision, reasons: vec![reason], access, destructive: false }
}

fn print(ruling: &Ruling) -> std::io::Result<()> {
    output::line(word(ruling.decision))?;
    for reason in &ruling.reasons {
        output::line(format_args!(
            "  {:<5} {}: {} ({})",
            word(reason.decision),
            visible(&reason.subject),
            visible(&reason.why),
            visible(&reason.origin)
        ))?;
    }
    Ok(())
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}
