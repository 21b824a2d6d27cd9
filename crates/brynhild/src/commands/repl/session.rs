//! An open conversation and the view of it: turns, other inputs, and what comes after.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use agent::conversation::Conversation;
use assemble::exit::{Exit, Problem};
use assemble::output;
use assemble::role::OpenRole;
use assemble::run_context::RunContext;
use assemble::session_choice::SessionStorage;
use contract::event::{EventKind, Input};
use line_ui::steering::Steering;
use line_ui::tee::Tee;
use tui::host::Leave;
use tui::user_command::UserCommands;

use super::{Next, worsen};
use crate::frontends::tui::Requests;
use crate::frontends::{self, View as _};

pub(super) struct Session<'a> {
    pub(super) conversation: Conversation,
    pub(super) requests: Requests,
    pub(super) view: Tee<'a>,
    /// True if the user insisted on an end.
    pub(super) is_given_up: bool,
    pub(super) json_role: Option<Arc<OpenRole>>,
    pub(super) has_failed: bool,
    pub(super) later: VecDeque<String>,
    /// Other lines that were typed, and not sent because the turn was stopped.
    pub(super) unsent: Vec<String>,
}

impl Session<'_> {
    pub(super) async fn turn(
        &mut self,
        input: Input,
        mut steering: Option<Steering>,
        exit: &mut Exit,
    ) -> Result<(), Problem> {
        self.requests.state().has_begun = true;
        let mut input = Some(input);
        loop {
            let started = Instant::now();
            let (talk, view) = (&mut self.conversation, &mut self.view);
            let verdict = frontends::show(talk, input.take(), view, steering.as_mut()).await?;
            self.requests.state().usage.add(&verdict.usage);
            self.is_given_up = verdict.is_forced;
            self.has_failed = verdict.is_failure();
            self.view.close(&verdict)?;
            self.view.flush()?;
            if let Some(role) = &self.json_role {
                super::super::role::print(&verdict, role, self.requests.id.as_str(), started)?;
            }
            worsen(exit, verdict.exit());
            let is_over = self.is_given_up || self.conversation.inputs.is_closed();
            if is_over || !steering.as_mut().is_some_and(Steering::follows) {
                break;
            }
        }
        if let Some(steering) = steering {
            self.later.extend(steering.later);
            self.unsent = steering.unsent;
        }
        Ok(())
    }

    pub(super) async fn work(&mut self, input: Input, exit: &mut Exit) -> Result<(), Problem> {
        let (talk, view) = (&mut self.conversation, &mut self.view);
        let verdict = frontends::show(talk, Some(input), view, None).await?;
        self.requests.state().usage.add(&verdict.usage);
        self.is_given_up = verdict.is_forced;
        self.view.flush()?;
        for error in &verdict.errors {
            output::error(error);
        }
        worsen(exit, verdict.exit());
        Ok(())
    }

    /// Sends what a command gives to the conversation.
    pub(super) async fn send(&mut self, input: Input, exit: &mut Exit) -> Result<(), Problem> {
        match input {
            Input::Record(what) => self.record(what).await,
            Input::Mode { .. } | Input::Effort(_) => {
                let _ = self.conversation.inputs.send(input).await;
                Ok(())
            }
            input => self.work(input, exit).await,
        }
    }

    pub(super) async fn record(&mut self, what: EventKind) -> Result<(), Problem> {
        // If the conversation is over, its events end.
        let _ = self.conversation.inputs.send(Input::Record(what.clone())).await;
        while let Some(event) = self.conversation.events.recv().await {
            self.view.event(&event)?;
            match &event.kind {
                EventKind::TurnFinished {
                    outcome: contract::event::Outcome::Failed { error, .. },
                    ..
                } => {
                    return Err(Problem::failed(error.clone()));
                }
                kept if *kept == what => return Ok(()),
                _ => {}
            }
        }
        Err(Problem::failed("the conversation is over"))
    }

    /// Records the result of the user's last command, for the model to read.
    pub(super) async fn record_user_command(&mut self, run: &RunContext) -> Result<(), Problem> {
        let mut commands = UserCommands::default();
        let stored;
        let events = if let Some(kept) = &self.view.kept {
            kept
        } else {
            stored = run.store()?.read(&self.requests.id)?.events;
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

    pub(super) fn is_kept(&self) -> bool {
        self.requests.state().has_begun && self.requests.storage == SessionStorage::Saved
    }

    /// The session that the next conversation continues, if there is one.
    pub(super) fn continued(&self, command: &str) -> Result<Option<String>, Problem> {
        let is_kept = self.is_kept();
        if self.requests.state().has_begun && !is_kept {
            let what = format!("`{command}` would discard this conversation, which is not saved");
            return Err(Problem::misuse(what).hint("restart with the model you want"));
        }
        Ok(is_kept.then(|| self.requests.id.to_string()))
    }

    pub(super) fn next(&self, leave: Leave) -> Result<Next, Problem> {
        Ok(match leave {
            Leave::Model { provider, model } => {
                Next::Model { model: (provider, model), session: self.continued("/model")? }
            }
            Leave::Session(id) => Next::Session(Some(id)),
            Leave::Fresh => Next::Session(None),
            Leave::Quit | Leave::Stopped(_) | Leave::Serve(_) | Leave::Ended => Next::End,
        })
    }
}
