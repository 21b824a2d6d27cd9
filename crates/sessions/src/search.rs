//! Finds words in sessions: in what people asked, what models answered, what tools got and gave,
//! and in titles. Reads the logs themselves, the session that was last used first, and of each
//! session what was said last.

mod segment;
pub(crate) mod words;

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use contract::event::{Event, EventKind};
use contract::id::{Seq, SessionId, Timestamp};
use memchr::memmem::{self, Finder};
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, cannot};
use crate::record;
use crate::store::Store;
use crate::summary::Summary;
use words::Words;

/// A place where all words were found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// The event.
    pub seq: Seq,
    /// When it happened.
    pub at: Timestamp,
    /// Whose words they are.
    pub who: Who,
    /// The tool, where they are a tool's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The agent, where they belong to a conversation within the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The words around the first match, on one line.
    pub snippet: String,
    /// Where in the snippet the match is.
    #[serde(skip)]
    pub matched: Range<usize>,
}

/// Whose words were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The user's.
    User,
    /// The model's.
    Assistant,
    /// The program's, in the user's place.
    System,
    /// Those a tool was called with.
    ToolInput,
    /// Those a tool gave back.
    ToolOutput,
    /// The session's title.
    Title,
}

/// Bytes of a log that are read at once where its words are not gathered.
const CHUNK: u64 = 1 << 20;

/// How far the gathering of words has come.
#[derive(Clone, Copy, Debug)]
pub struct Gathered {
    /// Bytes of logs that were gone through.
    pub done: u64,
    /// Bytes of logs that there were to go through.
    pub all: u64,
}

impl Store {
    /// Finds up to `limit` places that contain every word of `query`, in any case; the last first.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, Error> {
        let query = Query::new(query);
        let mut hits = Vec::new();
        if query.words.is_empty() {
            return Ok(hits);
        }
        for summary in self.list()? {
            if hits.len() >= limit {
                break;
            }
            match self.search_session(&query, &summary, limit, &mut hits) {
                // Deleted since it was listed.
                Err(Error::NotFound(_)) => {}
                result => result?,
            }
        }
        Ok(hits)
    }

    /// Gathers the words of logs that have grown much since that was last done, so that searches
    /// read only parts of them. Does nothing where there is little to gain. What was done counts,
    /// also where it is stopped in the middle.
    pub fn gather_words(&self, told: &mut dyn FnMut(Gathered)) -> Result<(), Error> {
        let mut behind = Vec::new();
        for id in self.ids()? {
            let path = self.path(&id);
            let Ok(log) = File::open(&path) else { continue };
            let length = log.metadata().map_or(0, |metadata| metadata.len());
            let covered = Words::open(&log, &words::path(&path)).map_or(0, |words| words.covered);
            behind.push((length.saturating_sub(covered), path));
        }
        let is_much = behind.iter().map(|(rest, _)| rest).sum::<u64>() > words::MUCH;
        behind.retain(|(rest, _)| *rest > words::REST || is_much && *rest >= words::LITTLE);
        let all = behind.iter().map(|(rest, _)| rest).sum();
        let mut done = 0;
        for (_, path) in behind {
            let mut add = |bytes| {
                done += bytes;
                told(Gathered { done, all });
            };
            words::gather(&path, &mut add).map_err(cannot("gather the words of", &path))?;
        }
        Ok(())
    }

    fn search_session(
        &self,
        query: &Query,
        summary: &Summary,
        limit: usize,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Error> {
        let path = self.path(&summary.id);
        let reader = self.file(&summary.id)?;
        let log = reader.get_ref();
        let length = log.metadata().map_err(cannot("read", &path))?.len();
        let last = Seq(u64::MAX);
        let mut scan = Scan { query, summary, limit, hits, last, scratch: Vec::new() };
        let words = Words::open(log, &words::path(&path));
        let covered = words.as_ref().map_or(0, |words| words.covered);
        scan.backwards(log, covered, length).map_err(cannot("read", &path))?;
        if let Some(words) = words {
            scan.gathered(&words, log).map_err(cannot("read", &path))?;
        }
        Ok(())
    }
}

