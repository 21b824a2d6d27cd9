//! History as a fold over events: what the model sees, and what a crash left open.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use contract::event::{
    CallOutcome, Direction, Event, EventKind, LastingParts, MessageOrigin, Outcome, Subconversation,
};
use contract::id::{CallId, Seq};
use contract::message::{Entry, Message, Part, Reply, ToolCall, Usage};
use contract::tool::{Display, Lasting, ToolOutput};

const LOST: &str = "interrupted: the program ended while this call was running; it may have taken \
                    effect, so check before you repeat it";

/// Bytes of text that make a token, about.
const BYTES_PER_TOKEN: usize = 4;
const SENDABLE: [&str; 6] =
    ["image/png", "image/jpeg", "image/gif", "image/webp", "audio/wav", "audio/mp3"];
/// Bytes of text that make as many tokens as an image, about.
const IMAGE_BYTES: usize = 6_000;

/// The history of a conversation, append-only.
#[derive(Default)]
pub struct Transcript {
    entries: Arc<Vec<Arc<Entry>>>,
    /// The event of each message; none for a summary.
    sources: Vec<Option<Seq>>,
    at: Seq,
    open_calls: HashSet<CallId>,
    /// Images of results. They follow the last result of their reply.
    images: Vec<Entry>,
    pub(crate) is_turn_open: bool,
    usage: Usage,
    system: String,
    pub(crate) prompt: String,
    pub(crate) meanwhile: Vec<String>,
    /// Tokens of the last request that the provider counted.
    measured: u64,
    since: usize,
    lasting: Vec<(Lasting, String)>,
    pub(crate) lasting_parts: Option<LastingParts>,
    pub(crate) talk: u32,
}

