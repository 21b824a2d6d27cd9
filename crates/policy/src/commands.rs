//! The judgment on a shell command: deny rules, the floor, ask rules, and then the proof that every
//! part of it is allowed.

mod dots;
mod elsewhere;
mod entered;
mod globs;
mod grant;
mod hosts;
mod index;
mod launchers;
mod meanings;
mod named;
mod repositories;
mod subcommands;
mod sweep;
mod told;
mod writes;

use entered::{Entered, all_entered};
use globs::Globs;
pub(crate) use grant::{Grant, grant, unsure, unwrapped};
use named::{Given, Hit, Led, named_file};
pub(crate) use writes::written;
use writes::written_by_program;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};

use crate::call::Call;
use crate::findings::{BUILT_IN, FLOOR, Finding, Lift, MODE, allow, ask, deny};
use crate::floor::{self, Danger};
use crate::ground::Ends;
use crate::rules::{CommandPattern, Rule, Target};
use crate::shell::{
    Flow, Found, Grammar, Piece, Reach, Simple, Survey, prove, resolve, settled, survey,
};
pub(crate) use index::Index;

/// What was found out about a command.
pub(crate) struct Outcome {
    /// Every step, in order.
    pub(crate) findings: Vec<Finding>,
    /// Whether it was proven to change nothing.
    pub(crate) read_only: bool,
    /// The search path on which that was proven, where it is not the usual one.
    pub(crate) search_path: Option<String>,
}

/// A command as it was read.
struct Read<'a> {
    text: &'a str,
    survey: &'a Survey,
    index: &'a Index,
    ends: Ends<'a>,
    /// Words that lead elsewhere.
    led: Led<'a>,
    /// All that it is given to read.
    given: OnceCell<Vec<Given<'a>>>,
    /// What the text says of wildcards, once that was looked for.
    globs: OnceCell<Globs>,
}

impl Read<'_> {
    /// What wildcards stand for here.
    fn globs(&self) -> Globs {
        *self.globs.get_or_init(|| Globs::of(self))
    }
}

/// Steps past this number are left out of a list of the same kind.
const LISTED: usize = 8;

/// Judges `command`, run in `cwd`.
pub(crate) fn judge(call: &Call<'_>, command: &str, cwd: &Path) -> Outcome {
    let proof = prove(command, cwd);
    let mut findings = match all_entered(call, command, cwd) {
        Some(all) => all
            .iter()
            .flat_map(|entered| stopped_within(call, entered, cwd, proof.grammar))
            .collect(),
        None => stopped(call, command, cwd, proof.grammar),
    };
    let parts = match proof.parts {
        Ok(parts) => parts,
        Err(obstacle) => {
            findings.push(ask(command, &obstacle.0, BUILT_IN));
            return Outcome { findings, read_only: false, search_path: None };
        }
    };
    if parts.is_empty() {
        findings.push(allow(command, "it runs nothing", BUILT_IN));
    }
    let (mut steps, mut read_only) = judge_parts(call, &parts);
    let mut search_path = None;
    // Only what changes nothing gets another search path: whatever else runs may need its own.
    if !read_only
        && let Some(call) = call.surely()
        && let (sure, true) = judge_parts(&call, &parts)
    {
        (steps, read_only) = (sure, true);
        search_path = call.sure.map(str::to_owned);
        let why = "it runs with a search path without folders that others could write";
        steps.push(allow(command, why, BUILT_IN));
    }
    findings.extend(steps);
    Outcome { findings, read_only, search_path }
}

/// What deny rules, the floor and ask rules say of a command that goes to a folder first.
fn stopped_within(
    call: &Call<'_>,
    entered: &Entered<'_>,
    cwd: &Path,
    grammar: Grammar,
) -> Vec<Finding> {
    let mut findings = stopped(call, entered.before, cwd, Grammar::Untried);
    findings.extend(stopped(call, entered.rest, &entered.folder, grammar));
    for folder in entered.elsewhere.iter().filter(|_| !entered.tail.trim().is_empty()) {
        findings.extend(stopped(call, entered.tail, folder, grammar));
    }
    findings
}

