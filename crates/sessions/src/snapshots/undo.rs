//! The changes of turns as users see them, undo and redo.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use contract::event::{Change as Kind, ChangedFile, Direction, EventKind};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::restore::{OnConflict, Plan, Step, closed_directories};
use super::state::{Change, Record, State};
use super::{History, Inner, MAX_LISTED, SessionSnapshots, Turn, merged, shown};

/// A request to undo or redo.
#[derive(Clone, Copy, Debug)]
pub struct UndoRequest {
    /// How many turns.
    pub turns: usize,
    /// Says what to do with later changes.
    pub on_conflict: OnConflict,
    /// Nothing is done, only reported.
    pub is_dry: bool,
}

/// The outcome of a request.
#[derive(Debug, Serialize)]
pub struct UndoReport {
    /// Which way.
    pub direction: Direction,
    /// Nothing was done.
    pub dry_run: bool,
    /// The turns, by number; none where there is nothing to do.
    pub turns: Vec<u64>,
    /// The files that changed.
    pub files: Vec<ChangedFile>,
    /// The files that were left as they are.
    pub kept: Vec<UnrestoredFile>,
    /// Some of these would be overwritten by force.
    pub can_force: bool,
    /// The event to keep in the log; none where nothing happened.
    #[serde(skip)]
    pub event: Option<EventKind>,
}

/// A file that was left as it is.
#[derive(Debug, Serialize)]
pub struct UnrestoredFile {
    /// Relative to the session's directory where it is below it.
    pub path: String,
    /// SkipReason.
    pub why: String,
}

/// The change of one file in a turn.
#[derive(Debug)]
pub struct FileChange {
    /// Relative to the session's directory where it is below it.
    pub path: String,
    /// The kind of change.
    pub change: Kind,
    /// The content before.
    pub before: Content,
    /// The content afterwards.
    pub after: Content,
}

/// The content of a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// Its bytes; none if they were removed.
        bytes: Option<Vec<u8>>,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link to this.
    Link(PathBuf),
    /// A directory.
    Directory,
    /// A path that is not saved, and the reason.
    Unsaved(String),
}

impl SessionSnapshots {
    /// Takes the changes of the last turns back that stand.
    pub fn undo(&self, history: &History, wanted: UndoRequest) -> io::Result<UndoReport> {
        let turns = history.last(wanted.turns, wanted.on_conflict == OnConflict::Overwrite);
        let numbers: Vec<u64> = turns.iter().map(|turn| turn.number).collect();
        let names = turns.iter().flat_map(|turn| &turn.records);
        let records: Vec<Option<Record>> =
            names.map(|name| self.workspace.recorded(&self.session, name)).collect();
        self.restore(Direction::Undo, numbers, records, wanted)
    }

    /// Makes the changes again that were undone last.
    pub fn redo(&self, history: &History, wanted: UndoRequest) -> io::Result<UndoReport> {
        let Some(undone) = history.undone.last() else {
            return self.restore(Direction::Redo, Vec::new(), Vec::new(), wanted);
        };
        let record = self.workspace.recorded(&self.session, &undone.record);
        self.restore(Direction::Redo, undone.turns.clone(), vec![record], wanted)
    }

    fn restore(
        &self,
        direction: Direction,
        turns: Vec<u64>,
        records: Vec<Option<Record>>,
        wanted: UndoRequest,
    ) -> io::Result<UndoReport> {
        let mut report = UndoReport {
            direction,
            dry_run: wanted.is_dry,
            turns,
            files: Vec::new(),
            kept: Vec::new(),
            can_force: false,
            event: None,
        };
        if report.turns.is_empty() {
            return Ok(report);
        }
        if records.iter().any(Option::is_none) {
            let why = "the record of its changes is no longer stored".to_owned();
            let turns = report.turns.iter().map(|turn| format!("turn {turn}"));
            let path = turns.collect::<Vec<_>>().join(", ");
            report.kept.push(UnrestoredFile { path, why });
        }
        let mut records: Vec<Record> = records.into_iter().flatten().collect();
        let mut inner = self.inner();
        let inner = &mut *inner;
        let _lock = self.workspace.lock()?;
        report.kept.extend(self.unseen(inner, &records)?);
        let mut opened = Vec::new();
        if !wanted.is_dry {
            opened = self.open_directories(inner, &mut records, wanted.on_conflict)?;
        }
        let blobs = self.blobs(&mut inner.blobs)?;
        let mut reader = self.settings.reader(blobs);
        let mut plan = Plan::new(&mut reader, &self.settings, &records, wanted.on_conflict)?;
        let linked = self.settings.linked_git.as_ref();
        if wanted.is_dry {
            plan.report_lost_commits(linked);
        } else {
            // Files that will be overwritten are saved first, so that they can be restored.
            reader.blobs.sync()?;
            let done = plan.apply(&mut reader);
            plan.report_lost_commits(linked);
            let has_opened = !opened.is_empty();
            plan.steps.splice(0..0, opened);
            let is_settled = plan.kept.is_empty() && report.kept.is_empty();
            if !plan.steps.is_empty() || is_settled {
                report.event = Some(self.restored(&report, &plan, done)?);
            }
            if has_opened {
                // The next scan compares with the present content of the directories.
                self.look(inner, &CancellationToken::new())?;
            }
        }
        let steps = shown(plan.steps.iter().map(|step| &step.change));
        report.files = steps.into_iter().map(|change| self.file(change)).collect();
        report.can_force = plan.can_force;
        for (path, why) in plan.kept {
            report.kept.push(UnrestoredFile { path: self.short(&path), why });
        }
        Ok(report)
    }

