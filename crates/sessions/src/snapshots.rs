//! What files held before calls changed them, so that a person can take a turn back.
//!
//! Nothing happens before the first call that could change something. A call that names its files
//! has those kept; one that could change any has the workspace looked through, which costs a look at
//! each file's times once its bytes are known. Nothing here touches the person's git, and nothing
//! that ignore files name is kept unless git tracks it. What somebody else changed meanwhile is never overwritten.

mod depot;
mod history;
mod place;
mod restore;
mod rules;
mod scan;
mod state;
mod stock;
mod survey;
mod tracked;
mod views;
mod workspace;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::event::{Level, What};
use contract::id::{SessionId, Timestamp};
use contract::policy::{Access, Action};
use contract::snapshots::{ChangedFile, Effect, Snapshots};
use tokio_util::sync::CancellationToken;

use depot::Depot;
use place::Keep;
use scan::{Already, Scan};
use state::{Change, Name, Record, State};
use stock::Stock;
use tracked::Indexes;
use workspace::{Pending, Workspace};

pub use history::{History, Standing, Turn};
pub use restore::Manner;
pub use views::{Content, FileView, KeptFile, Report, Wanted};

/// Files that an event names; the record has all of them.
const TOLD: usize = 100;

/// What is kept, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder for the snapshots of all workspaces.
    pub folder: PathBuf,
    /// The workspace, absolute and without symbolic links.
    pub root: PathBuf,
    /// Further folders that commands may write.
    pub others: Vec<PathBuf>,
    /// Bytes of the largest file that is kept.
    pub max_file: u64,
    /// Bytes that are kept for the workspace, all together.
    pub max_total: u64,
    /// Whether something makes sure that a command which may not write does not.
    pub is_confined: bool,
    /// Why a file must not be made at a path, though it was there once: what lies beside it now may
    /// have it run something.
    pub refuses: fn(&Path) -> Option<String>,
}

/// Keeps the snapshots of one session.
pub struct Keeper {
    settings: Settings,
    session: SessionId,
    workspace: Workspace,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    depot: Option<Depot>,
    stock: Option<Stock>,
    /// Calls that are running.
    open: usize,
    /// Paths that running calls named, as they were when last looked at.
    paths: BTreeMap<PathBuf, State>,
    /// Whether a running call can change anything.
    is_walk: bool,
    /// Changes that were found while calls were running, and that are not told yet.
    found: Vec<Change>,
    /// Where the journal of others' changes ended when the first running call began.
    journal: u64,
    /// Whether calls of another session ran meanwhile that could change anything, too.
    is_shared: bool,
    /// What to make of what this process has looked at before.
    known: Already,
    indexes: Indexes,
    has_complained: bool,
    /// Bytes that were left when something was last dropped.
    left: u64,
}

impl Keeper {
    /// Keeps the snapshots of `session`. Does nothing on disk until it must.
    pub fn new(settings: Settings, session: SessionId) -> Self {
        let workspace = Workspace::new(&settings.folder, &settings.root);
        Self { settings, session, workspace, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.settings.root.clone()];
        let is_apart = |path: &&PathBuf| !path.starts_with(&self.settings.root);
        roots.extend(self.settings.others.iter().filter(is_apart).cloned());
        roots
    }

    /// What calls could change: single paths, and whether anything.
    fn scope(&self, calls: &[Effect]) -> (Vec<PathBuf>, bool) {
        let mut paths = Vec::new();
        let mut is_walk = false;
        for call in calls {
            for action in &call.actions {
                match action {
                    Action::Write { path, .. } => paths.push(path.clone()),
                    Action::Run { .. } => {
                        is_walk |= call.access == Access::Workspace || !self.settings.is_confined;
                    }
                    Action::Opaque { .. } => is_walk = true,
                    Action::Read { .. } | Action::Connect { .. } | Action::LeaveSandbox { .. } => {}
                }
            }
        }
        (paths, is_walk)
    }

    fn try_before(&self, calls: &[Effect], cancel: &CancellationToken) -> io::Result<Vec<What>> {
        let (paths, is_walk) = self.scope(calls);
        if paths.is_empty() && !is_walk {
            return Ok(Vec::new());
        }
        let mut inner = self.inner();
        let inner = &mut *inner;
        let _held = self.workspace.lock()?;
        let depot = self.depot(&mut inner.depot)?;
        for path in paths {
            for path in with_missing_folders(&path) {
                if let Entry::Vacant(place) = inner.paths.entry(path) {
                    let state = keep(depot, &self.settings).look(place.key())?;
                    place.insert(state);
                }
            }
        }
        depot.flush()?;
        if inner.open <= 1 {
            inner.journal = self.workspace.journal_length();
        }
        let others = self.workspace.running(&self.session);
        inner.is_shared |= others.iter().any(|other| other.is_walk);
        let mut whats = Vec::new();
        if is_walk {
            let looked = self.look(inner, cancel)?;
            // What was different before the first call is not its doing.
            if inner.open > 1 {
                inner.found.extend(looked.changes);
            }
            if looked.is_partial && !inner.has_complained {
                inner.has_complained = true;
                whats.push(self.partial());
            }
            inner.is_walk = true;
        }
        let named = |(path, state): (&PathBuf, &State)| (Name::of(path.as_os_str()), state.clone());
        let pending = Pending {
            paths: inner.paths.iter().map(named).collect(),
            is_walk: inner.is_walk,
            process: std::process::id(),
        };
        self.workspace.announce(&self.session, &pending)?;
        Ok(whats)
    }

