//! A limit on the length of a server's messages: an endless one ends the stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// True after a message that was too long.
pub(super) type Overflow = Arc<AtomicBool>;

/// A stream of lines that ends where one is too long.
pub(super) struct LineLimit<R> {
    inner: R,
    limit: usize,
    length: usize,
    overflow: Overflow,
}

impl<R> LineLimit<R> {
    /// Lets lines of up to `limit` bytes through.
    pub(super) fn new(inner: R, limit: usize, overflow: &Overflow) -> Self {
        Self { inner, limit, length: 0, overflow: Arc::clone(overflow) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineLimit<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.overflow.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let bytes = &buffer.filled()[before..];
        self.length = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => bytes.len() - last - 1,
            None => self.length + bytes.len(),
        };
        if self.length > self.limit {
            self.overflow.store(true, Ordering::Relaxed);
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn stream_ends_at_a_line_that_is_too_long() {
        for (text, is_long) in [("short\nlines\nonly\n", false), ("fine\nmuch too long", true)] {
            let overflow = Overflow::default();
            let mut limited = LineLimit::new(text.as_bytes(), 6, &overflow);
            let mut all = String::new();
            limited.read_to_string(&mut all).await.unwrap();
            assert_eq!(overflow.load(Ordering::Relaxed), is_long, "{all}");
        }
    }
}
