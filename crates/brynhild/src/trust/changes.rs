//! What is different from the bytes that were decided on.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::snapshot::{Kind, Snapshot};
use super::store::{Known, Store, is_private};

const MOST_LINES: usize = 200;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// `added`, `changed`, `removed`, or `mode changed`.
    pub(crate) what: &'static str,
    /// The file, from the project's root.
    pub(crate) path: String,
    /// The difference in words, where both texts are known.
    pub(crate) diff: Option<String>,
}

/// All differences between what was decided on and what is there.
pub(crate) fn changes(store: &Store, before: &[Known], after: &Snapshot) -> Vec<Change> {
    let old: BTreeMap<&str, &Known> =
        before.iter().map(|known| (known.path.as_str(), known)).collect();
    let mut changes = Vec::new();
    for entry in &after.entries {
        let path = entry.part.path.clone();
        match old.get(path.as_str()) {
            None => changes.push(Change { what: "added", path, diff: None }),
            Some(known) if known.hash != entry.hash => {
                let is_shown = entry.part.kind == Kind::File && !is_private(&path);
                let copied = store.copied(&known.hash).filter(|_| is_shown);
                let diff = copied.and_then(|bytes| diff(&bytes, &entry.bytes));
                changes.push(Change { what: "changed", path, diff });
            }
            Some(known) if known.mode != entry.mode => {
                let diff = Some(format!("mode {:o} became {:o}\n", known.mode, entry.mode));
                changes.push(Change { what: "mode changed", path, diff });
            }
            Some(_) => {}
        }
    }
    let is_there = |path: &str| after.entries.iter().any(|entry| entry.part.path == path);
    for known in before.iter().filter(|known| !is_there(&known.path)) {
        changes.push(Change { what: "removed", path: known.path.clone(), diff: None });
    }
    changes
}

fn diff(before: &[u8], after: &[u8]) -> Option<String> {
    let (before, after) = (std::str::from_utf8(before).ok()?, std::str::from_utf8(after).ok()?);
    let diff = tools::diff::between(before, after, 2, None);
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let mut shown: String = lines.iter().take(MOST_LINES).copied().collect();
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        let _ = writeln!(shown, "… {more} more lines");
    }
    Some(shown)
}
