//! The standard output of a server: lines of limited length, since an endless message must not hang a
//! call. While tools are listed, the lines are scanned for tools that can be run as a task only, which
//! is not supported: the types of `rmcp` drop this property.

use std::collections::BTreeSet;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf};

use crate::mutex::lock;

/// The property of a tool that says something about tasks.
const PROPERTY: &[u8] = b"\"taskSupport\"";

/// Facts about the output of a server.
#[derive(Default)]
pub(super) struct OutputFacts {
    has_overflowed: AtomicBool,
    is_listing: AtomicBool,
    task_tools: Mutex<BTreeSet<String>>,
}

impl OutputFacts {
    /// Returns true after a message that was too long.
    pub(super) fn has_overflowed(&self) -> bool {
        self.has_overflowed.load(Ordering::Relaxed)
    }

    /// Begins a scan for tools that can be run as a task only.
    pub(super) fn begin_scan(&self) {
        lock(&self.task_tools).clear();
        self.is_listing.store(true, Ordering::Relaxed);
    }

    /// Ends the scan and returns the names of the tools.
    pub(super) fn end_scan(&self) -> BTreeSet<String> {
        self.is_listing.store(false, Ordering::Relaxed);
        std::mem::take(&mut *lock(&self.task_tools))
    }

    fn scan(&self, message: &[u8]) {
        if !message.windows(PROPERTY.len()).any(|part| part == PROPERTY) {
            return;
        }
        // An invalid message is rejected elsewhere.
        let message: Value = serde_json::from_slice(message).unwrap_or_default();
        let tools = message.pointer("/result/tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            let support = tool.pointer("/execution/taskSupport").and_then(Value::as_str);
            let name = tool.get("name").and_then(Value::as_str);
            let name = name.filter(|_| support == Some("required")).map(str::to_owned);
            lock(&self.task_tools).extend(name);
        }
    }
}

/// A stream that ends at a line that is too long.
pub(super) struct ServerOutput<R> {
    inner: R,
    limit: usize,
    /// The length of the line that is being read, and its text during a scan.
    length: usize,
    line: Vec<u8>,
    facts: Arc<OutputFacts>,
}

impl<R> ServerOutput<R> {
    /// Passes on lines of up to `limit` bytes.
    pub(super) fn new(inner: R, limit: usize, facts: &Arc<OutputFacts>) -> Self {
        Self { inner, limit, length: 0, line: Vec::new(), facts: Arc::clone(facts) }
    }

    fn note(&mut self, bytes: &[u8]) {
        let is_listing = self.facts.is_listing.load(Ordering::Relaxed);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.length += part.len();
            if is_listing {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.facts.scan(&std::mem::take(&mut self.line));
                self.length = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ServerOutput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.facts.has_overflowed() {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.note(&buffer.filled()[before..]);
        if self.length > self.limit {
            self.facts.has_overflowed.store(true, Ordering::Relaxed);
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn stream_ends_at_a_line_that_is_too_long() {
        for (text, is_long) in [("short\nlines\nonly\n", false), ("fine\nmuch too long", true)] {
            let facts = Arc::default();
            let mut output = ServerOutput::new(text.as_bytes(), 6, &facts);
            let mut all = String::new();
            output.read_to_string(&mut all).await.unwrap();
            assert_eq!(facts.has_overflowed(), is_long, "{all}");
        }
    }

    #[tokio::test]
    async fn tools_that_need_a_task_are_found_while_listing() {
        let tool = |name: &str, support: &str| json!({"name": name, "execution": {"taskSupport": support}});
        let list = json!({"id": 1, "result": {"tools": [
            tool("a", "required"), tool("b", "optional"), {"name": "c"}, 5,
        ]}});
        let text = format!("\"taskSupport\" no message\n{list}\n");
        for is_listing in [false, true] {
            let facts: Arc<OutputFacts> = Arc::default();
            if is_listing {
                facts.begin_scan();
            }
            // In pieces, as programs write.
            let (first, rest) = text.as_bytes().split_at(40);
            let mut output = ServerOutput::new(first.chain(rest), 1 << 20, &facts);
            let mut all = String::new();
            output.read_to_string(&mut all).await.unwrap();
            assert_eq!(all, text);
            let found = facts.end_scan();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a"][..usize::from(is_listing)]);
        }
    }
}
