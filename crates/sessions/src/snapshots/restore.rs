//! Takes changes back, file by file, where nobody has touched a file since.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use files::exact_path::ExactPath;
use files::git::GitDirectories;
use files::protected::protected;

use super::git_state;
use super::state::{Change, Record, SkipReason, State};
use super::state_reader::StateReader;
use super::{Settings, git_objects};

/// The rights of the owner, without which nothing in a directory can be seen or changed.
const OWN: u32 = 0o700;
/// Those without which nothing in it can be seen.
const SIGHT: u32 = 0o500;
/// Refs without commits that are named.
const MAX_REFS: usize = 5;

/// The changes in `records` that took such rights from directories.
pub(super) fn closed_directories(records: &[Record]) -> Vec<Record> {
    let closes = |change: &&Change| match (&change.before, &change.after) {
        (State::Directory { mode: before }, State::Directory { mode: after }) => {
            before & !after & OWN != 0
        }
        _ => false,
    };
    let closing = |record: &Record| Record {
        changes: record.changes.iter().filter(closes).cloned().collect(),
        ..record.clone()
    };
    records.iter().map(closing).collect()
}

/// The steps of an undo or redo, and the paths that are left as they are.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) kept: Vec<(PathBuf, String)>,
    /// Some of these would be overwritten by force.
    pub(super) can_force: bool,
    /// Paths that are already as they should be, as a record tells them.
    already: Vec<Change>,
    /// The reasons and sizes of files that cannot be restored.
    lost: Vec<(SkipReason, u64)>,
    /// States that are in the way and could not be restored, either.
    forcible: Vec<State>,
}

/// One path that changes.
pub(super) struct Step {
    pub(super) path: PathBuf,
    /// The present state, and the one to be made.
    pub(super) change: Change,
    bytes: Option<Vec<u8>>,
}

impl Step {
    /// Returns true if it makes the names in a directory readable.
    pub(super) fn is_disclosing(&self) -> bool {
        self.change.before.hides_names()
    }
}

/// The treatment of later changes by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// They stay.
    Keep,
    /// They are overwritten.
    Overwrite,
}

/// One change of a path, and if another program may have made it.
struct Link<'a> {
    change: &'a Change,
    is_uncertain: bool,
}

impl Plan {
    /// Plans to undo `records`, which are in the order in which they were made.
    pub(super) fn new(
        reader: &mut StateReader<'_>,
        settings: &Settings,
        records: &[Record],
        on_conflict: OnConflict,
    ) -> io::Result<Self> {
        let mut chains: BTreeMap<PathBuf, Vec<Link<'_>>> = BTreeMap::new();
        for record in records {
            for change in &record.changes {
                let link = Link { change, is_uncertain: record.is_uncertain };
                chains.entry(change.path()).or_default().push(link);
            }
        }
        let mut plan = Self::default();
        for (path, mut chain) in chains {
            if let Some(why) = refusal(&path, settings, on_conflict) {
                plan.keep(path, why);
                continue;
            }
            let Some(Link { change: latest, is_uncertain }) = chain.pop() else { continue };
            let now = match reader.look_again(&path, &latest.after) {
                Ok(now) => now,
                Err(error) => {
                    plan.keep(path, error.to_string());
                    continue;
                }
            };
            let mut latest = latest.clone();
            let is_index = git_state::is_index(&path, settings.linked_git.as_ref());
            if is_index && reader.is_same_index(&now, &latest.after)? {
                latest.after = now.clone();
            }
            chain.push(Link { change: &latest, is_uncertain });
            plan.add(reader, path, now, (&chain, on_conflict))?;
        }
        plan.spare_what_was_moved();
        Ok(plan)
    }

    /// Leaves what cannot be brought back where it was moved to.
    fn spare_what_was_moved(&mut self) {
        let is_lost = |now: &State| match now {
            State::Unsaved { why, size, .. } => self.lost.contains(&(*why, *size)),
            State::Absent | State::File { .. } | State::Link { .. } | State::Directory { .. } => {
                false
            }
        };
        self.can_force |= self.forcible.iter().any(|now| !is_lost(now));
        let moved =
            |step: &mut Step| step.change.after == State::Absent && is_lost(&step.change.before);
        let moved: Vec<Step> = self.steps.extract_if(.., moved).collect();
        for step in moved {
            self.keep(step.path, "it was probably moved here, and could not be moved back");
        }
    }

