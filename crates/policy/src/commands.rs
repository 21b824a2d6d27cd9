//! The judgment on a command: rules for commands, the destructive list, literal rules for files, and
//! the proof that it is read-only or allowed. The text decides nothing else.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};

use crate::call::Call;
use crate::findings::{BUILT_IN, DESTRUCTIVE, Finding, Kind, allow, allow_by_rule, ask, deny};
use crate::grant::{self, Grant};
use crate::paths::normalize;
use crate::read_only::{self, Knowledge};
use crate::rules::{CommandPattern, Match, Rule, Target, Touch};
use crate::shell::{self, Script, Simple, Word};
use crate::word_list::listed;
use crate::{destructive, remember};

/// The judgment on a command.
pub(crate) struct Outcome {
    /// Every step, in order.
    pub(crate) findings: Vec<Finding>,
    /// True if it is proven to change nothing.
    pub(crate) read_only: bool,
}

/// A subject of a reason shows this many bytes of a command.
const SHOWN: usize = 200;

/// Judges `command`, run in `cwd`.
pub(crate) fn judge(call: &Call<'_>, command: &str, cwd: &Path) -> Outcome {
    let script = shell::read(command, cwd, call.places.home.as_deref());
    let shown = contract::text::head(command, SHOWN);
    let mut findings = Vec::new();
    for decision in [Decision::Deny, Decision::Ask] {
        findings.extend(by_rules(call, &script, command, decision));
    }
    if script.is_broken {
        let why = if command.len() > shell::MAX_COMMAND {
            "too long to be checked"
        } else {
            "does not parse as Bash"
        };
        findings.push(ask(Kind::Unclear, shown, why));
    }
    for part in &script.commands {
        findings.extend(destruction(call, part));
        findings.extend(named_files(call, part));
    }
    for redirect in &script.redirects {
        let target = redirect.target.text.as_str();
        if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
            findings.push(deny(target, "opens a connection past the proxy", BUILT_IN));
        }
        let touch = if redirect.writes { Touch::Write } else { Touch::Read };
        let dirs = &redirect.dirs;
        findings.extend(file_steps(call, &redirect.target, dirs, touch));
    }
    let (steps, read_only) = grants(call, &script, shown);
    let has_symlink = || script.redirects.iter().any(|it| names_symlink(&it.target, &it.dirs));
    if !call.file_rules_enforced
        && call.denies_files()
        && !(read_only && script.commands.iter().all(has_literal_files) && !has_symlink())
    {
        let why = "rules deny files, and no sandbox keeps this command from them";
        findings.push(ask(Kind::Unclear, shown, why));
    }
    findings.extend(steps);
    Outcome { findings, read_only }
}

/// The command of a call that leaves the sandbox, and the parts of it that are not read-only.
pub(crate) fn outside(call: &Call<'_>, command: &str) -> (Script, Vec<Simple>) {
    let cwd = &call.places.workspace;
    let script = shell::read(command, cwd, call.places.home.as_deref());
    let changes = |part: &&Simple| {
        let is_read =
            matches!(read_only::check(part.argv()), Knowledge::Checked { outcome: Ok(_), .. });
        !(part.is_nested || (is_read && part.assignments.is_empty()))
    };
    let parts = script.commands.iter().filter(changes).cloned().collect();
    (script, parts)
}

/// The steps of deny or ask rules for commands.
fn by_rules(call: &Call<'_>, script: &Script, text: &str, decision: Decision) -> Vec<Finding> {
    let shown = contract::text::head(text, SHOWN);
    let mut steps = Vec::new();
    let mut has_rules = false;
    let raw = script.is_broken.then(|| shell::raw_words(text));
    let mut check = |pattern: &CommandPattern, step: &dyn Fn(&str) -> Finding| {
        has_rules = true;
        if raw.as_ref().is_some_and(|words| pattern.is_in(words)) {
            steps.push(step(shown));
        }
        for part in &script.commands {
            match pattern.matches(part.argv()) {
                Match::No => {}
                Match::Maybe => {
                    let why = format!("may be `{pattern}`, which a rule names");
                    steps.push(ask(Kind::Unclear, &part.source, &why));
                }
                Match::Yes => steps.push(step(&part.source)),
            }
        }
    };
    for rule in call.rules_that(decision) {
        if let Target::Command(pattern) = &rule.matcher.target {
            check(pattern, &|subject| Call::step(rule, subject));
        }
    }
    if decision == Decision::Deny {
        for (origin, words) in blocked(call) {
            let why = format!("`{words}` is blocked");
            if let Ok(pattern) = CommandPattern::parse_prefix(words) {
                check(&pattern, &|subject| deny(subject, &why, &origin));
            }
        }
    }
    let any = call.rules_that(decision).filter(|it| it.matcher.target == Target::AnyCommand);
    steps.extend(any.map(|rule| Call::step(rule, shown)));
    if let Some((source, why)) = script.unclear.first().filter(|_| has_rules) {
        let why = format!("{why}, and rules deny or ask about some programs");
        steps.push(ask(Kind::Unclear, source, &why));
    }
    steps
}

/// The blocked commands of the tool, and of `Bash` for every tool that runs commands.
fn blocked<'a>(call: &Call<'a>) -> Vec<(String, &'a String)> {
    let own = (call.tool.name.as_str(), call.settings);
    let shell = call.shell.map(|settings| ("Bash", settings));
    let each = [Some(own), shell].into_iter().flatten().flat_map(|(name, settings)| {
        let origin = format!("tools.{name}.blocked_commands");
        settings.blocked_commands.iter().map(move |words| (origin.clone(), words))
    });
    each.collect()
}

