//! What modes, flags and tool settings make of a chain of steps. They turn *ask* into *allow*
//! where that may be; they never touch a *deny*, and never the floor.

use contract::policy::{Action, Decision, Mode, Reason};
use contract::tool::Risk;

use crate::call::Call;
use crate::findings::{Finding, Lift, MODE, deny};
use crate::{RequireApproval, Settings};

/// The step by which read-only mode refuses an action, where it does.
pub(crate) fn read_only_refusal(call: &Call<'_>, action: &Action) -> Option<Finding> {
    if call.mode != Mode::ReadOnly {
        return None;
    }
    match action {
        Action::Write { path, .. } => {
            Some(deny(&path.display().to_string(), "nothing is written in read-only mode", MODE))
        }
        Action::LeaveSandbox { command } => {
            Some(deny(command, "nothing leaves the sandbox in read-only mode", MODE))
        }
        Action::Connect { host } => Some(deny(host, "there is no network in read-only mode", MODE)),
        Action::Opaque { what } if !only_looks(call) => Some(deny(
            what,
            "only tools that declare that they change nothing run in read-only mode",
            MODE,
        )),
        // A command runs in a sandbox in which nothing can be written.
        Action::Opaque { .. } | Action::Read { .. } | Action::Run { .. } => None,
    }
}

/// Whether a tool is declared to change nothing and to need no approval.
pub(crate) fn only_looks(call: &Call<'_>) -> bool {
    call.tool.risk_level == Risk::ReadOnly && !call.tool.requires_permission
}

/// Lifts what may be lifted, and returns the chain of reasons.
pub(crate) fn settle(call: &Call<'_>, findings: Vec<Finding>, settings: &Settings) -> Vec<Reason> {
    findings
        .into_iter()
        .map(|finding| match lifted(call, &finding, settings) {
            Some((by, origin)) => Reason {
                decision: Decision::Allow,
                why: format!("{}; {by}", finding.reason.why),
                origin,
                ..finding.reason
            },
            None => finding.reason,
        })
        .collect()
}

/// Who lifts a step, in words and by name.
fn lifted(call: &Call<'_>, finding: &Finding, settings: &Settings) -> Option<(String, String)> {
    if finding.reason.decision != Decision::Ask || finding.lift == Lift::Never {
        return None;
    }
    if finding.lift == Lift::Freely {
        if let Some(rule) = call.tool_rule(false) {
            return Some((rule.why(), rule.origin.clone()));
        }
        if call.settings.require_approval == RequireApproval::Never {
            let origin = format!("tools.{}.require_approval", call.tool.name);
            return Some((String::from("this tool needs no approval"), origin));
        }
    }
    if call.mode == Mode::Yolo {
        return Some((String::from("not asked in yolo mode"), MODE.to_owned()));
    }
    settings.approve_all.then(|| (String::from("approved beforehand"), String::from("--yes")))
}
