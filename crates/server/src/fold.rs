//! The state of a session that clients see: a fold over its events.

use std::collections::{HashMap, VecDeque};

use contract::event::{Answer, Event, EventKind, Piece};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::message::Usage;
use contract::policy::Mode;
use contract::text;
use serde_json::{Value, json};

/// The `by` of answers that the server gives when nobody answers in time.
pub(crate) const TIMEOUT: &str = "timeout";
/// Answers that are known at most, to refuse second ones.
const ANSWERS: usize = 1_000;
/// Bytes of a title that is taken from the first prompt.
const TITLE: usize = 60;

#[derive(Clone, Default)]
pub(crate) struct Fold {
    pub(crate) seq: Seq,
    pub(crate) cwd: String,
    /// The role that a client named, until the log names it.
    pub(crate) role: Option<String>,
    title: Option<String>,
    first_prompt: String,
    pub(crate) updated_at: Option<Timestamp>,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) mode: Mode,
    pub(crate) is_running: bool,
    /// Questions without an answer. They outlive a turn that ended without one.
    pub(crate) pending: Vec<Event>,
    answers: VecDeque<(CallId, Value)>,
    usage: Usage,
    used: u64,
    todos: Value,
    /// The lists in open calls that may become the list of todos.
    lists: HashMap<CallId, Value>,
    text: String,
    thinking: String,
}

/// An answer, as clients see it.
fn shown(call: &CallId, answer: &Answer, by: Option<&str>) -> Value {
    let mut shown = json!(answer);
    shown["call"] = json!(call);
    if let Some(by) = by {
        shown["by"] = by.into();
    }
    shown
}

impl Fold {
    pub(crate) fn take(&mut self, event: &Event) {
        if event.kind.is_kept() {
            self.seq = event.seq;
            self.updated_at = Some(event.at);
        }
        match &event.kind {
            EventKind::Asked { .. } => self.pending.push(event.clone()),
            EventKind::Answered { call, answer, by, .. } if by.as_deref() != Some(TIMEOUT) => {
                self.settle(call, answer, by.as_deref());
            }
            _ => {}
        }
        if event.within.is_some() {
            return;
        }
        match &event.kind {
            EventKind::SessionStarted { cwd, .. } => self.cwd.clone_from(cwd),
            EventKind::Titled { title } => self.title = Some(title.clone()),
            EventKind::Configured { provider, model, mode, .. } => {
                (self.provider, self.model, self.mode) = (provider.clone(), model.clone(), *mode);
            }
            EventKind::TurnStarted { prompt } => {
                self.is_running = true;
                self.pending.clear();
                if self.first_prompt.is_empty() {
                    text::head(prompt.trim(), 4 * TITLE).clone_into(&mut self.first_prompt);
                }
            }
            EventKind::RequestSent { .. } => self.forget_pieces(),
            EventKind::ReplyDelta { piece } => match piece {
                Piece::Text { text } => self.text.push_str(text),
                Piece::Thinking { text } => self.thinking.push_str(text),
                Piece::Restart => self.forget_pieces(),
                Piece::Call { .. } => {}
            },
            EventKind::ReplyFinished { usage, .. } => {
                self.forget_pieces();
                self.used = usage.total_tokens();
            }
            EventKind::ToolCalled { call } => {
                if let Some(todos) = call.args.get("todos").filter(|todos| todos.is_array()) {
                    self.lists.insert(call.id.clone(), todos.clone());
                }
            }
            EventKind::ToolFinished { call, output, .. } => {
                let list = self.lists.remove(call);
                let subject = output.lasting().and_then(|lasting| lasting.subject);
                if let Some(list) = list.filter(|_| output.success)
                    && subject.as_deref() == Some("todos")
                {
                    self.todos = list;
                }
            }
            EventKind::TurnFinished { usage, .. } => {
                self.is_running = false;
                self.usage.add(usage);
                self.forget_pieces();
                self.lists.clear();
            }
            _ => {}
        }
    }

    fn forget_pieces(&mut self) {
        self.text.clear();
        self.thinking.clear();
    }

    /// Notes the answer to a question. Further ones are refused.
    pub(crate) fn settle(&mut self, call: &CallId, answer: &Answer, by: Option<&str>) {
        self.pending.retain(|event| asked_call(event) != Some(call));
        self.answers.retain(|(known, _)| known != call);
        self.answers.push_back((call.clone(), shown(call, answer, by)));
        if self.answers.len() > ANSWERS {
            self.answers.pop_front();
        }
    }

    pub(crate) fn answer_to(&self, call: &CallId) -> Option<&Value> {
        self.answers.iter().find(|(known, _)| known == call).map(|(_, answer)| answer)
    }

    pub(crate) fn question(&self, call: &CallId) -> Option<&Event> {
        self.pending.iter().find(|event| asked_call(event) == Some(call))
    }

    /// The events that bring a client up to date with a reply that arrives.
    pub(crate) fn pieces(&self, session: &SessionId) -> Vec<Event> {
        if self.text.is_empty() && self.thinking.is_empty() {
            return Vec::new();
        }
        let mut pieces = vec![Piece::Restart];
        if !self.thinking.is_empty() {
            pieces.push(Piece::Thinking { text: self.thinking.clone() });
        }
        if !self.text.is_empty() {
            pieces.push(Piece::Text { text: self.text.clone() });
        }
        let event = |piece| self.transient(session, EventKind::ReplyDelta { piece });
        pieces.into_iter().map(event).collect()
    }

    /// An event that the log does not have.
    pub(crate) fn transient(&self, session: &SessionId, kind: EventKind) -> Event {
        let (session, at) = (session.clone(), Timestamp::now());
        Event { seq: self.seq, session, at, within: None, kind }
    }

    /// The title, or the beginning of the first prompt.
    pub(crate) fn title(&self) -> String {
        if let Some(title) = &self.title {
            return text::one_line(title);
        }
        let line = self.first_prompt.lines().next().unwrap_or_default();
        let shown = text::one_line(text::head(line, TITLE));
        if line.len() > TITLE { shown + "…" } else { shown }
    }

    /// The parts of a session's details that events tell.
    pub(crate) fn details(&self, context_size: Option<u64>) -> Value {
        let todo = |todo: &Value| json!({"content": todo["content"], "status": todo["status"]});
        let todos: Vec<Value> = self.todos.as_array().into_iter().flatten().map(todo).collect();
        json!({
            "seq": self.seq,
            "pending": self.pending,
            "todos": todos,
            "usage": self.usage,
            "cost": self.usage.cost_usd,
            "context": context_size.map(|size| json!({"used": self.used, "size": size})),
        })
    }
}

fn asked_call(event: &Event) -> Option<&CallId> {
    match &event.kind {
        EventKind::Asked { call, .. } => Some(call),
        _ => None,
    }
}
