//! What in a script or command line may run more than trust covers: the person is told of it. Silent are a few
//! fixed shapes of commands, which run nothing of the project or just one file that is covered; everything else is
//! told. What is found decides nothing.

mod languages;
mod programs;
mod shapes;
#[cfg(test)]
mod tests;
mod variables;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use contract::text::head;

use super::super::command_lines::{Run, commands};
use super::words::words;
use super::{Effect, Entry, Kind, MOST_BYTES, MOST_WORDS, is_data};
use languages::{First, Language};
pub(super) use programs::runs_nothing;
use shapes::{Line, Parsed, Shapes};

/// The longest part of a line that is shown for the whole.
const LONGEST: usize = 200;

/// How a covered file is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Shell,
    Bash,
    /// A shell reads it within another script.
    Sourced,
    /// It is started by its path.
    Itself,
    /// As the script of a hook: by Python, unless it says otherwise.
    Script,
    Interpreter(Language),
}

/// What is known of all texts together.
#[derive(Debug, Default)]
struct Facts {
    /// The covered files that are run, from the root.
    ran: BTreeMap<String, BTreeSet<By>>,
    /// How often each variable is set.
    settings: BTreeMap<String, usize>,
}

impl Facts {
    fn is_run(&self, path: &str, by: By) -> bool {
        self.ran.get(path).is_some_and(|ran| ran.contains(&by))
    }
}

/// Where the entries lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// In the project of this root, where command lines are run.
    Project(&'a Path),
    /// In the folder of a plugin or role, which is used in other projects.
    Folder,
}

/// Of each entry with a command that may run more than is covered, its path and the first such command.
pub(crate) fn told(place: Place<'_>, entries: &[Entry]) -> Vec<(String, String)> {
    let mut facts = Facts::default();
    let parsed = Parsed::default();
    // What one text runs may be read as another language, and set what others rely on.
    loop {
        let mut shapes = Shapes::new(place, entries, (&facts, &parsed));
        let files = entries.iter().filter(|entry| entry.part.kind == Kind::File);
        let found = files.filter_map(|entry| {
            let told = in_entry(entry, &mut shapes)?;
            Some((entry.part.path.clone(), head(told.trim(), LONGEST).to_owned()))
        });
        let found = found.collect();
        let mut next = shapes.into_facts();
        for (path, by) in &facts.ran {
            next.ran.entry(path.clone()).or_default().extend(by);
        }
        if next.ran == facts.ran && next.settings == facts.settings {
            return found;
        }
        facts = next;
    }
}

/// The first such thing in a file.
fn in_entry(entry: &Entry, shapes: &mut Shapes<'_>) -> Option<String> {
    let path = &entry.part.path;
    let mut found = None;
    if is_data(path) {
        for run in commands(path, &entry.bytes) {
            let told = in_line(path, &run, shapes);
            found = found.or(told);
        }
    } else if entry.part.effect() != Effect::Runs && !entry.part.is_named {
        return None;
    }
    let mut read: BTreeSet<First> = languages::by_own(path, &entry.bytes).into_iter().collect();
    for by in shapes.facts.ran.get(path).into_iter().flatten() {
        read.extend(languages::by_use(*by, path, &entry.bytes));
    }
    for first in read {
        let told = match first {
            First::Odd(line) => Some(line),
            First::Language(language) => in_text(entry, language, shapes),
        };
        found = found.or(told);
    }
    found
}

/// The first such thing in a command of a file.
fn in_line(path: &str, run: &Run, shapes: &mut Shapes<'_>) -> Option<String> {
    let line = Line { path, folder: run.folder.as_deref(), is_bash: false, is_script: false };
    if run.is_file {
        return shapes.in_file(&line, &run.exact);
    }
    let is_long = is_long(&run.command);
    is_long.then(|| run.command.clone()).or_else(|| shapes.in_shell(&line, &run.exact))
}

/// Whether not all that a text names is looked for.
fn is_long(text: &str) -> bool {
    text.len() as u64 > MOST_BYTES || words(text).len() > MOST_WORDS
}

fn in_text(entry: &Entry, language: Language, shapes: &mut Shapes<'_>) -> Option<String> {
    let text = std::str::from_utf8(&entry.bytes).ok().filter(|it| !it.contains('\0'));
    let Some(text) = text.filter(|it| !it.starts_with('\u{feff}')) else {
        return Some(String::from("(it is no plain text)"));
    };
    if is_long(text) {
        return Some(String::from("(it is too long to be looked through)"));
    }
    if language != Language::Shell {
        return languages::starting(language, text);
    }
    let path = &entry.part.path;
    let others = [By::Shell, By::Sourced];
    let is_bash = languages::says_bash(text)
        && !others.iter().any(|by| shapes.facts.is_run(path, *by))
        || shapes.facts.is_run(path, By::Bash) && shapes.facts.ran[path].len() == 1;
    shapes.in_shell(&Line { path, folder: None, is_bash, is_script: true }, text)
}
