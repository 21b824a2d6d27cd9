//! A conversation: inputs go in, events come out. Every front end drives it through this door.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use contract::event::{Event, EventKind, Input, Outcome};
use contract::hook::{HookContext, Notification};
use contract::id::SessionId;
use contract::log::{FORMAT, LogError};
use contract::message::ToolCall;
use contract::policy::Mode;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::answers::{Answers, Waiting};
use crate::batch;
use crate::compact;
use crate::hooks::Hooks;
use crate::journal::{Journal, Logged};
use crate::recover::Recoveries;
use crate::settings::{Parts, Renewed, RequestSettings, Settings, Span};
use crate::snapshots;
use crate::turn;
use crate::turn_context::TurnContext;

/// Events in the channel. More would keep a front end on the same thread from handling keys.
const EVENTS: usize = 256;

/// A running conversation. It ends after [`Input::End`], or at once if `inputs` is dropped.
pub struct Conversation {
    /// The events, in order.
    pub events: mpsc::Receiver<Arc<Event>>,
    /// Takes the input of the front end.
    pub inputs: mpsc::Sender<Input>,
    /// Ends when everything is written.
    pub task: JoinHandle<()>,
}

/// The start of a conversation.
pub struct Beginning {
    pub session: SessionId,
    /// Earlier events, from the log.
    pub history: Vec<Event>,
    /// Events for its beginning.
    pub notices: Vec<EventKind>,
    pub share: Share,
}

/// The part of a session that a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    Whole,
    /// One of several; the session begins and ends by [`crate::session`].
    Part,
}

impl Conversation {
    /// Starts a conversation. Nothing is written before its first input.
    pub fn open(mut parts: Parts, settings: Settings, beginning: Beginning) -> Self {
        let (events_in, events) = mpsc::channel(EVENTS);
        let (inputs, inputs_out) = mpsc::channel(64);
        let Beginning { session, history, notices, share } = beginning;
        let context =
            HookContext { session: session.clone(), cwd: settings.cwd.clone(), within: None };
        let hooks = Hooks::new(std::mem::take(&mut parts.hooks), context);
        let past = (history.as_slice(), settings.budget);
        let journal = Journal::new((&parts.log, &parts.keys), session, past, events_in);
        let is_fresh = history.is_empty();
        let recoveries = Mutex::new(Recoveries::of(&history));
        drop(history);
        let actor = Actor {
            parts: Arc::new(parts),
            settings: Arc::new(settings),
            hooks,
            journal,
            inputs: inputs_out,
            queue: VecDeque::new(),
            answers: Arc::default(),
            recoveries,
            waiting: Waiting::default(),
            deadline: None,
            notices,
            is_fresh,
            share,
            has_begun: false,
            is_ending: false,
        };
        Self { events, inputs, task: tokio::spawn(actor.serve_with_jobs()) }
    }

    /// Closes it, waits until all is written, and returns what still happened.
    pub async fn finish(self) -> Vec<Arc<Event>> {
        drop(self.inputs);
        let mut events = self.events;
        let mut last = Vec::new();
        while let Some(event) = events.recv().await {
            last.push(event);
        }
        if let Err(error) = self.task.await
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
        last
    }
}

struct Actor {
    parts: Arc<Parts>,
    settings: Arc<Settings>,
    hooks: Hooks,
    journal: Journal,
    inputs: mpsc::Receiver<Input>,
    queue: VecDeque<Input>,
    answers: Arc<Answers>,
    recoveries: Mutex<Recoveries>,
    waiting: Waiting,
    deadline: Option<Instant>,
    notices: Vec<EventKind>,
    is_fresh: bool,
    share: Share,
    has_begun: bool,
    is_ending: bool,
}

enum Work {
    Turn(String),
    Single(ToolCall),
    Compact(Option<String>),
    Clear,
}

impl Actor {
    /// Serves inputs, and keeps the starts and ends of background commands as they come.
    async fn serve_with_jobs(self) {
        let Some(jobs) = self.parts.jobs.clone() else { return self.serve().await };
        let sender = self.journal.sender();
        let telling = async {
            loop {
                let what = jobs.next_event().await;
                // A log that cannot be written fails the turn, too.
                drop(sender.keep(vec![what]).await);
            }
        };
        let serving = self.serve();
        tokio::pin!(telling, serving);
        tokio::select! {
            biased;
            () = &mut telling => {}
            () = &mut serving => {}
        }
    }

