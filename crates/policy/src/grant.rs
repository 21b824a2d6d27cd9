//! The proof that one simple command is read-only, or that a rule allows it.

use std::path::{Path, PathBuf};

use contract::policy::Decision;

use crate::call::{Access, Call};
use crate::glob::Reading;
use crate::paths::{Place, normalize};
use crate::read_only::{self, Knowledge, Operand, ReadPaths, git};
use crate::rules::{CommandPattern, Target};
use crate::shell::wrappers::{self, Inner};
use crate::shell::{Script, Simple, Word};
use crate::word_list::listed;

/// The answer about one simple command.
pub(crate) enum Grant {
    /// It changes nothing, for this reason.
    ReadOnly(String),
    /// A rule or setting allows it.
    ByRule { why: String, origin: String },
    /// It is asked about, for this reason.
    NotProven(String),
}

/// Variables that change nothing but language, time zone and color.
const HARMLESS_VARIABLES: &str = "LC_ALL LANG LC_CTYPE LC_COLLATE LC_NUMERIC LC_TIME LANGUAGE TZ \
    NO_COLOR CLICOLOR FORCE_COLOR TERM COLUMNS LINES RUST_BACKTRACE CARGO_TERM_COLOR \
    PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED CI";

/// The number of wrappers in a row that are looked through.
const WRAPPED: usize = 8;

/// Judges one simple command by allow rules and the tables of read-only programs.
pub(crate) fn grant(call: &Call<'_>, script: &Script, part: &Simple) -> Grant {
    let dirs = &script.dirs[..part.seen.min(script.dirs.len())];
    if dirs.iter().any(|dir| call.places.place(dir) == Place::Outside) {
        return Grant::NotProven(String::from("runs outside the workspace"));
    }
    if let Some(word) = part.assignments.iter().find(|word| !is_harmless(word)) {
        let name = word.text.split('=').next().unwrap_or_default();
        return Grant::NotProven(format!("sets `{name}`"));
    }
    match part.argv() {
        [] if part.assignments.is_empty() => known("changes nothing"),
        [] => Grant::NotProven(String::from("sets a variable")),
        argv => program(call, argv, dirs),
    }
}

/// The program and arguments behind transparent wrappers.
pub(crate) fn unwrapped(argv: &[Word]) -> &[Word] {
    let mut inner = argv;
    for _ in 0..WRAPPED {
        let Some(wrapper) = inner.first().and_then(|name| wrappers::find(&name.text)) else {
            break;
        };
        let words: Vec<Option<&str>> = inner[1..].iter().take(64).map(Word::known).collect();
        match wrapper.inner(&words) {
            Inner::At(at) if wrapper.is_transparent => inner = &inner[at + 1..],
            Inner::At(_) | Inner::Unclear | Inner::Nothing => break,
        }
    }
    inner
}

