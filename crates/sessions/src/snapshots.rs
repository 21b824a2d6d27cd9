//! Snapshots of files before calls change them, so that a user can undo a turn.
//!
//! The first call that could change anything has the workspace taken in once; after that, each call
//! costs a look at the paths that the change tracker reports. Covered are all files, ignored or
//! not, except regenerable directories and files above a size, and the state of git (refs, HEAD,
//! index, stash). A file that somebody else changed meanwhile is never overwritten.

mod blob_store;
mod description;
mod git_objects;
mod git_state;
mod history;

mod restore;
mod scan;
mod state;
mod state_reader;
mod tree_cache;
mod undo;
mod workspace_store;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::action::Action;
use contract::event::{ChangedFile, EventKind, Level};
use contract::id::SessionId;
use contract::sandbox::Access;
use contract::snapshots::{Effect, Snapshots};
use files::changes::{ChangeTracker, Changes, Cursor};
use files::git::GitDirectories;
use tokio_util::sync::CancellationToken;

use blob_store::BlobStore;

use scan::{Scan, Size};
use state::{Change, Hash, Name, Record, SkipReason, State};
use state_reader::StateReader;
use tree_cache::TreeCache;
use workspace_store::{Pending, Workspace};

pub use history::{History, Turn, TurnState};
pub use restore::OnConflict;
pub use undo::{Content, FileChange, UndoReport, UndoRequest, UnrestoredFile};

/// Files that an event names; the record has all of them.
const MAX_LISTED: usize = 100;

/// Limits and places of snapshots.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory for the snapshots of all workspaces.
    pub directory: PathBuf,
    /// The workspace, absolute and without symbolic links.
    pub root: PathBuf,
    /// Tracks the changes in `root`.
    pub tracker: Arc<ChangeTracker>,
    /// Further directories that commands may write.
    pub others: Vec<PathBuf>,
    /// Bytes of the largest file that is saved.
    pub max_file: u64,
    /// Bytes that are saved for the workspace, all together.
    pub max_total: u64,
    /// A sandbox makes sure that a command which may not write does not.
    pub is_confined: bool,
    /// The git directories of `root`, if they are outside of it and name it in turn.
    pub linked_git: Option<GitDirectories>,
}

impl Settings {
    fn reader<'a>(&self, blobs: &'a mut BlobStore) -> StateReader<'a> {
        StateReader { blobs, max_file: self.max_file }
    }
}

/// Keeps the snapshots of one session.
pub struct SessionSnapshots {
    settings: Settings,
    session: SessionId,
    workspace: Workspace,
    /// The workspace and the further directories, each with its tracker.
    roots: Vec<Arc<ChangeTracker>>,
    /// Tracks the common git directory of `Settings::linked_git`.
    linked_git: Option<ChangeTracker>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    blobs: Option<BlobStore>,
    known: Option<TreeCache>,
    /// Up to where the changes of each root are known; without one, it has to be scanned.
    cursors: Vec<Cursor>,
    /// Calls that are running.
    open: usize,
    /// Paths that running calls named, as they were when last looked at.
    paths: BTreeMap<PathBuf, State>,
    /// A running call can change anything.
    is_walk: bool,
    /// Changes that were found while calls were running, and are not reported yet.
    found: Vec<Change>,
    /// Where the journal of others' changes ended when the first running call began.
    journal: u64,
    /// Calls of another session ran meanwhile that could change anything, too.
    is_shared: bool,
    /// The hints of warnings that the user has seen.
    hints: BTreeSet<String>,
    /// An error if the workspace is too large for undo; none if that is not known.
    fit: Option<Result<(), String>>,
    /// SkipReason the last snapshot failed.
    failure: Option<String>,
    /// Bytes that were left when something was last dropped.
    left: u64,
}

impl Inner {
    /// A warning, unless the user has seen one with this hint.
    fn warn_once(&mut self, text: String, hint: String) -> Option<EventKind> {
        let is_new = self.hints.insert(hint.clone());
        is_new.then_some(EventKind::Notice {
            level: Level::Warning,
            text,
            hint: Some(hint),
            topic: None,
        })
    }

