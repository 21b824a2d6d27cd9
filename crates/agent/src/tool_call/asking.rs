//! The questions of one reply: all are put together, then each waits for its own answer.

use std::sync::Arc;

use contract::action::Action;
use contract::event::{Answer, CallOutcome, EventKind, Level};
use contract::hook::Notification;
use contract::id::CallId;
use contract::log::LogError;
use contract::message::ToolCall;
use contract::policy::{Approvals, Decision, Mode, Reach, Reason, Ruling, StoredApproval};
use contract::text::head;
use contract::tool::{Obstacle, Risk, ToolSpec};
use futures::stream::FuturesUnordered;
use futures::{Stream, StreamExt};

use super::{Approved, Prepared, Settled};
use crate::answers::Given;
use crate::journal::{Journal, Logged};
use crate::turn_context::{TurnContext, blocking};

pub(crate) struct Question {
    approved: Approved,
    ruling: Ruling,
    events: Vec<EventKind>,
}

impl Question {
    pub(super) fn approved(&self) -> &Approved {
        &self.approved
    }

    pub(crate) fn unanswered(self) -> Settled {
        Settled::interrupted(self.approved.call)
    }

    /// The question about a call, or a text for the model if the call cannot succeed.
    pub(super) async fn about(
        context: TurnContext<'_>,
        approved: Approved,
        (ruling, judged): (Ruling, EventKind),
        obstacle: Option<Obstacle>,
    ) -> Result<Self, (ToolCall, String)> {
        let policy = Arc::clone(&context.parts.policy);
        let (spec, actions) = (approved.tool.spec(), approved.actions.clone());
        let mode = context.mode();
        let looked = blocking(move || {
            let is_told = |obstacle: &Obstacle| {
                !obstacle.reveals_content || may_read(policy.as_ref(), &spec, &actions, mode)
            };
            match obstacle.filter(is_told) {
                Some(obstacle) => Err(obstacle.text),
                None => Ok(policy.rememberable(&spec, &actions)),
            }
        });
        let remember = match looked.await {
            Some(Ok(looked)) => looked,
            Some(Err(problem)) => return Err((approved.call, problem)),
            None => Vec::new(),
        };
        let asked = EventKind::Asked {
            call: approved.call.id.clone(),
            tool: approved.call.name.clone(),
            args: approved.call.args.clone(),
            actions: approved.actions.clone(),
            why: asked_because(&ruling),
            destructive: ruling.destructive,
            remember,
        };
        Ok(Self { approved, ruling, events: vec![judged, asked] })
    }
}

/// Returns true if the policy lets the model read the files of these actions.
fn may_read(policy: &dyn Approvals, spec: &ToolSpec, actions: &[Action], mode: Mode) -> bool {
    let is_read = |action: &&Action| matches!(action, Action::Read { .. });
    let reads: Vec<Action> = actions.iter().filter(is_read).cloned().collect();
    let spec = ToolSpec { requires_permission: false, risk_level: Risk::ReadOnly, ..spec.clone() };
    policy.judge(&spec, &reads, mode).decision == Decision::Allow
}

/// Puts all questions among these calls at once and waits for all answers.
pub(crate) async fn ask_all(
    context: TurnContext<'_>,
    journal: &mut Journal,
    mut calls: Vec<Prepared>,
) -> Logged<Vec<Prepared>> {
    let answers = FuturesUnordered::new();
    let (mut events, mut names) = (Vec::new(), Vec::new());
    for (index, call) in calls.iter_mut().enumerate() {
        if let Prepared::Question(question) = call {
            events.append(&mut question.events);
            names.push(question.approved.call.name.clone());
            answers.push(answer_to(context, &question.approved.call.id, index));
        }
    }
    if names.is_empty() {
        return Ok(calls);
    }
    journal.note(events).await?;
    let mut calls: Vec<Option<Prepared>> = calls.into_iter().map(Some).collect();
    tokio::pin!(answers);
    let mut next = first(context, journal, answers.as_mut(), names).await?;
    while let Some((index, answer)) = next {
        if let Some(slot) = calls.get_mut(index)
            && let Some(Prepared::Question(question)) = slot.take()
        {
            *slot = Some(answered(context, journal, *question, answer).await?);
        }
        next = answers.next().await;
    }
    Ok(calls.into_iter().flatten().collect())
}

pub(crate) async fn ask(
    context: TurnContext<'_>,
    journal: &mut Journal,
    call: &ToolCall,
    question: EventKind,
) -> Logged<Given> {
    let answers = FuturesUnordered::from_iter([answer_to(context, &call.id, 0)]);
    journal.note(vec![question]).await?;
    tokio::pin!(answers);
    let answer = first(context, journal, answers, vec![call.name.clone()]).await?;
    Ok(answer.map_or((Answer::Unavailable, None), |(_, given)| given))
}

fn answer_to(
    context: TurnContext<'_>,
    call: &CallId,
    index: usize,
) -> impl Future<Output = (usize, Given)> + use<> {
    let receiver = context.answers.wait_for(call);
    let cancel = context.cancel.clone();
    async move {
        tokio::select! {
            () = cancel.cancelled() => (index, (Answer::Cancel, None)),
            given = receiver => (index, given.unwrap_or((Answer::Unavailable, None))),
        }
    }
}

/// Waits for the first answer. Hooks are notified at the same time; an answer does not wait for them.
async fn first<T>(
    context: TurnContext<'_>,
    journal: &mut Journal,
    mut answers: impl Stream<Item = T> + Unpin,
    names: Vec<String>,
) -> Logged<Option<T>> {
    let telling = async {
        for tool in names {
            context.hooks.notify(journal, &Notification::Asking { tool }).await?;
        }
        Ok::<(), LogError>(())
    };
    tokio::select! {
        biased;
        answer = answers.next() => return Ok(answer),
        told = telling => told?,
    }
    Ok(answers.next().await)
}