    /// The kept bytes, with what others have added.
    fn depot<'a>(&self, slot: &'a mut Option<Depot>) -> io::Result<&'a mut Depot> {
        let depot = match slot.take() {
            Some(mut depot) => {
                depot.refresh()?;
                depot
            }
            None => self.workspace.depot(self.settings.max_total)?,
        };
        Ok(slot.insert(depot))
    }

    /// Looks through the workspace. The lock must be held.
    fn look(&self, inner: &mut Inner, cancel: &CancellationToken) -> io::Result<Looked> {
        let stock = inner.stock.take();
        let mut stock = stock.unwrap_or_else(|| self.workspace.stock());
        let limit = self.settings.max_total;
        let depot = self.depot(&mut inner.depot)?;
        // Dropping copies what stays, so there has to be something to gain.
        if depot.total() > (limit / 4 * 3).max(inner.left + limit / 8) {
            self.workspace.prune(depot, limit / 2)?;
            stock.doubt_what_is_unkept();
            inner.left = depot.total();
        }
        let mut scan = Scan::new(keep(depot, &self.settings), inner.known, cancel);
        let stock = scan.run((&self.roots(), &mut inner.indexes), stock)?;
        let Scan { changes, is_changed, is_partial, .. } = scan;
        depot.flush()?;
        if is_changed {
            self.workspace.save(&stock)?;
        }
        inner.stock = Some(stock);
        inner.known = Already::Watched;
        Ok(Looked { changes, is_partial })
    }

    fn try_after(&self) -> io::Result<Vec<What>> {
        let mut inner = self.inner();
        let inner = &mut *inner;
        inner.open = inner.open.saturating_sub(1);
        if inner.paths.is_empty() && !inner.is_walk {
            return Ok(Vec::new());
        }
        let _held = self.workspace.lock()?;
        let mut walked = std::mem::take(&mut inner.found);
        if inner.is_walk {
            // What was begun is finished: half a look would tell half of the changes.
            walked.extend(self.look(inner, &CancellationToken::new())?.changes);
        }
        let mut named = Vec::new();
        let mut paths = std::mem::take(&mut inner.paths);
        let depot = self.depot(&mut inner.depot)?;
        for (path, before) in &mut paths {
            let after = keep(depot, &self.settings).look(path)?;
            let before = std::mem::replace(before, after.clone());
            named.push(Change::new(path, before, after));
        }
        let (mut named, mut walked) = (joined(named), joined(walked));
        walked.retain(|change| !paths.contains_key(&change.path()));
        self.leave_to_others(inner, &mut named, &mut walked);
        let certainty = if inner.is_shared { Certainty::Uncertain } else { Certainty::Certain };
        if inner.open == 0 {
            (inner.is_walk, inner.is_shared) = (false, false);
            self.workspace.settle(&self.session)?;
        } else {
            inner.paths = paths;
        }
        if certainty == Certainty::Certain {
            named.append(&mut walked);
        }
        let mut whats = self.told(inner, named, Certainty::Certain)?;
        whats.extend(self.told(inner, walked, Certainty::Uncertain)?);
        Ok(whats)
    }

    /// Takes out what another session has told as its own, or is about to.
    fn leave_to_others(
        &self,
        inner: &mut Inner,
        named: &mut Vec<Change>,
        walked: &mut Vec<Change>,
    ) {
        let others = self.workspace.running(&self.session);
        inner.is_shared |= others.iter().any(|other| other.is_walk);
        let theirs: BTreeSet<PathBuf> =
            others.iter().flat_map(|other| &other.paths).map(|(path, _)| path.path()).collect();
        walked.retain(|change| !theirs.contains(&change.path()));
        if self.workspace.journal_length() == inner.journal {
            return;
        }
        let claims = self.workspace.claimed(inner.journal, &self.session);
        inner.is_shared |= claims.has_uncertain;
        for changes in [named, walked] {
            for change in changes.iter_mut() {
                if let Some(left) = claims.certain.get(&change.path()) {
                    change.before = left.clone();
                }
            }
            changes.retain(|change| change.before != change.after);
        }
    }

    /// Keeps changes for good and tells of them.
    fn told(
        &self,
        inner: &mut Inner,
        changes: Vec<Change>,
        certainty: Certainty,
    ) -> io::Result<Vec<What>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        self.depot(&mut inner.depot)?.sync()?;
        let is_uncertain = certainty == Certainty::Uncertain;
        let record = Record { at: Timestamp::now(), is_uncertain, changes };
        let name = self.workspace.record(&self.session, &record)?;
        let (files, count) = self.files(&record.changes);
        Ok(vec![What::FilesChanged { record: name, files, count, uncertain: is_uncertain }])
    }

    /// The files of changes as people read them: the first of them, and how many there are.
    fn files(&self, changes: &[Change]) -> (Vec<ChangedFile>, u64) {
        let is_file = |change: &&Change| !change.is_about_folder();
        let files: Vec<&Change> = changes.iter().filter(is_file).collect();
        let shown = if files.is_empty() { changes.iter().collect() } else { files };
        let told = |change: &&Change| ChangedFile {
            path: self.short(&change.path()),
            change: change.kind(),
        };
        (shown.iter().take(TOLD).map(told).collect(), shown.len() as u64)
    }

    /// A path as people read it.
    fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.settings.root).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn try_recover(&self) -> io::Result<Vec<What>> {
        let Some((pending, base)) = self.workspace.announced(&self.session) else {
            return Ok(Vec::new());
        };
        let mut inner = self.inner();
        let inner = &mut *inner;
        let _held = self.workspace.lock()?;
        let mut changes = Vec::new();
        if pending.is_walk && !base.roots.is_empty() {
            inner.stock = Some(base);
            changes = self.look(inner, &CancellationToken::new())?.changes;
        }
        let depot = self.depot(&mut inner.depot)?;
        for (path, before) in pending.paths {
            let path = path.path();
            let after = keep(depot, &self.settings).look(&path)?;
            changes.push(Change::new(&path, before, after));
        }
        let whats = self.told(inner, joined(changes), Certainty::Uncertain)?;
        self.workspace.settle(&self.session)?;
        Ok(whats)
    }

    /// What people are told where the workspace is too large.
    fn partial(&self) -> What {
        let limit = self.settings.max_total >> 20;
        notice(
            format!(
                "the workspace is larger than what is kept for undo ({limit} MB, 200,000 files): \
                 some changes could not be undone"
            ),
            Some("`undo.max_total_mb` allows more; an ignore file leaves out what needs no undo"),
        )
    }

    fn complain(&self, error: &io::Error) -> Vec<What> {
        if error.kind() == io::ErrorKind::Interrupted {
            return Vec::new();
        }
        let mut inner = self.inner();
        // What was known may be wrong; what is on disk is looked at again.
        (inner.depot, inner.stock) = (None, None);
        if std::mem::replace(&mut inner.has_complained, true) {
            return Vec::new();
        }
        let folder = self.settings.folder.display();
        let text =
            format!("changes of files cannot be undone, snapshots fail in {folder}: {error}");
        vec![notice(text, Some("`undo.enabled: false` switches them off"))]
    }
}

