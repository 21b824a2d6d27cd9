//! Which files of a directory are served by a process that may write: those with a tool that says
//! that it changes something, and those that share state with them. Reads files and runs nothing.

use std::collections::BTreeSet;
use std::path::Path;

use ::files::bounded;

use super::facts::Facts;

const MAX_FILE_BYTES: usize = 16 << 20;

/// Names of state that files share in one process beside the globals of their own modules.
const SHARED: [&str; 3] = ["async_jobs", "task_list", "task_manager."];

pub(super) fn changing(facts: &Facts) -> BTreeSet<String> {
    let with_change = facts.tools.values().filter(|tool| tool.is_destructive);
    let mut changing: BTreeSet<String> = with_change.map(|tool| tool.file.clone()).collect();
    let all: BTreeSet<&String> = facts.tools.values().map(|tool| &tool.file).collect();
    if changing.is_empty() || changing.len() == all.len() {
        return changing;
    }
    // A file that cannot be read shares nothing.
    let texts: Vec<(&String, String)> = all
        .into_iter()
        .map(|file| (file, bounded::head(Path::new(file), MAX_FILE_BYTES).unwrap_or_default()))
        .map(|(file, bytes)| (file, String::from_utf8_lossy(&bytes).into_owned()))
        .collect();
    for name in SHARED {
        let sharing = || texts.iter().filter(|(_, text)| text.contains(name));
        if sharing().any(|(file, _)| changing.contains(*file)) {
            changing.extend(sharing().map(|(file, _)| (*file).clone()));
        }
    }
    changing
}
