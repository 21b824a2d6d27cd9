//! One session with its clients. Nothing here waits for a client.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use contract::event::{Answer, Event, EventKind, Input, Level};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::policy::Mode;
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinHandle;

use crate::fold::{Fold, TIMEOUT};
use crate::frames;
use crate::host::{Commands, Conversation, Failure, Opened};
use crate::queue::{Queue, Weight};

/// A session that nobody uses is closed after this time. Other programs can open it then.
const IDLE: Duration = Duration::from_mins(5);

pub(crate) struct Room {
    pub(crate) id: SessionId,
    pub(crate) fold: RefCell<Fold>,
    pub(crate) live: RefCell<Option<Live>>,
    /// Held while the session is opened or closed.
    pub(crate) opening: Mutex<()>,
    clients: RefCell<Vec<Queue>>,
    /// The prompts that clients named, with the reply to each.
    pub(crate) prompts: RefCell<HashMap<String, Value>>,
    /// Answers to questions whose turn is over, for the same call if the model makes it again.
    pub(crate) grants: RefCell<Vec<Grant>>,
    /// The last time that a client or the model did something.
    used: Cell<Instant>,
}

/// The parts of an open session.
pub(crate) struct Live {
    pub(crate) inputs: mpsc::Sender<Input>,
    pub(crate) commands: Rc<dyn Commands>,
    pub(crate) mode: Mode,
    pub(crate) modes: Vec<Mode>,
    pub(crate) model: String,
    pub(crate) provider: String,
    pub(crate) models: Vec<String>,
    context_size: Option<u64>,
    closing: Rc<Notify>,
    task: JoinHandle<()>,
}

/// An answer that was given after the turn had ended.
pub(crate) struct Grant {
    pub(crate) tool: String,
    pub(crate) args: Value,
    pub(crate) answer: Answer,
    pub(crate) by: String,
}

impl Room {
    pub(crate) fn new(id: SessionId, fold: Fold) -> Self {
        Self {
            id,
            fold: RefCell::new(fold),
            live: RefCell::default(),
            opening: Mutex::default(),
            clients: RefCell::default(),
            prompts: RefCell::default(),
            grants: RefCell::default(),
            used: Cell::new(Instant::now()),
        }
    }

    pub(crate) fn seq(&self) -> Seq {
        self.fold.borrow().seq
    }

    pub(crate) fn is_live(&self) -> bool {
        self.live.borrow().is_some()
    }

    pub(crate) fn has_clients(&self) -> bool {
        self.clients.borrow_mut().retain(|client| !client.is_over());
        !self.clients.borrow().is_empty()
    }

    pub(crate) fn touch(&self) {
        self.used.set(Instant::now());
    }

