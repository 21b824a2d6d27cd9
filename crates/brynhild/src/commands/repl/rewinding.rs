//! Lines that go back in the conversation or undo changes, and the results of the user's commands.

use std::sync::Arc;

use contract::event::Direction;
use contract::id::SessionId;
use sessions::earlier;
use sessions::snapshots::{SessionSnapshots, UndoRequest};
use tui::user_command::UserCommands;

use super::{Next, Session, Step, Talk};
use crate::assemble::rewind;
use crate::assemble::run_context::RunContext;
use crate::assemble::session_choice::SessionStorage;
use crate::assemble::undo::{self, Detail};
use crate::exit::Problem;
use crate::frontends::slash::RewindFiles;

impl Talk<'_> {
    /// Continues before a message of the user, with its text to edit.
    pub(super) async fn rewind(
        &mut self,
        session: &mut Session<'_>,
        number: usize,
        files: RewindFiles,
    ) -> Result<Step, Problem> {
        let store = self.assembly.store()?;
        let message = rewind::message(&store, session.saved_id()?, number)?;
        let turns = message.turns_since(&store.history(session.saved_id()?)?);
        if files == RewindFiles::Undo && turns > 0 {
            let wanted = undo::request(turns, false, false);
            let text = session.restore(self.assembly, Direction::Undo, wanted).await?;
            self.show(&text)?;
        }
        let copy = message.copy_before(&store, session.saved_id()?)?;
        if !self.lines.put_back(&message.text) {
            self.show(&format!("The message was: {}", message.text))?;
        }
        Ok(Step::Leave(Next::Session(copy.map(|copy| copy.to_string()))))
    }

    pub(super) fn fork(
        &self,
        session: &Session<'_>,
        message: Option<usize>,
    ) -> Result<Step, Problem> {
        let (store, id) = (self.assembly.store()?, session.saved_id()?);
        let copy = match message {
            Some(number) => rewind::message(&store, id, number)?.copy_after(&store, id)?,
            None => earlier::copy(&store, id, None)?,
        };
        self.show(&format!("This is the session {copy}."))?;
        Ok(Step::Leave(Next::Session(Some(copy.to_string()))))
    }
}

impl Session<'_> {
    fn snapshots(&self) -> Result<&Arc<SessionSnapshots>, Problem> {
        self.opened.snapshots.as_ref().ok_or_else(|| {
            Problem::misuse("undo is not available in this conversation")
                .hint("it needs a saved session and `undo.enabled: true`")
        })
    }

    pub(super) async fn restore(
        &mut self,
        run: &RunContext,
        direction: Direction,
        wanted: UndoRequest,
    ) -> Result<String, Problem> {
        let snapshots = self.snapshots()?;
        let store = run.store()?;
        let mut events = Vec::new();
        let history = || Ok(store.history(&self.opened.id)?);
        let report = undo::restore(snapshots, history, (direction, wanted), &mut |what| {
            events.push(what);
            Ok(())
        })?;
        for what in events {
            self.record(what).await?;
        }
        Ok(report.to_string())
    }

    pub(super) fn changes(
        &self,
        run: &RunContext,
        turns: Option<u32>,
        detail: Detail,
    ) -> Result<String, Problem> {
        let snapshots = self.snapshots()?;
        let history = run.store()?.history(&self.opened.id)?;
        undo::listed(snapshots, history.last_turns(turns), detail)
    }

    pub(super) fn saved_id(&self) -> Result<&SessionId, Problem> {
        let is_saved = self.opened.storage == SessionStorage::Saved;
        rewind::saved(is_saved.then_some(&self.opened.id))
    }

    /// Records the result of the user's last command, for the model to read.
    pub(super) async fn record_user_command(&mut self, run: &RunContext) -> Result<(), Problem> {
        let mut commands = UserCommands::default();
        let stored;
        let events = if let Some(kept) = &self.view.kept {
            kept
        } else {
            stored = run.store()?.read(&self.opened.id)?.events;
            &stored
        };
        for event in events {
            commands.take(&event.kind);
        }
        match commands.results.pop() {
            Some(result) => self.record(result).await,
            None => Ok(()),
        }
    }
}
