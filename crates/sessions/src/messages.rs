//! The messages of a session, as users and scripts see them.

use contract::event::{CallOutcome, Event, EventKind, Origin};
use contract::id::{CallId, Timestamp};
use contract::message::Usage;
use serde::Serialize;
use serde_json::Value;

/// A message of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The text that the model reads or wrote.
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
    /// The result of the call; none if it never ended.
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

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolResult {
    /// The call did what it was asked.
    pub success: bool,
    /// Its output.
    pub output: String,
    /// Its error.
    pub error: Option<String>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Milliseconds it ran.
    pub duration_ms: u64,
}

/// The messages of a session.
pub fn messages(events: &[Event]) -> Vec<Message> {
    let mut fold = Fold::default();
    for event in events {
        fold.add(event);
    }
    fold.messages.into_iter().chain(fold.open.into_iter().map(|(_, message)| message)).collect()
}

/// The fold of a session's events into messages.
#[derive(Default)]
pub(crate) struct Fold {
    /// Messages that are whole. Whoever takes them out as they come keeps none in memory.
    pub(crate) messages: Vec<Message>,
    /// Calls without an end so far.
    pub(crate) open: Vec<(CallId, Message)>,
    /// The usage of all replies together.
    pub(crate) usage: Usage,
    /// Where the session was forked from.
    pub(crate) forked_from: Option<Origin>,
}

impl Fold {
    /// Folds one event in.
    pub(crate) fn add(&mut self, event: &Event) {
        if event.within.is_some() {
            // The result of a nested conversation is the result of its call.
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
    use crate::summary::Summarizer;

    #[test]
    fn the_summary_counts_the_messages_at_every_point() {
        let events = samples::conversation();
        let mut summarizer = Summarizer::new(samples::id(), events[0].at);
        for (count, event) in (1..).zip(&events) {
            summarizer.add(event);
            let counted = usize::try_from(summarizer.summary.message_count).unwrap();
            assert_eq!(counted, messages(&events[..count]).len(), "after {count} events");
        }
    }

    #[test]
    fn unfinished_call_is_shown_without_a_result() {
        let events = samples::conversation();
        let is_call = |event: &Event| matches!(event.kind, EventKind::ToolCalled { .. });
        let called = events.iter().position(is_call).unwrap();
        let messages = messages(&events[..=called]);
        let last = messages.last().unwrap();
        assert_eq!(last.tool_name.as_deref(), Some("Bash"));
        assert_eq!(last.tool_result, None);
    }
}
