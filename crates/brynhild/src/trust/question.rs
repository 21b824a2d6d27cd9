//! The question whether the bytes of a workspace are trusted: every file with its hash and what it
//! could do, every command line that would run, and what changed. Only a typed word trusts.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::changes::{Change, changes};
use super::command_lines::command_lines;
use super::scripts::{self, Place, Told};
use super::snapshot::{Entry, Kind, Snapshot};
use super::store::{Decision, Record, Store};
use crate::frontends::question::{line, one_line, show};

/// All that the person should know to decide.
pub(crate) struct Brief<'a> {
    root: &'a Path,
    snapshot: &'a Snapshot,
    /// Settings that trust would let through.
    held_back: &'a [String],
    commands: Vec<(String, String)>,
    /// Files with commands that may run more than is covered.
    unfollowed: Vec<Told>,
    /// What was decided before, and what is different since.
    past: Option<(Record, Vec<Change>)>,
}

impl<'a> Brief<'a> {
    /// Gathers it.
    pub(crate) fn new(
        root: &'a Path,
        snapshot: &'a Snapshot,
        store: &Store,
        past: Option<Record>,
        held_back: &'a [String],
    ) -> Self {
        let read = |entry: &Entry| {
            let lines = match entry.part.kind {
                Kind::File => command_lines(&entry.part.path, &entry.bytes),
                Kind::Link | Kind::Package | Kind::Other => Vec::new(),
            };
            let path = entry.part.path.clone();
            lines.into_iter().map(move |line| (path.clone(), line)).collect::<Vec<_>>()
        };
        let past = past.filter(|record| record.decision != Decision::Withdrawn).map(|record| {
            let known = store.known(&record.hash).unwrap_or_default();
            let changes = changes(store, &known, snapshot);
            (record, changes)
        });
        let commands = snapshot.entries.iter().flat_map(read).collect();
        let place = if snapshot.is_folder { Place::Folder } else { Place::Project(root) };
        let unfollowed = scripts::told(place, &snapshot.entries);
        Self { root, snapshot, held_back, commands, unfollowed, past }
    }

    /// The same for programs.
    pub(crate) fn to_json(&self) -> Value {
        let file = |entry: &Entry| {
            json!({
                "path": entry.part.path,
                "hash": entry.hash,
                "mode": format!("{:o}", entry.mode),
                "kind": kind(entry),
                "could": entry.part.could(),
            })
        };
        let command = |(path, line): &(String, String)| json!({"file": path, "command": line});
        let unfollowed = |told: &Told| {
            let last = told.lines.len().saturating_sub(1);
            let lines = told.lines.iter().enumerate().map(|(number, line)| {
                let mut told_of = json!({"file": told.path, "command": line});
                if told.more > 0 && number == last {
                    told_of["more"] = json!(told.more);
                }
                told_of
            });
            lines.collect::<Vec<_>>()
        };
        let change = |change: &Change| json!({"what": change.what, "path": change.path});
        let changed = self.past.iter().flat_map(|(_, changes)| changes).map(change);
        json!({
            "path": self.root.display().to_string(),
            "hash": self.snapshot.hash,
            "files": self.snapshot.entries.iter().map(file).collect::<Vec<_>>(),
            "commands": self.commands.iter().map(command).collect::<Vec<_>>(),
            "unfollowed": self.unfollowed.iter().flat_map(unfollowed).collect::<Vec<_>>(),
            "settings": self.held_back,
            "changes": changed.collect::<Vec<_>>(),
        })
    }

    /// The words of the question.
    pub(crate) fn words(&self) -> String {
        let root = one_line(&self.root.display().to_string());
        let mut text = format!("\n{root} brings what could run or redirect:\n\n");
        for entry in &self.snapshot.entries {
            let note = match kind(entry) {
                "executable" => " (executable)",
                "link" => " (a link, never followed)",
                "package" => " (a folder that Python takes for a package)",
                "other" => " (no regular file, never read)",
                _ => "",
            };
            let could = entry.part.could();
            let path = one_line(&entry.part.path);
            let _ = writeln!(text, "  {}  {path}{note}: could {could}", &entry.hash[..16]);
        }
        section(
            &mut text,
            "It names these commands and addresses:",
            self.commands
                .iter()
                .map(|(path, line)| format!("{}: {}", one_line(path), one_line(line))),
        );
        section(
            &mut text,
            "What these commands run cannot be found by reading. They may run files that the list above does not \
             have: confined like everything else, but a change of such a file is not noticed.",
            self.unfollowed.iter().flat_map(|told| {
                let path = one_line(&told.path);
                let more = (told.more > 0).then(|| format!("{path}: and {} more", told.more));
                let lines = told.lines.iter().map(|line| format!("{path}: {}", one_line(line)));
                lines.chain(more).collect::<Vec<_>>()
            }),
        );
        let settings = self.held_back.iter().map(|setting| one_line(setting));
        section(&mut text, "Trust lets these settings through:", settings);
        if let Some((record, changes)) = &self.past {
            let day: String = record.at.to_string().chars().take(10).collect();
            if changes.is_empty() {
                let word = match record.decision {
                    Decision::Trusted => "you trust these bytes",
                    Decision::TextOnly => "you trust their text only",
                    Decision::Declined | Decision::Withdrawn => "you do not trust them",
                };
                let _ = writeln!(text, "\nSince {day} {word}.");
            } else {
                let _ = writeln!(text, "\nChanged since your decision of {day}:");
            }
            for change in changes {
                let _ = writeln!(text, "  {} {}", change.what, one_line(&change.path));
                for line in change.diff.iter().flat_map(|diff| diff.trim_end().split('\n')) {
                    let _ = writeln!(text, "  │ {}", contract::text::visible(line));
                }
            }
        }
        text.push('\n');
        text
    }
}

fn kind(entry: &Entry) -> &'static str {
    match entry.part.kind {
        Kind::File if entry.mode & 0o111 != 0 => "executable",
        Kind::File => "file",
        Kind::Link => "link",
        Kind::Package => "package",
        Kind::Other => "other",
    }
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{title}");
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
    }
}

/// Asks, and waits for an answer. Enter, the end of input and every other word mean no.
pub(crate) async fn ask(brief: &Brief<'_>) -> io::Result<Decision> {
    show(&brief.words())?;
    let choices = "Trust these bytes? [y]es, [t]ext only (nothing of it runs), [N]o: ";
    let answer = line(choices).await?.unwrap_or_default();
    Ok(match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Decision::Trusted,
        "t" | "text" => Decision::TextOnly,
        _ => Decision::Declined,
    })
}
