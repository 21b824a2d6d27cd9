//! Approvals until the session ends: the narrowest rule that covers what was approved, and none at
//! all where such a rule would cover much more.

use std::path::Path;

use contract::policy::{Action, Decision};
use contract::tool::Risk;

use crate::call::{Call, Verdict};
use crate::commands::{Grant, grant, unsure, unwrapped};
use crate::glob::Reading;
use crate::paths::{Place, normalize};
use crate::programs::builds;
use crate::rules::{
    ANY_WORDS, CommandPattern, HostPattern, Matcher, PathPattern, READING, Rule, Scope, Tail,
    Target, Touch, WRITING,
};
use crate::shell::{Flow, Simple, prove, wrappers};

/// The rules that cover `actions` from here on.
pub(crate) fn rules(call: &Call<'_>, actions: &[Action]) -> Vec<Rule> {
    let targets = actions.iter().flat_map(|action| match action {
        Action::Run { command, cwd } => commands(call, command, cwd),
        Action::Write { path, .. } => written(&call.on_files(), path).into_iter().collect(),
        Action::Read { path } => read(&call.on_files(), path).into_iter().collect(),
        Action::Connect { host } => {
            HostPattern::parse(host).map(Target::Host).into_iter().collect()
        }
        // The very arguments never come again. What a built-in tool says of a commit is not what is in it.
        Action::Opaque { what }
            if call.tool.risk_level != Risk::HighImpact && call.tool.source != "builtin" =>
        {
            let is_call = what.contains('{');
            vec![Target::What(if is_call { ANY_WORDS.to_owned() } else { what.clone() })]
        }
        Action::Opaque { .. } | Action::LeaveSandbox { .. } => Vec::new(),
    });
    let mut rules: Vec<Rule> = Vec::new();
    for rule in targets.map(|target| rule(call, target)) {
        if rules.iter().all(|other| other.matcher.target != rule.matcher.target) {
            rules.push(rule);
        }
    }
    rules
}

fn rule(call: &Call<'_>, target: Target) -> Rule {
    let text = match &target {
        Target::Command(pattern) => format!("Bash({pattern})"),
        Target::Path(touch, pattern) => {
            // It holds for this tool alone, so that it names it where rules for files know its name.
            let (usual, others) = match touch {
                Touch::Write => ("Write", WRITING),
                Touch::Read | Touch::Any => ("Read", READING),
            };
            let own = others.iter().find(|name| **name == call.tool.name);
            format!("{}({})", own.unwrap_or(&usual), pattern.as_str())
        }
        Target::Host(pattern) => format!("Host({})", pattern.as_str()),
        Target::What(what) => format!("{}({what})", call.tool.name),
        Target::Anything | Target::AnyCommand => call.tool.name.clone(),
    };
    Rule {
        decision: Decision::Allow,
        scope: Scope::Session,
        origin: String::from("session"),
        text,
        reason: None,
        matcher: Matcher {
            tool: Some(call.tool.name.clone()),
            source: Some(call.tool.source.clone()),
            target,
        },
    }
}

fn commands(call: &Call<'_>, command: &str, cwd: &Path) -> Vec<Target> {
    let Ok(parts) = prove(command, cwd).parts else {
        return Vec::new();
    };
    let asked = parts.iter().filter(|part| !matches!(grant(call, part), Grant::Granted { .. }));
    asked.flat_map(|part| part_targets(call, part)).collect()
}

/// The rules for one simple command; none where they would leave a part of it to be asked about.
fn part_targets(call: &Call<'_>, part: &Simple) -> Vec<Target> {
    let bare = Simple { redirects: Vec::new(), ..part.clone() };
    let is_granted = matches!(grant(call, &bare), Grant::Granted { .. });
    let program = if is_granted { None } else { program_target(call, part) };
    if !is_granted && program.is_none() {
        return Vec::new();
    }
    let mut targets: Vec<Target> = program.into_iter().collect();
    for redirect in &part.redirects {
        if redirect.flow == Flow::Write && redirect.target.text != "/dev/null" {
            let folders = part.cwd.folders.iter();
            targets.extend(folders.filter_map(|folder| {
                exact_path(Touch::Write, &normalize(&folder.join(&redirect.target.text)))
            }));
        }
    }
    targets
}

/// The rule for a program: its first words where those say what it does, or else all.
fn program_target(call: &Call<'_>, part: &Simple) -> Option<Target> {
    let [folder] = part.cwd.folders.as_slice() else {
        return None;
    };
    if !part.assignments.is_empty() {
        return None;
    }
    let argv = unwrapped(&part.argv);
    if argv.iter().any(|word| word.glob || word.text.contains('\'')) {
        return None;
    }
    let words: Vec<&str> = argv.iter().map(|word| word.text.as_str()).collect();
    let (program, _) = words.split_first()?;
    if unsure(call, program, &[]).is_some() {
        return None;
    }
    if let Some(prefix) = builds::ordinary(argv) {
        let pattern = CommandPattern::of(prefix, Tail::Open, folder.clone());
        return Some(Target::Command(pattern));
    }
    let unbounded = program.contains(['/', '='])
        || *program == "cd"
        || wrappers::is_unbounded(program)
        || wrappers::runs_project(&words);
    (!unbounded).then(|| Target::Command(CommandPattern::of(&words, Tail::Exact, folder.clone())))
}

fn written(call: &Call<'_>, path: &Path) -> Option<Target> {
    let path = normalize(path);
    if matches!(call.may_write(&path), Verdict::Granted { .. }) {
        return None;
    }
    let inside = call.places.place(&path) == Place::Inside;
    let folder = path.parent().filter(|folder| {
        inside && *folder != call.places.workspace && call.places.place(folder) == Place::Inside
    });
    match folder {
        Some(folder) if !has_wildcard(folder) => {
            let pattern = PathPattern::parse(&format!("{}/*", folder.display()))?;
            Some(Target::Path(Touch::Write, pattern))
        }
        Some(_) | None => exact_path(Touch::Write, &path),
    }
}

fn read(call: &Call<'_>, path: &Path) -> Option<Target> {
    match call.may_read(path, Reading::Literal) {
        Verdict::Granted { .. } | Verdict::Usual(_) => None,
        Verdict::Doubtful(..) => exact_path(Touch::Read, &normalize(path)),
    }
}

fn exact_path(touch: Touch, path: &Path) -> Option<Target> {
    if has_wildcard(path) {
        return None;
    }
    PathPattern::parse(&path.display().to_string()).map(|pattern| Target::Path(touch, pattern))
}

fn has_wildcard(path: &Path) -> bool {
    path.to_str().is_none_or(|text| text.contains(['*', '?', '(', ')']))
}
