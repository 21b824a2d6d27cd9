//! The judgment on a whole call: each action by what it does, then the call as a whole.

use std::path::Path;

use contract::policy::{Access, Action, Decision, Mode};

use crate::call::{Call, Verdict};
use crate::commands;
use crate::findings::{BUILT_IN, Finding, Lift, MODE, allow, ask, deny};
use crate::glob::Reading;
use crate::modes::{only_looks, read_only_refusal};
use crate::rules::{ANY_WORDS, Rule, Target, Touch};
use crate::{RequireApproval, paths};

const NO_APPROVAL: &str = "this tool needs no approval";

/// What was found out about a call.
pub(crate) struct Judged {
    /// Every step, in order.
    pub(crate) findings: Vec<Finding>,
    /// What its processes may write.
    pub(crate) access: Access,
    /// The search path that they get, where it is not the usual one.
    pub(crate) search_path: Option<String>,
}

/// Judges every action of a call, and the call itself.
pub(crate) fn judge(call: &Call<'_>, actions: &[Action]) -> Judged {
    let mut findings = whole_tool(call, actions, Decision::Deny);
    findings.extend(whole_tool(call, actions, Decision::Ask));
    if call.settings.require_approval == RequireApproval::Always {
        let origin = format!("tools.{}.require_approval", call.tool.name);
        let step = ask(&call.tool.name, "this tool is asked about every time", &origin);
        findings.push(step.lifted_by(Lift::ByMode));
    }
    let mut read_only = true;
    // Being in a place where anyone may read is no approval of the tool.
    let mut granted = false;
    let mut search_path = None;
    for action in actions {
        let Stated { steps, changes_nothing, search_path: path } = judge_action(call, action);
        search_path = search_path.or(path);
        granted |= !matches!(action, Action::Read { .. })
            || steps.iter().any(|step| step.reason.origin != BUILT_IN);
        read_only &= changes_nothing;
        findings.extend(read_only_refusal(call, action));
        findings.extend(steps);
    }
    findings.extend(by_links(call, actions));
    findings.extend(unconditional(call, actions, granted));
    let access =
        if read_only || call.mode == Mode::ReadOnly { Access::ReadOnly } else { Access::Workspace };
    // One path for all processes of the call: each of them was proven to do with it. Where one was
    // not, none gets it, and what was allowed on its account is not.
    if search_path.is_some() && !read_only {
        search_path = None;
        let why = "a command was judged by another search path than it would get";
        findings.push(ask(&call.tool.name, why, BUILT_IN));
    }
    Judged { findings, access, search_path }
}

/// The steps of rules about all that a tool does.
fn whole_tool(call: &Call<'_>, actions: &[Action], decision: Decision) -> Vec<Finding> {
    let own =
        call.rules_that(decision).filter(|rule| matches!(rule.matcher.target, Target::Anything));
    let means = |rule: &&&Rule| {
        rule.decision == decision && actions.iter().any(|it| rule.means_work(call.tool, it))
    };
    let others = call.work_rules.iter().filter(means).copied();
    own.chain(others).map(|rule| Call::step(rule, &call.tool.name)).collect()
}

/// The step for a tool that needs approval though none of its actions does, or that has none.
fn unconditional(call: &Call<'_>, actions: &[Action], granted: bool) -> Option<Finding> {
    let name = &call.tool.name;
    if actions.is_empty() && call.mode == Mode::ReadOnly && !only_looks(call) {
        let why = "only tools that declare that they change nothing run in read-only mode";
        return Some(deny(name, why, MODE));
    }
    if call.tool.requires_permission {
        return (!granted).then(|| ask(name, "this tool needs approval", BUILT_IN));
    }
    actions.is_empty().then(|| allow(name, NO_APPROVAL, BUILT_IN))
}

/// What was found out about one action.
struct Stated {
    steps: Vec<Finding>,
    /// Whether it is proven to change nothing.
    changes_nothing: bool,
    /// The search path on which that was proven.
    search_path: Option<String>,
}

/// Judges one action.
fn judge_action(call: &Call<'_>, action: &Action) -> Stated {
    let mut search_path = None;
    let (steps, changes_nothing) = match action {
        // What lies in a folder that everybody writes to is as little the project's as to a command.
        Action::Read { path } => (read(call, path), true),
        Action::Write { path, diff } => (write(&call.on_files(), path, diff.as_deref()), false),
        Action::Run { command, cwd } => {
            let outcome = commands::judge(call, command, cwd);
            let mut findings = outcome.findings;
            // Such a tool chooses the program itself and writes nothing: only what is shown may be asked about.
            let vouches = only_looks(call);
            let own = || vouches.then(|| (String::from(NO_APPROVAL), BUILT_IN.to_owned()));
            let rule = call.tool_rule(true).map(|rule| (rule.why(), rule.origin.clone()));
            if let Some((why, origin)) = rule.or_else(own) {
                for finding in &mut findings {
                    if finding.reason.decision == Decision::Ask && finding.lift == Lift::Freely {
                        *finding = allow(&finding.reason.subject, &why, &origin);
                    }
                }
            }
            search_path = outcome.search_path;
            (findings, outcome.read_only || vouches)
        }
        Action::Connect { host } => (connect(call, host), false),
        Action::LeaveSandbox { command } => (
            vec![ask(command, "it runs outside the sandbox", BUILT_IN).lifted_by(Lift::Never)],
            false,
        ),
        Action::Opaque { what } => (opaque(call, what), only_looks(call)),
    };
    Stated { steps, changes_nothing, search_path }
}

