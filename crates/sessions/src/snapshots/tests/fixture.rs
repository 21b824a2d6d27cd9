//! A workspace with a session whose calls are played by closures.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use contract::action::Action;
use contract::event::{Direction, Event, EventKind, Outcome};
use contract::id::{SessionId, Timestamp};
use contract::message::{StopReason, Usage};
use contract::sandbox::Access;
use contract::snapshots::{Effect, Snapshots};
use files::changes::ChangeTracker;
use files::git::GitDirectories;
use tokio_util::sync::CancellationToken;

use super::super::{History, OnConflict, SessionSnapshots, Settings, UndoReport, UndoRequest};
use crate::samples;

pub(super) struct Rig {
    directory: Rc<tempfile::TempDir>,
    settings: Settings,
    keeper: SessionSnapshots,
    log: RefCell<Vec<Event>>,
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with_limits(1 << 20, 64 << 20)
    }

    pub(super) fn with_limits(max_file: u64, max_total: u64) -> Self {
        let directory = Rc::new(tempfile::tempdir().unwrap());
        let base = directory.path().canonicalize().unwrap();
        fs::create_dir(base.join("work")).unwrap();
        let root = base.join("work");
        let settings = Settings {
            directory: base.join("store"),
            tracker: Arc::new(ChangeTracker::new(root.clone())),
            root,
            others: Vec::new(),
            max_file,
            max_total,
            is_confined: true,
            linked_git: None,
        };
        Self::made(directory, settings, "sample", Vec::new())
    }

    fn made(
        directory: Rc<tempfile::TempDir>,
        settings: Settings,
        session: &str,
        log: Vec<Event>,
    ) -> Self {
        let keeper = SessionSnapshots::new(settings.clone(), SessionId::parse(session).unwrap());
        Self { directory, settings, keeper, log: RefCell::new(log) }
    }

    /// Adds another directory that commands may write.
    pub(super) fn with_other(mut self, directory: &Path) -> Self {
        self.settings.others.push(directory.to_owned());
        Self::made(self.directory, self.settings, "sample", Vec::new())
    }

    /// Adds git directories outside of the workspace.
    pub(super) fn with_linked_git(mut self, git: GitDirectories) -> Self {
        self.settings.linked_git = Some(git);
        Self::made(self.directory, self.settings, "sample", Vec::new())
    }

    /// Another session in the same workspace.
    pub(super) fn another(&self, session: &str) -> Self {
        Self::made(Rc::clone(&self.directory), self.settings.clone(), session, Vec::new())
    }

    /// This session in another process.
    pub(super) fn restarted(&self) -> Self {
        let log = self.log.borrow().clone();
        Self::made(Rc::clone(&self.directory), self.settings.clone(), "sample", log)
    }

    pub(super) fn keeper(&self) -> &SessionSnapshots {
        &self.keeper
    }

    pub(super) fn store_directory(&self) -> &Path {
        &self.settings.directory
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.settings.root.join(path)
    }

    pub(super) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Everything that is there.
    pub(super) fn tree(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        fn visit(directory: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                let mode = metadata.permissions().mode();
                if metadata.is_symlink() {
                    let target = fs::read_link(&path).unwrap();
                    let target = target.into_os_string().into_encoded_bytes();
                    found.insert(path, (0, target));
                } else if metadata.is_dir() {
                    visit(&path, found);
                    found.insert(path, (mode, Vec::new()));
                } else {
                    let bytes = fs::read(&path).unwrap();
                    found.insert(path, (mode, bytes));
                }
            }
        }
        let mut found = BTreeMap::new();
        visit(&self.settings.root, &mut found);
        found
    }

    fn record(&self, events: Vec<EventKind>) {
        let mut log = self.log.borrow_mut();
        for what in events {
            let seq = log.len() as u64 + 1;
            log.push(Event { at: Timestamp::now(), ..samples::event(seq, what) });
        }
    }

    pub(super) fn begin(&self, prompt: &str) {
        self.record(vec![EventKind::TurnStarted { prompt: prompt.into() }]);
    }

    pub(super) fn end(&self) {
        let outcome = Outcome::Answered { stop_reason: StopReason::EndTurn };
        self.record(vec![EventKind::TurnFinished { outcome, usage: Usage::default() }]);
    }

    fn effect(&self, access: Access) -> Effect {
        let cwd = self.settings.root.clone();
        Effect { actions: vec![Action::Run { command: "x".into(), cwd }], access }
    }

    /// Plays a command.
    pub(super) fn call(&self, access: Access, work: impl FnOnce()) {
        let cancel = CancellationToken::new();
        self.record(self.keeper.before(&[self.effect(access)], &cancel));
        work();
        self.record(self.keeper.after());
    }

    /// Plays a command that the program does not outlive.
    pub(super) fn crash(&self, work: impl FnOnce()) {
        let cancel = CancellationToken::new();
        self.record(self.keeper.before(&[self.effect(Access::Workspace)], &cancel));
        work();
    }

    /// Plays a call that only reads.
    pub(super) fn reading(&self, work: impl FnOnce()) {
        let actions = vec![Action::Read { path: self.path("a") }];
        let effect = Effect { actions, access: Access::Workspace };
        self.record(self.keeper.before(&[effect], &CancellationToken::new()));
        work();
        self.record(self.keeper.after());
    }

    /// Plays a turn with one command. Returns the files it changed.
    pub(super) fn command(&self, prompt: &str, work: impl FnOnce()) -> Vec<String> {
        let from = self.log.borrow().len();
        self.begin(prompt);
        self.call(Access::Workspace, work);
        self.end();
        let log = self.log.borrow();
        let files = |event: &Event| match &event.kind {
            EventKind::FilesChanged { files, .. } => {
                files.iter().map(|file| file.path.clone()).collect()
            }
            _ => Vec::new(),
        };
        log[from..].iter().flat_map(files).collect()
    }

    /// Plays a turn with one call that names its file.
    pub(super) fn write(&self, path: &str, work: impl FnOnce()) {
        self.begin("write");
        let actions = vec![Action::Write { path: self.path(path), diff: None }];
        let effect = Effect { actions, access: Access::ReadOnly };
        self.record(self.keeper.before(&[effect], &CancellationToken::new()));
        work();
        self.record(self.keeper.after());
        self.end();
    }

    /// The events about changes and problems.
    pub(super) fn events(&self) -> Vec<EventKind> {
        let log = self.log.borrow();
        let is_told = |what: &&EventKind| {
            !matches!(what, EventKind::TurnStarted { .. } | EventKind::TurnFinished { .. })
        };
        log.iter().map(|event| &event.kind).filter(is_told).cloned().collect()
    }

    pub(super) fn recover(&self) -> Vec<EventKind> {
        let events = self.keeper.recover();
        self.record(events.clone());
        events
    }

    pub(super) fn undo(&self, turns: usize) -> UndoReport {
        self.restore(Direction::Undo, turns, (false, false))
    }

    pub(super) fn redo(&self) -> UndoReport {
        self.restore(Direction::Redo, 1, (false, false))
    }

    pub(super) fn forced(&self) -> UndoReport {
        self.restore(Direction::Undo, 1, (true, false))
    }

    pub(super) fn restore(
        &self,
        direction: Direction,
        turns: usize,
        (force, is_dry): (bool, bool),
    ) -> UndoReport {
        let mut history = History::default();
        for event in self.log.borrow().iter() {
            history.take(event);
        }
        let on_conflict = if force { OnConflict::Overwrite } else { OnConflict::Keep };
        let wanted = UndoRequest { turns, on_conflict, is_dry };
        let mut report = match direction {
            Direction::Undo => self.keeper.undo(&history, wanted).unwrap(),
            Direction::Redo => self.keeper.redo(&history, wanted).unwrap(),
        };
        self.record(report.event.take().into_iter().collect());
        report
    }
}