/// The same of one that may run anywhere.
fn stopped(call: &Call<'_>, command: &str, cwd: &Path, grammar: Grammar) -> Vec<Finding> {
    let places = (cwd, call.places.home.as_deref());
    let reach = if denies_commands(call) { Reach::Sources } else { Reach::Commands };
    let survey = survey(command, places, grammar, reach);
    let index = Index::new(&survey);
    let ends = Ends::new(call.ground, &call.places.workspace);
    let read = Read {
        text: command,
        survey: &survey,
        index: &index,
        ends,
        led: Led::default(),
        given: OnceCell::new(),
        globs: OnceCell::new(),
    };
    let mut findings = rule_steps(call, &read, Decision::Deny);
    findings.extend(forbidden(call, &survey));
    findings.extend(sweep::sweeps(call, &read));
    findings.extend(elsewhere::shown_from_elsewhere(call, &read));
    findings.extend(told::told_by_files(call, &survey));
    for danger in dangers(call, &read, places) {
        findings.push(match danger.decision {
            Decision::Deny => deny(&danger.subject, &danger.why, BUILT_IN),
            Decision::Allow | Decision::Ask => {
                ask(&danger.subject, &danger.why, FLOOR).lifted_by(Lift::Never)
            }
        });
    }
    findings.extend(unknown_text(call, &survey));
    findings.extend(launchers::launched(call, &survey));
    findings.extend(subcommands::unseen(call, &survey));
    if survey.is_cut_short() {
        let why = "it holds too many commands within commands to follow them all";
        findings.push(ask(contract::text::head(command, 200), why, FLOOR).lifted_by(Lift::Never));
    }
    findings.extend(rule_steps(call, &read, Decision::Ask));
    let is_about_files = |rule: &Rule| matches!(rule.matcher.target, Target::Path(..));
    let mut rules = [Decision::Deny, Decision::Ask].into_iter().flat_map(|it| call.rules_that(it));
    if read.ends.is_cut_short() || (survey.overlong.is_some() && rules.any(is_about_files)) {
        let why = "it names more than can be followed, and rules deny files or ask about them";
        findings.push(ask(contract::text::head(command, 200), why, FLOOR).lifted_by(Lift::Never));
    }
    findings
}

/// What the floor stops. Where that rests on a path that only the running shell knows, the text is read once more
/// with the values that it gives its variables for certain.
fn dangers(call: &Call<'_>, read: &Read<'_>, places: (&Path, Option<&Path>)) -> Vec<Danger> {
    let around = (call.places, call.ground);
    let dangers = floor::dangers(read.text, read.survey, read.index, around);
    let settled = dangers.iter().any(Danger::is_untold).then(|| settled(read.text)).flatten();
    settled.map_or(dangers, |text| {
        let survey = survey(&text, places, Grammar::Untried, Reach::Commands);
        floor::dangers(&text, &survey, &Index::new(&survey), around)
    })
}

/// Judges every simple command; also returns whether they are proven to change nothing.
fn judge_parts(call: &Call<'_>, parts: &[Simple]) -> (Vec<Finding>, bool) {
    let mut findings = Vec::new();
    let mut read_only = true;
    for part in parts {
        read_only &= judge_part(call, part, &mut findings);
    }
    (findings, read_only)
}

/// Where commands are denied, text that nobody has seen is not run unasked: it could be one of them.
fn unknown_text(call: &Call<'_>, survey: &Survey) -> Option<Finding> {
    let source = survey.sources.unclear.as_ref()?;
    let why = "a shell runs what comes from there, and some commands are denied";
    denies_commands(call).then(|| ask(source, why, FLOOR).lifted_by(Lift::Never))
}

/// Whether any command is denied.
fn denies_commands(call: &Call<'_>) -> bool {
    let is_about_commands = |rule: &Rule| matches!(rule.matcher.target, Target::Command(_));
    let shell = call.shell.iter().flat_map(|shell| &shell.blocked_commands);
    call.rules_that(Decision::Deny).any(is_about_commands)
        || call.settings.blocked_commands.iter().chain(shell).next().is_some()
}

