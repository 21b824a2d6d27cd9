//! Files for `make` and its like: the lines that a shell runs, and what is run elsewhere in them.

use std::collections::BTreeMap;

use super::ran::Ran;
use super::variables::loads;
use super::{Covered, in_covered, names};

/// What `make` does to texts without running anything.
#[rustfmt::skip]
const FUNCTIONS: [&str; 25] = [
    "abspath", "addprefix", "addsuffix", "and", "basename", "dir", "error", "filter", "filter-out", "findstring",
    "firstword", "if", "info", "lastword", "notdir", "or", "patsubst", "realpath", "sort", "strip", "subst", "warning",
    "wildcard", "word", "words",
];
/// Variables that say what runs the lines, and how these begin.
const RUNNING: [&str; 4] = [".RECIPEPREFIX", ".SHELLFLAGS", "SHELL", "MAKE"];
/// Words that begin a line which brings more than it says.
const BRINGING: [&str; 6] = ["define", "import", "load", "mod", "set", "-load"];

/// The first thing in such a file that no reading finds.
pub(super) fn in_recipes(text: &str, ran: &Ran) -> Option<String> {
    let names = names(text);
    let covered = Covered { names: &names, depth: 0, ran };
    let joined = text.replace("\\\n", " ");
    let is_recipe = |line: &&str| line.starts_with(['\t', ' ']);
    let other = joined.lines().filter(|line| !is_recipe(line)).find(|line| is_told(line, &covered));
    if let Some(line) = other {
        return Some(line.trim().to_owned());
    }
    let values = values(&joined);
    let lines = joined.lines().filter(is_recipe);
    let mut lines = lines.map(|line| line.trim().trim_start_matches(['@', '-', '+']));
    let is_told = |line: &&str| {
        let filled = filled(line, &values);
        in_covered(&filled.replace("$$", "$"), &covered).is_some()
    };
    lines.find(is_told).map(str::to_owned)
}

/// Whether a line that no shell runs as it is runs or brings something that is not found.
fn is_told(line: &str, covered: &Covered<'_>) -> bool {
    let line = line.split(" #").next().unwrap_or_default();
    if line.starts_with('#') || line.trim().is_empty() {
        return false;
    }
    let first = line.split_whitespace().next().unwrap_or_default();
    let loads_open = line.contains("include") && line.contains(['*', '?', '[', '$']);
    let sets = line
        .split_once('=')
        .map(|(name, _)| name.trim_end_matches([':', '?', '+', '!', ' ', '\t']));
    let name = sets.and_then(|sets| sets.split_whitespace().last()).unwrap_or_default();
    let exported =
        if first == "export" { line.split_whitespace().nth(1).unwrap_or("=") } else { "" };
    let is_shell = name == "SHELL"
        && ["/bin/sh", "/bin/bash", "sh", "bash"].iter().any(|it| line.ends_with(it));
    let is_running = RUNNING.contains(&name) && !is_shell;
    loads_open
        || line.contains(['`', ';'])
        || line.contains("!=")
        || line.contains("shell(")
        || BRINGING.contains(&first)
        || is_running
        || (!is_shell && (loads(name) || loads(exported)))
        || !line.match_indices('$').all(|(at, _)| is_call_known(&line[at + 1..], covered))
}

/// Whether what stands behind the sign is a variable, or a call that runs nothing but what is covered.
fn is_call_known(rest: &str, covered: &Covered<'_>) -> bool {
    let Some(inner) = rest.strip_prefix(['(', '{']) else { return true };
    let length = inner
        .find(|c: char| !c.is_ascii_alphanumeric() && !"_.-".contains(c))
        .unwrap_or(inner.len());
    let (name, after) = inner.split_at(length);
    match name {
        "shell" => {
            let end = inner.find([')', '}', '$', '(']);
            let command = end
                .filter(|end| !inner[*end..].starts_with(['$', '(']))
                .map(|end| &inner[length..end]);
            command.is_some_and(|command| in_covered(command, covered).is_none())
        }
        "" => false,
        _ => !after.starts_with([' ', '\t', ',', '$']) || FUNCTIONS.contains(&name),
    }
}

/// Variables that are set once, to a text in which nothing stands for something else.
fn values(text: &str) -> BTreeMap<&str, Option<&str>> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim_end_matches([':', '?', ' ', '\t']);
        let name = name.split_whitespace().last().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./ ".contains(c);
        let value = Some(value.trim()).filter(|value| value.chars().all(is_plain));
        found.entry(name).and_modify(|it| *it = None).or_insert(value);
    }
    found
}

/// A line with what its variables are set to.
fn filled(line: &str, values: &BTreeMap<&str, Option<&str>>) -> String {
    let mut filled = line.to_owned();
    for (name, value) in values {
        if let Some(value) = value {
            for (open, close) in [('(', ')'), ('{', '}')] {
                let sign = format!("${open}{name}{close}");
                // Two signs stand for one, which the shell sees.
                if !filled.contains(&format!("${sign}")) {
                    filled = filled.replace(&sign, value);
                }
            }
        }
    }
    filled
}
