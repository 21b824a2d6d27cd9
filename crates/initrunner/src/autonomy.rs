//! Autonomous runs: a role is prompted again and again until its task is over or a limit is reached.

mod reasoning;
#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::evals::SIMULATED;
use crate::host::{RoleConversation, RoleRun, RoleRunner};
use crate::memory::{Kind, MemoryStore};
use crate::role::{AutonomySettings, Guardrails, Role};
use crate::task::{RunScope, TaskStatus};
use reasoning::Reasoning;

/// The category of the memories of autonomous runs.
const EPISODE: &str = "autonomous_run";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Completed,
    Blocked,
    Failed,
    Error,
    Timeout,
    BudgetExceeded,
    MaxIterations,
    Interrupted,
    /// Calls wait until the user approves them.
    Paused,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Completed => TaskStatus::Completed.name(),
            Self::Blocked => TaskStatus::Blocked.name(),
            Self::Failed => TaskStatus::Failed.name(),
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::BudgetExceeded => "budget_exceeded",
            Self::MaxIterations => "max_iterations",
            Self::Interrupted => "interrupted",
            Self::Paused => "paused",
        }
    }
}

impl From<TaskStatus> for Status {
    fn from(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Completed => Self::Completed,
            TaskStatus::Blocked => Self::Blocked,
            TaskStatus::Failed => Self::Failed,
        }
    }
}

/// The result of an autonomous run.
#[derive(Debug)]
pub struct AutonomousRun {
    pub status: Status,
    /// The model's summary, or why the run was stopped.
    pub summary: String,
    pub iterations: u32,
    max_iterations: u32,
    /// The last error of the judge of success criteria.
    judge_error: Option<String>,
    /// The last iteration, with the calls, tokens and time of all.
    pub total: RoleRun,
}

impl AutonomousRun {
    pub fn is_success(&self) -> bool {
        matches!(self.status, Status::Completed | Status::MaxIterations | Status::Paused)
    }

    /// The lines that are shown at the end of a run.
    pub fn report(&self) -> String {
        let Self { iterations, max_iterations, total, summary, .. } = self;
        let tokens = grouped(total.input_tokens + total.output_tokens);
        let status = self.status.name();
        let summary =
            if summary.is_empty() { String::new() } else { format!("\nSummary: {summary}") };
        let judge = self.judge_error.as_ref();
        let judge = judge.map_or_else(String::new, |error| {
            format!("\nThe judge of the success criteria did not answer: {error}")
        });
        format!(
            "Status: {status} | Iterations: {iterations}/{max_iterations} | Tokens: \
             {tokens}{summary}{judge}"
        )
    }

    pub fn to_json(&self, id: &str) -> Value {
        let total = &self.total;
        let names: Vec<&str> = total.calls.iter().map(|(name, _)| name.as_str()).collect();
        json!({
            "run_id": id,
            "status": self.status.name(),
            "summary": self.summary,
            "iterations": self.iterations,
            "max_iterations": self.max_iterations,
            "output": total.output,
            "error": total.error,
            "success": self.is_success(),
            "tokens_in": total.input_tokens,
            "tokens_out": total.output_tokens,
            "total_tokens": total.input_tokens + total.output_tokens,
            "tool_calls": names.len(),
            "tool_call_names": names,
            "duration_ms": total.duration_ms,
        })
    }

    /// Remembers the model's summary as an event.
    pub fn record(&self, memory: &MemoryStore) -> Result<(), String> {
        let is_models = matches!(self.status, Status::Completed | Status::Blocked | Status::Failed);
        if !is_models || self.summary.is_empty() || !memory.has_kind(Kind::Episodic) {
            return Ok(());
        }
        memory.add(Kind::Episodic, EPISODE, &self.summary).map(drop)
    }
}

