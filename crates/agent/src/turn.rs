//! A turn: ask the model, run the tools it calls, ask again, until it is done.

use std::sync::Arc;

use contract::event::{Level, Outcome, What};
use contract::log::LogError;
use contract::message::{Reply, ToolCall};
use contract::provider::{ProviderError, Request};
use contract::tool::Finish;
use futures::{StreamExt, stream};

use crate::journal::Journal;
use crate::reply::{self, Asked, Draft};
use crate::tool_call::{self, Bench, Prepared};

/// Calls that run at once, at most.
const CONCURRENT_CALLS: usize = 8;
/// Reminders to end with the required tool before a plain answer is taken.
const REMINDERS: u32 = 3;
/// Times that a model which only thinks is asked to go on.
const NUDGES: u32 = 3;

/// Runs a turn to its end and says how it ended.
pub(crate) async fn run(
    bench: Bench<'_>,
    journal: &mut Journal,
    prompt: String,
) -> Result<Outcome, LogError> {
    journal.note(vec![What::TurnStarted { prompt }]).await?;
    let mut reminders = 0;
    let mut nudges = 0;
    for round in 1..=bench.settings.max_tool_rounds {
        journal.teller().tell(What::RequestSent { round }).await;
        let draft = match ask(bench, journal).await? {
            Asked::Whole(draft) => draft,
            Asked::Cancelled(draft) => {
                keep_partial(journal, draft).await?;
                return Ok(Outcome::Cancelled);
            }
            Asked::Failed(draft, error) => {
                keep_partial(journal, draft).await?;
                return Ok(failed(error));
            }
        };
        let stop_reason = draft.reply.stop.as_str().to_owned();
        let words = Words::of(&draft.reply);
        let calls = keep(bench, journal, draft).await?;
        if calls.is_empty() {
            if words == Words::OnlyThought && nudges < NUDGES {
                nudges += 1;
                nudge(journal).await?;
                continue;
            }
            let Some(tool) = &bench.settings.required_finish else {
                warn_of_silence(journal, words).await?;
                return Ok(Outcome::Answered { stop_reason });
            };
            if reminders == REMINDERS {
                let text = format!("the turn ends without the required call of {tool}");
                journal.notice(Level::Warning, text, None).await?;
                return Ok(Outcome::Answered { stop_reason });
            }
            reminders += 1;
            remind(journal, tool).await?;
            continue;
        }
        let finish = run_calls(bench, journal, calls).await?;
        if bench.cancel.is_cancelled() {
            return Ok(Outcome::Cancelled);
        }
        if let Some(finish) = finish {
            return Ok(Outcome::Finished(finish));
        }
    }
    let limit = format!("max_tool_rounds ({})", bench.settings.max_tool_rounds);
    Ok(Outcome::Limited { limit })
}

async fn ask(bench: Bench<'_>, journal: &mut Journal) -> Result<Asked, LogError> {
    let Some(provider) = &bench.parts.provider else {
        return Ok(Asked::Failed(Draft::default(), no_provider()));
    };
    let settings = &bench.settings.request;
    let request = Request {
        model: settings.model.clone(),
        system: Arc::from(bench.settings.system.as_str()),
        history: journal.transcript.entries(),
        tools: bench.parts.registry.specs(),
        max_tokens: settings.max_tokens,
        temperature: settings.temperature,
        reasoning_level: settings.reasoning_level.clone(),
        reasoning_format: settings.reasoning_format.clone(),
        params: settings.params.clone(),
        delivery: settings.delivery,
    };
    journal.sync()?;
    reply::ask(provider.as_ref(), request, bench.settings.retry, journal, bench.cancel).await
}

/// Keeps a whole reply and announces its calls, in one write.
async fn keep(
    bench: Bench<'_>,
    journal: &mut Journal,
    draft: Draft,
) -> Result<Vec<ToolCall>, LogError> {
    let Draft { mut reply, mut usage, .. } = draft;
    journal.transcript.make_ids_unique(&mut reply);
    if let (None, Some(prices)) = (usage.cost_usd, bench.settings.request.prices) {
        usage.cost_usd = Some(prices.of(&usage));
    }
    let calls: Vec<ToolCall> = reply.calls().cloned().collect();
    let mut whats = vec![What::ReplyFinished { reply, usage }];
    whats.extend(calls.iter().cloned().map(|call| What::ToolCalled { call }));
    journal.note(whats).await?;
    Ok(calls)
}

