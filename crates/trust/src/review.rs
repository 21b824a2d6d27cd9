//! The files of a workspace as the user sees them before deciding on them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use contract::text::one_line;
use serde_json::{Value, json};

use crate::changes::{Change, changes};
use crate::command_lines::command_lines;
use crate::snapshot::{Entry, Kind, Snapshot, named_files};
use crate::store::{Decision, Record, Store};

pub const TITLE: &str = "Trust this directory?";

pub const QUESTION: &str = "Trust this directory? [y]es, [t]ext only (nothing runs), [N]o: ";

/// Printed above the command lines that start more than the hash covers.
const UNCOVERED: &str = "These command lines run more than trust can see. It runs in the sandbox, but \
                         you are not asked when it changes:";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Paths,
    Hashes,
}

pub struct Review {
    store: Store,
    root: PathBuf,
    snapshot: Snapshot,
    held_back: Vec<String>,
    commands: Vec<(String, String)>,
    uncovered: Vec<(String, String)>,
    past: Option<(Record, Vec<Change>)>,
}

impl Review {
    /// Reads the files at `root`. `held_back` are the settings that apply only if they are trusted.
    pub fn new(store: &Store, root: &Path, held_back: Vec<String>) -> Result<Self, String> {
        let snapshot = store.snapshot(root)?;
        let files = snapshot.entries.iter().filter(|entry| entry.part.kind == Kind::File);
        let commands = files.flat_map(|entry| {
            let lines = command_lines(&entry.part.path, &entry.bytes, store.program).into_iter();
            lines.map(|line| (entry.part.path.clone(), line.shown))
        });
        let commands = commands.collect();
        let past = store.record(root)?.0.map(|record| {
            let changes = changes(&store.copy(&record).files, &snapshot, store.program);
            (record, changes)
        });
        let uncovered = named_files::uncovered(root, &snapshot.entries, store.program);
        let (store, root) = (store.clone(), root.to_owned());
        Ok(Self { store, root, snapshot, held_back, commands, uncovered, past })
    }

    /// Returns true if there are files to decide on, or there were.
    pub fn needs_decision(&self) -> bool {
        let is_trusted =
            self.past.as_ref().is_some_and(|(past, _)| past.decision == Decision::Trusted);
        is_trusted || !self.snapshot.entries.is_empty()
    }

    pub fn is_current(&self) -> bool {
        self.store.snapshot(&self.root).is_ok_and(|now| now.hash == self.snapshot.hash)
    }

    pub fn decide(&self, decision: Decision) -> Result<(), String> {
        self.store.decide(&self.root, &self.snapshot, decision)
    }

    pub fn to_json(&self) -> Value {
        let file = |entry: &Entry| {
            let (could, mode) = (entry.part.surface().could, format!("{:o}", entry.mode));
            let (path, hash, kind) = (&entry.part.path, &entry.hash, kind(entry));
            json!({"path": path, "hash": hash, "mode": mode, "kind": kind, "could": could})
        };
        let command = |(path, line): &(String, String)| json!({"file": path, "command": line});
        let change = |change: &Change| json!({"what": change.kind, "path": change.path});
        let changed = self.past.iter().flat_map(|(_, changes)| changes).map(change);
        json!({
            "path": self.root.display().to_string(),
            "hash": self.snapshot.hash,
            "files": self.snapshot.entries.iter().map(file).collect::<Vec<_>>(),
            "commands": self.commands.iter().map(command).collect::<Vec<_>>(),
            "uncovered": self.uncovered.iter().map(command).collect::<Vec<_>>(),
            "settings": self.held_back,
            "changes": changed.collect::<Vec<_>>(),
        })
    }

    pub fn words(&self, detail: Detail) -> String {
        let root = one_line(&self.root.display().to_string());
        let mut text = format!("\n{root}\n");
        let files = self.snapshot.entries.iter().map(|entry| {
            let note = match kind(entry) {
                "executable" => " (executable)",
                "link" => " (a symlink, not followed)",
                "other" => " (not a regular file, not read)",
                _ => "",
            };
            let hash = match detail {
                Detail::Paths => String::new(),
                Detail::Hashes => format!("{}  ", &entry.hash[..16]),
            };
            let (path, could) = (one_line(&entry.part.path), entry.part.surface().could);
            format!("{hash}{path}{note}: could {could}")
        });
        section(&mut text, "Files that do nothing until you trust them:", files);
        let shown =
            |(path, line): &(String, String)| format!("{}: {}", one_line(path), one_line(line));
        section(&mut text, "Command lines and addresses:", self.commands.iter().map(shown));
        section(&mut text, UNCOVERED, self.uncovered.iter().map(shown));
        let settings = self.held_back.iter().map(|setting| one_line(setting));
        section(&mut text, "Settings that apply if you trust it:", settings);
        self.show_past(&mut text);
        text.push('\n');
        text
    }

    fn show_past(&self, text: &mut String) {
        let Some((record, changes)) = &self.past else { return };
        let day = record.day();
        if changes.is_empty() {
            let decision = match record.decision {
                Decision::Trusted => "You trusted it",
                Decision::TextOnly => "You trusted only its text",
                Decision::Declined | Decision::Withdrawn => "You declined it",
            };
            let _ = writeln!(text, "\n{decision} on {day}, and nothing changed since.");
        } else {
            let _ = writeln!(text, "\nChanges since your decision of {day}:");
        }
        for change in changes {
            let _ = writeln!(text, "  {} {}", change.kind, one_line(&change.path));
            for line in change.diff.iter().flat_map(|diff| diff.trim_end().split('\n')) {
                let _ = writeln!(text, "  │ {}", contract::text::visible(line));
            }
        }
    }
}

fn kind(entry: &Entry) -> &'static str {
    match entry.part.kind {
        Kind::File if entry.mode & 0o111 != 0 => "executable",
        Kind::File => "file",
        Kind::Link => "link",
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