/// Tokens that so many bytes of text make, about.
pub(crate) fn estimate(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

impl Transcript {
    /// Folds the events of a session in; of conversations within it only their cost.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut transcript = Self::default();
        for event in events {
            match (&event.within, &event.kind) {
                (None, what) => transcript.apply_at(event.seq, what),
                (
                    Some(_),
                    EventKind::ReplyFinished { usage, .. } | EventKind::Compacted { usage, .. },
                ) => {
                    transcript.usage.add(usage);
                }
                (Some(_), _) => {}
            }
        }
        transcript
    }

    /// Folds the event of this position in.
    pub fn apply_at(&mut self, seq: Seq, what: &EventKind) {
        self.at = seq;
        self.apply(what);
    }

    /// Folds one event in, whatever its position.
    pub fn apply(&mut self, what: &EventKind) {
        match what {
            EventKind::TurnStarted { prompt } => {
                self.answer_lost();
                self.is_turn_open = true;
                self.usage = Usage::default();
                self.prompt.clone_from(prompt);
                self.meanwhile.clear();
                self.push(Message::User { text: prompt.clone() });
            }
            EventKind::Injected { origin, text } => {
                if *origin == MessageOrigin::User {
                    self.meanwhile.push(text.clone());
                }
                self.answer_lost();
                self.push(Message::User { text: text.clone() });
            }
            EventKind::ReplyFinished { reply, usage } => {
                self.answer_lost();
                self.usage.add(usage);
                self.open_calls.extend(reply.calls().map(|call| call.id.clone()));
                let acts = reply.calls().next().is_some();
                self.talk = if acts { 0 } else { self.talk.saturating_add(1) };
                if !reply.parts.is_empty() {
                    self.push(Message::Assistant(reply.clone()));
                }
                if usage.input_tokens > 0 && !usage.estimated {
                    (self.measured, self.since) = (usage.total_tokens(), 0);
                }
            }
            EventKind::ToolFinished { call, name, outcome, output, content, .. } => {
                // A call that no reply made (`tools exec`) is not a part of the model's history.
                let is_of_reply = self.open_calls.remove(call);
                if is_of_reply {
                    if let Some(lasting) = output.lasting().filter(|_| output.success) {
                        self.keep_lasting(lasting, content);
                    }
                    let (call, name, content) = (call.clone(), name.clone(), content.clone());
                    let is_error = *outcome != CallOutcome::Skipped && !output.success;
                    self.push(Message::Tool { call, name, content, is_error });
                }
                self.images.extend(image(name, output));
                if self.open_calls.is_empty() {
                    self.push_images();
                }
            }
            EventKind::FilesRestored { direction, turns, files, count, kept, .. } => {
                let text = restored(*direction, turns.len(), (files, *count), kept);
                self.answer_lost();
                self.push(Message::User { text });
            }
            EventKind::Compacted { summary, kept, usage, lasting, .. } => {
                self.usage.add(usage);
                if lasting.is_some() || summary.is_none() {
                    self.lasting_parts.clone_from(lasting);
                }
                self.compact(summary.as_deref(), *kept);
            }
            EventKind::TurnFinished { .. } => self.is_turn_open = false,
            EventKind::Configured { system, .. } => self.system.clone_from(system),
            _ => {}
        }
    }

    /// The messages, oldest first.
    pub fn entries(&self) -> Arc<Vec<Arc<Entry>>> {
        Arc::clone(&self.entries)
    }

    /// The first and the last event that the first `count` messages come from, summaries apart.
    pub(crate) fn range(&self, count: usize) -> Option<(Seq, Seq)> {
        let mut seqs = self.sources.iter().take(count).flatten().copied();
        let first = seqs.next()?;
        Some(seqs.fold((first, first), |(least, most), seq| (least.min(seq), most.max(seq))))
    }

    /// The last system prompt.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Tokens of the next request: those the provider counted, and an estimate of the rest.
    pub(crate) fn tokens(&self) -> u64 {
        self.measured + estimate(self.since)
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.measured > 0
    }

    /// Results that outlive a summary, such as the skills in use and the open todos.
    pub(crate) fn lasting(&self) -> impl Iterator<Item = &str> {
        self.lasting.iter().map(|(_, text)| text.as_str())
    }

    pub(crate) fn open_work(&self) -> u64 {
        self.lasting.iter().filter_map(|(lasting, _)| lasting.open).sum()
    }

    /// The cost of the turn so far.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    pub(crate) fn last_words(&self) -> String {
        let words = |entry: &Arc<Entry>| match &entry.message {
            Message::Assistant(reply) => Some(reply.text()).filter(|text| !text.trim().is_empty()),
            Message::User { .. } | Message::Tool { .. } => None,
        };
        self.entries.iter().rev().find_map(words).unwrap_or_default()
    }

    /// The events that close calls and the turn after a crash. The turn has cost `usage`.
    pub fn closing(&self, usage: &Usage) -> Vec<EventKind> {
        let lost = |call: &ToolCall| EventKind::ToolFinished {
            call: call.id.clone(),
            name: call.name.clone(),
            outcome: CallOutcome::Interrupted,
            output: ToolOutput::failure(LOST),
            content: LOST.to_owned(),
            duration_ms: 0,
        };
        let mut closing: Vec<EventKind> = self.calls_without_result().map(lost).collect();
        if self.is_turn_open {
            let usage = usage.clone();
            closing.push(EventKind::TurnFinished { outcome: Outcome::Cancelled, usage });
        }
        closing
    }

    /// Keeps the last messages after the summary, as new entries: an entry never changes its position.
    fn compact(&mut self, summary: Option<&str>, kept: u64) {
        let kept = usize::try_from(kept).unwrap_or(usize::MAX).min(self.entries.len());
        let last = &self.entries[self.entries.len() - kept..];
        let first = summary.map(|text| Entry::new(Message::User { text: text.to_owned() }));
        let again =
            |entry: &Arc<Entry>| Entry::with_image(entry.message.clone(), entry.image.clone());
        let entries = first.into_iter().chain(last.iter().map(again));
        self.entries = Arc::new(entries.map(Arc::new).collect());
        let last = self.sources.split_off(self.sources.len() - kept);
        self.sources = summary.map(|_| None).into_iter().chain(last).collect();
        if summary.is_none() {
            self.lasting.clear();
        }
        self.measured = 0;
        self.since = self.entries.iter().map(|entry| length(&entry.message)).sum();
    }

    fn push(&mut self, message: Message) {
        self.since += length(&message);
        self.push_entry(Entry::new(message));
    }

    fn push_entry(&mut self, entry: Entry) {
        // A request that still holds the list is the one case in which it is copied.
        Arc::make_mut(&mut self.entries).push(Arc::new(entry));
        self.sources.push(Some(self.at));
    }

    fn keep_lasting(&mut self, lasting: Lasting, content: &str) {
        let subject = &lasting.subject;
        self.lasting.retain(|(known, text)| {
            text != content && (subject.is_none() || known.subject != *subject)
        });
        self.lasting.push((lasting, content.to_owned()));
    }

    /// Adds a result for each call without one (a damaged log), since providers reject such a history.
    fn answer_lost(&mut self) {
        if self.open_calls.is_empty() {
            return;
        }
        let lost = |call: &ToolCall| Message::Tool {
            call: call.id.clone(),
            name: call.name.clone(),
            content: LOST.to_owned(),
            is_error: true,
        };
        let lost: Vec<Message> = self.calls_without_result().map(lost).collect();
        self.open_calls.clear();
        self.since += lost.iter().map(length).sum::<usize>();
        let entries = Arc::make_mut(&mut self.entries);
        let is_reply = |entry: &Arc<Entry>| matches!(entry.message, Message::Assistant(_));
        let after = entries.iter().rposition(is_reply).map_or(0, |index| index + 1);
        let is_result = |entry: &&Arc<Entry>| matches!(entry.message, Message::Tool { .. });
        let place = after + entries[after..].iter().take_while(is_result).count();
        let lost = lost.into_iter().map(|message| Arc::new(Entry::new(message)));
        let before = entries.len();
        entries.splice(place..place, lost);
        let added = entries.len() - before;
        self.sources.splice(place..place, std::iter::repeat_n(Some(self.at), added));
        self.push_images();
    }

    fn push_images(&mut self) {
        for entry in std::mem::take(&mut self.images) {
            self.since += IMAGE_BYTES;
            self.push_entry(entry);
        }
    }

    /// Calls of the last reply, announced or not, that have no result.
    fn calls_without_result(&self) -> impl Iterator<Item = &ToolCall> {
        let last = self.entries.iter().rposition(|e| matches!(e.message, Message::Assistant(_)));
        let answered: HashSet<&CallId> = self.entries[last.unwrap_or(0)..]
            .iter()
            .filter_map(|entry| match &entry.message {
                Message::Tool { call, .. } => Some(call),
                Message::User { .. } | Message::Assistant(_) => None,
            })
            .collect();
        let reply = last.and_then(|index| match &self.entries[index].message {
            Message::Assistant(reply) => Some(reply),
            Message::User { .. } | Message::Tool { .. } => None,
        });
        reply.into_iter().flat_map(Reply::calls).filter(move |call| !answered.contains(&call.id))
    }
}