    fn too_large(&self) -> Option<String> {
        self.fit.clone()?.err()
    }
}

impl SessionSnapshots {
    /// Keeps the snapshots of `session`. Does nothing on disk until it must.
    pub fn new(settings: Settings, session: SessionId) -> Self {
        let workspace = Workspace::new(&settings.directory, &settings.root);
        let is_apart = |path: &&PathBuf| !path.starts_with(&settings.root);
        let others = settings.others.iter().filter(is_apart).cloned();
        let mut roots = vec![Arc::clone(&settings.tracker)];
        roots.extend(others.map(|root| Arc::new(ChangeTracker::new(root))));
        let linked = settings.linked_git.as_ref().map(|git| git.common.clone());
        let linked_git = linked.map(ChangeTracker::new);
        Self { settings, session, workspace, roots, linked_git, inner: Mutex::default() }
    }

    /// Returns an error if commands cannot be undone: the workspace is too large, or the last
    /// snapshot failed. Measures a workspace that was never taken in.
    pub fn covers(&self) -> Result<(), String> {
        let mut inner = self.inner();
        if inner.fit.is_none() && !self.workspace.is_known() {
            self.measure(&mut inner);
        }
        inner.too_large().or_else(|| inner.failure.clone()).map_or(Ok(()), Err)
    }

    /// Finds out if the workspace fits.
    fn measure(&self, inner: &mut Inner) {
        let (max_file, max_total) = (self.settings.max_file, self.settings.max_total);
        let mut size = Size::default();
        for tracker in &self.roots {
            scan::measure(tracker.root(), max_file, max_total, &mut size);
        }
        self.judge(inner, size);
    }