/// A search in one session, from its end to its beginning.
struct Scan<'a> {
    query: &'a Query,
    summary: &'a Summary,
    limit: usize,
    hits: &'a mut Vec<Hit>,
    /// The event of the last hit.
    last: Seq,
    scratch: Vec<u8>,
}

impl Scan<'_> {
    /// Looks into the parts of a log that may hold the words.
    fn gathered(&mut self, words: &Words, log: &File) -> io::Result<()> {
        let parts = segment::parts(&self.query.words);
        for number in (0..words.count()).rev() {
            if self.is_full() {
                return Ok(());
            }
            for (from, to) in words.candidates(number, &parts)?.into_iter().rev() {
                if self.is_full() {
                    return Ok(());
                }
                self.backwards(log, from, to)?;
            }
        }
        Ok(())
    }

    /// Looks at all lines of a stretch of a log.
    fn backwards(&mut self, log: &File, from: u64, to: u64) -> io::Result<()> {
        let (mut end, mut size) = (to, CHUNK);
        while end > from && !self.is_full() {
            let start = end.saturating_sub(size).max(from);
            let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
            log.read_exact_at(&mut bytes, start)?;
            // What stands before the first end of a line belongs to the chunk before.
            let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
            let first = if start == from { 0 } else { first };
            if first == bytes.len() && size <= record::LONGEST as u64 {
                size *= 2;
                continue;
            }
            self.lines(&bytes[first..]);
            end = if first == bytes.len() { start } else { start + first as u64 };
            size = CHUNK;
        }
        Ok(())
    }

    fn lines(&mut self, bytes: &[u8]) {
        for line in bytes.strip_suffix(b"\n").unwrap_or(bytes).rsplit(|byte| *byte == b'\n') {
            if self.is_full() {
                return;
            }
            if self.query.may_match(line, &mut self.scratch)
                && let Ok(event) = record::open(line).and_then(record::parse)
            {
                self.event(&event);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.hits.len() >= self.limit
    }

    fn event(&mut self, event: &Event) {
        let Some((who, text, place)) = self.query.find_in(event) else { return };
        if event.seq >= self.last {
            return;
        }
        self.last = event.seq;
        let (snippet, matched) = cut(&text, &place);
        self.hits.push(Hit {
            session: self.summary.id.clone(),
            title: self.summary.title.clone(),
            seq: event.seq,
            at: event.at,
            who,
            tool: tool(event).map(str::to_owned),
            agent: event.within.as_ref().map(|within| within.agent.clone()),
            snippet,
            matched,
        });
    }
}

struct Query {
    /// The words, in lower case.
    words: Vec<String>,
    /// The words as they stand in JSON, as far as they are ASCII.
    filters: Vec<Finder<'static>>,
}

impl Query {
    fn new(text: &str) -> Self {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let in_json = |word: &String| Value::String(word.clone()).to_string();
        let filters = words
            .iter()
            .filter(|word| word.is_ascii())
            .map(in_json)
            .map(|json| Finder::new(&json.as_bytes()[1..json.len() - 1]).into_owned())
            .collect();
        Self { words, filters }
    }

    /// Whether the raw line can contain the words at all.
    fn may_match(&self, line: &[u8], scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        scratch.extend_from_slice(line);
        scratch.make_ascii_lowercase();
        let found = |filter: &Finder<'_>| filter.find(scratch).is_some();
        self.filters.iter().all(found)
    }

    fn find_in(&self, event: &Event) -> Option<(Who, String, Range<usize>)> {
        texts(event).into_iter().find_map(|(who, text)| {
            let place = self.find(&text)?;
            Some((who, text.into_owned(), place))
        })
    }

    /// Where the first word is, if all are there.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        let (first, others) = self.words.split_first()?;
        let lower = text.to_ascii_lowercase();
        let find = |word: &String| {
            if word.is_ascii() {
                let start = memmem::find(lower.as_bytes(), word.as_bytes())?;
                Some(start..start + word.len())
            } else {
                find_folded(text, word)
            }
        };
        let place = find(first)?;
        others.iter().all(|word| find(word).is_some()).then_some(place)
    }
}