/// The ids in use, as hashes, because a session may have very many. A collision does no harm.
#[derive(Default)]
pub(crate) struct TakenIds {
    hashes: HashSet<u64>,
    state: RandomState,
}

impl TakenIds {
    /// Takes an id; `false` where it is taken already.
    pub(crate) fn take(&mut self, id: &CallId) -> bool {
        self.hashes.insert(self.state.hash_one(id.as_str()))
    }

    /// Gives every call of a reply an id that is not taken, and takes it.
    pub(crate) fn make_unique(&mut self, reply: &mut Reply) {
        let mut number = self.hashes.len();
        for part in &mut reply.parts {
            let Part::Call(call) = part else { continue };
            let original = call.id.0.clone();
            let base = if original.is_empty() { "call" } else { &original };
            while call.id.0.is_empty() || !self.take(&call.id) {
                number += 1;
                call.id = CallId(format!("{base}-{number}"));
            }
        }
    }
}

/// Returns the events that close nested conversations after a crash, the innermost first.
pub(crate) fn left_open(history: &[Event]) -> Vec<(Subconversation, Vec<EventKind>)> {
    let mut open: Vec<(&Subconversation, Transcript)> = Vec::new();
    for event in history {
        if let Some(within) = &event.within {
            let known = open.iter().position(|(other, _)| other.call == within.call);
            let index = known.unwrap_or_else(|| {
                open.push((within, Transcript::default()));
                open.len() - 1
            });
            open[index].1.apply(&event.kind);
        }
        // A nested conversation ends with its call.
        if let EventKind::ToolFinished { call, .. } = &event.kind {
            open.retain(|(within, _)| within.call != *call);
        }
    }
    let closing = |(within, transcript): (&Subconversation, Transcript)| {
        (within.clone(), transcript.closing(transcript.usage()))
    };
    open.into_iter().rev().map(closing).collect()
}

fn restored(
    direction: Direction,
    turns: usize,
    (files, count): (&[String], u64),
    kept: &[String],
) -> String {
    let what = match direction {
        Direction::Undo => "took back",
        Direction::Redo => "made again",
    };
    let turns = if turns == 1 { "one turn".to_owned() } else { format!("{turns} turns") };
    let more = count.saturating_sub(files.len() as u64);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let mut text = format!(
        "[The user {what} the file changes of {turns}: {}{more}. Read a file again before you \
         rely on what it holds.]",
        files.join(", ")
    );
    if !kept.is_empty() {
        text.pop();
        text.extend([" Left as they are: ", &kept.join(", "), ".]"]);
    }
    text
}