/// Judges one simple command; returns whether it is proven to change nothing.
fn judge_part(call: &Call<'_>, part: &Simple, findings: &mut Vec<Finding>) -> bool {
    let mut read_only = true;
    for redirect in &part.redirects {
        if redirect.flow == Flow::Write && redirect.target.text != "/dev/null" {
            read_only = false;
            if call.mode == Mode::ReadOnly {
                findings.push(deny(&part.source, "it writes a file", MODE));
            }
        }
    }
    match grant(call, part) {
        Grant::Granted { why, origin, read_only: proven } => {
            findings.push(allow(&part.source, &why, &origin));
            read_only && proven
        }
        Grant::Doubtful(why) => {
            findings.push(ask(&part.source, &why, BUILT_IN));
            false
        }
    }
}

/// The steps that the rules of one decision make.
fn rule_steps(call: &Call<'_>, read: &Read<'_>, decision: Decision) -> Vec<Finding> {
    let Read { text, survey, index, .. } = *read;
    let mut steps = Vec::new();
    for rule in call.rules_that(decision) {
        let hit = match &rule.matcher.target {
            Target::Path(..) => {
                steps.extend(named_file(call, read, rule).map(|hit| file_step(rule, hit)));
                None
            }
            Target::Command(pattern) => index.first_hit(survey, pattern),
            Target::AnyCommand => survey.commands.first().map(|found| floor::shown(found.argv())),
            Target::Host(_) => hosts::named_host(text, survey, rule),
            // Rules for whole tools are applied to the whole call.
            Target::Anything | Target::What(_) => None,
        };
        steps.extend(hit.map(|subject| Call::step(rule, &subject)));
    }
    if decision == Decision::Deny {
        let own = call.settings.blocked_commands.iter().map(|text| (call.tool.name.as_str(), text));
        let shell = call.shell.iter().flat_map(|shell| &shell.blocked_commands);
        for (tool, text) in own.chain(shell.map(|text| ("Bash", text))) {
            let Ok(pattern) = CommandPattern::parse_prefix(text) else {
                continue;
            };
            if let Some(subject) = index.first_hit(survey, &pattern) {
                let origin = format!("tools.{tool}.blocked_commands");
                steps.push(deny(&subject, &format!("`{text}` is blocked"), &origin));
            }
        }
    }
    steps
}

/// The step that follows from a file that a rule speaks of.
fn file_step(rule: &Rule, hit: Hit) -> Finding {
    match hit {
        Hit::Perhaps(subject) if rule.decision == Decision::Deny => {
            let why = format!("it could do what this rule denies: {}", rule.why());
            ask(&subject, &why, &rule.origin).lifted_by(Lift::Never)
        }
        Hit::Sure(subject) | Hit::Perhaps(subject) => Call::step(rule, &subject),
    }
}

/// What no rule can allow: network by redirection, and writing to protected names.
fn forbidden(call: &Call<'_>, survey: &Survey) -> Vec<Finding> {
    let mut steps = Vec::new();
    for redirection in &survey.redirections {
        let word = &redirection.target.word;
        if ["/dev/tcp/", "/dev/udp/"].iter().any(|network| word.text.starts_with(network)) {
            steps.push(deny(&word.text, "it opens a network connection", BUILT_IN));
        }
        if redirection.target.writes {
            steps.extend(protected(call, word, &redirection.folders));
        }
    }
    let mut last: Option<&Found> = None;
    for found in &survey.commands {
        // What a wrapper runs is a part of words whose options were looked at already.
        let words = if last.is_some_and(|last| last.ends_like(found)) {
            written_by_program(found.argv())
        } else {
            last = Some(found);
            written(found.argv())
        };
        steps.extend(words.iter().filter_map(|word| protected(call, word, &found.folders)));
        if steps.len() >= LISTED {
            break;
        }
    }
    steps.dedup_by(|a, b| a.reason == b.reason);
    steps
}

fn protected(call: &Call<'_>, word: &Piece, folders: &[PathBuf]) -> Option<Finding> {
    folders.iter().find_map(|folder| {
        if !word.home && call.places.is_ordinary(&word.text, folder) {
            return None;
        }
        let path = resolve(word, folder, call.places.home.as_deref())?;
        let why = call.places.protection(&path)?;
        Some(deny(&path.display().to_string(), &why, BUILT_IN))
    })
}
