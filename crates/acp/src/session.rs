//! One open session: a task that takes the requests of the client and the events of the
//! conversation.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use contract::event::{Answer, Event, EventKind, Input, Level};
use contract::policy::Mode;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::host::{Expansion, Failure, Host, Opened, Wanted};
use crate::outcome;
use crate::peer::Peer;
use crate::permission::{self, Question};
use crate::updates::{Mapper, Source};
use crate::wire::{Block, Choice, Chunk, ClientAbilities, Code, ConfigOption, Update};

/// Something that the client wants of a session.
pub(crate) enum Order {
    Prompt {
        id: Value,
        text: String,
    },
    Cancel,
    /// Cancels the prompt with this request ID.
    CancelRequest(Value),
    Mode {
        id: Value,
        mode: String,
    },
    Config {
        id: Value,
        config: String,
        value: Value,
    },
    Close(oneshot::Sender<()>),
}

pub(crate) struct Session {
    host: Rc<dyn Host>,
    peer: Peer,
    /// The settings it was opened with, to open it again with another model.
    wanted: Wanted,
    opened: Opened,
    mapper: Mapper,
    turn: Option<Turn>,
    /// Questions that the client has not answered.
    questions: Vec<AbortHandle>,
    later: VecDeque<Order>,
}

struct Turn {
    id: Value,
    is_cancelled: bool,
}

/// The step after an order.
enum Next {
    Stay,
    Close(oneshot::Sender<()>),
}

impl Session {
    pub(crate) fn new(
        (host, peer): (Rc<dyn Host>, Peer),
        wanted: Wanted,
        abilities: ClientAbilities,
        mut opened: Opened,
    ) -> (Self, Vec<Event>) {
        let mapper = Mapper::new(wanted.cwd.clone(), abilities, opened.context_size);
        let history = std::mem::take(&mut opened.history);
        let wanted = Wanted { session: Some(opened.id.clone()), ..wanted };
        let (turn, questions, later) = (None, Vec::new(), VecDeque::new());
        let session = Self { host, peer, wanted, opened, mapper, turn, questions, later };
        (session, history)
    }

    /// Goes through the history, and sends it if the client wants it.
    pub(crate) async fn replay(&mut self, history: &[Event], is_sent: bool) {
        for event in history {
            for update in self.mapper.updates(event, Source::Replay) {
                if is_sent {
                    self.send(&update).await;
                }
            }
        }
    }

    /// The modes and choices, for the answer to the request that opened it.
    pub(crate) fn state(&self) -> Value {
        let mode = |mode: &Mode| json!({"id": mode.as_str(), "name": mode.as_str(), "description": mode.summary()});
        let modes: Vec<Value> = self.opened.modes.iter().map(mode).collect();
        json!({
            "modes": {"currentModeId": self.opened.mode.as_str(), "availableModes": modes},
            "configOptions": self.options(),
        })
    }

    fn options(&self) -> Vec<ConfigOption> {
        let mode = |mode: &Mode| Choice {
            value: mode.as_str().to_owned(),
            name: mode.as_str().to_owned(),
            description: Some(mode.summary().to_owned()),
        };
        let option = |id, name, current_value, options| ConfigOption {
            id,
            name,
            category: id,
            kind: "select",
            current_value,
            options,
        };
        let modes = self.opened.modes.iter().map(mode).collect();
        vec![
            option("mode", "Permission mode", self.opened.mode.as_str().to_owned(), modes),
            option("model", "Model", self.opened.model.clone(), self.opened.models.clone()),
        ]
    }

    /// Sends the commands. The client must know the session by then.
    pub(crate) async fn offer_commands(&self) {
        let available_commands = self.opened.commands.list();
        self.send(&Update::AvailableCommandsUpdate { available_commands }).await;
    }

    async fn send(&self, update: &Update) {
        let params = json!({"sessionId": self.opened.id, "update": update});
        self.peer.notify("session/update", &params).await;
    }

    async fn say(&self, text: &str) {
        let chunk = Chunk { content: Block::text(text), message_id: None };
        self.send(&Update::AgentMessageChunk(chunk)).await;
    }