/// The image of a result, with a text that names it.
fn image(tool: &str, output: &ToolOutput) -> Option<Entry> {
    let Some(Display::Image { media_type, data }) = &output.display else { return None };
    let named = output.facts.get("image").and_then(serde_json::Value::as_str);
    let kind = if media_type.starts_with("audio/") { "recording" } else { "image" };
    let text = format!("[{kind} {}]", named.unwrap_or(tool));
    let image = (media_type.clone(), data.clone());
    SENDABLE
        .contains(&&**media_type)
        .then(|| Entry::with_image(Message::User { text }, Some(image)))
}

pub(crate) fn length(message: &Message) -> usize {
    match message {
        Message::User { text } => text.len(),
        Message::Tool { content, .. } => content.len(),
        Message::Assistant(reply) => {
            let calls: usize = reply.calls().map(|call| call.args.to_string().len()).sum();
            reply.text().len() + calls
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::event::CompactionStrategy;
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> Part {
        Part::Call(ToolCall {
            id: CallId(id.into()),
            name: "Look".into(),
            args: json!({}),
            opaque: None,
        })
    }

    fn reply(parts: Vec<Part>) -> EventKind {
        let reply = Reply { parts, ..Reply::default() };
        EventKind::ReplyFinished { reply, usage: Usage::default() }
    }

    #[test]
    fn calls_left_open_by_a_crash_get_a_result() {
        let mut transcript = Transcript::default();
        transcript.apply(&EventKind::TurnStarted { prompt: "go".into() });
        transcript.apply(&reply(vec![call("a"), call("b")]));
        transcript.apply(&EventKind::ToolFinished {
            call: CallId("a".into()),
            name: "Look".into(),
            outcome: CallOutcome::Ran,
            output: ToolOutput::success("x"),
            content: "x".into(),
            duration_ms: 1,
        });
        let closing = transcript.closing(&Usage::default());
        assert_eq!(closing.len(), 2);
        for what in &closing {
            transcript.apply(what);
        }
        assert!(transcript.closing(&Usage::default()).is_empty());
        assert!(matches!(
            &transcript.entries.last().expect("entries").message,
            Message::Tool { call, is_error: true, .. } if call.as_str() == "b"
        ));
    }

    #[test]
    fn summary_replaces_the_dropped_entries() {
        let mut transcript = Transcript::default();
        for (seq, prompt) in (1..).zip(["one", "two", "three"]) {
            transcript.apply_at(Seq(seq), &EventKind::TurnStarted { prompt: prompt.into() });
        }
        assert_eq!(transcript.range(2), Some((Seq(1), Seq(2))));
        let before = transcript.entries();
        transcript.apply(&EventKind::Compacted {
            summary: Some("so far".into()),
            strategy: CompactionStrategy::Summarize,
            dropped: 1,
            range: None,
            kept: 2,
            usage: Usage::default(),
            lasting: None,
        });
        assert_eq!(transcript.range(3), Some((Seq(2), Seq(3))));
        let texts: Vec<_> = transcript.entries.iter().map(|entry| entry.message.clone()).collect();
        let user = |text: &str| Message::User { text: text.into() };
        assert_eq!(texts, [user("so far"), user("two"), user("three")]);
        assert!(!Arc::ptr_eq(&before[2], &transcript.entries[2]));
    }

    #[test]
    fn ids_are_unique_across_the_session() {
        let mut taken = TakenIds::default();
        assert!(taken.take(&CallId("a".into())));
        let mut next = Reply { parts: vec![call("a"), call(""), call("a")], ..Reply::default() };
        taken.make_unique(&mut next);
        let ids: HashSet<_> = next.calls().map(|call| call.id.0.clone()).collect();
        assert_eq!(ids.len(), 3);
        assert!(!ids.contains("a") && !ids.contains(""));
    }

    #[test]
    fn last_lasting_result_of_a_subject_survives() {
        let mut transcript = Transcript::default();
        for (id, subject, text) in
            [("a", None, "skill"), ("b", Some("todos"), "one"), ("c", Some("todos"), "two")]
        {
            transcript.apply(&reply(vec![call(id)]));
            let mut output = ToolOutput::success(text);
            output.set_lasting(Lasting { subject: subject.map(str::to_owned), open: None });
            transcript.apply(&EventKind::ToolFinished {
                call: CallId(id.into()),
                name: "Look".into(),
                outcome: CallOutcome::Ran,
                output,
                content: text.into(),
                duration_ms: 1,
            });
        }
        assert_eq!(transcript.lasting().collect::<Vec<_>>(), ["skill", "two"]);
        assert!(transcript.open_calls.is_empty());
    }
}
