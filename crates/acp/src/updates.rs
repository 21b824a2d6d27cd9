//! The mapping of events to updates, for live events and for the replay of a stored session.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use contract::action::Action;
use contract::event::{
    Answer, CallOutcome, Event, EventKind, Level, MessageOrigin, Outcome, Piece,
};
use contract::id::CallId;
use contract::message::{Part, Reply, Usage};
use contract::policy::Decision;
use contract::text;
use contract::tool::ToolOutput;
use serde_json::Value;

use crate::outcome;
use crate::tool_calls;
use crate::wire::{
    Block, Chunk, ClientAbilities, Cost, PlanEntry, ToolCall, ToolContent, ToolStatus, Update,
};

/// The shown end of the output of a running call, in bytes.
const PROGRESS: usize = 4 << 10;

/// Where events come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Live,
    /// A stored session, whose prompts the client does not know.
    Replay,
}

/// Turns the events of one session into updates.
pub struct Mapper {
    cwd: PathBuf,
    abilities: ClientAbilities,
    pub(crate) context_size: Option<u64>,
    replies: u64,
    /// True if a piece of the text, or of the thinking, of the present reply was sent.
    has_text: bool,
    has_thinking: bool,
    calls: BTreeMap<CallId, RunningCall>,
    /// Calls within others that the user was asked about.
    asked_within: BTreeSet<CallId>,
    used: u64,
    cost: Option<f64>,
}

#[derive(Default)]
struct RunningCall {
    args: Value,
    progress: String,
}

impl Mapper {
    pub fn new(cwd: PathBuf, abilities: ClientAbilities, context_size: Option<u64>) -> Self {
        Self {
            cwd,
            abilities,
            context_size,
            replies: 0,
            has_text: false,
            has_thinking: false,
            calls: BTreeMap::new(),
            asked_within: BTreeSet::new(),
            used: 0,
            cost: None,
        }
    }

    /// The updates that an event means.
    pub fn updates(&mut self, event: &Event, source: Source) -> Vec<Update> {
        if let Some(within) = &event.within {
            return self.within(&within.call, &within.agent, &event.kind);
        }
        match &event.kind {
            EventKind::TurnStarted { prompt } if source == Source::Replay => vec![user(prompt)],
            EventKind::Injected { origin: MessageOrigin::User, text } => vec![user(text)],
            EventKind::ReplyDelta { piece } => self.piece(piece).into_iter().collect(),
            EventKind::ReplyFinished { reply, usage } => self.reply(reply, usage),
            EventKind::ToolCalled { call } => {
                let args = call.args.clone();
                let shown = ToolCall {
                    tool_call_id: call.id.to_string(),
                    title: Some(tool_calls::first_title(&call.name, &args)),
                    name: Some(call.name.clone()),
                    status: Some(ToolStatus::Pending),
                    raw_input: Some(args.clone()),
                    ..ToolCall::default()
                };
                let running = RunningCall { args, ..RunningCall::default() };
                self.calls.insert(call.id.clone(), running);
                vec![Update::ToolCall(shown)]
            }
            EventKind::ToolJudged { call, args, actions, ruling, .. } => {
                if let Some(running) = self.calls.get_mut(call) {
                    running.args = args.clone();
                }
                let is_allowed = ruling.decision == Decision::Allow;
                let update = ToolCall {
                    status: is_allowed.then_some(ToolStatus::InProgress),
                    ..self.described(call, args, actions)
                };
                vec![Update::ToolCallUpdate(update)]
            }
            EventKind::Answered { call, answer, .. } => match answer {
                Answer::Once | Answer::Session | Answer::Project | Answer::Always => {
                    vec![status(call, ToolStatus::InProgress)]
                }
                Answer::Deny { .. } | Answer::Cancel | Answer::Unavailable => Vec::new(),
            },
            EventKind::ToolProgress { call, text } => self.progress(call, text),
            EventKind::ToolFinished { call, outcome, output, content, .. } => {
                self.finished(call, *outcome, output, content)
            }
            // Notices are about the present, not part of the history.
            EventKind::Notice { level, text, hint, .. }
                if self.abilities.notices && source == Source::Live && !text.is_empty() =>
            {
                let severity = match level {
                    Level::Info => "info",
                    Level::Warning => "warning",
                    Level::Error => "error",
                };
                vec![Update::Notice { severity, title: text.clone(), description: hint.clone() }]
            }
            EventKind::Compacted { summary, .. } if self.abilities.compaction => {
                vec![Update::CompactionUpdate {
                    compaction_id: format!("compaction-{}", event.seq.0),
                    status: "completed",
                    summary: summary.as_ref().map(|text| vec![Block::text(text)]),
                }]
            }
            EventKind::Titled { title } => vec![Update::SessionInfoUpdate { title: title.clone() }],
            EventKind::TurnFinished { outcome, usage } => self.ended(outcome, usage),
            _ => Vec::new(),
        }
    }

    fn chunk(&self, text: &str) -> Chunk {
        let message_id = Some(format!("reply-{}", self.replies));
        Chunk { content: Block::text(text), message_id }
    }

    fn piece(&mut self, piece: &Piece) -> Option<Update> {
        match piece {
            Piece::Text { text } => {
                self.has_text = true;
                Some(Update::AgentMessageChunk(self.chunk(text)))
            }
            Piece::Thinking { text } => {
                self.has_thinking = true;
                Some(Update::AgentThoughtChunk(self.chunk(text)))
            }
            Piece::Restart if self.has_text => {
                let text = "\n\n[The reply broke off and begins again.]\n\n";
                Some(Update::AgentMessageChunk(self.chunk(text)))
            }
            Piece::Restart | Piece::Call { .. } => None,
        }
    }