    fn judge(&self, inner: &mut Inner, size: Size) {
        let (most, limit) = (scan::MAX_ENTRIES, scan::budget(self.settings.max_total) >> 20);
        let why = || format!("the project has more than {most} files or {limit} MB");
        inner.fit = Some(size.fits(self.settings.max_total).then_some(()).ok_or_else(why));
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The single paths that calls could change, and if they could change anything.
    fn scope(&self, calls: &[Effect]) -> (Vec<PathBuf>, bool) {
        let mut paths = Vec::new();
        let mut is_walk = false;
        for call in calls {
            for action in &call.actions {
                match action {
                    Action::Write { path, .. } => paths.push(path.clone()),
                    Action::Run { .. } => {
                        is_walk |= call.access != Access::ReadOnly || !self.settings.is_confined;
                    }
                    Action::Opaque { .. } => is_walk |= call.access != Access::ReadOnly,
                    Action::Read { .. } | Action::Connect { .. } | Action::LeaveSandbox { .. } => {}
                }
            }
        }
        (paths, is_walk)
    }

    fn try_before(
        &self,
        calls: &[Effect],
        cancel: &CancellationToken,
    ) -> io::Result<Vec<EventKind>> {
        let (paths, is_walk) = self.scope(calls);
        if paths.is_empty() && !is_walk {
            return Ok(Vec::new());
        }
        let mut inner = self.inner();
        let inner = &mut *inner;
        let _lock = self.workspace.lock()?;
        let blobs = self.blobs(&mut inner.blobs)?;
        for path in paths {
            for path in with_missing_directories(&path) {
                if let Entry::Vacant(place) = inner.paths.entry(path) {
                    let state = self.settings.reader(blobs).look(place.key())?;
                    place.insert(state);
                }
            }
        }
        blobs.flush()?;
        if inner.open <= 1 {
            inner.journal = self.workspace.journal_length();
        }
        let others = self.workspace.running(&self.session);
        inner.is_shared |= others.iter().any(|other| other.is_walk);
        let mut events = Vec::new();
        if is_walk && let Some(looked) = self.look(inner, cancel)? {
            // What was different before the first call is not its doing. After a failed snapshot
            // nobody knows whose doing it is.
            if inner.open > 1 || inner.is_walk {
                inner.found.extend(looked.changes);
            }
            inner.is_shared |= inner.open <= 1 && inner.is_walk;
            inner.is_walk = true;
            if looked.is_partial {
                events.extend(self.report_gap(inner, "some files found no room"));
            }
        }
        if let Some(why) = inner.too_large().filter(|_| is_walk) {
            events.extend(self.report_gap(inner, &why));
        }
        self.save(inner)?;
        let named = |(path, state): (&PathBuf, &State)| (Name::of(path.as_os_str()), state.clone());
        let pending = Pending {
            paths: inner.paths.iter().map(named).collect(),
            is_walk: inner.is_walk,
            base: self.workspace.position().filter(|_| inner.is_walk),
            process: std::process::id(),
        };
        self.workspace.announce(&self.session, &pending)?;
        inner.failure = None;
        Ok(events)
    }

    /// The saved bytes, with additions of other processes.
    fn blobs<'a>(&self, slot: &'a mut Option<BlobStore>) -> io::Result<&'a mut BlobStore> {
        let blobs = match slot.take() {
            Some(mut blobs) => {
                blobs.refresh()?;
                blobs
            }
            None => self.workspace.blobs(self.settings.max_total)?,
        };
        Ok(slot.insert(blobs))
    }

    /// Updates the cache; none if the workspace is too large. The lock must be held.
    fn look(
        &self,
        inner: &mut Inner,
        cancel: &CancellationToken,
    ) -> io::Result<Option<ScanResult>> {
        let mut known = inner.known.take().unwrap_or_else(|| self.workspace.tree_cache());
        if inner.fit.is_none() && !known.is_directory(&self.settings.root) {
            self.measure(inner);
        }
        if inner.too_large().is_some() {
            return Ok(None);
        }
        self.make_room(inner, &known)?;
        let cursors = std::mem::take(&mut inner.cursors);
        let blobs = self.blobs(&mut inner.blobs)?;
        let linked = self.settings.linked_git.as_ref();
        let mut scan = Scan::new(self.settings.reader(blobs), &mut known, linked, cancel);
        let mut next = Vec::new();
        let mut was_scanned = false;
        let roots = self.roots.iter().map(AsRef::as_ref);
        for (number, tracker) in roots.chain(&self.linked_git).enumerate() {
            let cursor = tracker.cursor();
            let since = cursors.get(number).copied();
            match since.map_or(Changes::Unknown, |since| tracker.since(since)) {
                Changes::Paths(paths) if paths.is_empty() => {}
                _ if number == self.roots.len() => scan.linked_git()?,
                Changes::Paths(paths) => scan.paths(tracker.root(), &paths)?,
                Changes::Unknown => was_scanned |= scan.whole(tracker.root())?,
            }
            next.push(cursor);
        }
        let Scan { changes, is_partial, .. } = scan;
        blobs.flush()?;
        inner.cursors = next;
        if was_scanned {
            self.judge(inner, Size { entries: known.len(), bytes: known.total() });
        }
        inner.known = Some(known);
        Ok(Some(ScanResult { changes, is_partial }))
    }

    /// Drops versions that nobody needs if the store is nearly full and that helps.
    fn make_room(&self, inner: &mut Inner, known: &TreeCache) -> io::Result<()> {
        let limit = self.settings.max_total;
        let (full, left) = (scan::budget(limit), inner.left);
        let blobs = self.blobs(&mut inner.blobs)?;
        if blobs.total() <= full.max(left + limit / 8) {
            return Ok(());
        }
        let mut live: BTreeSet<Hash> = BTreeSet::new();
        known.states(&mut |state| live.extend(state.hash()));
        let needed: u64 = live.iter().map(|hash| blobs.length(*hash)).sum();
        if blobs.total() - needed.min(blobs.total()) > limit / 8 {
            self.workspace.prune(blobs, (limit / 2).max(needed + limit / 8))?;
        }
        inner.left = blobs.total();
        Ok(())
    }

    fn save(&self, inner: &mut Inner) -> io::Result<()> {
        if inner.too_large().is_some() {
            inner.known = None;
            return self.workspace.forget_cache();
        }
        inner.known.as_mut().map_or(Ok(()), |known| self.workspace.save(known))
    }

    fn try_after(&self) -> io::Result<Vec<EventKind>> {
        let mut inner = self.inner();
        let inner = &mut *inner;
        inner.open = inner.open.saturating_sub(1);
        if inner.paths.is_empty() && !inner.is_walk {
            return Ok(Vec::new());
        }
        let _lock = self.workspace.lock()?;
        if inner.is_walk {
            // A scan is always finished: half of it would report half of the changes.
            let looked = self.look(inner, &CancellationToken::new())?;
            inner.found.extend(looked.into_iter().flat_map(|looked| looked.changes));
        }
        let mut named = Vec::new();
        let mut paths = inner.paths.clone();
        let blobs = self.blobs(&mut inner.blobs)?;
        for (path, before) in &mut paths {
            let after = self.settings.reader(blobs).look(path)?;
            let before = std::mem::replace(before, after.clone());
            named.push(Change::new(path, before, after));
        }
        let (mut named, mut walked) = (merged(named), merged(inner.found.clone()));
        walked.retain(|change| !paths.contains_key(&change.path()));
        self.leave_to_others(inner, &mut named, &mut walked);
        if !inner.is_shared {
            named.append(&mut walked);
        }
        let mut events = self.record(inner, &Record::certain(named))?;
        events.extend(self.record(inner, &Record::uncertain(walked))?);
        self.save(inner)?;
        inner.found.clear();
        inner.paths = paths;
        if inner.open == 0 {
            inner.paths.clear();
            (inner.is_walk, inner.is_shared) = (false, false);
            self.workspace.settle(&self.session)?;
        }
        inner.failure = None;
        Ok(events)
    }

    /// Takes out the changes that another session has recorded as its own, or is about to.
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

    /// Saves changes and returns the events about them.
    fn record(&self, inner: &mut Inner, record: &Record) -> io::Result<Vec<EventKind>> {
        if record.changes.is_empty() {
            return Ok(Vec::new());
        }
        self.blobs(&mut inner.blobs)?.sync()?;
        let name = self.workspace.record(&self.session, record)?;
        let (files, count) = self.files(&record.changes);
        let uncertain = record.is_uncertain;
        let mut events = vec![EventKind::FilesChanged { record: name, files, count, uncertain }];
        events.extend(self.report_large(inner, &record.changes));
        Ok(events)
    }

    /// Says once which files are too large for undo, when the first of them changes.
    fn report_large(&self, inner: &mut Inner, changes: &[Change]) -> Option<EventKind> {
        let is_large = |change: &&Change| change.before.unsaved() == Some(SkipReason::TooLarge);
        let large = changes.iter().find(is_large)?;
        let (path, limit) = (self.short(&large.path()), self.settings.max_file >> 20);
        let text = format!("undo cannot restore `{path}`: it is larger than {limit} MB");
        inner.warn_once(text, "`undo.max_file_mb` allows more".to_owned())
    }

    /// The files of changes as users read them: the first of them, and how many there are.
    fn files(&self, changes: &[Change]) -> (Vec<ChangedFile>, u64) {
        let shown = shown(changes.iter());
        let files = shown.iter().take(MAX_LISTED).map(|change| self.file(change));
        (files.collect(), shown.len() as u64)
    }

    fn file(&self, change: &Change) -> ChangedFile {
        ChangedFile { path: self.short(&change.path()), change: change.kind() }
    }

    /// A path as users read it.
    fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.settings.root).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn try_recover(&self) -> io::Result<Vec<EventKind>> {
        let Some((pending, base)) = self.workspace.announced(&self.session) else {
            return Ok(Vec::new());
        };
        let mut inner = self.inner();
        let inner = &mut *inner;
        let _lock = self.workspace.lock()?;
        let mut changes = Vec::new();
        if let Some(base) = base {
            inner.known = Some(base);
            let looked = self.look(inner, &CancellationToken::new())?;
            changes = looked.into_iter().flat_map(|looked| looked.changes).collect();
        }
        let blobs = self.blobs(&mut inner.blobs)?;
        for (path, before) in pending.paths {
            let path = path.path();
            let after = self.settings.reader(blobs).look(&path)?;
            changes.push(Change::new(&path, before, after));
        }
        let events = self.record(inner, &Record::uncertain(merged(changes)))?;
        self.workspace.settle(&self.session)?;
        // The base is older than what others have saved since.
        (inner.known, inner.cursors) = (None, Vec::new());
        Ok(events)
    }

    /// Says once that not everything can be undone.
    fn report_gap(&self, inner: &mut Inner, why: &str) -> Option<EventKind> {
        let limit = self.settings.max_total >> 20;
        inner.warn_once(
            format!("undo does not cover all changes of commands: {why}"),
            format!("`undo.max_total_mb` (now {limit}) allows more"),
        )
    }

    fn report_failure(&self, error: &io::Error) -> Vec<EventKind> {
        let mut inner = self.inner();
        // The cache may be wrong; the disk is read again.
        (inner.blobs, inner.known, inner.cursors) = (None, None, Vec::new());
        if error.kind() == io::ErrorKind::Interrupted {
            return Vec::new();
        }
        let directory = self.settings.directory.display();
        let text = format!("cannot save snapshots in {directory}: {error}");
        inner.failure = Some(text.clone());
        let text = format!("file changes cannot be undone: {text}");
        let hint = "`undo.enabled: false` disables undo".to_owned();
        inner.warn_once(text, hint).into_iter().collect()
    }
}

