//! Differences between the files that were decided on and the files that are there.

use std::fmt::Write as _;

use crate::program::Program;
use crate::snapshot::Snapshot;
use crate::store::KnownFile;

const MAX_LINES: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// `added`, `changed`, `removed`, or `mode changed`.
    pub(crate) kind: &'static str,
    pub(crate) path: String,
    pub(crate) diff: Option<String>,
}

pub(crate) fn changes(before: &[KnownFile], after: &Snapshot, program: &Program) -> Vec<Change> {
    let mut changes = Vec::new();
    for entry in &after.entries {
        let path = entry.part.path.clone();
        match before.iter().find(|known| known.path == path) {
            None => changes.push(Change { kind: "added", path, diff: None }),
            Some(known) if known.hash != entry.hash => {
                let diff = known.text.as_deref().and_then(|text| diff(text, &entry.bytes, program));
                changes.push(Change { kind: "changed", path, diff });
            }
            Some(known) if known.mode != entry.mode => {
                let diff = Some(format!("mode {:o} became {:o}\n", known.mode, entry.mode));
                changes.push(Change { kind: "mode changed", path, diff });
            }
            Some(_) => {}
        }
    }
    let is_there = |path: &str| after.entries.iter().any(|entry| entry.part.path == path);
    for known in before.iter().filter(|known| !is_there(&known.path)) {
        changes.push(Change { kind: "removed", path: known.path.clone(), diff: None });
    }
    changes
}

fn diff(before: &str, after: &[u8], program: &Program) -> Option<String> {
    let diff = (program.diff)(before, std::str::from_utf8(after).ok()?);
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let mut shown: String = lines.iter().take(MAX_LINES).copied().collect();
    if lines.len() > MAX_LINES {
        let _ = writeln!(shown, "… {} more lines", lines.len() - MAX_LINES);
    }
    Some(shown)
}
