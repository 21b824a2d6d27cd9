//! The result of a run: its events folded into the exit code and the JSON answer.

use contract::event::{CallOutcome, Event, EventKind, Level, Outcome};
use contract::message::{Part, ToolCall, Usage};
use contract::tool::ToolOutput;
use serde_json::Value;

use crate::exit::Exit;

#[derive(Default)]
pub struct Verdict {
    pub response: String,
    pub provider: String,
    pub model: String,
    /// None if the turn never ended.
    pub outcome: Option<Outcome>,
    pub usage: Usage,
    pub calls: Vec<ToolCall>,
    pub results: Vec<CallResult>,
    pub errors: Vec<String>,
    /// True if a call failed.
    pub has_failed_call: bool,
    keeps_calls: bool,
    /// The outcomes of calls, also of nested conversations.
    endings: Vec<CallOutcome>,
    signal: Option<Exit>,
    /// True if the user interrupted twice.
    pub is_forced: bool,
}

pub struct CallResult {
    pub tool: String,
    pub id: String,
    pub outcome: CallOutcome,
    pub output: ToolOutput,
}

impl Verdict {
    /// A long run has many calls, so their arguments and results are kept only if the view shows
    /// them at the end.
    pub fn new(keeps_calls: bool) -> Self {
        Self { keeps_calls, ..Self::default() }
    }

    pub fn take(&mut self, event: &Event) {
        if let EventKind::ToolFinished { outcome, .. } = &event.kind
            && !self.endings.contains(outcome)
        {
            self.endings.push(*outcome);
        }
        if event.within.is_some() {
            return;
        }
        match &event.kind {
            EventKind::Configured { provider, model, .. } => {
                self.provider.clone_from(provider);
                self.model.clone_from(model);
            }
            EventKind::TurnStarted { .. } => {
                // Earlier events closed a turn of an earlier run.
                self.calls.clear();
                self.results.clear();
                self.endings.clear();
                self.has_failed_call = false;
                self.outcome = None;
            }
            EventKind::ReplyFinished { reply, .. } => {
                let text = reply.text();
                // An empty text that ends a turn comes from a hook and replaces the answer.
                let has_text = reply.parts.iter().any(|part| matches!(part, Part::Text { .. }));
                let is_last = reply.calls().next().is_none() && has_text;
                if !text.is_empty() || is_last {
                    self.response = text;
                }
            }
            EventKind::ToolCalled { call } => {
                let args = if self.keeps_calls { call.args.clone() } else { Value::Null };
                let (id, name) = (call.id.clone(), call.name.clone());
                self.calls.push(ToolCall { id, name, args, opaque: None });
            }
            EventKind::ToolFinished { call, name, outcome, output, .. } => {
                self.has_failed_call |= !output.success;
                if self.keeps_calls {
                    self.results.push(CallResult {
                        tool: name.clone(),
                        id: call.0.clone(),
                        outcome: *outcome,
                        output: output.clone(),
                    });
                }
            }
            EventKind::Notice { level: Level::Error, text, .. } => self.errors.push(text.clone()),
            EventKind::TurnFinished { outcome, usage } => {
                if let Outcome::Finished(finish) = outcome
                    && self.response.is_empty()
                {
                    self.response.clone_from(&finish.summary);
                }
                if let Outcome::Failed { error, .. } | Outcome::Blocked { reason: error, .. } =
                    outcome
                {
                    self.errors.push(error.clone());
                }
                self.outcome = Some(outcome.clone());
                self.usage = usage.clone();
            }
            _ => {}
        }
    }

    /// Records a signal; returns true if it is not the first.
    pub fn interrupt(&mut self, exit: Exit) -> bool {
        self.is_forced = self.signal.replace(exit).is_some();
        self.is_forced
    }

    pub fn is_failure(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Failed { .. }) | None)
    }

    pub fn stop_reason(&self) -> &str {
        match &self.outcome {
            Some(Outcome::Answered { stop_reason }) => stop_reason.as_str(),
            Some(Outcome::Finished(_)) => "finish",
            Some(Outcome::Limited { .. }) => "limit",
            Some(Outcome::Cancelled) => "cancelled",
            Some(Outcome::Blocked { .. }) => "blocked",
            Some(Outcome::Stuck { .. }) => "stuck",
            Some(Outcome::Failed { .. }) | None => "error",
        }
    }

    pub fn exit(&self) -> Exit {
        if let Some(signal) = self.signal {
            return signal;
        }
        let has = |outcome| self.endings.contains(&outcome);
        match &self.outcome {
            Some(Outcome::Cancelled) => Exit::Interrupted,
            Some(Outcome::Limited { .. } | Outcome::Stuck { .. }) => Exit::Limited,
            Some(Outcome::Failed { .. } | Outcome::Blocked { .. }) | None => Exit::Failed,
            Some(_) if has(CallOutcome::NoSandbox) => Exit::Unsafe,
            Some(_) if has(CallOutcome::Unanswered) => Exit::PermissionNeeded,
            Some(Outcome::Finished(finish)) if finish.status.is_failure() => Exit::Failed,
            Some(Outcome::Finished(_) | Outcome::Answered { .. }) => Exit::Done,
        }
    }
}
