//! What in a script or command line runs something that cannot be found by reading it: trust does not
//! cover that, and the person is told. Whatever is not shown to run nothing of the project, or just what
//! is covered, counts. What is found decides nothing.

mod check;
mod interpreters;
mod python;
mod ran;
mod recipes;
mod texts;
mod variables;

use std::collections::BTreeSet;

use contract::text::head;

use super::inert::without_inert;
use super::reading::Language;
use super::run::run;
use super::shell;
use super::words::{loads_unnamed, words};
use super::{Effect, Entry, Kind, MOST_BYTES, MOST_WORDS, is_data};
use crate::trust::command_lines::commands;
use interpreters::SHELLS;
use ran::Ran;

/// Files that hold lines of a shell and do not say so by their ending.
const RECIPES: [&str; 6] =
    ["Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile"];
/// The longest part of a line that is shown for the whole.
const LONGEST: usize = 200;
/// Texts within texts that are given to shells.
const DEEPEST: usize = 4;

/// The names that the search finds in a text, and how many texts are around the one that is looked at.
struct Covered<'a> {
    names: &'a BTreeSet<String>,
    depth: usize,
    ran: &'a Ran,
}

impl Covered<'_> {
    fn deeper(&self) -> Self {
        Self { names: self.names, depth: self.depth + 1, ran: self.ran }
    }
}

/// Of each entry that runs something which no reading finds, its path and that something.
pub(crate) fn unfollowed(entries: &[Entry]) -> Vec<(String, String)> {
    let ran = Ran::default();
    let files = || entries.iter().filter(|entry| entry.part.kind == Kind::File);
    // What one of them runs with a shell is read as what a shell runs, whatever it is called.
    loop {
        let known = ran.count();
        let of = |entry: &Entry| in_entry(entry, &ran).map(|it| (entry.part.path.clone(), it));
        let found = files().filter_map(of).collect();
        if ran.count() == known {
            return found;
        }
    }
}

/// The first such thing in a file.
fn in_entry(entry: &Entry, ran: &Ran) -> Option<String> {
    let path = &entry.part.path;
    let text = String::from_utf8_lossy(&entry.bytes);
    let found = if path.ends_with("package.json") {
        let is_own = !path.contains("node_modules/");
        is_own.then(|| in_package(&entry.bytes, ran)).flatten()
    } else if is_data(path) {
        commands(path, &entry.bytes).into_iter().find_map(|line| in_shell(&line, ran))
    } else if entry.part.effect() == Effect::Runs || entry.part.is_named {
        let is_long = text.len() as u64 > MOST_BYTES || words(&text).len() > MOST_WORDS;
        let whole = || String::from("more than can be looked through");
        is_long.then(whole).or_else(|| in_script(path, &text, ran))
    } else {
        None
    };
    found.or_else(|| ran.is_for_shell(path, &text).then(|| in_shell(&text, ran)).flatten())
}

/// The first such thing in the scripts of a package.
fn in_package(bytes: &[u8], ran: &Ran) -> Option<String> {
    let package: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let scripts = package.get("scripts")?.as_object()?;
    let names = names(&String::from_utf8_lossy(bytes));
    let covered = Covered { names: &names, depth: 0, ran };
    let mut lines = scripts.values().filter_map(serde_json::Value::as_str);
    lines.find_map(|line| in_covered(line, &covered))
}

/// The first such thing in a script.
fn in_script(path: &str, text: &str, ran: &Ran) -> Option<String> {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let name = path.rsplit('/').next().unwrap_or_default();
    match ending {
        _ if RECIPES.contains(&name) => recipes::in_recipes(text, ran),
        _ if language(path, text) == Language::Shell => in_shell(text, ran),
        "mk" => recipes::in_recipes(text, ran),
        "py" | "js" | "mjs" | "cjs" | "ts" | "mts" => {
            loads_unnamed(text).then(|| "a module whose name it puts together".to_owned())
        }
        _ => None,
    }
}

/// The first such thing in what a shell runs.
fn in_shell(text: &str, ran: &Ran) -> Option<String> {
    in_covered(text, &Covered { names: &names(&without_inert(text)), depth: 0, ran })
}

/// The same in a part of a text in which these names are looked for.
fn in_covered(text: &str, covered: &Covered<'_>) -> Option<String> {
    let found = match shell::read(text) {
        Ok(script) => check::first(&script, covered),
        Err(line) => Some(line),
    };
    found.map(|found| head(&found, LONGEST).to_owned())
}

/// The names that the search for what a text runs looks for.
fn names(text: &str) -> BTreeSet<String> {
    words(text).into_iter().chain(run(text)).collect()
}

/// What a script is written in.
pub(super) fn language(path: &str, text: &str) -> Language {
    let first = text.lines().next().unwrap_or_default();
    let program = first.strip_prefix("#!").map(|it| it.trim().trim_start_matches("/usr/bin/env"));
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_shell = match program {
        Some(program) => {
            let name = program.split_whitespace().next().unwrap_or_default();
            SHELLS.contains(&name.rsplit('/').next().unwrap_or_default())
        }
        None => ["sh", "bash", "zsh", "ksh"].contains(&ending),
    };
    if is_shell { Language::Shell } else { Language::Other }
}

#[cfg(test)]
mod tests;
