//! The matches of a search: per file, and over all files in the order of their paths, whichever
//! thread found them first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use contract::tool::ToolOutput;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use serde_json::json;

use super::OutputMode;
use crate::walk;

/// The most characters of a line that are shown.
const MAX_LINE: usize = 2_000;

/// The matches in one file.
pub(super) struct Hits {
    path: String,
    mode: OutputMode,
    limit: usize,
    text: String,
    lines: usize,
    matches: u64,
}

impl Hits {
    /// Collects at most `limit` lines and one.
    pub(super) fn new(path: &Path, mode: OutputMode, limit: usize) -> Self {
        Self { path: walk::line(path), mode, limit, text: String::new(), lines: 0, matches: 0 }
    }

    fn push(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{}{mark}{}{mark}", self.path, number.unwrap_or(0));
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let shown = &line[..line.len().min(4 * MAX_LINE + 4)];
        let shown = String::from_utf8_lossy(shown);
        if let Some((end, _)) = shown.char_indices().nth(MAX_LINE) {
            let (shown, length) = (&shown[..end], line.len());
            let _ = writeln!(self.text, "{shown} … [line cut: {length} bytes in all]");
        } else {
            let _ = writeln!(self.text, "{shown}");
        }
        self.lines += 1;
    }

    fn summarize(&mut self) {
        match self.mode {
            OutputMode::Content => return,
            OutputMode::FilesWithMatches => self.text = format!("{}\n", self.path),
            OutputMode::Count => self.text = format!("{}:{}\n", self.path, self.matches),
        }
        self.lines = 1;
    }
}

impl Sink for Hits {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        match self.mode {
            OutputMode::FilesWithMatches => return Ok(false),
            OutputMode::Count => return Ok(true),
            OutputMode::Content => self.push(found.line_number(), ':', found.bytes()),
        }
        Ok(self.lines <= self.limit)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        self.push(found.line_number(), '-', found.bytes());
        Ok(self.lines <= self.limit)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text.push_str("--\n");
        self.lines += 1;
        Ok(self.lines <= self.limit)
    }
}

/// The matches that are shown.
pub(super) struct Collector {
    /// The most lines that are shown.
    pub(super) limit: usize,
    separated: bool,
    overflowed: AtomicBool,
    found: Mutex<Matches>,
}

#[derive(Default)]
struct Matches {
    files: BTreeMap<PathBuf, Hits>,
    lines: usize,
}

impl Collector {
    /// If `separated`, a line separates the groups of two files.
    pub(super) fn new(limit: usize, separated: bool) -> Self {
        Self { limit, separated, overflowed: AtomicBool::new(false), found: Mutex::default() }
    }

    /// Returns true if matches in a file would be shown: it comes before the last one that is.
    pub(super) fn wants(&self, path: &Path) -> bool {
        if !self.overflowed.load(Ordering::Relaxed) {
            return true;
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let last = found.files.last_key_value();
        last.is_none_or(|(last, _)| path < last.as_path())
    }

    /// Adds a file, and drops files at the end that are beyond the limit.
    pub(super) fn add(&self, path: PathBuf, mut hits: Hits) {
        if hits.matches == 0 {
            return;
        }
        hits.summarize();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.lines += hits.lines;
        found.files.insert(path, hits);
        while let Some((_, last)) = found.files.last_key_value() {
            let lines = last.lines;
            if found.lines - lines < self.limit {
                break;
            }
            found.files.pop_last();
            found.lines -= lines;
            self.overflowed.store(true, Ordering::Relaxed);
        }
    }

    /// The output, with notes on files that are missing.
    pub(super) fn finish(self, failed: usize, left_out: usize) -> ToolOutput {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let files = found.files.len();
        let matches: u64 = found.files.values().map(|hits| hits.matches).sum();
        let mut lines = Vec::new();
        for hits in found.files.values() {
            if self.separated && !lines.is_empty() {
                lines.push("--");
            }
            lines.extend(hits.text.lines());
        }
        let overflowed = self.overflowed.into_inner() || lines.len() > self.limit;
        lines.truncate(self.limit);
        let mut parts = vec![lines.join("\n")];
        if files == 0 {
            parts = vec!["No matches found".to_owned()];
        }
        if overflowed {
            let hint = "narrow the search or raise `limit`";
            parts.push(format!("... (truncated at {} lines; {hint})", self.limit));
        }
        if failed > 0 {
            parts.push(format!("({failed} files or directories could not be searched)"));
        }
        if left_out > 0 {
            parts.push(format!(
                "({left_out} files left out: a rule denies them, or they may hold secrets; name one \
                 as `path` to ask for it)"
            ));
        }
        let mut output = ToolOutput::success(parts.join("\n"));
        output.facts.insert("files".into(), json!(files));
        output.facts.insert("matches".into(), json!(matches));
        output.facts.insert("truncated".into(), json!(overflowed));
        output
    }
}