async fn keep_partial(journal: &mut Journal, draft: Draft) -> Result<(), LogError> {
    let Draft { reply, usage, .. } = draft.broken_off();
    if reply.parts.is_empty() {
        return Ok(());
    }
    journal.commit(vec![What::ReplyFinished { reply, usage }]).await
}

/// What a reply without calls says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Some,
    OnlyThought,
    None,
}

impl Words {
    fn of(reply: &Reply) -> Self {
        if !reply.text().trim().is_empty() {
            Self::Some
        } else if reply.thinking().trim().is_empty() {
            Self::None
        } else {
            Self::OnlyThought
        }
    }
}

async fn nudge(journal: &mut Journal) -> Result<(), LogError> {
    let text = "Your last reply held reasoning and nothing else. Go on: call a tool, or answer."
        .to_owned();
    journal.note(vec![What::Injected { origin: "empty reply".to_owned(), text }]).await
}

async fn warn_of_silence(journal: &mut Journal, words: Words) -> Result<(), LogError> {
    let text = match words {
        Words::Some => return Ok(()),
        Words::OnlyThought => "Model failed to produce output after multiple attempts.",
        Words::None => "the model ended its turn with an empty reply",
    };
    let hint = "ask again, or choose another model".to_owned();
    journal.notice(Level::Warning, text.to_owned(), Some(hint)).await
}

async fn remind(journal: &mut Journal, tool: &str) -> Result<(), LogError> {
    let text = format!(
        "This task ends with a call of the {tool} tool. If the work is done, call {tool} with its \
         status and a summary; if it is not, go on with it."
    );
    journal.note(vec![What::Injected { origin: "required finish".to_owned(), text }]).await
}

/// Approves calls in the model's order, runs them together where all allow it, and reports them
/// in the model's order. Returns how the task went where one of them ended it.
async fn run_calls(
    bench: Bench<'_>,
    journal: &mut Journal,
    calls: Vec<ToolCall>,
) -> Result<Option<Finish>, LogError> {
    let is_parallel = |call: &ToolCall| {
        bench.parts.registry.get(&call.name).is_none_or(|tool| tool.spec().parallel)
    };
    if bench.settings.parallel_tools && calls.len() > 1 && calls.iter().all(is_parallel) {
        return run_batch(bench, journal, calls).await;
    }
    let mut finish = None;
    for call in calls {
        let ended = run_batch(bench, journal, vec![call]).await?;
        finish = finish.or(ended);
    }
    Ok(finish)
}

async fn run_batch(
    bench: Bench<'_>,
    journal: &mut Journal,
    calls: Vec<ToolCall>,
) -> Result<Option<Finish>, LogError> {
    let mut prepared = Vec::with_capacity(calls.len());
    for call in calls {
        prepared.push(tool_call::prepare(bench, journal, call).await?);
    }
    if prepared.iter().any(Prepared::has_effect) {
        journal.sync()?;
    }
    let teller = journal.teller();
    let mut settled = stream::iter(prepared)
        .map(|prepared| {
            let teller = teller.clone();
            async move {
                match prepared {
                    Prepared::Approved(approved) => tool_call::run(bench, approved, teller).await,
                    Prepared::Settled(settled) => settled,
                }
            }
        })
        .buffered(CONCURRENT_CALLS);
    let mut finish = None;
    while let Some(settled) = settled.next().await {
        finish = finish.or_else(|| settled.output.finish.clone());
        let has_effect = settled.has_effect;
        let finished = vec![settled.into_event(bench.settings)];
        if has_effect {
            journal.commit(finished).await?;
        } else {
            journal.note(finished).await?;
        }
    }
    Ok(finish)
}

/// Runs one call that no model made.
pub(crate) async fn run_single(
    bench: Bench<'_>,
    journal: &mut Journal,
    call: ToolCall,
) -> Result<Outcome, LogError> {
    journal.note(vec![What::ToolCalled { call: call.clone() }]).await?;
    run_batch(bench, journal, vec![call]).await?;
    if bench.cancel.is_cancelled() {
        return Ok(Outcome::Cancelled);
    }
    Ok(Outcome::Answered { stop_reason: "tool_use".to_owned() })
}

fn failed(error: ProviderError) -> Outcome {
    Outcome::Failed { error: error.message, hint: error.hint }
}

fn no_provider() -> ProviderError {
    ProviderError {
        kind: contract::provider::Failure::NotFound,
        message: "no model is configured".to_owned(),
        hint: None,
    }
}
