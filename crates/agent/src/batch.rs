//! The calls of one reply: judged in the model's order, asked about together, run at the same time
//! where all allow it, reported in the model's order.

use contract::event::{CallOutcome, EventKind, Outcome};
use contract::message::{StopReason, ToolCall};
use contract::tool::{Finish, ToolOutput};
use futures::{StreamExt, stream};

use crate::hooks::Doubt;
use crate::journal::{Journal, Logged};
use crate::loop_detector::{LoopDetector, Reaction};
use crate::snapshots;
use crate::tool_call::{self, EarlierChanges, Extras, Prepared, Settled};
use crate::turn_context::TurnContext;

/// Calls that run at once, at most.
const CONCURRENT_CALLS: usize = 8;

#[derive(Default)]
pub(crate) struct Reported {
    pub(crate) finish: Option<Finish>,
    pub(crate) suggestion: Option<String>,
    pub(crate) stuck: Option<String>,
    pub(crate) results: Vec<String>,
    pub(crate) outputs: Vec<(CallOutcome, ToolOutput)>,
}

pub(crate) struct RequestedCall {
    pub(crate) call: ToolCall,
    pub(crate) doubt: Option<Doubt>,
    pub(crate) extras: Extras,
}

pub(crate) async fn run(
    context: TurnContext<'_>,
    journal: &mut Journal,
    circles: &mut LoopDetector,
    mut calls: Vec<RequestedCall>,
) -> Logged<Reported> {
    let limit = context.settings.max_calls.unwrap_or(usize::MAX);
    let beyond = calls.split_off(calls.len().min(limit));
    let is_parallel = |asked: &RequestedCall| {
        context.parts.registry.get(&asked.call.name).is_none_or(|tool| tool.spec().parallel)
    };
    let mut reported = Reported::default();
    circles.next_reply();
    let is_together =
        context.settings.parallel_tools && calls.len() > 1 && calls.iter().all(is_parallel);
    let prepared = prepare(context, journal, (circles, &mut reported), calls).await?;
    if is_together {
        batch(context, journal, (circles, &mut reported), prepared).await?;
    } else {
        let mut has_changed = false;
        for mut call in prepared {
            if has_changed {
                call = tool_call::judge_again(context, journal, call).await?;
            }
            has_changed |= call.has_effect();
            batch(context, journal, (circles, &mut reported), vec![call]).await?;
        }
    }
    for RequestedCall { call, .. } in beyond {
        let text = format!("not run: {limit} calls of one reply are run, this was one too many");
        let settled = Settled::without_running(call, CallOutcome::Invalid, text);
        reported.results.push(settled.output.for_model());
        reported.outputs.push((settled.outcome, settled.output.clone()));
        journal.note(vec![settled.into_event(context.settings, journal.sender().keys()).0]).await?;
    }
    Ok(reported)
}

/// Judges all calls in the model's order, then puts all questions at once and waits for all answers.
async fn prepare(
    context: TurnContext<'_>,
    journal: &mut Journal,
    (circles, reported): (&LoopDetector, &mut Reported),
    calls: Vec<RequestedCall>,
) -> Logged<Vec<Prepared>> {
    let mut prepared = Vec::with_capacity(calls.len());
    let mut circling = Vec::with_capacity(calls.len());
    let (mut earlier, unknown) = (EarlierChanges::default(), EarlierChanges::unknown());
    for RequestedCall { call, doubt, extras } in calls {
        let circle = circles.doubt(&call).filter(|_| doubt.is_none());
        let repeated = |why: &String| Doubt { origin: "repetition".into(), why: why.clone() };
        let doubt = doubt.or_else(|| circle.as_ref().map(repeated));
        // A doubt is for the user, whether the call can succeed or not.
        let own = if doubt.is_some() { &unknown } else { &earlier };
        let next = tool_call::prepare(context, journal, (call, doubt), own).await?;
        earlier.add(&next);
        prepared.push(next);
        circling.push((circle, extras));
    }
    let mut prepared = tool_call::ask_all(context, journal, prepared).await?;
    for (call, (circle, extras)) in prepared.iter_mut().zip(circling) {
        call.extend(extras);
        if call.is_unanswered() {
            // Nobody can decide if it should go on.
            reported.stuck = reported.stuck.take().or(circle);
        }
        if context.cancel.is_cancelled() {
            call.interrupt();
        }
    }
    Ok(prepared)
}

async fn batch(
    context: TurnContext<'_>,
    journal: &mut Journal,
    (circles, reported): (&mut LoopDetector, &mut Reported),
    prepared: Vec<Prepared>,
) -> Logged {
    if prepared.iter().any(Prepared::has_effect) {
        journal.sync()?;
    }
    let has_stored = snapshots::before(context, journal, &prepared).await?;
    let ran = run_all(context, journal, (circles, reported), prepared).await;
    if has_stored {
        snapshots::after(context, journal).await?;
    }
    ran
}

async fn run_all(
    context: TurnContext<'_>,
    journal: &mut Journal,
    (circles, reported): (&mut LoopDetector, &mut Reported),
    prepared: Vec<Prepared>,
) -> Logged {
    let sender = journal.sender();
    let mut settled = stream::iter(prepared)
        .map(|prepared| {
            let sender = sender.clone();
            async move {
                match prepared {
                    Prepared::Approved(approved) => {
                        tool_call::run(context, *approved, sender).await
                    }
                    Prepared::Settled(settled) => *settled,
                    Prepared::Question(question) => question.unanswered(),
                }
            }
        })
        .buffered(CONCURRENT_CALLS);
    while let Some(mut settled) = settled.next().await {
        settled.revise(context, journal).await?;
        reported.finish = reported.finish.take().or_else(|| settled.output.finish.clone());
        let text = settled.output.for_model();
        match circles.observe(&settled.call, &text, !settled.output.success) {
            Reaction::GoOn | Reaction::Ask(_) => {}
            Reaction::Suggest(what) => reported.suggestion = Some(what),
            Reaction::Stop(what) => reported.stuck = Some(what),
        }
        reported.results.push(text);
        reported.outputs.push((settled.outcome, settled.output.clone()));
        let has_effect = settled.has_effect;
        let (finished, stored) = settled.into_event(context.settings, journal.sender().keys());
        if has_effect {
            journal.commit(vec![finished]).await?;
        } else {
            journal.note(vec![finished]).await?;
        }
        if let Some(stored) = stored {
            context.hooks.notify(journal, &stored).await?;
        }
    }
    Ok(())
}

pub(crate) async fn run_single(
    context: TurnContext<'_>,
    journal: &mut Journal,
    call: ToolCall,
) -> Logged<Outcome> {
    journal.note(vec![EventKind::ToolCalled { call: call.clone() }]).await?;
    let asked = RequestedCall { call, doubt: None, extras: Extras::default() };
    run(context, journal, &mut LoopDetector::new(None), vec![asked]).await?;
    if context.cancel.is_cancelled() {
        return Ok(Outcome::Cancelled);
    }
    Ok(Outcome::Answered { stop_reason: StopReason::ToolUse })
}
