//! One page of a text file, taken from a stream of any length in bounded memory.

use std::io::{self, Read};

use tokio_util::sync::CancellationToken;

/// The most text a page holds.
const MAX_TEXT: usize = 256 << 10;
/// The most characters of a line that are shown.
const MAX_LINE: usize = 2_000;
/// The largest part of a file that is read to count its lines.
const MAX_COUNTED: u64 = 64 << 20;
/// A NUL byte in the first part of a file makes it binary.
const PROBE: usize = 8 << 10;

/// The lines to show.
#[derive(Clone, Copy, Default)]
pub(super) struct Range {
    /// The number of lines to skip.
    pub(super) offset: usize,
    pub(super) limit: usize,
}

/// The lines after the page.
#[derive(Debug, PartialEq)]
pub(super) enum Rest {
    Lines(usize),
    /// Too many to be counted.
    Unknown,
}

#[derive(Debug)]
pub(super) enum Error {
    Cancelled,
    /// The lines are not UTF-8.
    NotText,
    /// A NUL byte is near the start.
    Binary,
    Io(io::Error),
}

/// Some numbered lines of a file.
pub(super) struct Page {
    /// The lines with their numbers, joined by line feeds.
    pub(super) text: String,
    pub(super) lines: usize,
    /// The lines that were counted in all.
    pub(super) total: usize,
    pub(super) rest: Rest,
    /// The hash of the whole file, if it was read to its end.
    pub(super) hash: Option<blake3::Hash>,
}

impl Page {
    /// Reads the lines of `range`, and further to count the rest.
    pub(super) fn read(
        mut from: impl Read,
        range: Range,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let mut buffer = vec![0; 64 << 10];
        let mut hasher = blake3::Hasher::new();
        let mut writer = Writer { range, ..Writer::default() };
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
#[derive(Default)]
struct Writer {
    range: Range,
    text: String,
    lines: usize,
    /// The number of the current line, from 0.
    number: usize,
    full: bool,
    /// The start of the current line, as far as it may be shown.
    line: Vec<u8>,
    /// The length of the current line.
    length: usize,
}

impl Writer {
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