    /// Sends what was not streamed.
    fn reply(&mut self, reply: &Reply, usage: &Usage) -> Vec<Update> {
        let mut updates = Vec::new();
        for part in &reply.parts {
            match part {
                Part::Text { text } if !self.has_text && !text.is_empty() => {
                    updates.push(Update::AgentMessageChunk(self.chunk(text)));
                }
                Part::Thinking { text, .. } if !self.has_thinking && !text.is_empty() => {
                    updates.push(Update::AgentThoughtChunk(self.chunk(text)));
                }
                _ => {}
            }
        }
        self.next_reply();
        if usage.total_tokens() > 0 {
            self.used = usage.total_tokens();
        }
        updates
    }

    fn next_reply(&mut self) {
        self.replies += 1;
        (self.has_text, self.has_thinking) = (false, false);
    }

    /// A call with everything that its actions say.
    pub(crate) fn described(&self, call: &CallId, args: &Value, actions: &[Action]) -> ToolCall {
        ToolCall {
            tool_call_id: call.to_string(),
            title: tool_calls::title(actions, &self.cwd),
            kind: Some(tool_calls::kind(actions)),
            locations: Some(tool_calls::locations(actions, &self.cwd)),
            raw_input: Some(args.clone()),
            ..ToolCall::default()
        }
    }

    pub(crate) fn proposed(&self, actions: &[Action]) -> Vec<ToolContent> {
        tool_calls::proposed(actions, &self.cwd)
    }

    fn progress(&mut self, call: &CallId, piece: &str) -> Vec<Update> {
        let running = self.calls.entry(call.clone()).or_default();
        running.progress.push_str(piece);
        let end = text::tail(&running.progress, PROGRESS);
        if end.len() < running.progress.len() {
            running.progress = end.to_owned();
        }
        vec![Update::ToolCallUpdate(ToolCall {
            tool_call_id: call.to_string(),
            status: Some(ToolStatus::InProgress),
            content: Some(vec![ToolContent::text(&running.progress)]),
            ..ToolCall::default()
        })]
    }

    fn finished(
        &mut self,
        call: &CallId,
        outcome: CallOutcome,
        output: &ToolOutput,
        content: &str,
    ) -> Vec<Update> {
        let running = self.calls.remove(call).unwrap_or_default();
        let is_done = outcome == CallOutcome::Ran && output.success && output.error.is_none();
        let mut updates = vec![Update::ToolCallUpdate(ToolCall {
            tool_call_id: call.to_string(),
            status: Some(if is_done { ToolStatus::Completed } else { ToolStatus::Failed }),
            content: Some(tool_calls::content(output, content, &self.cwd)),
            ..ToolCall::default()
        })];
        let subject = output.lasting().and_then(|lasting| lasting.subject);
        if is_done && subject.as_deref() == Some("todos") {
            updates.extend(plan(&running.args));
        }
        updates
    }

    /// An event of a conversation that a call holds: a line in the content of that call.
    fn within(&mut self, outer: &CallId, agent: &str, kind: &EventKind) -> Vec<Update> {
        match kind {
            EventKind::ToolCalled { call } => {
                let title = tool_calls::first_title(&call.name, &call.args);
                self.progress(outer, &format!("{agent}: {title}\n"))
            }
            EventKind::Asked { call, .. } => {
                self.asked_within.insert(call.clone());
                Vec::new()
            }
            EventKind::ToolFinished { call, outcome, output, content, .. }
                if self.asked_within.remove(call) =>
            {
                self.finished(call, *outcome, output, content)
            }
            _ => Vec::new(),
        }
    }

    fn ended(&mut self, outcome: &Outcome, usage: &Usage) -> Vec<Update> {
        let mut updates = Vec::new();
        // The words are a message of their own.
        self.next_reply();
        if let Some(words) = outcome::words(outcome) {
            updates.push(Update::AgentMessageChunk(self.chunk(&words)));
            self.next_reply();
        }
        self.calls.clear();
        self.asked_within.clear();
        if let Some(cost) = usage.cost_usd {
            *self.cost.get_or_insert(0.0) += cost;
        }
        let is_cut = matches!(outcome, Outcome::Cancelled | Outcome::Failed { .. });
        if let Some(size) = self.context_size.filter(|_| self.used > 0 && !is_cut) {
            let cost = self.cost.map(|amount| Cost { amount, currency: "USD" });
            updates.push(Update::UsageUpdate { used: self.used, size, cost });
        }
        updates
    }
}

fn user(text: &str) -> Update {
    Update::UserMessageChunk(Chunk { content: Block::text(text), message_id: None })
}

fn status(call: &CallId, status: ToolStatus) -> Update {
    Update::ToolCallUpdate(ToolCall {
        tool_call_id: call.to_string(),
        status: Some(status),
        ..ToolCall::default()
    })
}

fn plan(args: &Value) -> Option<Update> {
    let entry = |todo: &Value| {
        Some(PlanEntry {
            content: todo.get("content")?.as_str()?.to_owned(),
            priority: "medium",
            status: todo.get("status")?.as_str()?.to_owned(),
        })
    };
    let entries = args.get("todos")?.as_array()?.iter().map(entry).collect::<Option<_>>()?;
    Some(Update::Plan { entries })
}