    /// Opens the directories that `records` tell as closed, and adds what has become of the files in them
    /// where nobody could see it.
    fn open_directories(
        &self,
        inner: &mut Inner,
        records: &mut Vec<Record>,
        on_conflict: OnConflict,
    ) -> io::Result<Vec<Step>> {
        let mut opened: Vec<Step> = Vec::new();
        loop {
            let closed_directories = closed_directories(records);
            let mut reader = self.settings.reader(self.blobs(&mut inner.blobs)?);
            let mut plan =
                Plan::new(&mut reader, &self.settings, &closed_directories, on_conflict)?;
            plan.apply(&mut reader);
            // A path that cannot be restored is tried once.
            plan.steps.retain(|step| opened.iter().all(|done| done.path != step.path));
            if plan.steps.is_empty() {
                return Ok(opened);
            }
            let disclosing = plan.steps.iter().filter(|step| step.is_disclosing());
            let disclosed: Vec<PathBuf> = disclosing.map(|step| step.path.clone()).collect();
            opened.append(&mut plan.steps);
            if disclosed.is_empty() {
                continue;
            }
            let looked = self.look(inner, &CancellationToken::new())?;
            let changes = looked.map(|looked| looked.changes);
            let mut changes = changes.unwrap_or_default();
            changes.retain(|change| {
                let path = change.path();
                let is_within = disclosed.iter().any(|directory| path.starts_with(directory));
                is_within && opened.iter().all(|step| step.path != path)
            });
            // The turn may have changed them, or the user since.
            records.push(Record::uncertain(changes));
        }
    }

    /// The directories that the turns of `records` closed and that somebody has opened since: what the
    /// turns did in them is in no record.
    fn unseen(&self, inner: &mut Inner, records: &[Record]) -> io::Result<Vec<UnrestoredFile>> {
        let mut reader = self.settings.reader(self.blobs(&mut inner.blobs)?);
        let changes = records.iter().flat_map(|record| &record.changes);
        let latest: BTreeMap<PathBuf, &Change> = changes.map(|it| (it.path(), it)).collect();
        let mut kept = Vec::new();
        for (path, Change { before, after, .. }) in latest {
            let is_closed = before.is_directory() && after.hides_names();
            if is_closed && reader.look_again(&path, after).is_ok_and(|now| now != *after) {
                let why = "the turn closed it, so what it did in there was not seen".to_owned();
                kept.push(UnrestoredFile { path: self.short(&path), why });
            }
        }
        Ok(kept)
    }

    /// The event that tells of it; the record lets it be made again.
    fn restored(
        &self,
        report: &UndoReport,
        plan: &Plan,
        done: Vec<Change>,
    ) -> io::Result<EventKind> {
        let record = Record::certain(done);
        let name = self.workspace.record(&self.session, &record)?;
        let (files, count) = self.files(&record.changes);
        let kept = plan.kept.iter().map(|(path, _)| self.short(path)).take(MAX_LISTED);
        Ok(EventKind::FilesRestored {
            direction: report.direction,
            turns: report.turns.clone(),
            record: name,
            files: files.into_iter().map(|file| file.path).collect(),
            count,
            kept: kept.chain(report.kept.iter().map(|kept| kept.path.clone())).collect(),
        })
    }

    /// The changes of a turn; none if the record of it is gone.
    pub fn changes(&self, turn: &Turn) -> io::Result<Option<Vec<FileChange>>> {
        let read = |name: &String| self.workspace.recorded(&self.session, name);
        let Some(records) = turn.records.iter().map(read).collect::<Option<Vec<Record>>>() else {
            return Ok(None);
        };
        let changes = merged(records.into_iter().flat_map(|record| record.changes).collect());
        let mut inner = self.inner();
        let _lock = self.workspace.lock()?;
        let blobs = self.blobs(&mut inner.blobs)?;
        let mut content = |state: &State| -> io::Result<Content> {
            Ok(match state {
                State::Absent => Content::Absent,
                State::File { hash, mode, .. } => {
                    Content::File { bytes: blobs.get(*hash)?, mode: *mode }
                }
                State::Link { target } => Content::Link(target.path()),
                State::Directory { .. } => Content::Directory,
                State::Unsaved { why, .. } => Content::Unsaved(why.to_string()),
            })
        };
        let mut view = |change: &Change| -> io::Result<FileChange> {
            Ok(FileChange {
                path: self.short(&change.path()),
                change: change.kind(),
                before: content(&change.before)?,
                after: content(&change.after)?,
            })
        };
        shown(changes.iter()).into_iter().map(&mut view).collect::<io::Result<_>>().map(Some)
    }

    /// Where files went that were only given another name: by their old name.
    pub fn renamed(undo: &[FileChange]) -> BTreeMap<&str, &str> {
        let mut renamed = BTreeMap::new();
        let mut taken = Vec::new();
        for old in undo.iter().filter(|view| view.change == Kind::Deleted) {
            let is_same = |new: &&FileChange| {
                let is_file = new.after != Content::Directory;
                new.change == Kind::Created && new.after == old.before && is_file
            };
            let found = undo.iter().filter(is_same).find(|new| !taken.contains(&&new.path));
            if let Some(new) = found {
                taken.push(&new.path);
                renamed.insert(old.path.as_str(), new.path.as_str());
            }
        }
        renamed
    }
}
