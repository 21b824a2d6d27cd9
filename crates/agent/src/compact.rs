//! Shortens what the model sees of a long history. The log keeps all of it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use contract::event::{CompactionStrategy, EventKind, LastingParts, Outcome};
use contract::hook::{CompactCause, CompactView, Notification};
use contract::id::CallId;
use contract::message::{Entry, Message, Part, StopReason, Usage};
use contract::provider::Failure;
use serde_json::json;

use crate::journal::{Journal, Logged};
use crate::reply::{Audience, Draft, RequestOutcome};
use crate::round;
use crate::settings::{FindSkill, RequestSettings};
use crate::transcript::length;
use crate::turn_context::TurnContext;

/// Bytes of the last messages that stay as they are.
const MAX_KEPT: usize = 32_000;
/// Bytes of the first prompt that stay unchanged if the size of the context is unknown.
const TASK: usize = 32_000;
/// The least that stays of it.
const LEAST_TASK: usize = 4_000;
/// The percentage of the context that may be used before the history is shortened.
const FULL: u64 = 80;

pub(crate) enum Shortened {
    Done,
    Nothing,
    /// A hook keeps the history as it is; these are its name and its reason.
    Refused(String),
    Failed(Outcome),
}

pub(crate) async fn tell_refusal(journal: &mut Journal, why: &str) -> Logged {
    journal.warn(format!("not compacted, because of hook {why}")).await
}

pub(crate) async fn run(
    context: TurnContext<'_>,
    journal: &mut Journal,
    instructions: Option<&str>,
) -> Logged<Outcome> {
    match shorten(context, journal, CompactCause::Person { instructions }).await? {
        Shortened::Failed(outcome) => return Ok(outcome),
        Shortened::Done => {}
        Shortened::Refused(why) => tell_refusal(journal, &why).await?,
        Shortened::Nothing => {
            journal.warn("nothing to compact: the conversation is short").await?;
        }
    }
    Ok(Outcome::Answered { stop_reason: StopReason::Compacted })
}

pub(crate) async fn clear(context: TurnContext<'_>, journal: &mut Journal) -> Logged<Outcome> {
    let dropped = journal.transcript.entries().len() as u64;
    context.hooks.notify(journal, &Notification::Clearing { messages: dropped }).await?;
    let strategy = CompactionStrategy::Clear;
    let usage = Usage::default();
    let range = journal.transcript.range(usize::MAX);
    let (summary, kept, lasting) = (None, 0, None);
    let cleared = EventKind::Compacted { summary, strategy, dropped, range, kept, usage, lasting };
    journal.commit(vec![cleared]).await?;
    context.hooks.notify(journal, &Notification::Cleared).await?;
    Ok(Outcome::Answered { stop_reason: StopReason::Cleared })
}

pub(crate) fn is_due(context: TurnContext<'_>, journal: &Journal) -> bool {
    let RequestSettings { known, model, .. } = &context.settings.request;
    let Some(window) = known.context_window_of(model) else { return false };
    let mut tokens = journal.transcript.tokens();
    if !journal.transcript.is_measured() {
        // If the rest of the request alone fills the context, shortening the history does not help.
        let frame = round::frame(context, journal);
        tokens += if frame < window / 2 { frame } else { 0 };
    }
    // Providers add the room for the reply. If that is nearly all, no history is short enough.
    let reply = context.settings.request.max_tokens;
    let room = if reply < window / 4 * 3 { window - reply } else { window };
    tokens > room.min(window / 100 * FULL)
}

