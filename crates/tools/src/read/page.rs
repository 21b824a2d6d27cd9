//! One page of a text file, taken from a stream of any length in bounded memory.

use std::io::{self, Read};

use tokio_util::sync::CancellationToken;

/// The most text a page holds.
const MAX_TEXT: usize = 256 << 10;
/// The most characters of a line that are shown.
const MAX_LINE: usize = 2_000;
/// How much of a file is read to count the lines after the page.
const MAX_COUNTED: u64 = 64 << 20;
/// Where a NUL byte makes a file binary.
const PROBE: usize = 8 << 10;

/// Which lines to show.
#[derive(Clone, Copy)]
pub(super) struct Range {
    /// How many lines to skip.
    pub(super) offset: usize,
    /// How many lines to show at most.
    pub(super) limit: usize,
}

/// What follows the page.
#[derive(Debug, PartialEq)]
pub(super) enum Rest {
    /// This many lines.
    Lines(usize),
    /// Something, too long to be counted.
    Unknown,
}

/// Why there is no page.
#[derive(Debug)]
pub(super) enum Error {
    /// The reader was told to stop.
    Cancelled,
    /// The lines are not UTF-8.
    NotText,
    /// The file begins with bytes that no text has.
    Binary,
    /// The file cannot be read.
    Io(io::Error),
}

/// Some numbered lines of a file.
pub(super) struct Page {
    /// The lines with their numbers, joined by line feeds.
    pub(super) text: String,
    /// How many lines are shown.
    pub(super) lines: usize,
    /// How many lines were counted in all.
    pub(super) total: usize,
    /// What follows.
    pub(super) rest: Rest,
    /// The hash of the whole file, where it was read to its end.
    pub(super) hash: Option<blake3::Hash>,
}

impl Page {
    /// Reads the lines of `range`, and as far beyond as is needed to tell what follows.
    pub(super) fn read(
        mut from: impl Read,
        range: Range,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let mut buffer = vec![0; 64 << 10];
        let mut hasher = blake3::Hasher::new();
        let mut writer = Writer::new(range);
        let mut scanned = 0;
        let ended = loop {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let length = from.read(&mut buffer).map_err(Error::Io)?;
            let chunk = &buffer[..length];
            if length == 0 {
                break true;
            }
            if scanned == 0 && chunk[..length.min(PROBE)].contains(&0) {
                return Err(Error::Binary);
            }
            hasher.update(chunk);
            scanned += length as u64;
            writer.take(chunk)?;
            if writer.full && scanned > MAX_COUNTED {
                break false;
            }
        };
        if ended {
            writer.end()?;
        }
        let seen = range.offset.min(writer.number) + writer.lines;
        let rest = if ended { Rest::Lines(writer.number - seen) } else { Rest::Unknown };
        Ok(Self {
            text: writer.text,
            lines: writer.lines,
            total: writer.number,
            rest,
            hash: ended.then(|| hasher.finalize()),
        })
    }
}

/// Turns bytes into numbered lines.
struct Writer {
    range: Range,
    text: String,
    lines: usize,
    /// The number of the line under way, from 0.
    number: usize,
    full: bool,
    /// The beginning of the line under way, as far as it may be shown.
    line: Vec<u8>,
    /// The length of the line under way.
    length: usize,
}

impl Writer {
    fn new(range: Range) -> Self {
        Self {
            range,
            text: String::new(),
            lines: 0,
            number: 0,
            full: false,
            line: Vec::new(),
            length: 0,
        }
    }

    fn take(&mut self, chunk: &[u8]) -> Result<(), Error> {
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            let (content, ends) = match piece.split_last() {
                Some((b'\n', content)) => (content, true),
                _ => (piece, false),
            };
            self.length += content.len();
            if self.number >= self.range.offset && !self.full {
                // One more character than is shown, and a byte order mark.
                let room = (4 * (MAX_LINE + 2)).saturating_sub(self.line.len());
                self.line.extend_from_slice(&content[..content.len().min(room)]);
            }
            if ends {
                self.end_line()?;
            }
        }
        Ok(())
    }

    /// The last line of a file need not end with a line feed.
    fn end(&mut self) -> Result<(), Error> {
        if self.length > 0 {
            self.end_line()?;
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Error> {
        if self.number >= self.range.offset && !self.full {
            self.show()?;
        }
        self.line.clear();
        self.length = 0;
        self.number += 1;
        Ok(())
    }

    fn show(&mut self) -> Result<(), Error> {
        let whole = self.line.len() == self.length;
        let mut content = match std::str::from_utf8(&self.line) {
            Ok(content) => content,
            // A line that was cut may end within a character.
            Err(error) if !whole && error.error_len().is_none() => {
                let valid = &self.line[..error.valid_up_to()];
                std::str::from_utf8(valid).map_err(|_| Error::NotText)?
            }
            Err(_) => return Err(Error::NotText),
        };
        if self.number == 0 {
            content = content.strip_prefix('\u{feff}').unwrap_or(content);
        }
        if whole {
            content = content.strip_suffix('\r').unwrap_or(content);
        }
        let cut = content.char_indices().nth(MAX_LINE);
        let shown = cut.map_or(content, |(end, _)| &content[..end]);
        let mut row = format!("{:6}|{shown}", self.number + 1);
        if cut.is_some() || !whole {
            row = format!("{row} … [line cut: {} bytes in all]", self.length);
        }
        let fits = self.lines == 0 || self.text.len() + row.len() < MAX_TEXT;
        if self.lines == self.range.limit || !fits {
            self.full = true;
            return Ok(());
        }
        if self.lines > 0 {
            self.text.push('\n');
        }
        self.text.push_str(&row);
        self.lines += 1;
        Ok(())
    }
}
