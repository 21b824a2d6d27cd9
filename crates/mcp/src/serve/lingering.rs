//! The two streams of a client that says all it wants and closes its end: what it asked is answered
//! before the conversation is over, as far as that takes seconds.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long answers may take after the client has said its last.
const GRACE: Duration = Duration::from_secs(10);
/// What is looked at of a line that we write; what it is stands at its beginning.
const BEGINNING: usize = 256;
/// The longest line that is looked at; a longer one is refused elsewhere.
const LONGEST: usize = super::LONGEST_LINE;

/// A pair of streams that knows what is still to be answered. `left` hears that no more is asked.
pub(super) fn pair<R, W>(read: R, write: W, left: CancellationToken) -> (Asked<R>, Answered<W>) {
    let open = Arc::new(watch::Sender::new(0));
    let asked = Asked { inner: read, open: Arc::clone(&open), line: Vec::new(), end: None, left };
    (asked, Answered { inner: write, open, line: Vec::new() })
}

/// How many requests are open.
type Open = Arc<watch::Sender<i64>>;

/// What the client asks.
pub(super) struct Asked<R> {
    inner: R,
    open: Open,
    line: Vec<u8>,
    end: Option<BoxFuture<'static, ()>>,
    left: CancellationToken,
}

/// The parts of a message that say what it is.
#[derive(Deserialize)]
struct Head<'a> {
    id: Option<IgnoredAny>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
}

impl<R> Asked<R> {
    fn note(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() <= LONGEST {
                self.line.extend_from_slice(part);
            }
            if !part.ends_with(b"\n") {
                continue;
            }
            // What is no message is refused elsewhere.
            if let Ok(head) = serde_json::from_slice::<Head<'_>>(&self.line) {
                let is_withdrawn = head.method.as_deref() == Some("notifications/cancelled");
                // One who listens waits for no answer.
                let asks = |method: &str| method != "subscriptions/listen";
                let is_request = head.id.is_some() && head.method.as_deref().is_some_and(asks);
                let change = i64::from(is_request) - i64::from(is_withdrawn);
                self.open.send_modify(|open| *open += change);
            }
            self.line.clear();
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Asked<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.end.is_none() {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
            let bytes = buffer.filled()[before..].to_vec();
            if !bytes.is_empty() {
                this.note(&bytes);
                return Poll::Ready(Ok(()));
            }
        }
        this.left.cancel();
        let open = &this.open;
        let end = this.end.get_or_insert_with(|| {
            let mut open = open.subscribe();
            Box::pin(async move {
                let all = open.wait_for(|open| *open <= 0);
                // Whoever cannot wait is not waited for.
                let _ = tokio::time::timeout(GRACE, all).await;
            })
        });
        ready!(end.as_mut().poll(context));
        Poll::Ready(Ok(()))
    }
}

/// What we answer.
pub(super) struct Answered<W> {
    inner: W,
    open: Open,
    line: Vec<u8>,
}

impl<W> Answered<W> {
    fn note(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = BEGINNING.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let text = String::from_utf8_lossy(&self.line);
                let has = |key: &str| text.contains(key);
                let is_answer = !has("\"method\":") && (has("\"result\":") || has("\"error\":"));
                self.open.send_modify(|open| *open -= i64::from(is_answer));
                self.line.clear();
            }
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Answered<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.note(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn the_end_comes_after_the_last_answer() {
        let asked: &[u8] =
            b"{\"id\":1,\"method\":\"a\"}\n{\"method\":\"b\"}\n{\"id\":2,\"method\":\"c\"}\n";
        let (mut read, mut write) = pair(asked, Vec::new(), CancellationToken::new());
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            read.read_to_end(&mut all).await.unwrap();
        });
        write.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").await.unwrap();
        write.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ask\"}\n").await.unwrap();
        tokio::task::yield_now().await;
        assert!(!reading.is_finished());
        write.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{}}\n").await.unwrap();
        reading.await.unwrap();
    }

    #[tokio::test]
    async fn one_who_only_listens_is_told_that_it_is_over() {
        let asked: &[u8] = b"{\"id\":1,\"method\":\"subscriptions/listen\"}\n";
        let left = CancellationToken::new();
        let (mut read, _write) = pair(asked, Vec::<u8>::new(), left.clone());
        let mut all = Vec::new();
        read.read_to_end(&mut all).await.unwrap();
        assert!(left.is_cancelled());
    }

    #[tokio::test]
    async fn what_was_withdrawn_needs_no_answer() {
        let asked: &[u8] =
            b"{\"id\":1,\"method\":\"a\"}\n{\"method\":\"notifications/cancelled\"}\nnonsense\n";
        let (mut read, _write) = pair(asked, Vec::<u8>::new(), CancellationToken::new());
        let mut all = Vec::new();
        read.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, asked);
    }
}
