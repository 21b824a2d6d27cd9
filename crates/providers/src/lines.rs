//! Splits a stream of bytes into lines, whatever the sizes of its pieces. Lines end with CR, LF or
//! CRLF.

/// The longest line that is accepted.
pub const LIMIT: usize = 10 * 1024 * 1024;

/// The error for a line, or an event of several lines, above the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Splits bytes into lines.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
    after_return: bool,
}

impl Lines {
    /// Takes more bytes and calls `each` with every line that they complete.
    pub fn feed<E: From<TooLong>>(
        &mut self,
        mut chunk: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            if self.after_return && !chunk.is_empty() {
                self.after_return = false;
                chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', chunk) else {
                return self.keep(chunk).map_err(E::from);
            };
            self.after_return = chunk[end] == b'\r';
            if self.partial.is_empty() {
                if end > LIMIT {
                    return Err(TooLong.into());
                }
                each(&chunk[..end])?;
            } else {
                self.keep(&chunk[..end])?;
                let line = std::mem::take(&mut self.partial);
                each(&line)?;
                self.partial = line;
                self.partial.clear();
            }
            chunk = &chunk[end + 1..];
        }
    }

    /// The line that is not complete.
    pub fn unfinished(&self) -> &[u8] {
        &self.partial
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.partial.len() + bytes.len() > LIMIT {
            return Err(TooLong);
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for chunk in chunks {
            lines
                .feed::<TooLong>(chunk, |line| {
                    seen.push(String::from_utf8_lossy(line).into_owned());
                    Ok(())
                })
                .unwrap();
        }
        seen
    }

    #[test]
    fn all_three_line_endings_end_one_line() {
        assert_eq!(cut(&[b"a\nb\rc\r\nd\n\re\r"]), ["a", "b", "c", "d", "", "e"]);
    }

    #[test]
    fn a_line_end_may_be_split_between_pieces() {
        assert_eq!(cut(&[b"a\r", b"\nb\r", b"", b"\n", b"\n"]), ["a", "b", ""]);
    }

    #[test]
    fn line_over_the_limit_is_an_error() {
        let mut long = vec![b'x'; LIMIT + 1];
        let mut lines = Lines::default();
        assert_eq!(lines.feed(&long, |_| Ok::<_, TooLong>(())), Err(TooLong));
        long.push(b'\n');
        let mut lines = Lines::default();
        assert_eq!(lines.feed(&long, |_| Ok::<_, TooLong>(())), Err(TooLong));
        let mut lines = Lines::default();
        let fed =
            long.chunks(1 << 20).try_for_each(|piece| lines.feed(piece, |_| Ok::<_, TooLong>(())));
        assert_eq!(fed, Err(TooLong));
    }
}