/// The step for a destructive command, unless an allow rule names it.
fn destruction(call: &Call<'_>, part: &Simple) -> Option<Finding> {
    let (decision, why) = destructive::judge(part.argv(), &part.dirs, call.places)?;
    if decision == Decision::Deny {
        let step = deny(&part.source, &why, DESTRUCTIVE);
        return Some(Finding { kind: Kind::Destructive, ..step });
    }
    // A rule for `git push` does not name `git push --force`.
    let names = |rule: &&Rule| {
        let Target::Command(pattern) = &rule.matcher.target else { return false };
        pattern.covers(part.argv())
            && destructive::judge(&pattern.as_command(), &part.dirs, call.places).is_some()
    };
    let rule = call.rules_that(Decision::Allow).find(names);
    Some(match rule.filter(|_| call.mode != Mode::ReadOnly) {
        Some(rule) => allow_by_rule(&part.source, &rule.why(), &rule.origin),
        None => ask(Kind::Destructive, &part.source, &why).from(DESTRUCTIVE),
    })
}

/// Programs that write every file they are given, and programs that write the last one.
const WRITERS: &str = "rm mv tee touch mkdir rmdir chmod chown truncate shred unlink";
const COPIERS: &str = "cp ln install";

/// The steps of file rules for the literal operands of a command.
fn named_files(call: &Call<'_>, part: &Simple) -> Vec<Finding> {
    let Some(name) = part.program() else { return Vec::new() };
    let args = &part.argv()[1..];
    let operands = || args.iter().filter(|word| !word.text.starts_with('-'));
    let steps = |words: &mut dyn Iterator<Item = &Word>, touch: Touch| -> Vec<Finding> {
        words.flat_map(|word| file_steps(call, word, &part.dirs, touch)).collect()
    };
    let edits = args.iter().any(|word| word.text.starts_with("-i"));
    if listed(WRITERS, name) || (edits && ["sed", "perl"].contains(&name)) {
        return steps(&mut operands(), Touch::Write);
    }
    if listed(COPIERS, name) {
        let mut found = steps(&mut operands().next_back().into_iter(), Touch::Write);
        let count = operands().count().saturating_sub(1);
        found.extend(steps(&mut operands().take(count), Touch::Read));
        return found;
    }
    if name == "git" {
        let paths = args.iter().filter_map(|word| read_only::git::object_path(word.known()?));
        let words: Vec<Word> = paths.map(Word::literal).collect();
        return steps(&mut words.iter(), Touch::Read);
    }
    match read_only::check(part.argv()) {
        Knowledge::Checked { outcome: Ok(read_paths), .. } => {
            let plain = read_paths.contents.iter().filter(|it| !it.glob);
            let words: Vec<Word> = plain.map(|it| Word::literal(&it.text)).collect();
            steps(&mut words.iter(), Touch::Read)
        }
        Knowledge::Checked { .. } | Knowledge::Unknown => steps(&mut operands(), Touch::Read),
    }
}

fn file_steps(call: &Call<'_>, word: &Word, dirs: &[PathBuf], touch: Touch) -> Vec<Finding> {
    let Some(text) = word.known().filter(|text| !text.is_empty()) else { return Vec::new() };
    dirs.iter().flat_map(|dir| call.file_rules(touch, &normalize(&dir.join(text)))).collect()
}

/// Returns true if a read-only command names each file that it reads.
fn has_literal_files(part: &Simple) -> bool {
    let Some(name) = part.program() else { return false };
    let recurses = |word: &Word| {
        let letters = word.text.strip_prefix('-').filter(|it| !it.starts_with('-'));
        letters.is_some_and(|it| it.contains(['r', 'R'])) || word.text.starts_with("--rec")
    };
    let is_search = ["grep", "egrep", "fgrep", "diff"].contains(&name);
    let is_wide = ["rg", "git"].contains(&name) || (is_search && part.argv().iter().any(recurses));
    let is_literal = |word: &Word| !word.glob && !word.dynamic && !names_symlink(word, &part.dirs);
    !is_wide && part.argv().iter().all(is_literal)
}

/// Returns true if a word may be a path through a symlink. Rules compare names, so they miss its
/// target.
fn names_symlink(word: &Word, dirs: &[PathBuf]) -> bool {
    let is_other = |path: PathBuf| path.canonicalize().is_ok_and(|real| real != path);
    dirs.is_empty() || dirs.iter().any(|dir| is_other(dir.join(&word.text)))
}

/// The steps of the proof that every part is read-only or allowed.
fn grants(call: &Call<'_>, script: &Script, shown: &str) -> (Vec<Finding>, bool) {
    if script.is_broken {
        return (Vec::new(), false);
    }
    if let Some(odd) = &script.odd {
        let why = format!("not proven read-only: it uses {odd}");
        return (vec![ask(Kind::Run, shown, &why)], false);
    }
    let mut steps = Vec::new();
    let mut read_only = true;
    if let Err(why) = grant::redirects(call, script) {
        let targets = remember::redirects(call, script);
        steps.push(ask(Kind::Run, shown, &why).remedied_by(targets));
        read_only = false;
    }
    let writes = script.redirects.iter().any(|it| it.writes && it.target.text != "/dev/null");
    read_only &= !writes;
    for part in script.commands.iter().filter(|part| !part.is_nested) {
        match grant::grant(call, script, part) {
            Grant::ReadOnly(why) => steps.push(allow(&part.source, &why)),
            Grant::ByRule { why, origin } => {
                read_only = false;
                steps.push(allow_by_rule(&part.source, &why, &origin));
            }
            Grant::NotProven(why) => {
                read_only = false;
                let step = ask(Kind::Run, &part.source, &why);
                steps.push(step.remedied_by(remember::command(part)));
            }
        }
    }
    if steps.is_empty() {
        steps.push(allow(shown, "runs no program"));
    }
    (steps, read_only)
}
