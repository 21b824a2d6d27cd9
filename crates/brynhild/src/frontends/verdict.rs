//! What a run came to: the fold of its events that decides the exit code and the JSON answer.

use contract::event::{CallOutcome, Event, EventKind, Level, Outcome};
use contract::message::{Part, Reply, ToolCall, Usage};
use contract::tool::ToolOutput;

use crate::exit::Exit;

/// A run, folded.
#[derive(Default)]
pub(crate) struct Verdict {
    /// The last words of the model.
    pub(crate) response: String,
    /// Who answered.
    pub(crate) provider: String,
    /// With which model.
    pub(crate) model: String,
    /// How the turn ended; none where it never did.
    pub(crate) outcome: Option<Outcome>,
    /// What the turn cost.
    pub(crate) usage: Usage,
    /// The calls, in order, where the view shows them at the end.
    pub(crate) calls: Vec<ToolCall>,
    /// Their results, in order, where the view shows them at the end.
    pub(crate) results: Vec<CallResult>,
    /// What went wrong.
    pub(crate) errors: Vec<String>,
    /// Whether a call did not do what it was asked.
    pub(crate) has_failed_call: bool,
    keeps_calls: bool,
    /// The ways in which calls ended, also those of conversations within.
    endings: Vec<CallOutcome>,
    signal: Option<Exit>,
    /// Whether the user insisted on an end.
    pub(crate) is_forced: bool,
}

/// The end of one call.
pub(crate) struct CallResult {
    pub(crate) tool: String,
    pub(crate) id: String,
    pub(crate) outcome: CallOutcome,
    pub(crate) output: ToolOutput,
}

impl Verdict {
    /// The verdict on a run that begins. A long run has many calls, so they are kept only where the
    /// view shows them at the end.
    pub(crate) fn new(keeps_calls: bool) -> Self {
        Self { keeps_calls, ..Self::default() }
    }

    /// Folds an event in.
    pub(crate) fn take(&mut self, event: &Event) {
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
                // What came before closed a turn of an earlier run.
                self.calls.clear();
                self.results.clear();
                self.endings.clear();
                self.has_failed_call = false;
                self.outcome = None;
            }
            EventKind::ReplyFinished { reply, .. } => {
                let text = reply.text();
                // Empty words that end a turn are a hook's doing, and count.
                let is_last = reply.calls().next().is_none() && has_words(reply);
                if !text.is_empty() || is_last {
                    self.response = text;
                }
            }
            EventKind::ToolCalled { call } if self.keeps_calls => self.calls.push(call.clone()),
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

    /// Notes a signal; `true` where it is not the first.
    pub(crate) fn interrupt(&mut self, exit: Exit) -> bool {
        self.is_forced = self.signal.replace(exit).is_some();
        self.is_forced
    }

    /// Whether the run could not go on.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Failed { .. }) | None)
    }

    /// The word for why the run stopped.
    pub(crate) fn stop_reason(&self) -> &str {
        match &self.outcome {
            Some(Outcome::Answered { stop_reason }) => stop_reason,
            Some(Outcome::Finished(_)) => "finish",
            Some(Outcome::Limited { .. }) => "limit",
            Some(Outcome::Cancelled) => "cancelled",
            Some(Outcome::Blocked { .. }) => "blocked",
            Some(Outcome::Stuck { .. }) => "stuck",
            Some(Outcome::Failed { .. }) | None => "error",
        }
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
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
            Some(Outcome::Finished(finish)) if is_failure(&finish.status) => Exit::Failed,
            Some(Outcome::Finished(_) | Outcome::Answered { .. }) => Exit::Done,
        }
    }
}

fn has_words(reply: &Reply) -> bool {
    reply.parts.iter().any(|part| matches!(part, Part::Text { .. }))
}

fn is_failure(status: &str) -> bool {
    matches!(status, "failed" | "blocked")
}
