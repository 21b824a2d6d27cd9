//! The judgment on a whole call: each action by its effect, then the call as a whole.

use std::path::Path;

use contract::action::Action;
use contract::policy::{Decision, Mode};
use contract::sandbox::Access as ProcessAccess;
use contract::tool::{BUILTIN, Risk};

use crate::call::{Access, Call};
use crate::findings::{BUILT_IN, Finding, Kind, MODE, allow, allow_by_rule, ask, deny};
use crate::glob::Reading;
use crate::rules::{ANY_WORDS, CommandPattern, HostPattern, Rule, Tail, Target, Touch};
use crate::shell::{Simple, Word};
use crate::{RequireApproval, commands, paths, remember};

const NO_APPROVAL: &str = "this tool needs no approval";

/// The judgment on a call.
pub(crate) struct Judged {
    /// Every step, in order.
    pub(crate) findings: Vec<Finding>,
    /// The files that its processes may write.
    pub(crate) access: ProcessAccess,
}

/// Judges every action of a call, and the call itself.
pub(crate) fn judge(call: &Call<'_>, actions: &[Action]) -> Judged {
    let mut findings = whole_tool(call, actions, Decision::Deny);
    findings.extend(whole_tool(call, actions, Decision::Ask));
    if call.settings.require_approval == RequireApproval::Always {
        let origin = format!("tools.{}.require_approval", call.tool.name);
        let step = ask(Kind::Rule, &call.tool.name, "this tool always asks");
        findings.push(step.from(&origin));
    }
    let mut read_only = true;
    let writes = actions.iter().any(|it| matches!(it, Action::Write { .. }));
    for action in actions {
        // The built-in tools state links on the way to a written file as read.
        if let Action::Read { path } = action
            && writes
            && call.tool.source == BUILTIN
        {
            findings.extend(call.file_rules(Touch::Write, path));
        }
        let (steps, changes_nothing) = judge_action(call, action);
        read_only &= changes_nothing;
        findings.extend(refusal(call, action));
        findings.extend(steps);
    }
    findings.extend(unconditional(call, actions, &findings));
    let access = if actions.iter().any(|it| matches!(it, Action::LeaveSandbox { .. })) {
        ProcessAccess::Host
    } else if read_only || call.mode == Mode::ReadOnly {
        ProcessAccess::ReadOnly
    } else {
        ProcessAccess::Workspace
    };
    Judged { findings, access }
}

/// The step by which read-only mode refuses an action, whatever rules allow.
fn refusal(call: &Call<'_>, action: &Action) -> Option<Finding> {
    let refuse = |subject: &str| Some(deny(subject, "refused in read-only mode", MODE));
    match action {
        _ if call.mode != Mode::ReadOnly => None,
        Action::Write { path, .. } => refuse(&path.display().to_string()),
        Action::LeaveSandbox { command } => refuse(command),
        Action::Connect { host } => refuse(host),
        Action::Opaque { what } if call.tool.risk_level != Risk::ReadOnly => refuse(what),
        // A command runs in a sandbox in which nothing can be written.
        Action::Opaque { .. } | Action::Read { .. } | Action::Run { .. } => None,
    }
}

/// The steps of rules for all that a tool does.
fn whole_tool(call: &Call<'_>, actions: &[Action], decision: Decision) -> Vec<Finding> {
    let own =
        call.rules_that(decision).filter(|rule| matches!(rule.matcher.target, Target::Anything));
    let means = |rule: &&&Rule| {
        rule.decision == decision && actions.iter().any(|it| rule.means_work(call.tool, it))
    };
    let others = call.other_rules.iter().filter(means).copied();
    own.chain(others).map(|rule| Call::step(rule, &call.tool.name)).collect()
}

/// The step for a tool that requires permission though none of its actions asks, or that has none.
fn unconditional(call: &Call<'_>, actions: &[Action], steps: &[Finding]) -> Option<Finding> {
    let name = &call.tool.name;
    let is_plugin = call.tool.source != BUILTIN;
    let has_question = actions.iter().any(|action| match action {
        Action::Opaque { .. } => true,
        Action::Read { .. } => false,
        Action::Write { .. }
        | Action::Run { .. }
        | Action::Connect { .. }
        | Action::LeaveSandbox { .. } => !is_plugin,
    });
    if call.tool.requires_permission && !has_question {
        let is_ruled = steps
            .iter()
            .any(|step| step.reason.decision == Decision::Allow && step.kind == Kind::Rule);
        return (!is_ruled).then(|| tool_question(call, name));
    }
    if !actions.is_empty() {
        return None;
    }
    let changes = call.mode == Mode::ReadOnly && call.tool.risk_level != Risk::ReadOnly;
    Some(if changes {
        deny(name, "it may change something; refused in read-only mode", MODE)
    } else {
        allow(name, NO_APPROVAL)
    })
}

/// The question about a tool that requires permission, unless a rule allows the tool.
fn tool_question(call: &Call<'_>, subject: &str) -> Finding {
    let any = Target::What(ANY_WORDS.to_owned());
    match call.rules_that(Decision::Allow).find(|rule| rule.matcher.target == any) {
        Some(rule) => allow_by_rule(subject, &rule.why(), &rule.origin),
        None => ask(Kind::Tool, subject, "this tool requires permission").remedied_by([any]),
    }
}

