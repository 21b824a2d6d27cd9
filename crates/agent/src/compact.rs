//! Shortens what the model sees of a long history. The log keeps all of it.

use std::sync::Arc;

use contract::event::{Level, Outcome, What};
use contract::hook::{CompactCause, CompactView, Occasion};
use contract::log::LogError;
use contract::message::{Entry, Message, Usage};
use contract::provider::Failure;
use contract::tool::ToolSpec;

use crate::journal::Journal;
use crate::reply::{Asked, Audience};
use crate::round;
use crate::settings::RequestSettings;
use crate::tool_call::Bench;
use crate::transcript::{self, length};

/// A summary by the model takes the place of what is dropped.
const SUMMARIZE: &str = "summarize";
/// What is dropped is dropped; the last messages stay.
const TRUNCATE: &str = "truncate";

/// Bytes of the last messages that stay as they are.
const KEPT: usize = 32_000;
/// Bytes of the first prompt that stay word for word.
const TASK: usize = 4_000;
/// How much of the context may be used before the history is shortened, in percent.
const FULL: u64 = 80;

/// How shortening went.
pub(crate) enum Shortened {
    /// The model sees less.
    Done,
    /// There is nothing that could go.
    Nothing,
    /// A hook keeps the history as it is; these are its name and its reason.
    Refused(String),
    /// It did not work.
    Failed(Outcome),
}

/// Says that a hook keeps the history as it is.
pub(crate) async fn tell_refusal(journal: &mut Journal, why: &str) -> Result<(), LogError> {
    let text = format!("the history is not shortened, because of hook {why}");
    journal.notice(Level::Warning, text, None).await
}

/// Shortens the history because a person asked for it.
pub(crate) async fn run(
    bench: Bench<'_>,
    journal: &mut Journal,
    instructions: Option<&str>,
) -> Result<Outcome, LogError> {
    match shorten(bench, journal, CompactCause::Person { instructions }).await? {
        Shortened::Failed(outcome) => return Ok(outcome),
        Shortened::Done => {}
        Shortened::Refused(why) => tell_refusal(journal, &why).await?,
        Shortened::Nothing => {
            let text = "the history is short: there is nothing to compact".to_owned();
            journal.notice(Level::Info, text, None).await?;
        }
    }
    Ok(Outcome::Answered { stop_reason: "compacted".to_owned() })
}

/// Forgets the whole history.
pub(crate) async fn clear(bench: Bench<'_>, journal: &mut Journal) -> Result<Outcome, LogError> {
    let dropped = journal.transcript.entries().len() as u64;
    bench.hooks.occasion(journal, &Occasion::Clearing { messages: dropped }).await?;
    let strategy = "clear".to_owned();
    let usage = Usage::default();
    let cleared = What::Compacted { summary: None, strategy, dropped, kept: 0, usage };
    journal.commit(vec![cleared]).await?;
    bench.hooks.occasion(journal, &Occasion::Cleared).await?;
    Ok(Outcome::Answered { stop_reason: "cleared".to_owned() })
}

/// Whether the next request would fill too much of the context.
pub(crate) fn is_due(bench: Bench<'_>, journal: &Journal) -> bool {
    let RequestSettings { known, model, .. } = &bench.settings.request;
    let Some(window) = known.context_window_of(model) else { return false };
    let mut tokens = journal.transcript.tokens();
    if !journal.transcript.is_measured() {
        // No provider has counted the rest of the request. Where that alone fills the context,
        // shortening the history would not help.
        let frame = frame(bench, journal);
        tokens += if frame < window / 2 { frame } else { 0 };
    }
    // Providers count the room for the reply too. Where that is nearly all there is, no history
    // would be short enough.
    let reply = bench.settings.request.max_tokens;
    let room = if reply < window / 4 * 3 { window - reply } else { window };
    tokens > room.min(window / 100 * FULL)
}

/// Tokens that the next request takes, about.
pub(crate) fn size(bench: Bench<'_>, journal: &Journal) -> u64 {
    let history = journal.transcript.tokens();
    if journal.transcript.is_measured() { history } else { history + frame(bench, journal) }
}

/// Tokens that every request takes beside the history, about.
fn frame(bench: Bench<'_>, journal: &Journal) -> u64 {
    let specs = bench.parts.registry.specs();
    let size = |spec: &Arc<ToolSpec>| {
        spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
    };
    let tools: usize = specs.iter().map(size).sum();
    let tools = if bench.settings.request.sends_tools { tools } else { 0 };
    transcript::estimate(journal.transcript.system().len() + tools)
}