    /// `idle`, `running`, `asking` or `ended`.
    pub(crate) fn state(&self) -> &'static str {
        let fold = self.fold.borrow();
        if !fold.pending.is_empty() {
            "asking"
        } else if fold.is_running {
            "running"
        } else if self.is_live() {
            "idle"
        } else {
            "ended"
        }
    }

    pub(crate) fn summary(&self) -> Value {
        let fold = self.fold.borrow();
        json!({
            "id": self.id,
            "title": fold.title(),
            "cwd": fold.cwd,
            "updated_at": fold.updated_at.unwrap_or_else(Timestamp::now),
            "state": self.state(),
            "questions": fold.pending.len(),
        })
    }

    pub(crate) fn details(&self) -> Value {
        let fold = self.fold.borrow();
        let live = self.live.borrow();
        let mut details = self.summary();
        let size = live.as_ref().and_then(|live| live.context_size);
        let Value::Object(more) = fold.details(size) else { return details };
        for (key, value) in more {
            details[key] = value;
        }
        let choices = match &*live {
            Some(live) => json!({
                "provider": live.provider,
                "model": live.model,
                "models": live.models,
                "mode": live.mode,
                "modes": live.modes,
            }),
            None => json!({
                "provider": fold.provider,
                "model": fold.model,
                "models": [fold.model],
                "mode": fold.mode,
                "modes": Mode::ALL,
            }),
        };
        let Value::Object(choices) = choices else { return details };
        for (key, value) in choices {
            details[key] = value;
        }
        details
    }

    /// Lets a client follow from here on, with the pieces of a reply that arrives.
    pub(crate) fn join(&self, queue: Queue) {
        for event in self.fold.borrow().pieces(&self.id) {
            queue.push(Weight::Transient, &frames::frame(&event, Weight::Transient));
        }
        self.touch();
        self.clients.borrow_mut().push(queue);
    }

    pub(crate) fn ping(&self) {
        let frame =
            frames::named("ping", &json!({"seq": self.fold.borrow().seq, "state": self.state()}));
        for client in &*self.clients.borrow() {
            client.push(Weight::Transient, &frame);
        }
    }

    fn broadcast(&self, event: &Event, weight: Weight) {
        let mut clients = self.clients.borrow_mut();
        clients.retain(|client| !client.is_over());
        if clients.is_empty() {
            return;
        }
        let frame = frames::frame(event, weight);
        for client in &*clients {
            if client.has_caught_up() {
                // The pieces include this one.
                let pieces = self.fold.borrow().pieces(&self.id);
                for piece in pieces {
                    client.push(Weight::Transient, &frames::frame(&piece, Weight::Transient));
                }
                if matches!(event.kind, EventKind::ReplyDelta { .. }) {
                    continue;
                }
            }
            client.push(weight, &frame);
        }
    }

    /// Shows all clients text that is not kept.
    pub(crate) fn tell(&self, level: Level, text: String, hint: Option<String>) {
        let kind = EventKind::Notice { level, text, hint, topic: None };
        let event = self.fold.borrow().transient(&self.id, kind);
        self.broadcast(&event, Weight::Transient);
    }

    fn take(&self, event: &Event) {
        self.touch();
        let was_running = self.fold.borrow().is_running;
        self.fold.borrow_mut().take(event);
        if let EventKind::Configured { mode, .. } = &event.kind
            && event.within.is_none()
            && let Some(live) = &mut *self.live.borrow_mut()
        {
            live.mode = *mode;
        }
        let weight = if event.kind.is_kept() { Weight::Kept } else { Weight::Transient };
        self.broadcast(event, weight);
        match &event.kind {
            EventKind::Asked { .. } => self.use_grant(event),
            // A turn that a crash cut off ends when the session is opened again.
            EventKind::TurnFinished { .. } if was_running && event.within.is_none() => {
                self.grants.borrow_mut().clear();
            }
            _ => {}
        }
    }

    /// Answers a question that was answered after the turn which asked it.
    fn use_grant(&self, event: &Event) {
        let EventKind::Asked { call, tool, args, .. } = &event.kind else { return };
        let mut grants = self.grants.borrow_mut();
        let fits = |grant: &Grant| grant.tool == *tool && grant.args == *args;
        let Some(position) = grants.iter().position(fits) else { return };
        let Grant { answer, by, .. } = grants.swap_remove(position);
        self.fold.borrow_mut().settle(call, &answer, Some(&by));
        self.try_input(Input::Answer { call: call.clone(), answer, by: Some(by) });
    }

    /// Sends input at once. A conversation that takes none is stuck or over.
    fn try_input(&self, input: Input) {
        if let Some(live) = &*self.live.borrow() {
            let _ = live.inputs.try_send(input);
        }
    }

    pub(crate) async fn input(&self, input: Input) -> Result<(), Failure> {
        self.touch();
        let inputs = self.live.borrow().as_ref().map(|live| live.inputs.clone());
        let sent = match inputs {
            Some(inputs) => inputs.send(input).await.is_ok(),
            None => false,
        };
        if sent { Ok(()) } else { Err(Failure::conflict("the session is not open any more")) }
    }

    /// Begins to serve an open conversation.
    pub(crate) fn begin(self: &Rc<Self>, opened: Opened, changed: impl Fn(&Rc<Self>) + 'static) {
        let Opened { conversation, commands, mode, modes, model, provider, models, .. } = opened;
        let closing = Rc::new(Notify::new());
        let inputs = conversation.inputs().clone();
        let task = tokio::task::spawn_local(Rc::clone(self).pump(
            conversation,
            Rc::clone(&closing),
            changed,
        ));
        let context_size = opened.context_size;
        let live = Live {
            inputs,
            commands,
            mode,
            modes,
            model,
            provider,
            models,
            context_size,
            closing,
            task,
        };
        *self.live.borrow_mut() = Some(live);
        self.touch();
    }

    async fn pump(
        self: Rc<Self>,
        mut conversation: Box<dyn Conversation>,
        closing: Rc<Notify>,
        changed: impl Fn(&Rc<Self>) + 'static,
    ) {
        let mut told = self.summary();
        loop {
            let event = tokio::select! {
                biased;
                () = closing.notified() => break,
                event = conversation.next_event() => event,
            };
            let Some(event) = event else { break };
            self.take(&event);
            if !event.kind.is_kept() {
                continue;
            }
            let mut now = self.summary();
            // Every event has another time.
            now["updated_at"] = told["updated_at"].clone();
            if now != told {
                told = now;
                changed(&self);
            }
        }
        for event in conversation.finish().await {
            self.take(&event);
        }
        *self.live.borrow_mut() = None;
        self.fold.borrow_mut().is_running = false;
        changed(&self);
    }

    /// The mode in force, or the last one of a session that is not open.
    pub(crate) fn mode(&self) -> Mode {
        let live = self.live.borrow().as_ref().map(|live| live.mode);
        live.unwrap_or_else(|| self.fold.borrow().mode)
    }

    /// Ends the conversation in order, if one is open. The caller holds `opening`.
    pub(crate) async fn close(&self) {
        let Some(Live { inputs, closing, task, .. }) = self.live.borrow_mut().take() else {
            return;
        };
        drop(inputs);
        closing.notify_one();
        // A panic of the conversation has been reported.
        let _ = task.await;
    }

    /// Ends the streams of all clients.
    pub(crate) fn dismiss(&self) {
        self.clients.borrow_mut().drain(..).for_each(|client| client.end());
    }

    /// Ends the wait for an answer that nobody gives.
    pub(crate) fn give_up(&self, limit: Duration) {
        if self.used.get().elapsed() < limit || self.has_clients() {
            return;
        }
        let calls: Vec<CallId> = {
            let fold = self.fold.borrow();
            let calls = fold.pending.iter().filter_map(|event| match &event.kind {
                EventKind::Asked { call, .. } if fold.is_running => Some(call.clone()),
                _ => None,
            });
            calls.collect()
        };
        for call in calls {
            let (answer, by) = (Answer::Cancel, Some(TIMEOUT.to_owned()));
            self.try_input(Input::Answer { call, answer, by });
        }
    }

    /// Returns true if an open session is of no use to anybody.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_live()
            && self.used.get().elapsed() > IDLE
            && !self.fold.borrow().is_running
            && self.fold.borrow().pending.is_empty()
            && !self.has_clients()
    }
}