    /// Serves the session until it is closed or the client is gone.
    pub(crate) async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut closing = None;
        loop {
            let order = if let Some(order) = self.later.pop_front() {
                order
            } else {
                tokio::select! {
                    biased;
                    order = orders.recv() => match order {
                        Some(order) => order,
                        None => break,
                    },
                    event = self.opened.conversation.next_event() => match event {
                        Some(event) => {
                            self.event(&event).await;
                            continue;
                        }
                        None => break,
                    },
                }
            };
            if let Next::Close(done) = self.order(order, &mut orders).await {
                closing = Some(done);
                break;
            }
        }
        let (peer, id) = (self.peer.clone(), self.opened.id.clone());
        let mut left = std::mem::take(&mut self.later);
        self.end().await;
        orders.close();
        while let Ok(order) = orders.try_recv() {
            left.push_back(order);
        }
        for order in left {
            match order {
                Order::Prompt { id: request, .. }
                | Order::Mode { id: request, .. }
                | Order::Config { id: request, .. } => {
                    peer.respond(&request, Err(Failure::unknown_session(id.as_str())));
                }
                // Dropping the sender says that it is closed.
                Order::Cancel | Order::CancelRequest(_) | Order::Close(_) => {}
            }
        }
        if let Some(done) = closing {
            // The client may be gone.
            let _ = done.send(());
        }
    }

    /// Cancels the turn, sends what still happens, and frees everything.
    async fn end(mut self) {
        if self.turn.is_some() {
            self.cancel().await;
            while self.turn.is_some() {
                let Some(event) = self.opened.conversation.next_event().await else { break };
                self.event(&event).await;
            }
        }
        self.fail_turn("the conversation ended");
        self.drop_questions();
        self.opened.conversation.finish().await;
    }

    /// Answers a prompt that can no longer end by itself.
    fn fail_turn(&mut self, why: &str) {
        if let Some(turn) = self.turn.take() {
            let result = if turn.is_cancelled {
                Ok(json!({"stopReason": "cancelled"}))
            } else {
                Err(Failure::new(Code::Internal, why))
            };
            self.peer.respond(&turn.id, result);
        }
    }

    async fn order(&mut self, order: Order, orders: &mut mpsc::UnboundedReceiver<Order>) -> Next {
        match order {
            Order::Prompt { id, text } => self.prompt(id, text, orders).await,
            Order::Cancel => self.cancel().await,
            Order::CancelRequest(id) => {
                if self.turn.as_ref().is_some_and(|turn| turn.id == id) {
                    self.cancel().await;
                }
            }
            Order::Mode { id, mode } => {
                let result = self.set_mode(&mode).await;
                self.peer.respond(&id, result.map(|()| json!({})));
                self.tell_options().await;
            }
            Order::Config { id, config, value } => {
                let result = self.configure(&config, &value).await;
                let answer = result.map(|()| json!({"configOptions": self.options()}));
                self.peer.respond(&id, answer);
                if config == "mode" {
                    self.tell_mode().await;
                }
            }
            Order::Close(done) => return Next::Close(done),
        }
        Next::Stay
    }

    async fn tell_mode(&self) {
        let current_mode_id = self.opened.mode.as_str();
        self.send(&Update::CurrentModeUpdate { current_mode_id }).await;
    }

    async fn tell_options(&self) {
        self.send(&Update::ConfigOptionUpdate { config_options: self.options() }).await;
    }

    async fn configure(&mut self, config: &str, value: &Value) -> Result<(), Failure> {
        let wrong = || Failure::params(format!("{value} is no value of the option {config:?}"));
        let value = value.as_str().ok_or_else(wrong)?;
        match config {
            "mode" => self.set_mode(value).await,
            "model" if self.opened.models.iter().any(|model| model.value == value) => {
                self.set_model(value.to_owned()).await
            }
            "model" => Err(wrong()),
            _ => Err(Failure::params(format!("there is no option {config:?}"))),
        }
    }

    async fn set_mode(&mut self, name: &str) -> Result<(), Failure> {
        let found = self.opened.modes.iter().find(|mode| mode.as_str() == name);
        let mode = *found.ok_or_else(|| Failure::params(format!("there is no mode {name:?}")))?;
        self.change_mode(mode).await;
        Ok(())
    }

    async fn change_mode(&mut self, mode: Mode) {
        (self.opened.mode, self.wanted.mode) = (mode, Some(mode));
        self.opened.conversation.set_mode(mode);
        self.input(Input::Mode { mode }).await;
    }

    /// Opens the session again with another model.
    async fn set_model(&mut self, model: String) -> Result<(), Failure> {
        if model == self.opened.model {
            return Ok(());
        }
        if self.turn.is_some() {
            let text = "the model cannot be changed while the session is at work";
            return Err(Failure::new(Code::InvalidRequest, text));
        }
        let before = self.wanted.model.replace(model);
        self.wanted.mode = Some(self.opened.mode);
        let closed = Box::new(Closed(mpsc::channel(1).0));
        std::mem::replace(&mut self.opened.conversation, closed).finish().await;
        let reopened = self.host.open(self.wanted.clone()).await;
        let (opened, result) = match reopened {
            Ok(opened) => (opened, Ok(())),
            Err(failure) => {
                self.wanted.model = before;
                (self.host.open(self.wanted.clone()).await?, Err(failure))
            }
        };
        self.mapper.context_size = opened.context_size;
        self.opened = opened;
        result
    }

    /// Sends input. If the conversation is over, its events end, too.
    async fn input(&self, input: Input) {
        let _ = self.opened.conversation.inputs().send(input).await;
    }

    async fn cancel(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.is_cancelled = true;
            self.input(Input::Interrupt).await;
        }
    }

    async fn prompt(
        &mut self,
        id: Value,
        text: String,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) {
        if self.turn.is_some() {
            let hint = Some("wait for its end, or send `session/cancel`".to_owned());
            let text = "the session is at work on another prompt";
            let busy = Failure { hint, ..Failure::new(Code::InvalidRequest, text) };
            return self.peer.respond(&id, Err(busy));
        }
        let commands = Rc::clone(&self.opened.commands);
        let expansion = commands.expand(&text, self.opened.mode);
        tokio::pin!(expansion);
        let expanded = loop {
            tokio::select! {
                expanded = &mut expansion => break Some(expanded),
                order = orders.recv() => match order {
                    Some(Order::Cancel) | None => break None,
                    Some(Order::CancelRequest(other)) if other == id => break None,
                    Some(order) => self.later.push_back(order),
                },
            }
        };
        let answer = match expanded {
            None => Ok(json!({"stopReason": "cancelled"})),
            Some(Ok(Expansion::Work(input))) => {
                self.turn = Some(Turn { id, is_cancelled: false });
                return self.input(*input).await;
            }
            Some(expanded) => {
                let shown = match expanded {
                    Ok(Expansion::Show { text, inputs }) => {
                        for input in inputs {
                            self.input(input).await;
                        }
                        Ok(text)
                    }
                    Ok(Expansion::Mode(mode)) => {
                        self.change_mode(mode).await;
                        self.tell_mode().await;
                        self.tell_options().await;
                        Ok(format!("The mode is {}.", mode.as_str()))
                    }
                    Ok(Expansion::Model(model)) => self
                        .set_model(model)
                        .await
                        .map(|()| format!("The model is {}.", self.opened.model)),
                    Ok(Expansion::Work(_)) => Ok(String::new()),
                    Err(failure) => Err(failure),
                };
                let words = shown.unwrap_or_else(|Failure { message, hint, .. }| {
                    hint.map_or(message.clone(), |hint| format!("{message} ({hint})"))
                });
                self.say(&words).await;
                Ok(json!({"stopReason": "end_turn"}))
            }
        };
        self.peer.respond(&id, answer);
    }

    async fn event(&mut self, event: &Arc<Event>) {
        if let EventKind::Notice { level: Level::Warning | Level::Error, text, .. } = &event.kind {
            self.host.warn(text);
        }
        for update in self.mapper.updates(event, Source::Live) {
            self.send(&update).await;
        }
        if let Some(question) = Question::of(event, &self.mapper) {
            self.ask(question);
        }
        // Another client of the session may change the mode.
        if let EventKind::Configured { mode, .. } = &event.kind
            && event.within.is_none()
            && *mode != self.opened.mode
        {
            (self.opened.mode, self.wanted.mode) = (*mode, Some(*mode));
            self.tell_mode().await;
            self.tell_options().await;
        }
        if let EventKind::TurnFinished { outcome, .. } = &event.kind
            && event.within.is_none()
        {
            self.drop_questions();
            if let Some(turn) = self.turn.take() {
                self.peer.respond(&turn.id, outcome::answer(outcome, turn.is_cancelled));
            }
        }
    }

    fn ask(&mut self, question: Question) {
        let (peer, inputs) = (self.peer.clone(), self.opened.conversation.inputs().clone());
        let asking = async move {
            let Question { call, params, can_remember } = question;
            let reply = peer.request("session/request_permission", &params).await;
            let answer =
                reply.map_or(Answer::Unavailable, |reply| permission::answer(reply, can_remember));
            // The conversation may be over.
            let _ = inputs.send(Input::Answer { call, answer, by: None }).await;
        };
        self.questions.retain(|question| !question.is_finished());
        self.questions.push(tokio::task::spawn_local(asking).abort_handle());
    }

    /// Withdraws the questions that nobody needs to answer any more.
    fn drop_questions(&mut self) {
        self.questions.drain(..).for_each(|question| question.abort());
    }
}

/// Stands for a conversation while another one is opened.
struct Closed(mpsc::Sender<Input>);

#[async_trait::async_trait(?Send)]
impl crate::host::Conversation for Closed {
    fn inputs(&self) -> &mpsc::Sender<Input> {
        &self.0
    }

    async fn next_event(&mut self) -> Option<Arc<Event>> {
        None
    }

    fn set_mode(&self, _mode: Mode) {}

    async fn finish(self: Box<Self>) {}
}
