//! Brings changes of the working tree into the index, and makes the tree of the commit from it.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use contract::broker::BrokerError;

use super::git::{Git, Index};
use super::preferences::{Filter, Preferences};
use super::repository::Repository;
use super::scope::Scope;
use super::submodules;
use crate::guard::QUARANTINE;

/// What is to be committed.
#[derive(Debug)]
pub(crate) struct Staged {
    /// The tree's id.
    pub(crate) tree: String,
    /// The files that differ from the commit before.
    pub(crate) files: Vec<String>,
    /// What was left out.
    pub(crate) notes: Vec<String>,
}

/// What differs between the index and the working tree.
#[derive(Debug, Default)]
struct Changes {
    present: Vec<Vec<u8>>,
    deleted: Vec<Vec<u8>>,
    notes: Vec<String>,
}

/// Stages what is in `scope`, and makes a tree of that and of nothing else, unless it is everything.
pub(crate) async fn stage(
    git: &Git,
    repository: &Repository,
    preferences: &Preferences,
    scope: &Scope,
    parent: Option<&str>,
) -> Result<Staged, BrokerError> {
    let unmerged = git.run(Index::Kept, &["ls-files", "-z", "-u"], &[], b"").await?;
    if !unmerged.is_empty() {
        return Err(BrokerError::InProgress("a merge with unresolved conflicts".to_owned()));
    }
    let mut changes = changes(git, scope).await?;
    leave_out_hidden(git, scope, &mut changes)?;
    check_filters(git, preferences, &mut changes).await?;
    if !changes.deleted.is_empty() {
        let words = ["update-index", "-z", "--force-remove", "--stdin"];
        git.run(Index::Kept, &words, &[], &joined(&changes.deleted)).await?;
    }
    if !changes.present.is_empty() {
        let words = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
        git.run(Index::Kept, &words, &[], &joined(&changes.present)).await?;
    }
    submodules::record(git, repository, scope).await?;
    let index = match scope {
        Scope::Everything => Index::Kept,
        Scope::Only(_) => {
            select(git, scope, parent, &changes).await?;
            Index::Committed
        }
    };
    let mut words = vec!["write-tree"];
    words.extend(preferences.is_partial().then_some("--missing-ok"));
    let tree = git.id(index, &words, b"").await?;
    let files = differences(git, &tree, parent).await?;
    if files.is_empty() {
        let what = match scope {
            Scope::Everything => "no file has changed since the last commit",
            Scope::Only(_) => "none of these files has changed since the last commit",
        };
        return Err(BrokerError::NothingToCommit(what.to_owned()));
    }
    Ok(Staged { tree, files, notes: changes.notes })
}

async fn changes(git: &Git, scope: &Scope) -> Result<Changes, BrokerError> {
    let mut changes = Changes::default();
    let words = [
        "diff-files",
        "-z",
        "--name-status",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        // Anything less starts git in every submodule.
        "--ignore-submodules=all",
    ];
    let printed = git.run(Index::Kept, &words, scope.paths(), b"").await?;
    let mut fields = split(&printed);
    while let (Some(status), Some(name)) = (fields.next(), fields.next()) {
        let list = if status == b"D" { &mut changes.deleted } else { &mut changes.present };
        list.push(name.to_owned());
    }
    let words = ["ls-files", "-z", "--others", "--exclude-standard"];
    let printed = git.run(Index::Kept, &words, scope.paths(), b"").await?;
    for name in split(&printed) {
        if let Some(folder) = name.strip_suffix(b"/") {
            let folder = String::from_utf8_lossy(folder);
            changes.notes.push(format!("{folder} is a repository of its own and is left out"));
        } else if !is_quarantined(name) {
            changes.present.push(name.to_owned());
        }
    }
    Ok(changes)
}

/// Leaves out what rules deny to read: whatever is in a repository can be read there. What was asked for by
/// its name is refused.
fn leave_out_hidden(git: &Git, scope: &Scope, changes: &mut Changes) -> Result<(), BrokerError> {
    let is_hidden = |path: &&PathBuf| git.is_hidden(path.as_os_str().as_bytes());
    if let Some(path) = scope.paths().iter().find(is_hidden) {
        let text = format!("{}: a rule denies reading it, so it is not committed", path.display());
        return Err(BrokerError::Refused(text));
    }
    let (hidden, present) =
        std::mem::take(&mut changes.present).into_iter().partition(|name| git.is_hidden(name));
    let hidden: Vec<Vec<u8>> = hidden;
    changes.present = present;
    for name in hidden {
        let name = String::from_utf8_lossy(&name).into_owned();
        changes.notes.push(format!("{name} is left out, because a rule denies reading it"));
    }
    Ok(())
}