/// The result of a look at the workspace.
struct ScanResult {
    changes: Vec<Change>,
    is_partial: bool,
}

impl Snapshots for SessionSnapshots {
    fn before(&self, calls: &[Effect], cancel: &CancellationToken) -> Vec<EventKind> {
        self.inner().open += 1;
        self.try_before(calls, cancel).unwrap_or_else(|error| self.report_failure(&error))
    }

    fn after(&self) -> Vec<EventKind> {
        self.try_after().unwrap_or_else(|error| self.report_failure(&error))
    }

    fn recover(&self) -> Vec<EventKind> {
        self.try_recover().unwrap_or_else(|error| self.report_failure(&error))
    }
}

/// A path with the directories on the way to it that are not there yet.
fn with_missing_directories(path: &Path) -> Vec<PathBuf> {
    let is_missing = |directory: &&Path| directory.symlink_metadata().is_err();
    let missing = path.ancestors().skip(1).take_while(is_missing);
    std::iter::once(path).chain(missing).map(Path::to_path_buf).collect()
}

/// The changes that users read: directories only if nothing else changed.
fn shown<'a>(changes: impl Iterator<Item = &'a Change> + Clone) -> Vec<&'a Change> {
    let files: Vec<_> = changes.clone().filter(|change| !change.is_about_directory()).collect();
    if files.is_empty() { changes.collect() } else { files }
}

/// One change for each path, of several that follow each other.
fn merged(changes: Vec<Change>) -> Vec<Change> {
    let mut merged: BTreeMap<PathBuf, Change> = BTreeMap::new();
    for change in changes {
        match merged.entry(change.path()) {
            Entry::Occupied(mut known) => {
                known.get_mut().after = change.after;
            }
            Entry::Vacant(place) => drop(place.insert(change)),
        }
    }
    merged.into_values().filter(|change| change.before != change.after).collect()
}

/// Changes the snapshots of every workspace.
pub(crate) fn each_workspace(
    directory: &Path,
    change: impl FnMut(&Workspace) -> io::Result<()>,
) -> io::Result<()> {
    Workspace::all(directory).iter().try_for_each(change)
}

#[cfg(test)]
mod tests;
