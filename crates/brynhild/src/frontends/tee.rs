//! Beside what a view shows: the conversation log, and events kept for an export.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use contract::event::{Answer, Event, EventKind, Level};
use sessions::conversation_log::ConversationLog;

use super::View;
use super::verdict::Verdict;
use crate::output;

/// Passes events on to a view and keeps them elsewhere too.
pub(crate) struct Tee<'a> {
    view: &'a mut dyn View,
    log: Option<ConversationLog>,
    kept: Option<Vec<Event>>,
    level: LogLevel,
}

/// How much the conversation log holds beside the conversation itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogLevel {
    /// Rulings and all notices.
    Everything,
    /// Notices from this level on.
    Notices(Level),
}

impl LogLevel {
    fn records(self, what: &EventKind) -> bool {
        match (self, what) {
            (Self::Notices(_), EventKind::ToolJudged { .. }) => false,
            (Self::Notices(least), EventKind::Notice { level, .. }) => *level >= least,
            (Self::Notices(_) | Self::Everything, _) => true,
        }
    }
}

impl<'a> Tee<'a> {
    /// A view with a log beside it. `kept` is what happened before, where the session's log does
    /// not keep it; further events are added to it.
    pub(crate) fn new(
        view: &'a mut dyn View,
        log: Option<ConversationLog>,
        kept: Option<Vec<Event>>,
        level: LogLevel,
    ) -> Self {
        Self { view, log, kept, level }
    }

    fn keep(&mut self, event: &Event) {
        if !event.kind.is_kept() {
            return;
        }
        if let Some(log) = &mut self.log
            && self.level.records(&event.kind)
            && let Err(error) = log.record(event)
        {
            output::warning(&format!("the conversation log ends here: {error}"));
            self.log = None;
        }
        if let Some(kept) = &mut self.kept {
            kept.push(event.clone());
        }
    }

    /// What was kept.
    pub(crate) fn kept(&self) -> Option<&[Event]> {
        self.kept.as_deref()
    }
}

#[async_trait(?Send)]
impl View for Tee<'_> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.keep(event);
        self.view.event(event)
    }

    fn after(&mut self, event: &Event) {
        self.keep(event);
    }

    async fn ask(&mut self, asked: &[Arc<Event>]) -> io::Result<Vec<Answer>> {
        self.view.ask(asked).await
    }

    fn heard(&mut self, line: &str, hint: &str) -> io::Result<()> {
        self.view.heard(line, hint)
    }

    fn tick(&mut self) -> io::Result<bool> {
        self.view.tick()
    }

    fn shows_calls_at_end(&self) -> bool {
        self.view.shows_calls_at_end()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.view.flush()
    }

    fn close(&mut self, verdict: &Verdict) -> io::Result<()> {
        self.view.close(verdict)
    }
}
