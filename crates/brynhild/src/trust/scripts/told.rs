//! What in a script or command line may run more than trust covers: the person is told of it. Silent are a few
//! fixed shapes of commands, which run nothing of the project or just one file that is covered; everything else is
//! told. What is found decides nothing.

mod languages;
mod programs;
mod rewriting;
mod shapes;
mod targets;
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
use written::PACKAGE;

/// The longest part of a line that is shown for the whole.
const LONGEST: usize = 200;
/// The most lines that are named of a file.
const MOST_LINES: usize = 3;

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
#[derive(Debug, Default, PartialEq)]
struct Facts {
    /// The covered files that are run, from the root.
    ran: BTreeMap<String, BTreeSet<By>>,
    /// How often each variable is set.
    settings: BTreeMap<String, usize>,
    /// How often each is set to a number or a sum.
    numbers: BTreeMap<String, usize>,
    /// Those that are set to what a program takes for an option.
    options: BTreeSet<String>,
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

/// How much a line says of what is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// It runs something.
    Runs,
    /// It is of a form that could not be read, or sets what others go by.
    Form,
}

/// Lines that are told of, each with its weight.
type Lines = Vec<(Weight, String)>;

/// What is told of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Its path from the root.
    pub(crate) path: String,
    /// Commands that may run more than is covered, those that run something first.
    pub(crate) lines: Vec<String>,
    /// How many more there are.
    pub(crate) more: usize,
}

impl Told {
    fn new(path: &str, mut found: Lines) -> Self {
        found.sort_by_key(|(weight, _)| *weight);
        let mut lines: Vec<String> = Vec::new();
        for (_, line) in found {
            let line = head(line.trim(), LONGEST).to_owned();
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.truncate(MOST_LINES);
        Self { path: path.to_owned(), lines, more }
    }
}

/// Each entry with a command that may run more than is covered.
pub(crate) fn told(place: Place<'_>, entries: &[Entry]) -> Vec<Told> {
    let mut facts = Facts::default();
    let parsed = Parsed::default();
    // What one text runs may be read as another language, and set what others rely on.
    loop {
        let mut shapes = Shapes::new(place, entries, (&facts, &parsed));
        let files = entries.iter().filter(|entry| entry.part.kind == Kind::File);
        let found = files.filter_map(|entry| {
            let lines = in_entry(entry, &mut shapes);
            (!lines.is_empty()).then(|| Told::new(&entry.part.path, lines))
        });
        let found = found.collect();
        let mut next = shapes.into_facts();
        for (path, by) in &facts.ran {
            next.ran.entry(path.clone()).or_default().extend(by);
        }
        if next == facts {
            return found;
        }
        facts = next;
    }
}

/// All such things in a file.
fn in_entry(entry: &Entry, shapes: &mut Shapes<'_>) -> Lines {
    let path = &entry.part.path;
    let mut found = Lines::new();
    if is_data(path) {
        for run in commands(path, &entry.bytes) {
            found.extend(in_line(path, &run, shapes));
        }
        if path.rsplit('/').next() == Some(PACKAGE) {
            let targets = targets::spelled_targets(&entry.bytes);
            found.extend(targets.into_iter().map(|it| (Weight::Runs, it)));
        }
    } else if entry.part.effect() != Effect::Runs && !entry.part.is_named {
        return found;
    }
    let mut read: BTreeSet<First> = languages::by_own(path, &entry.bytes).into_iter().collect();
    for by in shapes.facts.ran.get(path).into_iter().flatten() {
        read.extend(languages::by_use(*by, path, &entry.bytes));
    }
    for first in read {
        found.extend(match first {
            First::Odd(line) => vec![(Weight::Runs, line)],
            First::Language(language) => in_text(entry, language, shapes),
        });
    }
    found
}

/// All such things in a command of a file.
fn in_line(path: &str, run: &Run, shapes: &mut Shapes<'_>) -> Lines {
    let line = Line { path, folder: run.folder.as_deref(), is_bash: false, is_script: false };
    if run.is_file {
        return shapes
            .in_file(&line, &run.exact)
            .map(|it| (Weight::Runs, it))
            .into_iter()
            .collect();
    }
    if is_long(&run.command) {
        return vec![(Weight::Runs, run.command.clone())];
    }
    shapes.in_shell(&line, &run.exact)
}

/// Whether not all that a text names is looked for.
fn is_long(text: &str) -> bool {
    text.len() as u64 > MOST_BYTES || words(text).len() > MOST_WORDS
}

fn in_text(entry: &Entry, language: Language, shapes: &mut Shapes<'_>) -> Lines {
    let odd = |words: &str| vec![(Weight::Runs, words.to_owned())];
    let text = std::str::from_utf8(&entry.bytes).ok().filter(|it| !it.contains('\0'));
    let Some(text) = text.filter(|it| !it.starts_with('\u{feff}')) else {
        return odd("(it is no plain text)");
    };
    if is_long(text) {
        return odd("(it is too long to be looked through)");
    }
    let path = &entry.part.path;
    if language != Language::Shell {
        let mut lines = languages::starting(language, text);
        lines.extend(rewriting::rewriting(language, text, &shapes.others(path)));
        return lines.into_iter().map(|it| (Weight::Runs, it)).collect();
    }
    let others = [By::Shell, By::Sourced];
    let is_bash = languages::says_bash(text)
        && !others.iter().any(|by| shapes.facts.is_run(path, *by))
        || shapes.facts.is_run(path, By::Bash) && shapes.facts.ran[path].len() == 1;
    shapes.in_shell(&Line { path, folder: None, is_bash, is_script: true }, text)
}