fn is_harmless(word: &Word) -> bool {
    let Some((name, value)) = word.text.split_once('=') else { return false };
    if ["PAGER", "GIT_PAGER"].contains(&name) {
        return value == "cat";
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.@-/".contains(c);
    let is_relative = !value.starts_with('/') && !value.contains("..");
    listed(HARMLESS_VARIABLES, name) && value.chars().all(plain) && is_relative && !word.dynamic
}

/// Checks the files that redirections open.
pub(crate) fn redirects(call: &Call<'_>, script: &Script) -> Result<(), String> {
    for redirect in script.redirects.iter().filter(|it| it.target.text != "/dev/null") {
        let operand = Operand::from(&redirect.target);
        if !redirect.writes {
            readable(call, &operand, &redirect.dirs, true)?;
            continue;
        }
        for path in paths(&operand, &redirect.dirs) {
            if let Access::Doubtful(..) = call.may_write(&path) {
                return Err(format!("writes `{}`", path.display()));
            }
        }
    }
    Ok(())
}

fn program(call: &Call<'_>, argv: &[Word], dirs: &[PathBuf]) -> Grant {
    if let Some(granted) = rule(call, argv, CommandPattern::is_exact) {
        return granted;
    }
    let inner = unwrapped(argv);
    let Some(name) = inner.first().filter(|name| !name.quoted && !name.glob) else {
        return Grant::NotProven(String::from("its program's name is quoted or missing"));
    };
    if argv[0].text == "command" && inner.len() == argv.len() {
        let looks_up = argv.get(1).is_some_and(|word| ["-v", "-V"].contains(&word.text.as_str()));
        if looks_up {
            return known("only looks up a program");
        }
    }
    if name.text == "cd" {
        return change_dir(call, inner, dirs);
    }
    match read_only::check(inner) {
        Knowledge::Unknown => {
            rule(call, inner, |_| true).or_else(|| rule(call, argv, |_| true)).unwrap_or_else(
                || Grant::NotProven(format!("`{}` is not on your allowlist", name.text)),
            )
        }
        Knowledge::Checked { identity, outcome } => {
            let outcome = outcome.map_err(|reason| reason.0);
            match outcome.and_then(|read_paths| files(call, inner, &read_paths, dirs)) {
                Ok(()) => known("only reads"),
                // A rule for the program does not mean the options that the tables leave out.
                Err(why) => rule(call, inner, |pattern| pattern.length() > identity)
                    .unwrap_or(Grant::NotProven(why)),
            }
        }
    }
}

fn known(why: &str) -> Grant {
    Grant::ReadOnly(why.to_owned())
}

/// The grant of an allow rule or setting for this command, among those that `wanted` admits.
fn rule(call: &Call<'_>, argv: &[Word], wanted: impl Fn(&CommandPattern) -> bool) -> Option<Grant> {
    let covers = |pattern: &CommandPattern| wanted(pattern) && pattern.covers(argv);
    let rule = call.rules_that(Decision::Allow).find(|rule| match &rule.matcher.target {
        Target::Command(pattern) | Target::Outside(pattern) => covers(pattern),
        Target::Anything
        | Target::AnyCommand
        | Target::Path(..)
        | Target::Host(_)
        | Target::What(_) => false,
    });
    let (why, origin) = if let Some(rule) = rule {
        (rule.why(), rule.origin.clone())
    } else {
        let mut allowed = call.settings.allowed_commands.iter();
        let text = allowed.find(|text| {
            CommandPattern::parse_prefix(text).is_ok_and(|pattern| covers(&pattern))
        })?;
        (format!("`{text}` is allowed"), format!("tools.{}.allowed_commands", call.tool.name))
    };
    Some(Grant::ByRule { why, origin })
}

fn change_dir(call: &Call<'_>, argv: &[Word], dirs: &[PathBuf]) -> Grant {
    let target = match argv {
        [_, target] => target,
        [_, dashes, target] if dashes.text == "--" => target,
        _ => return Grant::NotProven(String::from("changes to a directory that is not known")),
    };
    match readable(call, &Operand::from(target), dirs, false) {
        Ok(()) => known("only changes the directory"),
        Err(why) => Grant::NotProven(why),
    }
}

/// Checks the files that a read-only program shows.
fn files(
    call: &Call<'_>,
    argv: &[Word],
    read_paths: &ReadPaths,
    dirs: &[PathBuf],
) -> Result<(), String> {
    let sub = git::directory(&argv[1..]).filter(|_| argv[0].text == "git");
    let dirs: Vec<PathBuf> = match sub {
        Some(sub) => dirs.iter().map(|dir| dir.join(sub)).collect(),
        None => dirs.to_vec(),
    };
    read_paths.contents.iter().try_for_each(|it| readable(call, it, &dirs, true))?;
    read_paths.names.iter().try_for_each(|it| readable(call, it, &dirs, false))
}

/// Checks that a file may be read without asking; only names and properties if not `contents`.
fn readable(
    call: &Call<'_>,
    operand: &Operand,
    dirs: &[PathBuf],
    contents: bool,
) -> Result<(), String> {
    if operand.text == "-" {
        return Ok(());
    }
    let reading = if operand.glob { Reading::Shell } else { Reading::Literal };
    for path in paths(operand, dirs) {
        let is_inside = call.places.place(&path) != Place::Outside;
        if is_inside && !contents {
            continue;
        }
        if let Access::Doubtful(_, why) = call.may_read(&path, reading) {
            return Err(format!("reads `{}`: {why}", path.display()));
        }
    }
    Ok(())
}

fn paths(operand: &Operand, dirs: &[PathBuf]) -> Vec<PathBuf> {
    dirs.iter().map(|dir| normalize(&dir.join(Path::new(&operand.text)))).collect()
}
