//! Tries handlers on an event that did not happen, one by one.

use contract::event::{CallOutcome, Subconversation};
use contract::hook::Notification;
use contract::id::CallId;
use contract::message::ToolCall;
use contract::tool::ToolOutput;
use serde_json::{Map, Value, json};

use super::ClaudeHooks;
use super::event::Event;
use super::expansion::Expanded;
use super::handlers::{Handler, Waiting};
use super::hook::Handlers;
use crate::hooks::moment::Reply;
use crate::hooks::rehearsal::{Pretended, Rehearsal};

impl ClaudeHooks {
    pub async fn rehearse(&self, what: Pretended<'_>) -> Option<Vec<Value>> {
        let event = Event::of(what.event).ok()?;
        let output = if event == Event::PostToolUseFailure {
            ToolOutput::failure(what.text)
        } else {
            ToolOutput::success(what.text)
        };
        let rehearsal = Rehearsal::new(what, output, notification(event, what));
        let mut context = rehearsal.context()?;
        if matches!(event, Event::SubagentStart | Event::SubagentStop) {
            let call = CallId("rehearsal".to_owned());
            context.within = Some(Subconversation { call, agent: String::new() });
        }
        if event == Event::UserPromptExpansion {
            self.shared.settings.expansions.note(expanded(what.text));
        }
        let mut rows = Vec::new();
        for owner in &self.owners {
            let claude_events =
                owner.claude_events(&context, rehearsal.occurrence(event.moment())?);
            let claude_event =
                claude_events.into_iter().find(|claude_event| claude_event.event == event);
            for handler in owner.list.iter().filter(|handler| handler.event == event) {
                let outcome = match claude_event.clone().filter(|it| handler.is_for(it)) {
                    Some(claude_event) => told(alone(owner, handler).gather(claude_event).await),
                    None => "no match".into(),
                };
                rows.push(json!({
                    "name": handler.title(),
                    "type": "claude",
                    "source": owner.title,
                    "matcher": handler.matcher.text(),
                    "outcome": outcome,
                }));
            }
        }
        self.end();
        Some(rows)
    }
}

/// One handler of an owner, whose end is waited for.
fn alone(owner: &Handlers, handler: &Handler) -> Handlers {
    let handler = Handler { waiting: Waiting::ForEnd, ..handler.clone() };
    Handlers { list: vec![handler], ..owner.clone() }
}

fn notification(event: Event, what: Pretended<'_>) -> Notification {
    let text = what.text.to_owned();
    match event {
        Event::SessionEnd => Notification::SessionEnded,
        Event::SubagentStart => Notification::AgentStarted,
        Event::Notification => Notification::Asking { tool: what.tool.to_owned() },
        Event::StopFailure => Notification::Failed { error: text, kind: "test".to_owned() },
        Event::PostToolBatch => Notification::BatchEnded { calls: Vec::new(), results: Vec::new() },
        Event::PostCompact => {
            Notification::Compacted { is_asked_for: true, summary: text, dropped: 0, kept: 0 }
        }
        Event::PermissionDenied => Notification::CallRefused {
            call: ToolCall {
                id: CallId("rehearsal".to_owned()),
                name: what.tool.to_owned(),
                args: what.input.clone(),
                opaque: None,
            },
            outcome: CallOutcome::Denied,
            why: text,
        },
        _ => Notification::SessionStarted,
    }
}

fn expanded(text: &str) -> Expanded {
    let (name, args) = text.split_once(' ').unwrap_or((text, ""));
    Expanded {
        name: name.trim_start_matches('/').to_owned(),
        args: args.to_owned(),
        source: String::new(),
        text: text.to_owned(),
        lines: Vec::new(),
    }
}

fn told(said: Reply) -> Value {
    let context = said.inject();
    let lines = |lines: &[String]| (!lines.is_empty()).then(|| Value::from(lines.join("\n")));
    let parts = [
        ("failed", lines(&said.failures)),
        ("message", lines(&said.messages)),
        ("block", said.block.map(Value::from)),
        ("ask", said.ask.map(Value::from)),
        ("stop", said.stop.map(Value::from)),
        ("updated_input", said.input),
        ("updated_output", said.text.map(Value::from)),
        ("context", context.map(Value::from)),
    ];
    let said: Map<String, Value> =
        parts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    if said.is_empty() { "no objection".into() } else { said.into() }
}