pub(crate) async fn shorten(
    context: TurnContext<'_>,
    journal: &mut Journal,
    cause: CompactCause<'_>,
) -> Logged<Shortened> {
    let entries = journal.transcript.entries();
    let kept = kept(&entries, context.settings.compaction.tail_messages);
    let dropped = entries.len() - kept;
    let share = share(context);
    let is_short = |entry: &Arc<Entry>| length(&entry.message) <= share;
    if dropped == 0 || (dropped == 1 && entries.first().is_none_or(is_short)) {
        return Ok(Shortened::Nothing);
    }
    let strategy = CompactionStrategy::Summarize;
    let view = CompactView { strategy, messages: entries.len() as u64, cause };
    let (mut strategy, advised) = context.hooks.before_compact(journal, view).await?;
    if let Some(why) = advised.refusal {
        return Ok(Shortened::Refused(why));
    }
    let (summary, usage) = match advised.summary {
        Some(summary) => (summary, Usage::default()),
        None if strategy == CompactionStrategy::Truncate => {
            (UNSUMMARIZED.to_owned(), Usage::default())
        }
        None => match summarize(context, journal, (&entries[..dropped], cause)).await? {
            Summary::Text(summary, usage) => (summary, usage),
            Summary::Failed(outcome) => return Ok(Shortened::Failed(outcome)),
            Summary::TooLong => {
                strategy = CompactionStrategy::Truncate;
                let text = "no summary: even a part of the history is too long for the model; \
                            what came earlier is dropped";
                journal.warn(text).await?;
                (UNSUMMARIZED.to_owned(), Usage::default())
            }
        },
    };
    let summary = with_last_results((&entries, kept), share, cause, summary);
    let summary = context.settings.compaction.prefix.clone() + &summary;
    let find_skill = context.settings.find_skill;
    let (framed, lasting) = framed(journal, (&entries, kept), share, &summary, find_skill);
    let (framed, lasting) = (Some(framed), Some(lasting));
    let range = journal.transcript.range(dropped);
    let (dropped, kept) = (dropped as u64, kept as u64);
    let compacted =
        EventKind::Compacted { summary: framed, strategy, dropped, range, kept, usage, lasting };
    journal.commit(vec![compacted]).await?;
    let is_asked_for = matches!(cause, CompactCause::Person { .. });
    let compacted = Notification::Compacted { is_asked_for, summary, dropped, kept };
    context.hooks.notify(journal, &compacted).await?;
    Ok(Shortened::Done)
}

const UNSUMMARIZED: &str = "Earlier messages were dropped. Look again at what you need.";

/// Adds the last calls and their results, each cut, if all were dropped: the model would repeat them.
fn with_last_results(
    (entries, kept): (&[Arc<Entry>], usize),
    share: usize,
    cause: CompactCause<'_>,
    summary: String,
) -> String {
    const CALL: usize = 300;
    let is_call = |entry: &Arc<Entry>| matches!(&entry.message, Message::Assistant(reply) if reply.calls().next().is_some());
    let Some(last) = entries.iter().rposition(is_call) else { return summary };
    let after = &entries[last + 1..];
    let results: HashMap<&CallId, &str> = after
        .iter()
        .filter_map(|entry| match &entry.message {
            Message::Tool { call, content, .. } => Some((call, content.as_str())),
            Message::User { .. } | Message::Assistant(_) => None,
        })
        .collect();
    let is_reply = |entry: &Arc<Entry>| matches!(entry.message, Message::Assistant(_));
    if last >= entries.len() - kept || after.iter().any(is_reply) {
        return summary;
    }
    let Message::Assistant(reply) = &entries[last].message else { return summary };
    let most = MAX_KEPT.min(share);
    let each = most / 2 / results.len().max(1);
    let calls = reply.calls().take(most / CALL).filter_map(|call| {
        let given = abridged(results.get(&call.id)?, each);
        let args = call.args.to_string();
        let (args, tag) = (abridged(&args, CALL), tag("result", &given));
        Some(format!("{} {args}\n<{tag}>\n{given}\n</{tag}>", call.name))
    });
    let calls: Vec<String> = calls.collect();
    if calls.is_empty() {
        return summary;
    }
    let why = match cause {
        CompactCause::Person { .. } => "What they gave is cut here:",
        CompactCause::Length => {
            "What they gave was too much at once, so it is cut here. Look at less of it at a time:"
        }
    };
    format!("{summary}\n\nThese calls were made last. {why}\n{}", calls.join("\n"))
}

/// Bytes of a prompt that stay: what about a quarter of the context holds.
fn share(context: TurnContext<'_>) -> usize {
    let RequestSettings { known, model, .. } = &context.settings.request;
    let window = known.context_window_of(model).and_then(|window| usize::try_from(window).ok());
    window.map_or(TASK, |window| window.max(LEAST_TASK))
}

/// A text of `most` bytes, about: its beginning and its end where it is longer.
fn abridged(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let (head, tail) = (contract::text::head(text, most / 2), contract::text::tail(text, most / 2));
    let missing = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}\n[... {missing} bytes are left out here ...]\n{tail}"))
}

