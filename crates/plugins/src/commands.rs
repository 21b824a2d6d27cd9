//! Commands that are prompts in files: `/name words` sends the file's text with the words put in.
//!
//! Where to look comes in as arguments. Nothing of a command is run here; what it says goes to the
//! model, or to the shell, only when the user types its name.

mod document;
mod pieces;
mod recipe;
mod table;
mod template;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary, Refusal};
use serde::Serialize;
use serde_json::Value;

use crate::offer::Contributions;
use crate::problem::{Problem, entries_of};

pub use pieces::Piece;
pub use recipe::{Here, Recipe, SESSION};
pub use table::{Rank, Table};
pub use template::{Placeholders, Rendered, Variable};

const ENTRIES_LIMIT: usize = 2000;

/// A command as found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    pub name: String,
    pub description: String,
    pub aliases: Vec<String>,
    pub args: String,
    pub body: String,
    /// The line for the shell that it stands for, where nothing goes to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Where it comes from: `global`, `plugin:NAME`, `entry_point:NAME`, `project`.
    pub source: String,
    pub plugin: Option<String>,
    pub path: Option<PathBuf>,
    #[serde(skip)]
    pub rank: Rank,
    /// How its text is filled in, where it is written for another system.
    #[serde(skip)]
    pub recipe: Option<Box<Recipe>>,
}

/// Where commands are looked for beside plugins.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pub global: Option<PathBuf>,
    /// The project's directory, beneath the project's root. Links may not lead out of it.
    pub project: Option<PathBuf>,
    pub project_rank: Rank,
    pub foreign: Vec<Command>,
}

/// The commands, and their problems.
#[derive(Clone, Debug, Default)]
pub struct FoundCommands {
    pub commands: Vec<Command>,
    pub problems: Vec<Problem>,
}

pub fn discover(places: &Places, contributions: &Contributions<'_>) -> FoundCommands {
    let mut found = FoundCommands::default();
    if let Some(directory) = &places.global {
        let entries = foreign::entries(directory, ENTRIES_LIMIT);
        scan(directory, entries, (Boundary::Anywhere, &label("global")), &mut found);
    }
    for plugin in &contributions.plugins {
        let name = plugin.name();
        let label = Label {
            source: format!("plugin:{name}"),
            plugin: Some(name.to_owned()),
            rank: Rank::Full,
        };
        let directories: Vec<PathBuf> =
            plugin.boundary().map(Path::to_path_buf).into_iter().collect();
        let boundary = if directories.is_empty() {
            Boundary::Anywhere
        } else {
            Boundary::Within(&directories)
        };
        if plugin.package.is_none() {
            let directory = plugin.root.join("commands");
            let entries = contributions.entries(&directory, ENTRIES_LIMIT);
            scan(&directory, entries, (boundary, &label), &mut found);
        }
    }
    for offer in &contributions.offers {
        for item in &offer.commands {
            let label = Label {
                source: format!("entry_point:{}", offer.entry_point(item)),
                plugin: Some(offer.plugin.clone()),
                rank: Rank::Full,
            };
            match document::from_value(item, &label) {
                Ok(command) => found.commands.push(command),
                Err(problem) => found.problems.push(problem),
            }
        }
    }
    found.commands.extend(places.foreign.iter().cloned());
    if let Some(directory) = &places.project
        && let Ok(canonical) = fs::canonicalize(directory)
    {
        let label = Label { rank: places.project_rank, ..label("project") };
        project(directory, canonical, &label, &mut found);
    }
    found
}

struct Label {
    source: String,
    plugin: Option<String>,
    rank: Rank,
}

fn label(source: &str) -> Label {
    Label { source: source.to_owned(), plugin: None, rank: Rank::Full }
}

fn project(directory: &Path, canonical: PathBuf, label: &Label, found: &mut FoundCommands) {
    let root = directory.parent().and_then(Path::parent).and_then(|it| fs::canonicalize(it).ok());
    if !root.is_some_and(|root| canonical.starts_with(root)) {
        let refusal = Refusal::Outside(canonical);
        return found.problems.push(Problem::unreadable(directory, refusal));
    }
    let boundary = [canonical.clone()];
    let entries = foreign::entries(&canonical, ENTRIES_LIMIT);
    scan(&canonical, entries, (Boundary::Within(&boundary), label), found);
}

fn scan(
    directory: &Path,
    entries: io::Result<(Vec<PathBuf>, bool)>,
    (boundary, label): (Boundary<'_>, &Label),
    found: &mut FoundCommands,
) {
    let entries = entries_of(directory, entries, "commands", &mut found.problems);
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|it| it == "md");
    for path in entries.into_iter().filter(is_markdown) {
        match document::read(&path, boundary, label) {
            Ok((command, remarks)) => {
                found.problems.extend(remarks);
                found.commands.push(command);
            }
            Err(problem) => found.problems.push(problem),
        }
    }
}

impl Command {
    pub fn render(&self, placeholders: &Placeholders<'_>) -> Rendered {
        template::render(&self.body, placeholders)
    }

    /// The name that is always its own: `plugin:name` for a plugin's.
    pub fn qualified(&self) -> String {
        format!("{}:{}", self.plugin.as_deref().unwrap_or(&self.source), self.name)
    }

    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
