//! Brings the working tree to another branch or commit: what is not committed stays, or nothing
//! happens. Names that other programs obey are not changed by it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use contract::broker::{BrokerError, Changed};
use contract::protected::protected;

use super::git::{Git, Index};
use super::preferences::{Filter, Preferences};
use super::repository::{Head, Repository};
use super::tree::{self, Entry};
use super::{obeyed, reference, revision, staging, tag};

/// Where to go.
#[derive(Clone, Copy)]
pub(crate) enum Destination<'a> {
    /// A branch, or a commit by a tag or an id.
    Existing(&'a str),
    /// A branch that is made where `HEAD` is.
    Created(&'a str),
}

/// Goes there.
pub(crate) async fn perform(
    git: &Git,
    repository: &Repository,
    preferences: &Preferences,
    to: Destination<'_>,
) -> Result<Changed, BrokerError> {
    // From here on no other git changes the index or moves `HEAD`.
    let mut index = git.lock(&repository.own.join("index"))?;
    let mut pointer = git.lock(&repository.own.join("HEAD"))?;
    repository.is_idle()?;
    let before = repository.head()?;
    let from = reference::tip(repository, &before)?;
    let who = tag::who(git).await?;
    let (after, id) = match to {
        Destination::Created(name) => (fresh(repository, name)?, from.clone()),
        Destination::Existing(name) => {
            let (head, id) = existing(git, repository, name).await?;
            (head, Some(id))
        }
    };
    let mut files = Vec::new();
    git.copy_index(repository)?;
    if let Some(id) = id.as_deref().filter(|_| id != from) {
        files = changed(git, from.as_deref(), id).await?;
        check(git, preferences, &files).await?;
        update(git, from.as_deref(), id, &files).await?;
        if let Some((bytes, time)) = git.index()? {
            index.fill(&bytes)?;
            index.date(time)?;
            index.put()?;
        }
    }
    if let (Destination::Created(_), Head::Branch(name), Some(id)) = (to, &after, &id) {
        reference::create(git, repository, name, id)?;
    }
    pointer.fill(text(&after).as_bytes())?;
    pointer.put()?;
    let mut notes: Vec<String> =
        preferences.skipped(repository, &["post-checkout"]).into_iter().collect();
    notes.extend(log(
        repository,
        (&before, &after),
        (from.as_deref(), id.as_deref()),
        &who,
        preferences,
    ));
    let files = files.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Ok(Changed { branch: after.branch(), id, files, notes })
}

/// What `HEAD` holds.
fn text(head: &Head) -> String {
    match head {
        Head::Branch(name) => format!("ref: {name}\n"),
        Head::Detached(id) => format!("{id}\n"),
    }
}

/// A branch that is not there yet.
fn fresh(repository: &Repository, name: &str) -> Result<Head, BrokerError> {
    let full = format!("refs/heads/{name}");
    // Git takes the first for no branch at all.
    if name == "HEAD" || !reference::is_short(name) {
        return Err(BrokerError::Refused(format!("{name:?} cannot be the name of a branch")));
    }
    if reference::at(repository, &full)?.is_some() {
        return Err(BrokerError::Refused(format!("there is a branch {name} already")));
    }
    Ok(Head::Branch(full))
}

/// A branch, or else a commit.
async fn existing(
    git: &Git,
    repository: &Repository,
    name: &str,
) -> Result<(Head, String), BrokerError> {
    let full = format!("refs/heads/{name}");
    if reference::is_branch(&full)
        && let Some(id) = reference::at(repository, &full)?
    {
        if let Some(place) = elsewhere(repository, &full) {
            let place = place.display();
            return Err(BrokerError::Refused(format!("{name} is checked out by {place} already")));
        }
        return Ok((Head::Branch(full), id));
    }
    let id = revision::commit(git, repository, name).await?;
    Ok((Head::Detached(id.clone()), id))
}

/// Another working tree of this repository that stands on a branch.
fn elsewhere(repository: &Repository, branch: &str) -> Option<std::path::PathBuf> {
    let linked = fs::read_dir(repository.common.join("worktrees")).into_iter().flatten().flatten();
    let all = linked.map(|entry| entry.path()).chain([repository.common.clone()]);
    let is_there = |own: &Path| {
        let head = fs::read_to_string(own.join("HEAD")).unwrap_or_default();
        head.strip_prefix("ref:").is_some_and(|name| name.trim() == branch)
    };
    all.filter(|own| *own != repository.own).find(|own| is_there(own))
}

/// The files that are not the same in both commits.
async fn changed(git: &Git, from: Option<&str>, to: &str) -> Result<Vec<Vec<u8>>, BrokerError> {
    let words = match from {
        Some(from) => vec!["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to],
        None => vec!["ls-tree", "-r", "-z", "--name-only", to],
    };
    let printed = git.run(Index::Kept, &words, &[], b"").await?;
    Ok(staging::split(&printed).map(<[u8]>::to_owned).collect())
}

/// Refuses what would write files that are not for a model to write, or not as they have to be.
async fn check(git: &Git, preferences: &Preferences, files: &[Vec<u8>]) -> Result<(), BrokerError> {
    if preferences.is_sparse() {
        let text = "the repository is checked out in part only; use git itself";
        return Err(BrokerError::Refused(text.to_owned()));
    }
    for name in files {
        let is_kept = git.is_kept(name);
        let name = String::from_utf8_lossy(name);
        if is_kept {
            return Err(BrokerError::Refused(format!(
                "{name} differs there, and a rule denies it"
            )));
        }
        if let Some(known) = protected(&*name) {
            return Err(BrokerError::Refused(format!(
                "{name} differs there, and {known} is protected: programs obey what it holds; use \
                 git itself"
            )));
        }
    }
    for (file, filter) in staging::filtered(git, files).await? {
        if preferences.filter(&filter) == Filter::Needed {
            return Err(staging::unfiltered(&file, &filter));
        }
    }
    Ok(())
}

/// Changes those of the `files` that differ, and the copy of the index. Where something uncommitted would
/// be lost, git says so before anything changes.
async fn update(
    git: &Git,
    from: Option<&str>,
    to: &str,
    files: &[Vec<u8>],
) -> Result<(), BrokerError> {
    let refresh = ["update-index", "-q", "--refresh"];
    // That a file differs from the index is an answer here, not a failure.
    let _ = git.run(Index::Kept, &refresh, &[], b"").await;
    // Merging one tree alone would drop what is staged.
    let nothing =
        if from.is_none() { git.id(Index::Kept, &["mktree"], b"").await? } else { String::new() };
    let from = from.unwrap_or(&nothing);
    let trial = ["read-tree", "-n", "-m", "-u", from, to];
    git.run(Index::Kept, &trial, &[], b"").await.map_err(|error| match error {
        BrokerError::Failed(words) => {
            BrokerError::Refused(format!("{words}; commit what has changed, or put it away, first"))
        }
        other => other,
    })?;
    let words = ["diff-index", "--cached", "--raw", "-z", "--no-renames", to];
    let printed = git.run(Index::Kept, &words, &[], b"").await?;
    // What is the same in both commits and staged otherwise stays so.
    let files: BTreeSet<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let mut entries = Entry::all(&printed);
    entries.retain(|entry| files.contains(entry.name.as_os_str().as_bytes()));
    git.run(Index::Kept, &["read-tree", "-m", from, to], &[], b"").await?;
    let made = entries.iter().filter(|entry| entry.is_file());
    let made: Vec<_> = made.map(|entry| entry.name.as_os_str().as_bytes().to_owned()).collect();
    let made = git.make(&staging::joined(&made)).await?;
    obeyed::refuse(git, &made, &entries)?;
    tree::change(&git.root, &made, &entries)?;
    let _ = git.run(Index::Kept, &refresh, &[], b"").await;
    Ok(())
}

/// Writes the move into the log of `HEAD`; says so where that is not possible.
fn log(
    repository: &Repository,
    (before, after): (&Head, &Head),
    (from, to): (Option<&str>, Option<&str>),
    who: &str,
    preferences: &Preferences,
) -> Option<String> {
    let to = to?;
    let nothing = "0".repeat(to.len());
    let name = |head: &Head| match head {
        Head::Detached(id) => id.clone(),
        Head::Branch(name) => name.trim_start_matches("refs/heads/").to_owned(),
    };
    let (from, old, new) = (from.unwrap_or(&nothing), name(before), name(after));
    let line = format!("{from} {to} {who}\tcheckout: moving from {old} to {new}\n");
    // The branch itself does not move, so only the log of `HEAD` hears of it.
    let head = Head::Detached(to.to_owned());
    let logged = reference::log(repository, &head, &line, preferences.logs_moves());
    logged.err().map(|error| error.to_string())
}
