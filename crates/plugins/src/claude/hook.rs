//! Runs the handlers of one plugin or of the project side by side, and merges their replies.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use contract::hook::{CallView, HookContext, HookError, Moment};
use contract::policy::{Decision, Mode};
use futures::future::join_all;
use serde_json::Value;
use tokio::task::JoinSet;

use super::claude_event::ClaudeEvent;
use super::event::Event;
use super::expansion::Expansions;
use super::handlers::{Handler, Waiting};
use super::input;
use super::run::Run;
use super::services::{HookServices, SERVICE_SESSION};
use super::transcript::Transcripts;
use super::values::Values;
use crate::hooks::host::Owner;
use crate::hooks::moment::{Listener, Occurrence, Reply};
use crate::hooks::{Ask, HookHost};
use crate::rest;

pub struct Settings {
    pub host: HookHost,
    /// Holds the transcripts while conversations go on.
    pub transcripts: PathBuf,
    /// How the session begins: `startup` or `resume`.
    pub source: &'static str,
    pub expansions: Arc<Expansions>,
    pub mode: Mode,
    pub requests: rest::Settings,
}

pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) transcripts: Arc<Transcripts>,
    mode: Mutex<Mode>,
    behind: Mutex<JoinSet<()>>,
    waiting: Arc<Mutex<Vec<String>>>,
    pub(crate) ask: OnceLock<Arc<dyn Ask>>,
    pub(crate) services: OnceLock<Arc<dyn HookServices>>,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        let transcripts = Arc::new(Transcripts::new(settings.transcripts.clone()));
        let mode = Mutex::new(settings.mode);
        Self {
            settings,
            transcripts,
            mode,
            behind: Mutex::default(),
            waiting: Arc::default(),
            ask: OnceLock::new(),
            services: OnceLock::new(),
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Ends what runs, and deletes what was kept for it.
    pub(crate) fn end(&self) {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.transcripts.clear();
    }

    fn take_waiting(&self) -> Vec<String> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Clone)]
pub(crate) struct Handlers {
    pub(crate) title: String,
    pub(crate) owner: Owner,
    pub(crate) values: Values,
    pub(crate) list: Vec<Handler>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) halt: Arc<Mutex<Option<String>>>,
}

impl Handlers {
    async fn ask(&self, what: ClaudeEvent<'_>) -> Reply {
        let event = what.event;
        let mut said = self.gather(what).await;
        for message in said.failures.drain(..).chain(said.messages.drain(..)) {
            self.tell(&message);
        }
        if let Some(why) = said.stop.as_ref().filter(|_| event.can_halt()) {
            self.halt(why.clone());
        }
        said
    }

    pub(super) async fn gather(&self, what: ClaudeEvent<'_>) -> Reply {
        let is_service = what.context.session.as_str() == SERVICE_SESSION;
        let mut fitting: Vec<&Handler> = Vec::new();
        for handler in self.list.iter().filter(|handler| handler.is_for(&what)) {
            if is_service && handler.program.needs_services() {
                continue;
            }
            // The same program is not asked twice about one thing.
            if fitting.iter().all(|other| other.program != handler.program) {
                fitting.push(handler);
            }
        }
        let mut said = Reply { context: self.shared.take_waiting(), ..Reply::default() };
        if fitting.is_empty() {
            return said;
        }
        let mode = self.shared.mode();
        let transcripts = &self.shared.transcripts;
        let transcript = transcripts.file(what.context);
        let inner = transcripts.file_within(what.context);
        let mut input = input::common(what.event, what.context, transcript.as_deref(), mode);
        input.extend(what.input);
        if let (Event::SubagentStop, Some(inner)) = (what.event, &inner) {
            input.insert("agent_transcript_path".to_owned(), inner.display().to_string().into());
        }
        let readable: Vec<PathBuf> = transcript.into_iter().chain(inner).collect();
        let input: Arc<[u8]> = Value::Object(input).to_string().into_bytes().into();
        let mut asked = Vec::new();
        for handler in fitting {
            let run = Run {
                shared: Arc::clone(&self.shared),
                owner: self.owner.clone(),
                values: self.values.clone(),
                handler: handler.clone(),
                mode,
                cwd: what.context.cwd.clone(),
                readable: readable.clone(),
                input: Arc::clone(&input),
            };
            if handler.waiting == Waiting::ForEnd {
                asked.push(run.finish());
            } else {
                self.leave(run);
            }
        }
        for one in join_all(asked).await {
            said = said.and(one);
        }
        said
    }

    /// Hears of a notification, which cannot be refused: the model reads what handlers object.
    async fn notify(&self, claude_events: Vec<ClaudeEvent<'_>>) -> Reply {
        let mut reply = Reply::default();
        for claude_event in claude_events {
            let event = claude_event.event;
            let mut said = self.ask(claude_event).await;
            if !event.can_halt() {
                for why in said.block.iter().chain(&said.stop) {
                    self.tell(&format!("a hook of {} says: {why}", event.name()));
                }
            }
            if event == Event::PostToolBatch {
                said.block.take().into_iter().for_each(|why| self.halt(why));
            }
            reply.context.extend(said.block.take().filter(|_| event.can_halt()));
            reply.context.extend(said.context);
        }
        reply
    }

    fn halt(&self, why: String) {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    fn tell(&self, text: &str) {
        (self.shared.settings.host.notice)(format!("{}: {text}", self.title));
    }

    fn leave(&self, run: Run) {
        let waiting = Arc::clone(&self.shared.waiting);
        let mut behind = self.shared.behind.lock().unwrap_or_else(PoisonError::into_inner);
        while behind.try_join_next().is_some() {}
        behind.spawn(async move {
            let wakes = run.handler.waiting == Waiting::Woken;
            let said = run.finish().await;
            if let Some(why) = said.block.filter(|_| wakes) {
                waiting.lock().unwrap_or_else(PoisonError::into_inner).push(why);
            }
        });
    }
}

#[async_trait]
impl Listener for Handlers {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        self.list.iter().any(|handler| handler.event.moment() == moment)
    }

    fn take_halt(&self) -> Option<String> {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn hear(&self, context: &HookContext, what: Occurrence<'_>) -> Result<Reply, HookError> {
        let claude_events = self.claude_events(context, what);
        if let Occurrence::Notification(_) = what {
            return Ok(self.notify(claude_events).await);
        }
        let mut reply = Reply::default();
        for claude_event in claude_events {
            let is_settled = reply.block.is_some() || reply.stop.is_some();
            let is_asked_for =
                |call: CallView<'_>| reply.ask.is_some() || call.decision == Decision::Ask;
            let is_due = match (claude_event.event, what) {
                (Event::PermissionRequest, Occurrence::Call(call)) => is_asked_for(call),
                _ => true,
            };
            if is_due && !is_settled {
                reply = reply.and(self.ask(claude_event).await);
            }
        }
        match what {
            // What has run cannot be refused; the model reads the objection.
            Occurrence::CallResult(_) => reply.context.extend(reply.block.take()),
            Occurrence::TurnEnd(_) if reply.stop.is_some() => {
                reply.stop.iter().for_each(|why| self.tell(why));
                return Ok(Reply::default());
            }
            Occurrence::TurnEnd(_) => {
                reply.block = reply.block.take().or(reply.inject());
                reply.context.clear();
            }
            _ => {}
        }
        Ok(reply)
    }
}