/// Shortens the history.
pub(crate) async fn shorten(
    bench: Bench<'_>,
    journal: &mut Journal,
    cause: CompactCause<'_>,
) -> Result<Shortened, LogError> {
    let entries = journal.transcript.entries();
    let kept = kept(&entries);
    let dropped = entries.len() - kept;
    if dropped < 2 {
        return Ok(Shortened::Nothing);
    }
    let view = CompactView { strategy: SUMMARIZE, messages: entries.len() as u64, cause };
    let advised = bench.hooks.before_compact(journal, view).await?;
    if let Some(why) = advised.refusal {
        return Ok(Shortened::Refused(why));
    }
    let mut strategy = strategy(journal, advised.strategy).await?;
    let (summary, usage) = match advised.summary {
        Some(summary) => (summary, Usage::default()),
        None if strategy == TRUNCATE => (DROPPED.to_owned(), Usage::default()),
        None => match summarize(bench, journal, cause).await? {
            Summary::Text(summary, usage) => (summary, usage),
            Summary::Failed(outcome) => return Ok(Shortened::Failed(outcome)),
            Summary::TooLong => {
                strategy = TRUNCATE;
                (DROPPED.to_owned(), Usage::default())
            }
        },
    };
    let framed = Some(framed(journal, &entries, kept, &summary));
    let (dropped, kept) = (dropped as u64, kept as u64);
    let strategy = strategy.to_owned();
    journal
        .commit(vec![What::Compacted { summary: framed, strategy, dropped, kept, usage }])
        .await?;
    let is_asked_for = matches!(cause, CompactCause::Person { .. });
    let compacted = Occasion::Compacted { is_asked_for, summary, dropped, kept };
    bench.hooks.occasion(journal, &compacted).await?;
    Ok(Shortened::Done)
}

/// What stands for messages that nobody could summarize.
const DROPPED: &str = "Earlier messages were dropped. Look again at what you need.";

/// The strategy that a hook asks for, where it is known.
async fn strategy(journal: &mut Journal, wanted: Option<String>) -> Result<&'static str, LogError> {
    match wanted.as_deref() {
        None | Some(SUMMARIZE) => Ok(SUMMARIZE),
        Some(TRUNCATE) => Ok(TRUNCATE),
        Some(unknown) => {
            let text = format!("a hook asks for the unknown strategy `{unknown}`");
            let hint = format!("there are `{SUMMARIZE}` and `{TRUNCATE}`");
            journal.notice(Level::Warning, text, Some(hint)).await?;
            Ok(SUMMARIZE)
        }
    }
}