    async fn serve(mut self) {
        while let Some(work) = self.next().await {
            if let Err(error) = self.perform(work).await {
                self.report(&error).await;
            }
        }
        if self.has_begun
            && let Err(error) = self.end().await
        {
            self.report(&error).await;
        }
    }

    async fn begin(&mut self) -> Logged {
        self.has_begun = true;
        self.deadline = self.settings.budget.time.map(|time| Instant::now() + time.most);
        let mut opening = Vec::new();
        if self.is_fresh {
            let cwd = self.settings.cwd.display().to_string();
            opening.push(EventKind::SessionStarted { cwd, format: FORMAT, forked_from: None });
        }
        // Listeners of this run alone need it, too.
        opening.extend(self.parts.configured(&self.settings, &self.settings.system));
        opening.append(&mut self.notices);
        self.journal.note(opening).await?;
        snapshots::recover(&self.parts, &mut self.journal).await?;
        self.journal.close().await
    }

    async fn renew(&mut self) -> Logged {
        let Some(renewal) = &self.parts.renewal else { return Ok(()) };
        let Renewed { change, notices } = renewal.renew().await;
        if let Some(change) = change {
            Arc::make_mut(&mut self.parts).registry = Arc::new(change.registry);
            self.hooks.replace(change.hooks);
            Arc::make_mut(&mut self.settings).system = change.system;
        }
        self.journal.note(notices).await
    }

    async fn change_mode(&mut self, mode: Mode) {
        Arc::make_mut(&mut self.settings).mode = mode;
        let configured = self.parts.configured(&self.settings, self.journal.transcript.system());
        if self.has_begun
            && let Err(error) = self.journal.note(configured.into_iter().collect()).await
        {
            self.report(&error).await;
        }
    }

    async fn record(&mut self, what: EventKind) {
        if let Err(error) = self.journal.commit(vec![what]).await {
            self.report(&error).await;
        }
    }

    async fn end(&mut self) -> Logged {
        if let Some(jobs) = &self.parts.jobs {
            let ended = jobs.end().await;
            self.journal.note(ended).await?;
        }
        self.hooks.stop_with(CancellationToken::new());
        if self.share == Share::Whole {
            self.hooks.farewell(&mut self.journal).await?;
        }
        self.journal.note(vec![EventKind::SessionEnded]).await
    }

    async fn next(&mut self) -> Option<Work> {
        loop {
            let input = match self.queue.pop_front() {
                Some(input) => input,
                None if self.is_ending => return None,
                None => self.inputs.recv().await?,
            };
            match input {
                Input::Prompt { text } => return Some(Work::Turn(text)),
                Input::Call(call) => return Some(Work::Single(call)),
                Input::Compact { instructions } => return Some(Work::Compact(instructions)),
                Input::Clear => return Some(Work::Clear),
                Input::Mode { mode } => self.change_mode(mode).await,
                Input::Effort(level) => {
                    Arc::make_mut(&mut self.settings).request.reasoning_level = level;
                }
                Input::Record(what) => self.record(what).await,
                Input::End => return None,
                // Nothing is running.
                Input::Answer { .. } | Input::Ready(_) | Input::Interrupt => {}
            }
        }
    }

    /// Gets ready for a piece of work. What stops the work stops this too.
    async fn prepare(&mut self, cancel: &CancellationToken) -> Logged {
        let mut inputs = std::mem::replace(&mut self.inputs, mpsc::channel(1).1);
        let (mut early, mut is_open) = (Vec::new(), true);
        let ready = {
            let ready = self.get_ready();
            tokio::pin!(ready);
            loop {
                tokio::select! {
                    ready = &mut ready => break ready,
                    input = inputs.recv(), if is_open => match input {
                        Some(Input::Interrupt) => cancel.cancel(),
                        None => {
                            is_open = false;
                            cancel.cancel();
                        }
                        Some(input) => early.push(input),
                    },
                }
            }
        };
        self.inputs = inputs;
        for input in early {
            match input {
                Input::Prompt { text } => self.waiting.add(text),
                Input::Ready(is_ready) => self.waiting.expect(is_ready),
                input => keep(input, &self.answers, &mut self.queue),
            }
        }
        if !is_open {
            self.is_ending = true;
            self.queue.clear();
        }
        ready
    }

    async fn get_ready(&mut self) -> Logged {
        if self.has_begun {
            // A failure of the log may have left something open.
            self.journal.close().await?;
            return self.renew().await;
        }
        self.begin().await?;
        if self.parts.renewal.as_ref().is_some_and(|renewal| renewal.is_due()) {
            self.renew().await?;
        }
        match self.share {
            Share::Whole => self.hooks.greet(&mut self.journal).await,
            Share::Part => Ok(()),
        }
    }