/// Judges one action; the flag is true if it is proven to change nothing.
fn judge_action(call: &Call<'_>, action: &Action) -> (Vec<Finding>, bool) {
    let only_reads = call.tool.risk_level == Risk::ReadOnly && !call.tool.requires_permission;
    match action {
        Action::Read { path } => (read(call, path), true),
        Action::Write { path, .. } => (write(call, path), false),
        Action::Run { command, cwd } => {
            let mut outcome = commands::judge(call, command, cwd);
            // Such a tool chooses the program itself and writes nothing.
            for finding in outcome.findings.iter_mut().filter(|_| only_reads) {
                if finding.reason.decision == Decision::Ask && finding.kind == Kind::Run {
                    *finding = allow(&finding.reason.subject, NO_APPROVAL);
                }
            }
            (outcome.findings, outcome.read_only || only_reads)
        }
        Action::Connect { host } => (connect(call, host), false),
        Action::LeaveSandbox { command } => (vec![leave(call, command)], false),
        Action::Opaque { what } => (opaque(call, what), call.tool.risk_level == Risk::ReadOnly),
    }
}

fn read(call: &Call<'_>, path: &Path) -> Vec<Finding> {
    let subject = path.display().to_string();
    let mut steps = call.file_rules(Touch::Read, path);
    steps.push(match call.may_read(path, Reading::Literal) {
        Access::Granted { why, origin } => allow_by_rule(&subject, &why, &origin),
        Access::Usual => allow(&subject, "may be read"),
        Access::Doubtful(kind, why) => {
            ask(kind, &subject, why).remedied_by(remember::exact_path(Touch::Read, path))
        }
    });
    steps
}

fn write(call: &Call<'_>, path: &Path) -> Vec<Finding> {
    let path = &paths::normalize(path);
    let subject = path.display().to_string();
    let mut steps = call.file_rules(Touch::Write, path);
    if let Some(why) = call.places.denial(path) {
        steps.push(deny(&subject, &why, BUILT_IN));
    }
    steps.push(match call.may_write(path) {
        Access::Granted { why, origin } => allow_by_rule(&subject, &why, &origin),
        Access::Usual => allow(&subject, "may be written"),
        Access::Doubtful(kind, why) => {
            let step = ask(kind, &subject, why).remedied_by(remember::written(call, kind, path));
            if kind == Kind::Edit { step.from(MODE) } else { step }
        }
    });
    steps
}

fn connect(call: &Call<'_>, host: &str) -> Vec<Finding> {
    let is_host = |rule: &Rule| matches!(rule.matcher.target, Target::Host(_));
    if host == "*" && call.rules_that(Decision::Deny).any(is_host) {
        let why = "some hosts are denied, so the call must name the hosts it needs";
        return vec![deny("any host", why, BUILT_IN)];
    }
    let fits = |rule: &Rule| match &rule.matcher.target {
        Target::Host(pattern) if host == "*" => pattern.is_any(),
        Target::Host(pattern) => pattern.matches(host, rule.decision),
        Target::Anything
        | Target::AnyCommand
        | Target::Command(_)
        | Target::Outside(_)
        | Target::Path(..)
        | Target::What(_) => false,
    };
    by_rules(call, host, fits, || {
        let shown = if host == "*" { "any host" } else { host };
        ask(Kind::Network, host, &format!("connects to {shown}"))
            .from(MODE)
            .remedied_by(HostPattern::parse(host).map(Target::Host))
    })
}

/// Judges a command that runs outside the sandbox.
fn leave(call: &Call<'_>, command: &str) -> Finding {
    let (script, parts) = commands::outside(call, command);
    let covers = |argv: &[Word]| {
        call.rules_that(Decision::Allow).find(
            |rule| matches!(&rule.matcher.target, Target::Outside(pattern) if pattern.covers(argv)),
        )
    };
    let is_plain = script.odd.is_none() && !script.is_broken && script.unclear.is_empty();
    let rules: Option<Vec<&Rule>> =
        parts.iter().filter(|_| is_plain).map(|part| covers(part.argv())).collect();
    if let Some([rule, ..]) = rules.as_deref().filter(|_| is_plain) {
        return allow_by_rule(command, &rule.why(), &rule.origin);
    }
    let program = |part: &Simple| {
        let name = part.argv().first().and_then(Word::known)?;
        let pattern = CommandPattern::of(&[name], Tail::Open);
        (!pattern.is_boundless()).then_some(Target::Outside(pattern))
    };
    let targets: Option<Vec<Target>> = parts.iter().map(program).collect();
    ask(Kind::Leave, command, "runs outside the sandbox")
        .from(MODE)
        .remedied_by(targets.filter(|_| is_plain).unwrap_or_default())
}

fn opaque(call: &Call<'_>, what: &str) -> Vec<Finding> {
    let fits = |rule: &Rule| matches!(&rule.matcher.target, Target::What(known) if known == what || known == ANY_WORDS);
    by_rules(call, what, fits, || {
        if call.tool.requires_permission {
            tool_question(call, what)
        } else {
            allow(what, NO_APPROVAL)
        }
    })
}

/// The steps of all rules that fit: deny, ask, and the first that allows, or else `default`.
fn by_rules(
    call: &Call<'_>,
    subject: &str,
    fits: impl Fn(&Rule) -> bool,
    default: impl FnOnce() -> Finding,
) -> Vec<Finding> {
    let mut steps = Vec::new();
    for decision in [Decision::Deny, Decision::Ask] {
        let rules = call.rules_that(decision).filter(|rule| fits(rule));
        steps.extend(rules.map(|rule| Call::step(rule, subject)));
    }
    let allowing = call.rules_that(Decision::Allow).find(|rule| fits(rule));
    steps.push(match allowing {
        Some(rule) => allow_by_rule(subject, &rule.why(), &rule.origin),
        None => default(),
    });
    steps
}