/// Works on a task until it is over or a limit is reached. The judge checks success criteria.
pub async fn run(
    conversation: &mut dyn RoleConversation,
    judge: Option<&dyn RoleRunner>,
    role: &Role,
    prompt: &str,
) -> AutonomousRun {
    let started = Instant::now();
    let scope = conversation.scope();
    scope.prolong();
    let usual = AutonomySettings::default();
    let settings = role.autonomy.as_ref().unwrap_or(&usual);
    let limits = &role.guardrails;
    let mut progress =
        Progress { limits, total: RoleRun::default(), iterations: 0, idle: 0, messages: 0 };
    let mut reasoning = Reasoning::new(role, prompt, judge);
    let mut next = reasoning.first_prompt();
    let (status, summary) = loop {
        progress.add(conversation.run(&next).await);
        if progress.total.is_interrupted {
            break (Status::Interrupted, String::new());
        }
        if progress.total.is_paused {
            break (Status::Paused, String::new());
        }
        let end = scope.with_task(|task| task.end());
        if let Some(error) = &progress.total.error
            && (end.is_none() || reasoning.is_reflecting())
        {
            break (Status::Error, error.clone());
        }
        let limit = progress.exhausted(started.elapsed());
        if let Some(end) = end {
            let reflection = match limit {
                None => reasoning.reflection(&end).await,
                Some(_) => None,
            };
            let Some(reflection) = reflection else { break (end.status.into(), end.summary) };
            next = reflection + &progress.budget(started.elapsed());
            continue;
        }
        if progress.idle >= settings.idle_iterations {
            let count = progress.idle;
            let text = format!("Stopped: no tool calls for {count} consecutive iterations.");
            break (Status::Blocked, text);
        }
        if limit.is_none()
            && let Some(exit_code) = conversation.wait(settings.delay).await
        {
            progress.total.exit_code = exit_code;
            break (Status::Interrupted, String::new());
        }
        if let Some(limit) = progress.exhausted(started.elapsed()) {
            break (limit, String::new());
        }
        if settings.history_limit.is_some_and(|limit| progress.messages >= limit) {
            if let Err(error) = conversation.compact().await {
                break (Status::Error, error);
            }
            let tail = settings.compaction.as_ref().map(|it| it.tail_messages + 1);
            progress.messages = tail.unwrap_or(progress.messages / 3);
        }
        next = reasoning.continuation(&scope) + &progress.budget(started.elapsed());
    };
    let Progress { mut total, iterations, .. } = progress;
    total.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (judge_error, max_iterations) = (reasoning.judge_error, limits.iterations);
    AutonomousRun { status, summary, iterations, max_iterations, judge_error, total }
}

struct Progress<'a> {
    limits: &'a Guardrails,
    total: RoleRun,
    iterations: u32,
    /// Iterations in a row without a tool call.
    idle: u32,
    /// Messages of the history, about.
    messages: usize,
}

impl Progress<'_> {
    /// The limit that allows no further iteration.
    fn exhausted(&self, elapsed: Duration) -> Option<Status> {
        if self.iterations >= self.limits.iterations {
            Some(Status::MaxIterations)
        } else if self.limits.autonomous_time.is_some_and(|limit| elapsed >= limit) {
            Some(Status::Timeout)
        } else if self.limits.autonomous_tokens.is_some_and(|limit| self.tokens() >= limit) {
            Some(Status::BudgetExceeded)
        } else {
            None
        }
    }

    fn tokens(&self) -> u64 {
        self.total.input_tokens + self.total.output_tokens
    }

    fn add(&mut self, run: RoleRun) {
        self.iterations += 1;
        self.messages += 2 + 2 * run.calls.len();
        self.idle = if run.calls.is_empty() { self.idle + 1 } else { 0 };
        let RoleRun { calls, input_tokens, output_tokens, reasoning_tokens, .. } =
            std::mem::take(&mut self.total);
        self.total = RoleRun {
            calls: calls.into_iter().chain(run.calls).collect(),
            input_tokens: input_tokens + run.input_tokens,
            output_tokens: output_tokens + run.output_tokens,
            reasoning_tokens: reasoning_tokens + run.reasoning_tokens,
            ..run
        };
    }

    /// The part of a continuation that says how much is used of the limits.
    fn budget(&self, elapsed: Duration) -> String {
        let share = |used: u64, limit: u64| used.saturating_mul(100) / limit.max(1);
        let (iteration, most) = (self.iterations + 1, self.limits.iterations);
        let percent = share(iteration.into(), most.into());
        let tokens = self.limits.autonomous_tokens.map_or_else(String::new, |limit| {
            let (used, percent) = (self.tokens(), share(self.tokens(), limit));
            format!("\n- Tokens: {}/{} ({percent}%)", grouped(used), grouped(limit))
        });
        let time = self.limits.autonomous_time.map_or_else(String::new, |limit| {
            let (used, limit) = (elapsed.as_secs(), limit.as_secs());
            format!("\n- Time: {used}s/{limit}s ({}%)", share(used, limit))
        });
        format!("\n\nBUDGET:\n- Iteration: {iteration}/{most} ({percent}%){tokens}{time}")
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// A conversation that asks no model, for dry runs.
#[derive(Default)]
pub struct DryConversation(RunScope);

#[async_trait(?Send)]
impl RoleConversation for DryConversation {
    async fn run(&mut self, _: &str) -> RoleRun {
        RoleRun { output: SIMULATED.to_owned(), is_dry: true, ..RoleRun::default() }
    }

    async fn compact(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn scope(&self) -> RunScope {
        self.0.clone()
    }

    async fn wait(&mut self, _: Duration) -> Option<u8> {
        None
    }

    async fn close(self: Box<Self>) {}
}