    fn keep(&mut self, path: PathBuf, why: impl Into<String>) {
        self.kept.push((path, why.into()));
    }

    /// Decides about one path.
    fn add(
        &mut self,
        reader: &mut StateReader<'_>,
        path: PathBuf,
        now: State,
        (chain, on_conflict): (&[Link<'_>], OnConflict),
    ) -> io::Result<()> {
        let Some(latest) = chain.last() else { return Ok(()) };
        let (target, doubt) = match on_conflict {
            OnConflict::Overwrite => (chain[0].change.before.clone(), None),
            OnConflict::Keep => walk_back(&now, chain),
        };
        if let Some(why) = doubt {
            self.keep(path.clone(), why);
            self.can_force |= chain[0].change.before.unsaved().is_none();
        }
        if target == now {
            if doubt.is_none() {
                let made = latest.change.after.clone();
                self.already.push(Change::new(&path, made, now));
            }
            return Ok(());
        }
        if let State::Unsaved { why, size, .. } = target {
            self.keep(path, why.to_string());
            self.lost.push((why, size));
            return Ok(());
        }
        if let (Some(why), OnConflict::Keep) = (now.unsaved(), on_conflict) {
            // It is not saved, so `redo` could not restore it.
            let done = if target == State::Absent { "deleted" } else { "replaced" };
            self.keep(path, format!("{why}, so it was not {done}"));
            self.forcible.push(now);
            return Ok(());
        }
        let bytes = match target.hash().map(|hash| reader.blobs.get(hash)).transpose()? {
            Some(None) => {
                self.keep(path, "its content is no longer stored");
                return Ok(());
            }
            found => found.flatten(),
        };
        let change = Change::new(&path, now, target);
        self.steps.push(Step { path, change, bytes });
        Ok(())
    }

    /// Lists the refs that are restored, but whose commits are gone.
    pub(super) fn report_lost_commits(&mut self, linked: Option<&GitDirectories>) {
        let mut lost: BTreeMap<GitDirectories, BTreeSet<String>> = BTreeMap::new();
        for step in &self.steps {
            let Some(git) = git_state::repository_of(&step.path, linked) else { continue };
            let objects = git.common.join("objects");
            if self.kept.iter().any(|(path, _)| *path == objects) {
                continue;
            }
            let below = [&git.own, &git.common].map(|git| step.path.strip_prefix(git));
            let Some(below) = below.into_iter().find_map(Result::ok) else { continue };
            let text = step.bytes.as_deref().unwrap_or_default();
            let refs = git_objects::lost_refs(&objects, below, text);
            lost.entry(git).or_default().extend(refs);
        }
        for (git, refs) in lost.into_iter().filter(|(_, refs)| !refs.is_empty()) {
            let more = if refs.len() > MAX_REFS { " and others" } else { "" };
            let names: Vec<String> = refs.into_iter().take(MAX_REFS).collect();
            let names = names.join("`, `");
            let why = format!("the commits of `{names}`{more} were removed and cannot be restored");
            self.keep(git.own, why);
        }
    }

    /// Executes the plan. Returns the changes for a record; paths that failed are reported as left.
    pub(super) fn apply(&mut self, reader: &mut StateReader<'_>) -> Vec<Change> {
        // A path that changes from or to a directory must be free first.
        self.steps.sort_by(|a, b| a.path.cmp(&b.path));
        let steps = std::mem::take(&mut self.steps);
        let mut failed: BTreeMap<PathBuf, String> = BTreeMap::new();
        for step in steps.iter().rev() {
            if let Err(why) = step.clear(reader) {
                failed.insert(step.path.clone(), why);
            }
        }
        for step in &steps {
            if !failed.contains_key(&step.path)
                && let Err(error) = step.put()
            {
                failed.insert(step.path.clone(), error.to_string());
            }
        }
        for step in steps.iter().rev() {
            if !failed.contains_key(&step.path)
                && let Err(why) = step.close()
            {
                failed.insert(step.path.clone(), why);
            }
        }
        let mut done = std::mem::take(&mut self.already);
        for step in steps {
            if let Some(why) = failed.remove(&step.path) {
                self.keep(step.path, why);
            } else {
                done.push(step.change.clone());
                self.steps.push(step);
            }
        }
        done
    }
}

/// The oldest state that a path can be restored to, and the reason if it is not the first.
fn walk_back(now: &State, chain: &[Link<'_>]) -> (State, Option<&'static str>) {
    let mut at = now;
    for Link { change, is_uncertain } in chain.iter().rev() {
        if change.before == *at {
            continue;
        }
        // Nothing is lost where a directory gives way to a file or a file to a directory halfway.
        let is_halfway = *at == State::Absent
            && (change.before.is_directory() != change.after.is_directory())
            && change.before != State::Absent
            && change.after != State::Absent;
        if change.after != *at && !is_halfway {
            let why = if *at == State::Absent { "deleted since" } else { "changed since" };
            return (at.clone(), Some(why));
        }
        if *is_uncertain {
            return (at.clone(), Some("another program may have changed it"));
        }
        at = &change.before;
    }
    (at.clone(), None)
}

impl Step {
    /// Removes what is in the way or must go.
    fn clear(&self, reader: &mut StateReader<'_>) -> Result<(), String> {
        let Change { before: now, after: target, .. } = &self.change;
        match reader.look_again(&self.path, now) {
            Ok(found) if found == *now => {}
            Ok(_) => return Err("changed since".to_owned()),
            Err(error) => return Err(error.to_string()),
        }
        let is_in_the_way = *target == State::Absent || now.is_directory() != target.is_directory();
        if *now == State::Absent || !is_in_the_way {
            return Ok(());
        }
        let removed = ExactPath::open(&self.path).and_then(|path| {
            if now.is_directory() { path.remove_directory() } else { path.remove() }
        });
        removed.map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty => "something else is in it".to_owned(),
            _ => error.to_string(),
        })
    }

    /// Takes rights from a directory that it needed as long as something was put into it.
    fn close(&self) -> Result<(), String> {
        match self.change.after {
            State::Directory { mode } if mode & OWN != OWN => {
                let path = ExactPath::open(&self.path);
                path.and_then(|path| path.make_directory(mode)).map_err(|error| error.to_string())
            }
            _ => Ok(()),
        }
    }

    fn put(&self) -> io::Result<()> {
        let path = || ExactPath::open(&self.path);
        match &self.change.after {
            State::Absent | State::Unsaved { .. } => Ok(()),
            State::Directory { mode } => path()?.make_directory(mode | OWN),
            State::Link { target } => path()?.write_symlink(&target.path()),
            State::File { mode, .. } => {
                path()?.write(self.bytes.as_deref().unwrap_or_default(), Some(*mode))
            }
        }
    }
}

impl State {
    /// Returns true for a directory that nobody but root can look into.
    pub(super) fn hides_names(&self) -> bool {
        let is_root = rustix::process::geteuid().is_root();
        matches!(self, Self::Directory { mode } if mode & SIGHT != SIGHT) && !is_root
    }
}

/// The reason why a path is not examined.
fn refusal(path: &Path, settings: &Settings, on_conflict: OnConflict) -> Option<&'static str> {
    let Some(git) = git_state::repository_of(path, settings.linked_git.as_ref()) else {
        // Tools may not write it either.
        let below = path.strip_prefix(&settings.root).unwrap_or(path);
        return protected(below).map(|_| "it is protected");
    };
    if git.own.join("index.lock").exists() {
        return Some("a git command is running (`.git/index.lock`)");
    }
    let is_elsewhere =
        on_conflict == OnConflict::Keep && git_state::is_checked_out_elsewhere(&git, path);
    is_elsewhere.then_some("another worktree has this branch checked out")
}
