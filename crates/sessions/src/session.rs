//! A session as people and scripts see it: its outline, its messages, what it cost.

use contract::event::{CallOutcome, Event, EventKind, Origin};
use contract::id::{CallId, SessionId, Timestamp};
use contract::message::Usage;
use serde::Serialize;
use serde_json::Value;

use crate::summary::{Summarizer, Summary};

/// A whole session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// Its outline.
    #[serde(flatten)]
    pub summary: Summary,
    /// Where it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// What all replies cost together.
    pub usage: Usage,
}

/// A message of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What the model reads or wrote.
    pub content: String,
    /// When.
    pub timestamp: Timestamp,
    /// The model's reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The tool that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The arguments it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<Value>,
    /// What came of the call; none where it never ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<ToolResult>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The program, in the user's place.
    System,
    /// A tool.
    Tool,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolResult {
    /// Whether it did what it was asked.
    pub success: bool,
    /// What it has to say.
    pub output: String,
    /// What went wrong.
    pub error: Option<String>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Milliseconds it ran.
    pub duration_ms: u64,
}

impl Session {
    /// Folds the events of session `id`.
    pub fn of(id: &SessionId, events: &[Event]) -> Self {
        let at = events.first().map_or_else(Timestamp::now, |event| event.at);
        let mut summarizer = Summarizer::new(id.clone(), at);
        let mut fold = Fold::default();
        for event in events {
            summarizer.add(event);
            fold.add(event);
        }
        let messages = fold.messages.drain(..).chain(fold.open.drain(..).map(|(_, it)| it));
        Self {
            summary: summarizer.summary,
            forked_from: fold.forked_from,
            messages: messages.collect(),
            usage: Usage { generation_id: None, ..fold.usage },
        }
    }
}

/// The fold of a session's events into messages.
#[derive(Default)]
pub(crate) struct Fold {
    /// Messages that are whole. Whoever takes them out as they come keeps none in memory.
    pub(crate) messages: Vec<Message>,
    /// Calls without an end so far.
    pub(crate) open: Vec<(CallId, Message)>,
    /// What all replies cost together.
    pub(crate) usage: Usage,
    /// Where the session was forked from.
    pub(crate) forked_from: Option<Origin>,
}

impl Fold {
    /// Folds one event in.
    pub(crate) fn add(&mut self, event: &Event) {
        if event.within.is_some() {
            // What a conversation within came to is the result of the call that held it.
            if let EventKind::ReplyFinished { usage, .. } = &event.kind {
                self.usage.add(usage);
            }
            return;
        }
        let message = |role, content: &str| Message {
            role,
            content: content.to_owned(),
            timestamp: event.at,
            thinking: None,
            tool_name: None,
            tool_input: None,
            tool_result: None,
        };
        match &event.kind {
            EventKind::SessionStarted { forked_from, .. } => {
                self.forked_from.clone_from(forked_from);
            }
            EventKind::TurnStarted { prompt } => self.messages.push(message(Role::User, prompt)),
            EventKind::Injected { text, .. } => self.messages.push(message(Role::System, text)),
            EventKind::ReplyFinished { reply, usage } => {
                self.usage.add(usage);
                let (text, thinking) = (reply.text(), reply.thinking());
                if !text.is_empty() || !thinking.is_empty() {
                    self.messages.push(Message {
                        thinking: (!thinking.is_empty()).then_some(thinking),
                        ..message(Role::Assistant, &text)
                    });
                }
            }
            what => self.add_call(what, &message(Role::Tool, "")),
        }
    }

    fn add_call(&mut self, what: &EventKind, blank: &Message) {
        match what {
            EventKind::ToolCalled { call } => {
                let message = Message {
                    tool_name: Some(call.name.clone()),
                    tool_input: Some(call.args.clone()),
                    ..blank.clone()
                };
                self.open.push((call.id.clone(), message));
            }
            EventKind::ToolJudged { call, args, .. } => {
                let open = self.open.iter_mut().find(|(id, _)| id == call);
                if let Some((_, message)) = open {
                    message.tool_input = Some(args.clone());
                }
            }
            EventKind::ToolFinished { call, name, outcome, output, content, duration_ms } => {
                let position = self.open.iter().position(|(id, _)| id == call);
                let called = position.map(|position| self.open.remove(position).1);
                self.messages.push(Message {
                    content: content.clone(),
                    tool_name: Some(name.clone()),
                    tool_input: called.and_then(|called| called.tool_input),
                    tool_result: Some(ToolResult {
                        success: output.success,
                        output: output.output.clone(),
                        error: output.error.clone(),
                        outcome: *outcome,
                        duration_ms: *duration_ms,
                    }),
                    ..blank.clone()
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_outline_counts_the_messages_at_every_point() {
        let events = samples::conversation();
        for count in 0..=events.len() {
            let session = Session::of(&samples::id(), &events[..count]);
            let counted = usize::try_from(session.summary.message_count).unwrap();
            assert_eq!(counted, session.messages.len(), "after {count} events");
        }
    }

    #[test]
    fn a_call_that_never_ended_is_shown_without_a_result() {
        let events = samples::conversation();
        let is_call = |event: &Event| matches!(event.kind, EventKind::ToolCalled { .. });
        let called = events.iter().position(is_call).unwrap();
        let session = Session::of(&samples::id(), &events[..=called]);
        let last = session.messages.last().unwrap();
        assert_eq!(last.tool_name.as_deref(), Some("Bash"));
        assert_eq!(last.tool_result, None);
    }
}