    async fn perform(&mut self, work: Work) -> Logged {
        let cancel = CancellationToken::new();
        self.hooks.stop_with(cancel.clone());
        self.prepare(&cancel).await?;
        if self.settings.budget.span == Span::Turn {
            self.deadline = self.settings.budget.time.map(|time| Instant::now() + time.most);
        }
        let context = TurnContext {
            parts: &self.parts,
            settings: &self.settings,
            hooks: &self.hooks,
            answers: &self.answers,
            recoveries: &self.recoveries,
            waiting: &self.waiting,
            cancel: &cancel,
            stop: &cancel,
        };
        let journal = &mut self.journal;
        let deadline = self.deadline;
        let mut is_overdue = false;
        let outcome = {
            let work = async move {
                match work {
                    Work::Turn(prompt) => turn::run(context, journal, prompt).await,
                    Work::Single(call) => batch::run_single(context, journal, call).await,
                    Work::Compact(instructions) => {
                        compact::run(context, journal, instructions.as_deref()).await
                    }
                    Work::Clear => compact::clear(context, journal).await,
                }
            };
            tokio::pin!(work);
            loop {
                tokio::select! {
                    outcome = &mut work => break outcome?,
                    input = self.inputs.recv(), if !self.is_ending => match input {
                        Some(Input::Answer { call, answer, by }) => self.answers.give(&call, answer, by),
                        Some(Input::Interrupt) => cancel.cancel(),
                        None => {
                            self.is_ending = true;
                            self.queue.clear();
                            cancel.cancel();
                        }
                        Some(Input::Prompt { text }) => self.waiting.add(text),
                        Some(Input::Ready(is_ready)) => self.waiting.expect(is_ready),
                        Some(input) => keep(input, &self.answers, &mut self.queue),
                    },
                    () = until(deadline), if !is_overdue => {
                        is_overdue = true;
                        cancel.cancel();
                    }
                }
            }
        };
        self.answers.relax();
        // Late messages begin the next turn.
        self.waiting.expect(false);
        let late = self.waiting.take().into_iter().map(|text| Input::Prompt { text });
        self.queue.extend(late.filter(|_| !self.is_ending));
        if let Some(end) = self.queue.iter().position(|input| matches!(input, Input::End)) {
            self.queue.remove(end);
            self.queue.push_back(Input::End);
        }
        let outcome = if is_overdue { overdue(outcome, &self.settings) } else { outcome };
        conclude(&self.hooks, &mut self.journal, &self.settings.request, outcome).await
    }

    async fn report(&mut self, error: &LogError) {
        let hint = "free some space or check the directory, then resume the session".to_owned();
        let outcome = Outcome::Failed { error: error.to_string(), hint: Some(hint) };
        let usage = self.journal.account().turn();
        self.journal.sender().tell(EventKind::TurnFinished { outcome, usage }).await;
    }
}

/// Queues input for after the turn. A stricter mode holds at once.
fn keep(input: Input, answers: &Answers, queue: &mut VecDeque<Input>) {
    if let Input::Mode { mode } = input {
        answers.tighten(mode);
    }
    queue.push_back(input);
}

pub(crate) fn overdue(outcome: Outcome, settings: &Settings) -> Outcome {
    match outcome {
        Outcome::Cancelled => settings.budget.overdue().unwrap_or(Outcome::Cancelled),
        outcome => outcome,
    }
}

/// Ends a turn: notifies hooks of a failure, reports a block, and prices the usage.
pub(crate) async fn conclude(
    hooks: &Hooks,
    journal: &mut Journal,
    request: &RequestSettings,
    outcome: Outcome,
) -> Logged {
    match &outcome {
        Outcome::Failed { error, .. } => {
            let failed =
                Notification::Failed { error: error.clone(), kind: "TurnFailed".to_owned() };
            hooks.notify(journal, &failed).await?;
        }
        Outcome::Blocked { hook, reason } => {
            let what = if hooks.has_halted() { "the turn ends" } else { "the prompt was not sent" };
            journal.warn(format!("{what}, because of hook {hook}: {reason}")).await?;
        }
        _ => {}
    }
    let RequestSettings { known, model, .. } = request;
    if let Some(prices) = known.prices_of(model) {
        journal.account().price(prices);
    }
    let mut usage = journal.account().turn();
    usage.unpriced &= !known.is_free || usage.cost_usd.is_some();
    journal.commit(vec![EventKind::TurnFinished { outcome, usage }]).await
}

pub(crate) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
