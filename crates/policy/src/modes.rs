//! The answers of modes, flags and tool settings to questions. They never lift a *deny*.

use contract::policy::{Decision, Mode, Reason};
use contract::tool::Risk;

use crate::call::Call;
use crate::findings::{Finding, Kind, MODE};
use crate::{RequireApproval, Settings};

/// The answer of a mode to a kind of question.
enum Answer {
    Run(&'static str),
    Ask,
    Refuse(&'static str),
}

/// Answers the questions that a mode, a flag or a setting answers, and returns the findings.
pub(crate) fn settle(call: &Call<'_>, findings: Vec<Finding>, settings: &Settings) -> Vec<Finding> {
    findings.into_iter().map(|finding| settled(call, finding, settings)).collect()
}

fn settled(call: &Call<'_>, finding: Finding, settings: &Settings) -> Finding {
    if finding.reason.decision != Decision::Ask {
        return finding;
    }
    let (decision, by, origin) = match answer(call, finding.kind) {
        Answer::Refuse(why) => (Decision::Deny, why.to_owned(), MODE.to_owned()),
        Answer::Run(why) => (Decision::Allow, why.to_owned(), MODE.to_owned()),
        Answer::Ask => match lifted(call, finding.kind, settings) {
            Some((by, origin)) => (Decision::Allow, by, origin),
            None => return finding,
        },
    };
    let why = format!("{}; {by}", finding.reason.why);
    let reason = Reason { decision, why, origin, ..finding.reason };
    Finding { reason, ..finding }
}

/// The table of modes.
fn answer(call: &Call<'_>, kind: Kind) -> Answer {
    let refuse = || Answer::Refuse("refused in read-only mode");
    match (call.mode, kind) {
        (Mode::ReadOnly, Kind::Run) => Answer::Run("runs in the read-only sandbox"),
        (Mode::ReadOnly, Kind::Tool) if call.tool.risk_level == Risk::ReadOnly => Answer::Ask,
        (
            Mode::ReadOnly,
            Kind::Edit
            | Kind::Tool
            | Kind::Network
            | Kind::ReadOutside
            | Kind::Leave
            | Kind::Destructive,
        ) => refuse(),
        (Mode::Normal | Mode::Yolo, Kind::Run) => Answer::Run("runs in the sandbox"),
        (Mode::Normal | Mode::Yolo, Kind::Edit) => Answer::Run("can be undone"),
        (Mode::Yolo, Kind::Tool | Kind::Network | Kind::Secret | Kind::Rule) => {
            Answer::Run("not asked in yolo mode")
        }
        (Mode::ReadOnly, Kind::Secret | Kind::Rule | Kind::Managed | Kind::Unclear)
        | (
            Mode::Yolo,
            Kind::Leave | Kind::ReadOutside | Kind::Destructive | Kind::Managed | Kind::Unclear,
        )
        | (Mode::Ask | Mode::Normal, _) => Answer::Ask,
    }
}

/// The rule, setting or flag that answers a question with yes.
fn lifted(call: &Call<'_>, kind: Kind, settings: &Settings) -> Option<(String, String)> {
    let by_setting = match kind {
        Kind::Edit | Kind::Run | Kind::Tool | Kind::Network | Kind::Secret | Kind::ReadOutside => {
            true
        }
        Kind::Leave | Kind::Unclear | Kind::Rule | Kind::Managed | Kind::Destructive => false,
    };
    if by_setting {
        if let Some(rule) = call.tool_rule(kind) {
            return Some((rule.why(), rule.origin.clone()));
        }
        if call.settings.require_approval == RequireApproval::Never {
            let origin = format!("tools.{}.require_approval", call.tool.name);
            return Some((String::from("this tool needs no approval"), origin));
        }
    }
    let is_approved = settings.approve_all && !matches!(kind, Kind::Managed | Kind::Destructive);
    is_approved.then(|| (String::from("approved by `--yes`"), String::from("--yes")))
}