fn read(call: &Call<'_>, path: &Path) -> Vec<Finding> {
    let subject = path.display().to_string();
    let place = (path, Reading::Literal);
    let mut steps = call.file_rules(Touch::Read, place, Decision::Deny);
    steps.extend(call.file_rules(Touch::Read, place, Decision::Ask));
    steps.push(verdict(
        match call.may_read(path, Reading::Literal) {
            // A command would not find it: the home is hidden from it in every mode.
            Verdict::Doubtful(why, Lift::Freely) if call.places.is_hidden(path) => {
                Verdict::Doubtful(why, Lift::Never)
            }
            other @ (Verdict::Granted { .. } | Verdict::Usual(_) | Verdict::Doubtful(..)) => other,
        },
        &subject,
    ));
    steps
}

fn write(call: &Call<'_>, path: &Path, diff: Option<&str>) -> Vec<Finding> {
    let path = &paths::normalize(path);
    let subject = path.display().to_string();
    let place = (path.as_path(), Reading::Literal);
    let mut steps = call.file_rules(Touch::Write, place, Decision::Deny);
    let obeyed = || call.ground.look().and_then(|look| look.git_obeys(path));
    let led = || led(call, path, diff);
    if let Some(why) = call.places.protection(path).or_else(obeyed).or_else(led) {
        steps.push(deny(&subject, &why, BUILT_IN));
    }
    steps.extend(call.file_rules(Touch::Write, place, Decision::Ask));
    steps.push(verdict(call.may_write(path), &subject));
    steps
}

/// The steps for links that lead to what is written, by rules about writing them and by what their names make of
/// it: a call states them as names that it reads.
fn by_links(call: &Call<'_>, actions: &[Action]) -> Vec<Finding> {
    let mut steps = Vec::new();
    for action in actions {
        let Action::Write { path, diff } = action else { continue };
        let written = paths::normalize(path);
        let read = actions.iter().filter_map(|action| {
            let Action::Read { path } = action else { return None };
            Some(paths::normalize(path))
        });
        for link in read.filter(|it| *it != written && call.ground.leads(it) == written) {
            if let Some(why) = led(call, &link, diff.as_deref()) {
                steps.push(deny(&link.display().to_string(), &why, BUILT_IN));
            }
            let place = (link.as_path(), Reading::Literal);
            for decision in [Decision::Deny, Decision::Ask] {
                steps.extend(call.on_files().file_rules(Touch::Write, place, decision));
            }
        }
    }
    steps
}

/// Why what a file of this name holds after a change makes programs of the project run.
fn led(call: &Call<'_>, path: &Path, diff: Option<&str>) -> Option<String> {
    call.ground.look().and_then(|look| look.leads_to_program(path, added(diff)))
}

/// The lines that a change adds; none where they are not known.
fn added(diff: Option<&str>) -> Option<Vec<&str>> {
    let lines = diff?.lines().filter_map(|line| line.strip_prefix('+'));
    Some(lines.filter(|line| !line.starts_with("++ ")).collect())
}

fn verdict(verdict: Verdict, subject: &str) -> Finding {
    match verdict {
        Verdict::Granted { why, origin } => allow(subject, &why, &origin),
        Verdict::Usual(why) => allow(subject, &why, BUILT_IN),
        Verdict::Doubtful(why, lift) => ask(subject, &why, BUILT_IN).lifted_by(lift),
    }
}

fn connect(call: &Call<'_>, host: &str) -> Vec<Finding> {
    let fits = |rule: &Rule| match &rule.matcher.target {
        Target::Host(pattern) => pattern.matches(host, rule.decision),
        Target::Anything
        | Target::AnyCommand
        | Target::Command(_)
        | Target::Path(..)
        | Target::What(_) => false,
    };
    by_rules(call, host, fits, || ask(host, "no rule allows talking to it", BUILT_IN))
}

fn opaque(call: &Call<'_>, what: &str) -> Vec<Finding> {
    let fits = |rule: &Rule| matches!(&rule.matcher.target, Target::What(known) if known == what || known == ANY_WORDS);
    by_rules(call, what, fits, || {
        if call.tool.requires_permission {
            ask(what, "what it does is not known beforehand", BUILT_IN)
        } else {
            allow(what, NO_APPROVAL, BUILT_IN)
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
        Some(rule) => allow(subject, &rule.why(), &rule.origin),
        None => default(),
    });
    steps
}