/// The number of last messages that stay: about a third, unless a number is set. The first is not
/// a result, which needs its call.
fn kept(entries: &[Arc<Entry>], tail: Option<usize>) -> usize {
    let all: usize = entries.iter().map(|entry| length(&entry.message)).sum();
    let most = if tail.is_some() { MAX_KEPT } else { MAX_KEPT.min(all / 3) };
    let mut size = 0;
    let mut kept = 0;
    for (index, entry) in entries.iter().rev().take(tail.unwrap_or(usize::MAX)).enumerate() {
        size += length(&entry.message);
        if size > most || index + 1 == entries.len() {
            break;
        }
        if !matches!(entry.message, Message::Tool { .. }) {
            kept = index + 1;
        }
    }
    kept
}

enum Summary {
    Text(String, Usage),
    TooLong,
    Failed(Outcome),
}

/// Bytes that a message may have where the whole history is too long to be summarized.
const CUTS: [usize; 2] = [2_000, 300];

/// Asks the model for a summary. The request begins like the one before it, for the cache of the
/// provider; if that is too long, it has only the dropped messages, each cut.
async fn summarize(
    context: TurnContext<'_>,
    journal: &mut Journal,
    (dropped, cause): (&[Arc<Entry>], CompactCause<'_>),
) -> Logged<Summary> {
    let mut text = String::from(
        "Write a summary of this conversation that lets you continue the work without seeing it \
         again: the task and what the user decided, what was done and found out, which files \
         matter and why, what is still open, the next step. Call no tool.",
    );
    if let CompactCause::Person { instructions: Some(instructions) } = cause {
        text.push_str("\nAbove all: ");
        text.push_str(instructions);
    }
    let wish = Arc::new(Entry::new(Message::User { text }));
    let system = round::system(context, journal).await?;
    let mut request = round::request(context, journal, system);
    request.model = context.settings.compaction.model.clone().unwrap_or(request.model);
    for cut in CUTS.map(Some).into_iter().chain([None]) {
        let mut asked = request.clone();
        Arc::make_mut(&mut asked.history).push(Arc::clone(&wish));
        let summary = match round::ask(context, journal, asked, Audience::Nobody).await? {
            RequestOutcome::Whole(draft) => summary_of(context, journal, draft),
            RequestOutcome::Cancelled(_) => Summary::Failed(Outcome::Cancelled),
            RequestOutcome::Failed(_, error) if error.kind == Failure::TooLong => Summary::TooLong,
            RequestOutcome::Failed(_, error) => {
                Summary::Failed(failed(&format!("no summary: {error}")))
            }
        };
        let (Summary::TooLong, Some(most)) = (&summary, cut) else { return Ok(summary) };
        request.history = Arc::new(dropped.iter().map(|entry| shortened(entry, most)).collect());
    }
    Ok(Summary::TooLong)
}

fn summary_of(context: TurnContext<'_>, journal: &Journal, draft: Draft) -> Summary {
    let summary = draft.reply.text();
    if summary.trim().is_empty() {
        return Summary::Failed(failed("the model gave no summary"));
    }
    Summary::Text(summary, round::counted(context, journal, &draft.reply, draft.usage))
}

fn shortened(entry: &Arc<Entry>, most: usize) -> Arc<Entry> {
    if length(&entry.message) <= most {
        return Arc::clone(entry);
    }
    let cut = |text: &mut String| text.truncate(contract::text::head(text, most).len());
    let mut message = entry.message.clone();
    match &mut message {
        Message::User { text } => cut(text),
        Message::Tool { content, .. } => cut(content),
        Message::Assistant(reply) => {
            reply.parts.retain(|part| !matches!(part, Part::Thinking { .. }));
            for part in &mut reply.parts {
                match part {
                    Part::Text { text } => cut(text),
                    Part::Call(call) if call.args.to_string().len() > most => {
                        let mut begun = call.args.to_string();
                        cut(&mut begun);
                        call.args = json!({"cut": begun});
                    }
                    Part::Call(_) | Part::Thinking { .. } => {}
                }
            }
        }
    }
    Arc::new(Entry::new(message))
}

fn failed(error: &str) -> Outcome {
    let hint = Some("the conversation is unchanged; try again, or use `/clear`".to_owned());
    Outcome::Failed { error: error.to_owned(), hint }
}

/// The summary as the model reads it: after the task, the request that is worked on, and what must
/// last, word for word.
fn framed(
    journal: &Journal,
    (entries, kept): (&[Arc<Entry>], usize),
    share: usize,
    summary: &str,
    find_skill: FindSkill,
) -> (String, LastingParts) {
    let asked = journal.transcript.prompt.as_str();
    // The open request is never cut: the model would do something else.
    let most = if journal.transcript.is_turn_open { usize::MAX } else { share };
    let earlier = journal.transcript.lasting_parts.as_ref();
    let task = task(earlier, entries, (asked, most), share, find_skill);
    let tag = tag("task", &task);
    let mut parts = vec![format!(
        "[Earlier messages were replaced by this summary]\nThe conversation began with:\n\
         <{tag}>\n{task}\n</{tag}>"
    )];
    let lasting: Vec<&str> = journal.transcript.lasting().collect();
    let is_lasting = |skill: &&str| lasting.iter().any(|text| text.contains(*skill));
    let skills = skills(earlier, entries, find_skill).into_iter().filter(|it| !is_lasting(it));
    let skills: Vec<String> = skills.map(str::to_owned).collect();
    parts.extend_from_slice(&skills);
    let (_, last) = entries.split_at(entries.len() - kept);
    let is_seen = last.iter().any(|entry| said(entry) == Some(asked));
    let request = abridged(asked, most);
    if !is_seen && without_skill(&request, find_skill) != task {
        parts.push(format!("The user asked last:\n<request>\n{request}\n</request>"));
    }
    let unseen = |said: &&String| !last.iter().any(|entry| self::said(entry) == Some(said));
    for words in journal.transcript.meanwhile.iter().filter(unseen) {
        let words = abridged(words, share);
        parts.push(format!("Later the user said:\n<request>\n{words}\n</request>"));
    }
    parts.extend(lasting.iter().map(|&text| text.to_owned()));
    parts.push(format!("Summary:\n{summary}"));
    (parts.join("\n\n"), LastingParts { task, skills })
}

/// A tag of about this name around a text that does not hold its end.
fn tag(name: &str, text: &str) -> String {
    let mut tag = name.to_owned();
    while text.contains(&format!("</{tag}>")) {
        tag.push_str("-text");
    }
    tag
}

/// The task at the beginning of the conversation. The open request may be longer than the rest.
fn task(
    earlier: Option<&LastingParts>,
    entries: &[Arc<Entry>],
    (asked, most): (&str, usize),
    share: usize,
    find_skill: FindSkill,
) -> String {
    let limit = |text: &str| if text == without_skill(asked, find_skill) { most } else { share };
    if let Some(LastingParts { task, .. }) = earlier {
        return abridged(task, limit(task)).into_owned();
    }
    let mut said = entries.iter().filter_map(|entry| said(entry));
    let first = said.next().unwrap_or_default();
    let begun = without_skill(first, find_skill);
    let mut task = abridged(begun, limit(begun)).into_owned();
    if let Some(next) = said.next().filter(|_| find_skill(first).is_some()) {
        // The activation of a skill may come before the task.
        let next = without_skill(next, find_skill);
        task = format!("{task}\n\n{}", abridged(next, limit(next)));
    }
    task
}

fn without_skill(text: &str, find_skill: FindSkill) -> &str {
    find_skill(text).map_or(text, |(_, rest)| rest)
}

/// The skills that a user activated, also those that an earlier summary holds.
fn skills<'a>(
    earlier: Option<&'a LastingParts>,
    entries: &'a [Arc<Entry>],
    find_skill: FindSkill,
) -> Vec<&'a str> {
    let earlier = earlier.into_iter().flat_map(|parts| &parts.skills);
    let mut skills: Vec<&str> = earlier.map(String::as_str).collect();
    for (found, _) in entries.iter().filter_map(|entry| find_skill(said(entry)?)) {
        skills.retain(|known| *known != found);
        skills.push(found);
    }
    skills
}

fn said(entry: &Entry) -> Option<&str> {
    match &entry.message {
        Message::User { text } => Some(text),
        Message::Assistant(_) | Message::Tool { .. } => None,
    }
}
