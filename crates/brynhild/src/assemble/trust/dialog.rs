//! The trust dialog. Only an explicit yes trusts.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::changes::{Change, changes};
use super::command_lines::command_lines;
use super::named_files;
use super::snapshot::{Entry, Kind, Snapshot};
use super::store::{Decision, Record, Store};
use crate::output::question::{line, one_line, show};

pub(crate) const TITLE: &str = "Trust this directory?";

/// Printed above the command lines that start more than the hash covers.
const UNCOVERED: &str = "These command lines run more than trust can see. It runs in the sandbox, but \
                         you are not asked when it changes:";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Paths,
    Hashes,
}

pub(crate) struct Brief<'a> {
    root: &'a Path,
    snapshot: &'a Snapshot,
    held_back: &'a [String],
    commands: Vec<(String, String)>,
    uncovered: Vec<(String, String)>,
    /// The last decision, and the changes since.
    past: Option<(Record, Vec<Change>)>,
}

impl<'a> Brief<'a> {
    pub(crate) fn new(
        root: &'a Path,
        snapshot: &'a Snapshot,
        store: &Store,
        past: Option<Record>,
        held_back: &'a [String],
    ) -> Self {
        let files = snapshot.entries.iter().filter(|entry| entry.part.kind == Kind::File);
        let commands = files.flat_map(|entry| {
            let lines = command_lines(&entry.part.path, &entry.bytes).into_iter();
            lines.map(|line| (entry.part.path.clone(), line.shown))
        });
        let past = past.map(|record| {
            let changes = changes(&store.copy(&record).files, snapshot);
            (record, changes)
        });
        let uncovered = named_files::uncovered(root, &snapshot.entries);
        Self { root, snapshot, held_back, commands: commands.collect(), uncovered, past }
    }

    pub(crate) fn to_json(&self) -> Value {
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

    pub(crate) fn words(&self, detail: Detail) -> String {
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
        let day: String = record.at.to_string().chars().take(10).collect();
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

/// Asks on the terminal. Everything but a yes means no.
pub(crate) async fn ask(brief: &Brief<'_>, detail: Detail) -> io::Result<Decision> {
    show(&brief.words(detail))?;
    let choices = format!("{TITLE} [y]es, [t]ext only (nothing runs), [N]o: ");
    let answer = line(&choices).await?.unwrap_or_default();
    Ok(match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Decision::Trusted,
        "t" | "text" => Decision::TextOnly,
        _ => Decision::Declined,
    })
}