/// How many of the last messages stay: a third of all, and not too much. They do not begin with a
/// result, so that no call is parted from it.
fn kept(entries: &[Arc<Entry>]) -> usize {
    let all: usize = entries.iter().map(|entry| length(&entry.message)).sum();
    let most = KEPT.min(all / 3);
    let mut size = 0;
    let mut kept = 0;
    for (index, entry) in entries.iter().rev().enumerate() {
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

/// What asking for a summary came to.
enum Summary {
    Text(String, Usage),
    TooLong,
    Failed(Outcome),
}

/// Asks the model for a summary. The request begins like the one before it, so that what the
/// provider has cached still counts.
async fn summarize(
    bench: Bench<'_>,
    journal: &mut Journal,
    cause: CompactCause<'_>,
) -> Result<Summary, LogError> {
    let mut text = String::from(
        "Write a summary of this conversation that lets you go on with the work without seeing it \
         again: the task and what the person decided, what was done and found out, which files \
         matter and why, what is still open, the next step. Call no tool.",
    );
    if let CompactCause::Person { instructions: Some(instructions) } = cause {
        text.push_str("\nAbove all: ");
        text.push_str(instructions);
    }
    let system = round::system(bench, journal).await?;
    let mut request = round::request(bench, journal, system);
    Arc::make_mut(&mut request.history).push(Arc::new(Entry::new(Message::User { text })));
    Ok(match round::ask(bench, journal, request, Audience::Nobody).await? {
        Asked::Whole(draft) => {
            let summary = draft.reply.text();
            if summary.trim().is_empty() {
                Summary::Failed(failed("the model gave no summary"))
            } else {
                let usage = round::counted(bench, journal, &draft.reply, draft.usage);
                Summary::Text(summary, usage)
            }
        }
        Asked::Cancelled(_) => Summary::Failed(Outcome::Cancelled),
        Asked::Failed(_, error) if error.kind == Failure::TooLong => Summary::TooLong,
        Asked::Failed(_, error) => Summary::Failed(failed(&format!("no summary: {error}"))),
    })
}

fn failed(error: &str) -> Outcome {
    let hint = Some("the history is as it was; try again, or `/clear` it".to_owned());
    Outcome::Failed { error: error.to_owned(), hint }
}

/// What a summary begins with.
const OPENING: &str = "[Earlier messages were replaced by this summary]";

/// The summary as the model reads it: after the task, the request that is worked on, and what must
/// last, word for word.
fn framed(journal: &Journal, entries: &[Arc<Entry>], kept: usize, summary: &str) -> String {
    let task = task(entries);
    let mut parts =
        vec![format!("{OPENING}\nThe conversation began with:\n<task>\n{task}\n</task>")];
    let lasting: Vec<&str> = journal.transcript.lasting().collect();
    let is_lasting = |skill: &&str| lasting.iter().any(|text| text.contains(*skill));
    let (_, last) = entries.split_at(entries.len() - kept);
    let request = contract::text::head(journal.transcript.prompt(), TASK);
    let is_seen = last.iter().any(|entry| said(entry).is_some_and(|it| it.starts_with(request)));
    if !is_seen && without_skill(request) != task {
        parts.push(format!("The person asked last:\n<request>\n{request}\n</request>"));
    }
    let unseen = |said: &&String| !last.iter().any(|entry| self::said(entry) == Some(said));
    for words in journal.transcript.meanwhile().iter().filter(unseen) {
        let words = contract::text::head(words, TASK);
        parts.push(format!("Meanwhile the person said:\n<request>\n{words}\n</request>"));
    }
    parts.extend(skills(entries).into_iter().filter(|it| !is_lasting(it)).map(str::to_owned));
    parts.extend(lasting.iter().map(|&text| text.to_owned()));
    parts.push(format!("Summary:\n{summary}"));
    parts.join("\n\n")
}

/// What the conversation began with, also where that was summarized before.
fn task(entries: &[Arc<Entry>]) -> String {
    let mut said = entries.iter().filter_map(|entry| said(entry));
    let first = said.next().unwrap_or_default();
    let known = first.strip_prefix(OPENING).and_then(|rest| {
        let (_, task) = rest.split_once("<task>\n")?;
        Some(task.split_once("\n</task>")?.0.to_owned())
    });
    let plain = || {
        let mut task = contract::text::head(without_skill(first), TASK).to_owned();
        if let Some(next) = said.next().filter(|_| skill(first).is_some()) {
            // What activates a skill may come before the task.
            task = format!("{task}\n\n{}", contract::text::head(without_skill(next), TASK));
        }
        task
    };
    known.unwrap_or_else(plain)
}

/// What stands before a skill that a person activates.
const ACTIVATED: &str = "[System: The following skill has been activated]";
/// What a skill ends with.
const SKILL_END: &str = "\n</skill>";

/// The skill that a message activates.
fn skill(text: &str) -> Option<&str> {
    block(text.strip_prefix(ACTIVATED)?)
}

/// The first skill in a text.
fn block(text: &str) -> Option<&str> {
    let text = &text[text.find("<skill name=\"")?..];
    Some(&text[..text.find(SKILL_END)? + SKILL_END.len()])
}

/// What a message says beside the skill that it activates.
fn without_skill(text: &str) -> &str {
    let rest = skill(text).and_then(|_| text.split_once(SKILL_END));
    rest.map_or(text, |(_, rest)| rest.trim_start())
}

/// The skills that a person activated, also those that an earlier summary holds.
fn skills(entries: &[Arc<Entry>]) -> Vec<&str> {
    let mut skills = Vec::new();
    for text in entries.iter().filter_map(|entry| said(entry)) {
        let mut rest = if text.starts_with(OPENING) { text } else { "" };
        let mut found: Vec<&str> = skill(text).into_iter().collect();
        while let Some(skill) = block(rest) {
            found.push(skill);
            rest = rest.split_once(skill).map_or("", |(_, after)| after);
        }
        skills.retain(|known| !found.contains(known));
        skills.extend(found);
    }
    skills
}

/// What somebody other than the model and its tools said.
fn said(entry: &Entry) -> Option<&str> {
    match &entry.message {
        Message::User { text } => Some(text),
        Message::Assistant(_) | Message::Tool { .. } => None,
    }
}