/// What a look at the workspace found.
struct Looked {
    changes: Vec<Change>,
    is_partial: bool,
}

/// Whether somebody else may have made a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    Certain,
    Uncertain,
}

impl Snapshots for Keeper {
    fn before(&self, calls: &[Effect], cancel: &CancellationToken) -> Vec<What> {
        self.inner().open += 1;
        self.try_before(calls, cancel).unwrap_or_else(|error| self.complain(&error))
    }

    fn after(&self) -> Vec<What> {
        self.try_after().unwrap_or_else(|error| self.complain(&error))
    }

    fn recover(&self) -> Vec<What> {
        self.try_recover().unwrap_or_else(|error| self.complain(&error))
    }
}

fn keep<'a>(depot: &'a mut Depot, settings: &Settings) -> Keep<'a> {
    Keep { depot, max_file: settings.max_file }
}

fn notice(text: String, hint: Option<&str>) -> What {
    What::Notice { level: Level::Warning, text, hint: hint.map(str::to_owned) }
}

/// A path with the folders on the way to it that are not there yet.
fn with_missing_folders(path: &Path) -> Vec<PathBuf> {
    let is_missing = |folder: &&Path| folder.symlink_metadata().is_err();
    let missing = path.ancestors().skip(1).take_while(is_missing);
    std::iter::once(path).chain(missing).map(Path::to_path_buf).collect()
}

/// One change for each path, of several that follow each other.
fn joined(changes: Vec<Change>) -> Vec<Change> {
    let mut joined: BTreeMap<PathBuf, Change> = BTreeMap::new();
    for change in changes {
        match joined.entry(change.path()) {
            Entry::Occupied(mut known) => {
                known.get_mut().after = change.after;
            }
            Entry::Vacant(place) => drop(place.insert(change)),
        }
    }
    joined.into_values().filter(|change| change.before != change.after).collect()
}

/// Drops the snapshots of a session that is no more, and the bytes that nobody else needs.
pub(crate) fn forget(folder: &Path, session: &SessionId) -> io::Result<()> {
    Workspace::all(folder).iter().try_for_each(|workspace| workspace.forget(session))
}

/// Gives the snapshots of a session to its other name.
pub(crate) fn rename(folder: &Path, old: &SessionId, new: &SessionId) -> io::Result<()> {
    Workspace::all(folder).iter().try_for_each(|workspace| workspace.rename(old, new))
}

/// Gives the snapshots of a session to a copy of it as well.
pub(crate) fn copy(folder: &Path, old: &SessionId, new: &SessionId) -> io::Result<()> {
    Workspace::all(folder).iter().try_for_each(|workspace| workspace.copy(old, new))
}

#[cfg(test)]
mod tests;
