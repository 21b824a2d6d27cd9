//! One round: what the model is asked, and what is kept of its reply.

use std::sync::Arc;

use contract::event::{EventKind, Piece};
use contract::hook::Moment;
use contract::message::{Message, Reply, ToolCall, Usage};
use contract::provider::{Failure, ProviderError, Request};
use contract::tool::ToolSpec;

use crate::journal::{Journal, Logged};
use crate::reply::{self, Audience, Draft, RequestOutcome};
use crate::settings::RequestSettings;
use crate::transcript;
use crate::turn_context::TurnContext;

/// Returns the system prompt of this turn with additions of hooks, and notes it if it changed.
pub(crate) async fn system(context: TurnContext<'_>, journal: &mut Journal) -> Logged<Arc<str>> {
    let system = context.hooks.system(journal, &context.settings.system).await?;
    if system != journal.transcript.system() {
        let configured = context.parts.configured(context.settings, &system);
        journal.note(configured.into_iter().collect()).await?;
    }
    Ok(system.into())
}

pub(crate) fn request(context: TurnContext<'_>, journal: &Journal, system: Arc<str>) -> Request {
    let settings = &context.settings.request;
    Request {
        model: settings.model.clone(),
        system,
        history: journal.transcript.entries(),
        tools: if settings.sends_tools { context.parts.registry.specs() } else { Arc::new([]) },
        max_tokens: settings.max_tokens,
        temperature: settings.temperature,
        reasoning_level: settings.reasoning_level.clone(),
        reasoning_format: settings.reasoning_format,
        params: settings.params.clone(),
        delivery: settings.delivery,
    }
}

/// No text if hooks may still change it.
pub(crate) fn audience(context: TurnContext<'_>) -> Audience {
    if context.hooks.wants(Moment::AfterReply) {
        Audience::WithoutText
    } else {
        Audience::Everybody
    }
}

pub(crate) async fn ask(
    context: TurnContext<'_>,
    journal: &mut Journal,
    request: Request,
    audience: Audience,
) -> Logged<RequestOutcome> {
    let Some(provider) = &context.parts.provider else {
        let (kind, message) = (Failure::NotFound, "no model is configured".to_owned());
        let error = ProviderError { kind, message, hint: None };
        return Ok(RequestOutcome::Failed(Draft::default(), error));
    };
    let request = context.hooks.request(journal, request).await?;
    journal.sync()?;
    let manner = (context.settings.retry, audience);
    loop {
        let model = provider.answering(&request.model).1.to_owned();
        let (provider, asked) = (provider.as_ref(), request.clone());
        let outcome = reply::ask(provider, asked, manner, journal, context.cancel).await?;
        let RequestOutcome::Failed(draft, error) = outcome else { return Ok(outcome) };
        let notice = match provider.fall_back(&model, error) {
            Ok(notice) => notice,
            Err(error) => return Ok(RequestOutcome::Failed(draft, error)),
        };
        audience.restart(&journal.sender(), &draft).await;
        journal.warn(notice).await?;
        let configured = context.parts.configured(context.settings, journal.transcript.system());
        journal.note(configured.into_iter().collect()).await?;
    }
}

pub(crate) async fn revise(
    context: TurnContext<'_>,
    journal: &mut Journal,
    prompt: &str,
    mut draft: Draft,
) -> Logged<Draft> {
    if !context.hooks.wants(Moment::AfterReply) {
        return Ok(draft);
    }
    let mut text = draft.reply.text();
    if let Some(changed) = context.hooks.reply(journal, prompt, &text).await? {
        text.clone_from(&changed);
        draft.say(changed);
    }
    if !text.is_empty() {
        let piece = Piece::Text { text };
        journal.sender().tell(EventKind::ReplyDelta { piece }).await;
    }
    Ok(draft)
}

pub(crate) async fn keep(
    context: TurnContext<'_>,
    journal: &mut Journal,
    draft: Draft,
) -> Logged<Vec<ToolCall>> {
    let Draft { mut reply, usage, .. } = draft;
    journal.make_ids_unique(&mut reply);
    let calls: Vec<ToolCall> = reply.calls().cloned().collect();
    let usage = counted(context, journal, &reply, usage);
    let mut whats = vec![EventKind::ReplyFinished { reply, usage }];
    whats.extend(calls.iter().cloned().map(|call| EventKind::ToolCalled { call }));
    journal.note(whats).await?;
    Ok(calls)
}

pub(crate) async fn keep_partial(
    context: TurnContext<'_>,
    journal: &mut Journal,
    draft: Draft,
) -> Logged {
    let Draft { reply, usage, .. } = draft.broken_off();
    if reply.parts.is_empty() {
        return Ok(());
    }
    let usage = counted(context, journal, &reply, usage);
    journal.commit(vec![EventKind::ReplyFinished { reply, usage }]).await
}

/// The cost of a reply: tokens by the provider or by an estimate, and a known price.
pub(crate) fn counted(
    context: TurnContext<'_>,
    journal: &Journal,
    reply: &Reply,
    mut usage: Usage,
) -> Usage {
    if usage.input_tokens == 0 {
        usage.input_tokens = request_size(context, journal);
        if usage.output_tokens == 0 {
            usage.output_tokens =
                transcript::estimate(transcript::length(&Message::Assistant(reply.clone())));
        }
        usage.estimated = true;
    }
    let RequestSettings { known, model, .. } = &context.settings.request;
    if let (None, Some(prices)) = (usage.cost_usd, known.prices_of(model)) {
        usage.cost_usd = Some(prices.of(&usage));
    }
    usage
}

pub(crate) fn request_size(context: TurnContext<'_>, journal: &Journal) -> u64 {
    let history = journal.transcript.tokens();
    if journal.transcript.is_measured() { history } else { history + frame(context, journal) }
}

pub(crate) fn frame(context: TurnContext<'_>, journal: &Journal) -> u64 {
    let specs = context.parts.registry.specs();
    let size = |spec: &Arc<ToolSpec>| {
        spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
    };
    let tools: usize = specs.iter().map(size).sum();
    let tools = if context.settings.request.sends_tools { tools } else { 0 };
    transcript::estimate(journal.transcript.system().len() + tools)
}