/// Notes an answer with the rules it adds, and settles the call by it.
async fn answered(
    context: TurnContext<'_>,
    journal: &mut Journal,
    question: Question,
    (answer, by): Given,
) -> Logged<Prepared> {
    let Question { mut approved, ruling, .. } = question;
    // Before the answer is noted: a rule that is said to be remembered is.
    let kept = remember(context, &approved, &answer);
    let call = approved.call.id.clone();
    let rules = kept.rules.clone();
    let noted = EventKind::Answered { call, answer: answer.clone(), rules, by };
    journal.note(vec![noted]).await?;
    let (outcome, text) = match answer {
        Answer::Once | Answer::Session | Answer::Project | Answer::Always => {
            tell_kept(journal, &kept, &answer).await?;
            approved.is_answered = true;
            return Ok(Prepared::Approved(Box::new(approved)));
        }
        Answer::Deny { reason } => {
            let refusal = approved.tool.spec().traits.refusal.clone();
            let refusal = refusal.unwrap_or_else(|| "Permission denied by user".to_owned());
            let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            (CallOutcome::Denied, refusal + &why)
        }
        Answer::Cancel => {
            context.stop.cancel();
            (CallOutcome::Denied, "Permission denied by user: the turn was stopped".to_owned())
        }
        Answer::Unavailable => (
            CallOutcome::Unanswered,
            format!(
                "Permission denied: this call needs approval ({}), and nobody can be asked; allow \
                 it by a rule{}",
                why(&ruling),
                if ruling.destructive { " that names it" } else { " or pass `--yes`" }
            ),
        ),
    };
    Ok(Prepared::Settled(Box::new(Settled::without_running(approved.call, outcome, text))))
}

fn remember(context: TurnContext<'_>, approved: &Approved, answer: &Answer) -> StoredApproval {
    let (policy, spec, actions) = (&context.parts.policy, approved.tool.spec(), &approved.actions);
    match answer {
        Answer::Session => StoredApproval { rules: policy.remember(&spec, actions), problem: None },
        Answer::Project => policy.store(&spec, actions, Reach::Project),
        Answer::Always => policy.store(&spec, actions, Reach::Everywhere),
        Answer::Once | Answer::Deny { .. } | Answer::Cancel | Answer::Unavailable => {
            StoredApproval::default()
        }
    }
}

/// Tells which rules an answer beyond this once added.
async fn tell_kept(journal: &mut Journal, kept: &StoredApproval, answer: &Answer) -> Logged {
    let span = match answer {
        Answer::Project if kept.problem.is_none() => "for this project",
        Answer::Always if kept.problem.is_none() => "from here on",
        Answer::Session | Answer::Project | Answer::Always => "until the session ends",
        Answer::Once | Answer::Deny { .. } | Answer::Cancel | Answer::Unavailable => return Ok(()),
    };
    let text = if kept.rules.is_empty() {
        "this answer cannot be remembered; it applies once".to_owned()
    } else {
        format!("allowed {span}: {}", kept.rules.join("; "))
    };
    journal.notice(Level::Info, text, None).await?;
    match &kept.problem {
        Some(problem) => journal.warn(problem.clone()).await,
        None => Ok(()),
    }
}

/// The reasons that decided, each once; of very many the first few.
pub(crate) fn why(ruling: &Ruling) -> String {
    const TOLD: usize = 12;
    let deciding = || ruling.reasons.iter().filter(|reason| reason.decision == ruling.decision);
    let first = deciding().next().map(|reason| &reason.subject);
    let is_of_parts = deciding().any(|reason| Some(&reason.subject) != first);
    let mut told: Vec<String> = Vec::new();
    for reason in deciding() {
        let words = format!("{} ({})", reason.why, reason.origin);
        let words = if is_of_parts { format!("`{}`: {words}", part(reason)) } else { words };
        if !told.contains(&words) {
            told.push(words);
        }
    }
    if told.len() > TOLD {
        let more = told.len() - TOLD;
        told.truncate(TOLD);
        told.push(format!("and {more} more"));
    }
    if told.is_empty() { "no rule allows it".to_owned() } else { told.join("; ") }
}

fn part(reason: &Reason) -> String {
    let shown = head(&reason.subject, 60);
    if shown.len() < reason.subject.len() { format!("{shown}…") } else { shown.to_owned() }
}

/// The reasons for a question; empty if the mode alone asks, which the user knows.
fn asked_because(ruling: &Ruling) -> String {
    let mut words: Vec<String> = Vec::new();
    for reason in ruling.reasons.iter().filter(|reason| reason.decision == ruling.decision) {
        let text = match reason.origin.as_str() {
            "mode" => continue,
            "built-in" | "destructive" => reason.why.clone(),
            origin => format!("{} ({origin})", reason.why),
        };
        if !words.contains(&text) {
            words.push(text);
        }
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use contract::sandbox::Access;

    use super::*;

    #[test]
    fn question_names_the_origin_of_rules_only() {
        let reason = |why: &str, origin: &str| Reason {
            decision: Decision::Ask,
            subject: "x".to_owned(),
            why: why.to_owned(),
            origin: origin.to_owned(),
        };
        let reasons = vec![
            reason("connects to a.example", "mode"),
            reason("`git clean -f` is destructive", "destructive"),
            reason("matches `Bash(git:*)`", "config.yaml"),
        ];
        let access = Access::Workspace;
        let ruling = Ruling { decision: Decision::Ask, reasons, access, destructive: true };
        let words = "`git clean -f` is destructive; matches `Bash(git:*)` (config.yaml)";
        assert_eq!(asked_because(&ruling), words);
    }
}