/// What is searched of an event.
fn texts(event: &Event) -> Vec<(Who, Cow<'_, str>)> {
    match &event.kind {
        EventKind::Titled { title } => vec![(Who::Title, title.into())],
        EventKind::TurnStarted { prompt } => vec![(Who::User, prompt.into())],
        EventKind::Injected { text, .. } => vec![(Who::System, text.into())],
        EventKind::ReplyFinished { reply, .. } => vec![(Who::Assistant, reply.text().into())],
        EventKind::ToolCalled { call } => {
            let mut text = String::new();
            flatten(&call.args, &mut text);
            vec![(Who::ToolInput, text.into())]
        }
        EventKind::ToolFinished { output, content, .. } => {
            let mut texts: Vec<&String> = vec![&output.output];
            texts.extend(&output.error);
            texts.extend((*content != output.output).then_some(content));
            texts.into_iter().map(|text| (Who::ToolOutput, text.into())).collect()
        }
        _ => Vec::new(),
    }
}

fn tool(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::ToolCalled { call } => Some(&call.name),
        EventKind::ToolFinished { name, .. } => Some(name),
        _ => None,
    }
}

/// Finds a lower-case word in any case. Lower case may be longer or shorter than the original, so
/// every byte of it remembers the character it came from.
fn find_folded(text: &str, word: &str) -> Option<Range<usize>> {
    let mut folded = String::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len());
    for (position, c) in text.char_indices() {
        folded.extend(c.to_lowercase());
        origins.resize(folded.len(), position..position + c.len_utf8());
    }
    let start = folded.find(word)?;
    let (first, last) = (&origins[start], &origins[start + word.len() - 1]);
    Some(first.start..last.end)
}

/// Appends the keys and values of arguments, a line each.
fn flatten(value: &Value, text: &mut String) {
    let mut push = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    match value {
        Value::Null => {}
        Value::Bool(value) => push(if *value { "true" } else { "false" }),
        Value::Number(number) => push(&number.to_string()),
        Value::String(string) => push(string),
        Value::Array(items) => items.iter().for_each(|item| flatten(item, text)),
        Value::Object(fields) => {
            for (key, value) in fields {
                text.push_str(key);
                text.push('\n');
                flatten(value, text);
            }
        }
    }
}

/// Cuts the surroundings of a match out of a text, white space squeezed.
fn cut(text: &str, place: &Range<usize>) -> (String, Range<usize>) {
    const BEFORE: usize = 60;
    const AFTER: usize = 100;
    let from = text.ceil_char_boundary(place.start.saturating_sub(BEFORE));
    let to = text.floor_char_boundary(place.end.saturating_add(AFTER).min(text.len()));
    let mut snippet = String::new();
    if from > 0 {
        snippet.push('…');
    }
    squeeze(&text[from..place.start], &mut snippet);
    let start = snippet.len();
    squeeze(&text[place.clone()], &mut snippet);
    let end = snippet.len();
    squeeze(&text[place.end..to], &mut snippet);
    snippet.truncate(snippet.trim_end().len().max(end));
    if to < text.len() {
        snippet.push('…');
    }
    (snippet, start..end)
}

fn squeeze(text: &str, into: &mut String) {
    for c in text.chars() {
        if !c.is_whitespace() {
            into.push(c);
        } else if !into.is_empty() && !into.ends_with(' ') {
            into.push(' ');
        }
    }
}

#[cfg(test)]
mod tests;