/// Whether a file is one that was found planted, and moved away.
fn is_quarantined(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/').any(|part| part.starts_with(QUARANTINE.as_bytes()))
}

/// Refuses files that must not be stored without their filter, and tells of the others.
async fn check_filters(
    git: &Git,
    preferences: &Preferences,
    changes: &mut Changes,
) -> Result<(), BrokerError> {
    if changes.present.is_empty() {
        return Ok(());
    }
    let mut skipped = BTreeSet::new();
    for (file, filter) in filtered(git, &changes.present).await? {
        if preferences.filter(&filter) == Filter::Needed {
            return Err(unfiltered(&file, &filter));
        }
        skipped.insert(filter);
    }
    if !skipped.is_empty() {
        let names = skipped.into_iter().collect::<Vec<_>>().join(", ");
        changes.notes.push(format!("files are stored as they are, without filters: {names}"));
    }
    Ok(())
}

/// The files that attributes name a filter for, with that filter.
pub(crate) async fn filtered(
    git: &Git,
    names: &[Vec<u8>],
) -> Result<Vec<(String, String)>, BrokerError> {
    let words = ["check-attr", "-z", "--stdin", "filter"];
    let printed = git.run(Index::Kept, &words, &[], &joined(names)).await?;
    let fields: Vec<_> = split(&printed).map(String::from_utf8_lossy).collect();
    let is_named = |field: &&[std::borrow::Cow<'_, str>]| {
        !matches!(field[2].as_ref(), "unspecified" | "unset" | "set")
    };
    let fields = fields.chunks_exact(3).filter(is_named);
    Ok(fields.map(|field| (field[0].to_string(), field[2].to_string())).collect())
}

/// What is said of a file that must go through a filter.
pub(crate) fn unfiltered(file: &str, filter: &str) -> BrokerError {
    BrokerError::Refused(format!(
        "{file} has to go through the filter `{filter}`, and no filter is run here; use git itself"
    ))
}

/// Makes the commit's own index: the commit before, with what is in `scope` as it is in the index.
async fn select(
    git: &Git,
    scope: &Scope,
    parent: Option<&str>,
    changes: &Changes,
) -> Result<(), BrokerError> {
    if let Some(parent) = parent {
        git.run(Index::Committed, &["read-tree", parent], &[], b"").await?;
    }
    let words = ["ls-files", "-z", "-s"];
    let before = git.run(Index::Committed, &words, scope.paths(), b"").await?;
    let after = git.run(Index::Kept, &words, scope.paths(), b"").await?;
    let name = |entry: &'_ [u8]| entry.iter().position(|byte| *byte == b'\t').map(|at| at + 1);
    let names = |list| split(list).filter_map(move |entry: &[u8]| Some(&entry[name(entry)?..]));
    let known: Vec<&[u8]> = names(&before)
        .chain(names(&after))
        .chain(changes.deleted.iter().map(Vec::as_slice))
        .collect();
    if let Some(path) = scope.unmatched(&known) {
        let exists = git.root.join(path).symlink_metadata().is_ok();
        let path = path.display();
        return Err(if exists {
            BrokerError::NothingToCommit(format!("{path} is ignored, or a folder without files"))
        } else {
            BrokerError::Refused(format!("{path}: there is no such file, and there was none"))
        });
    }
    let mut lines = Vec::new();
    let nothing = "0".repeat(parent.map_or(40, str::len));
    for name in names(&before) {
        lines.extend_from_slice(format!("0 {nothing}\t").as_bytes());
        lines.extend_from_slice(name);
        lines.push(0);
    }
    lines.extend_from_slice(&after);
    git.run(Index::Committed, &["update-index", "-z", "--index-info"], &[], &lines).await?;
    Ok(())
}

async fn differences(
    git: &Git,
    tree: &str,
    parent: Option<&str>,
) -> Result<Vec<String>, BrokerError> {
    let printed = if let Some(parent) = parent {
        let before = format!("{parent}^{{tree}}");
        let words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &before, tree];
        git.run(Index::Kept, &words, &[], b"").await?
    } else {
        let words = ["ls-tree", "-r", "-z", "--name-only", tree];
        git.run(Index::Kept, &words, &[], b"").await?
    };
    Ok(split(&printed).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Names that git printed with NUL bytes between them.
pub(crate) fn split(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

/// Names with a NUL byte after each, as git reads them.
pub(crate) fn joined(names: &[Vec<u8>]) -> Vec<u8> {
    names.iter().flat_map(|name| name.iter().copied().chain([0])).collect()
}
