//! Finds words in sessions: in what users asked, what models answered, what tools got and gave,
//! and in titles. Reads the logs from their ends, the session that was last used first.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use contract::event::{Event, EventKind};
use contract::id::{Seq, SessionId, Timestamp};
use regex::bytes::Regex;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, cannot};
use crate::record;
use crate::store::Store;
use crate::summary::Summary;

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

/// Bytes of a log that are read at once.
const CHUNK: u64 = if cfg!(test) { 4 << 10 } else { 4 << 20 };

impl Store {
    /// Finds up to `limit` places that contain every word of `query`, in any case; the last first.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, Error> {
        let mut hits = Vec::new();
        let Some(query) = Query::new(query) else { return Ok(hits) };
        let mut buffer = Vec::new();
        for summary in self.list()? {
            if hits.len() >= limit {
                break;
            }
            let log = match self.file(&summary.id) {
                // Deleted since it was listed.
                Err(Error::NotFound(_)) => continue,
                log => log?.into_inner(),
            };
            let last = Seq(u64::MAX);
            let mut scan = Scan { query: &query, summary: &summary, limit, hits: &mut hits, last };
            let path = self.path(&summary.id);
            scan.log(&log, &mut buffer).map_err(cannot("read", &path))?;
        }
        Ok(hits)
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
}

impl Scan<'_> {
    fn log(&mut self, log: &File, buffer: &mut Vec<u8>) -> io::Result<()> {
        let (mut end, mut size) = (log.metadata()?.len(), CHUNK);
        while end > 0 && !self.is_full() {
            let start = end.saturating_sub(size);
            buffer.resize(usize::try_from(end - start).map_err(io::Error::other)?, 0);
            log.read_exact_at(buffer, start)?;
            // The line that begins before the chunk belongs to the chunk before.
            let first = memchr::memchr(b'\n', buffer).map_or(buffer.len(), |at| at + 1);
            let first = if start == 0 { 0 } else { first };
            if first == buffer.len() && size <= record::MAX_RECORD as u64 {
                size *= 2;
                continue;
            }
            for line in self.query.candidates(&buffer[first..]).into_iter().rev() {
                if let Ok(event) = record::open(line).and_then(record::parse)
                    && !self.is_full()
                {
                    self.event(&event);
                }
            }
            end = if first == buffer.len() { start } else { start + first as u64 };
            size = CHUNK;
        }
        Ok(())
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
        self.hits.push(Hit {
            session: self.summary.id.clone(),
            title: self.summary.title.clone(),
            seq: event.seq,
            at: event.at,
            who,
            tool: tool(event).map(str::to_owned),
            agent: event.within.as_ref().map(|within| within.agent.clone()),
            snippet: cut(&text, &place),
        });
    }
}

struct Query {
    words: Vec<Word>,
    /// The longest word as JSON has it.
    filter: Regex,
}

/// A word in any case.
struct Word {
    in_text: Regex,
    in_json: Regex,
}

impl Query {
    fn new(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let in_json = |word: &&str| {
            let json = Value::String((*word).to_owned()).to_string();
            in_any_case(&json[1..json.len() - 1])
        };
        let longest = words.iter().max_by_key(|word| word.len())?;
        let filter = in_json(longest)?;
        let words = words
            .iter()
            .map(|word| Some(Word { in_text: in_any_case(word)?, in_json: in_json(word)? }));
        Some(Self { words: words.collect::<Option<_>>()?, filter })
    }

    /// The lines that may have all words.
    fn candidates<'a>(&self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let (mut lines, mut from) = (Vec::new(), 0);
        while let Some(found) = self.filter.find_at(bytes, from) {
            let start = memchr::memrchr(b'\n', &bytes[..found.start()]).map_or(0, |at| at + 1);
            let rest = memchr::memchr(b'\n', &bytes[found.end()..]);
            from = rest.map_or(bytes.len(), |rest| found.end() + rest);
            let line = &bytes[start..from];
            if self.words.iter().all(|word| word.in_json.is_match(line)) {
                lines.push(line);
            }
        }
        lines
    }

    fn find_in(&self, event: &Event) -> Option<(Who, String, Range<usize>)> {
        texts(event).into_iter().find_map(|(who, text)| {
            let place = self.find(&text)?;
            Some((who, text.into_owned(), place))
        })
    }

    /// The place of the first word, if all are there.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        let (first, others) = self.words.split_first()?;
        let place = first.in_text.find(text.as_bytes())?.range();
        others.iter().all(|word| word.in_text.is_match(text.as_bytes())).then_some(place)
    }
}

fn in_any_case(word: &str) -> Option<Regex> {
    let flags = if word.is_ascii() { "(?i-u)" } else { "(?i)" };
    Regex::new(&format!("{flags}{}", regex::escape(word))).ok()
}

/// The texts of an event that are searched.
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

/// The text around a match, on one line.
fn cut(text: &str, place: &Range<usize>) -> String {
    const BEFORE: usize = 60;
    const AFTER: usize = 100;
    let from = text.ceil_char_boundary(place.start.saturating_sub(BEFORE));
    let to = text.floor_char_boundary(place.end.saturating_add(AFTER).min(text.len()));
    let words: Vec<&str> = text[from..to].split_whitespace().collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    format!("{before}{}{after}", words.join(" "))
}

#[cfg(test)]
mod tests;
