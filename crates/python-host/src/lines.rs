//! Lines from a worker, bounded: what never ends must not fill the memory.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest line that is taken.
pub(crate) const LINE_LIMIT: usize = 64 << 20;

const CHUNK: usize = 64 << 10;

/// Reads lines one after the other.
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// The beginning of the line that is being read.
    start: usize,
    /// How far the buffer was searched for the end of a line.
    searched: usize,
    limit: usize,
}

/// A line, or why there is none.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    /// A line without its end.
    Whole(&'a [u8]),
    /// More than the limit without an end.
    TooLong,
    /// The other side has closed; a line without its end is lost.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads from `source` lines of at most `limit` bytes.
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self { source, buffer: Vec::with_capacity(CHUNK), start: 0, searched: 0, limit }
    }

    /// The next line. Loses nothing when it is dropped before its end.
    pub(crate) async fn next(&mut self) -> io::Result<Line<'_>> {
        loop {
            let unseen = &self.buffer[self.searched..];
            if let Some(offset) = memchr::memchr(b'\n', unseen) {
                let (from, to) = (self.start, self.searched + offset);
                (self.start, self.searched) = (to + 1, to + 1);
                return Ok(Line::Whole(&self.buffer[from..to]));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() - self.start > self.limit {
                return Ok(Line::TooLong);
            }
            self.make_room();
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                return Ok(Line::End);
            }
        }
    }

    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > 16 * CHUNK {
            self.buffer = Vec::with_capacity(CHUNK);
        }
        if self.buffer.capacity() - self.buffer.len() < CHUNK / 4 {
            self.buffer.reserve(self.buffer.len().max(CHUNK));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(text, limit);
        let mut found = Vec::new();
        loop {
            match lines.next().await.unwrap() {
                Line::Whole(line) => found.push(String::from_utf8_lossy(line).into_owned()),
                Line::TooLong => {
                    found.push("too long".to_owned());
                    return found;
                }
                Line::End => return found,
            }
        }
    }

    #[tokio::test]
    async fn lines_are_whole_and_in_order() {
        assert_eq!(all(b"a\n\nbc\nlost", 10).await, ["a", "", "bc"]);
        let long = "x".repeat(3 * CHUNK);
        assert_eq!(all(format!("{long}\nb\n").as_bytes(), 4 * CHUNK).await, [&long, "b"]);
    }

    #[tokio::test]
    async fn endless_line_is_refused_at_the_limit() {
        assert_eq!(all("x".repeat(2 * CHUNK).as_bytes(), 100).await, ["too long"]);
    }
}
