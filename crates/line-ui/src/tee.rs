//! Records events beside a view: in the conversation log, and in memory for an export.

use std::io;
use std::sync::{Arc, mpsc};

use async_trait::async_trait;
use contract::event::{Answer, Event, EventKind, Level};
use contract::id::CallId;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::output;
use crate::verdict::Verdict;
use crate::view::View;

pub struct Tee<'a> {
    pub view: &'a mut dyn View,
    pub log: Option<LeveledLog>,
    /// The events of a session without a log.
    pub kept: Option<Vec<Event>>,
    /// Pauses a role's run if nobody can approve its calls.
    pub approvals: Option<Approvals>,
}

/// The calls of a role that need approval each time.
pub struct Approvals {
    /// Returns true if the role wants approval of a tool's calls.
    pub concerns: Box<dyn Fn(&str) -> bool>,
    /// Tool, arguments and decision of calls that waited in an earlier run.
    pub decided: Vec<(String, Value, bool)>,
    /// Id, tool and arguments of calls that wait now.
    pub waiting: Vec<(CallId, String, Value)>,
}

impl Approvals {
    /// The decision that was made before; each is used once.
    fn answer(&mut self, asked: &Event) -> Option<Answer> {
        let EventKind::Asked { tool, args, .. } = &asked.kind else { return None };
        let at = self.decided.iter().position(|(name, with, _)| name == tool && with == args)?;
        let (.., approves) = self.decided.remove(at);
        Some(if approves { Answer::Once } else { Answer::Deny { reason: None } })
    }

    /// Stops the turn at a call that nobody answered.
    fn wait_for(&mut self, asked: &Event, answer: Answer) -> Answer {
        match &asked.kind {
            EventKind::Asked { call, tool, args, .. }
                if answer == Answer::Unavailable
                    && asked.within.is_none()
                    && (self.concerns)(tool) =>
            {
                self.waiting.push((call.clone(), tool.clone(), args.clone()));
                Answer::Cancel
            }
            _ => answer,
        }
    }
}

/// Writes one event.
pub type Record = Box<dyn FnMut(&Event) -> Result<(), String> + Send>;

pub struct LeveledLog {
    pub record: Record,
    pub level: LogLevel,
}

/// Records events in a log on its own thread.
pub struct BackgroundLog {
    events: mpsc::Sender<Arc<Event>>,
    writer: JoinHandle<()>,
}

/// The events in the conversation log, besides the conversation itself.
#[derive(Clone, Copy, Debug)]
pub enum LogLevel {
    /// Rulings and all notices.
    Everything,
    /// Notices from this level on.
    Notices(Level),
}

impl LogLevel {
    /// The level of a word of the configuration.
    pub fn named(word: &str) -> Self {
        match word {
            "debug" => Self::Everything,
            "warning" => Self::Notices(Level::Warning),
            "error" => Self::Notices(Level::Error),
            _ => Self::Notices(Level::Info),
        }
    }

    fn records(self, what: &EventKind) -> bool {
        match (self, what) {
            (Self::Notices(_), EventKind::ToolJudged { .. }) => false,
            (Self::Notices(least), EventKind::Notice { level, .. }) => *level >= least,
            (Self::Notices(_) | Self::Everything, _) => true,
        }
    }
}

impl LeveledLog {
    fn record(&mut self, event: &Event) -> bool {
        if !event.kind.is_kept() || !self.level.records(&event.kind) {
            return true;
        }
        let recorded = (self.record)(event);
        if let Err(error) = &recorded {
            output::warning(&format!("the conversation log ends here: {error}"));
        }
        recorded.is_ok()
    }
}

impl BackgroundLog {
    pub fn start(mut log: LeveledLog) -> Self {
        let (events, queue) = mpsc::channel::<Arc<Event>>();
        let write = move || {
            // Ends with the first failure, or when the sender is dropped.
            let _ = queue.into_iter().all(|event| log.record(&event));
        };
        Self { events, writer: tokio::task::spawn_blocking(write) }
    }

    /// Queues an event.
    pub fn record(&self, event: &Arc<Event>) {
        // The receiver is gone if the log has failed.
        let _ = self.events.send(Arc::clone(event));
    }

    /// Waits until all events are recorded.
    pub async fn close(self) {
        drop(self.events);
        // A panic of the thread was printed already.
        let _ = self.writer.await;
    }
}

impl Tee<'_> {
    fn keep(&mut self, event: &Event) {
        if self.log.as_mut().is_some_and(|log| !log.record(event)) {
            self.log = None;
        }
        if let Some(kept) = self.kept.as_mut().filter(|_| event.kind.is_kept()) {
            kept.push(event.clone());
        }
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
        let Some(approvals) = &mut self.approvals else { return self.view.ask(asked).await };
        let mut answers: Vec<_> = asked.iter().map(|event| approvals.answer(event)).collect();
        let is_open = |(_, answer): &(&Arc<Event>, &Option<Answer>)| answer.is_none();
        let open = asked.iter().zip(&answers).filter(is_open);
        let open: Vec<Arc<Event>> = open.map(|(event, _)| Arc::clone(event)).collect();
        if !open.is_empty() {
            let mut given = self.view.ask(&open).await?.into_iter();
            for (event, slot) in asked.iter().zip(&mut answers).filter(|(_, it)| it.is_none()) {
                let answer = given.next().unwrap_or(Answer::Unavailable);
                *slot = Some(approvals.wait_for(event, answer));
            }
        }
        Ok(answers.into_iter().flatten().collect())
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
        // A run that waits for approval was not interrupted by the user.
        if self.approvals.as_ref().is_some_and(|approvals| !approvals.waiting.is_empty()) {
            return self.view.flush();
        }
        self.view.close(verdict)
    }
}
