//! Finds tools that can be run as a task only, which is not supported. The types of `rmcp` drop this
//! property, so the raw messages are scanned while tools are listed.

use std::collections::BTreeSet;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf};

use super::MAX_MESSAGE;

/// The property of a tool that says something about tasks.
const PROPERTY: &[u8] = b"\"taskSupport\"";

/// The tools of a list that can be run as a task only.
#[derive(Default)]
pub(super) struct TaskTools {
    is_listing: AtomicBool,
    required: Mutex<BTreeSet<String>>,
}

impl TaskTools {
    /// Scans messages from here on.
    pub(super) fn begin(&self) {
        self.required().clear();
        self.is_listing.store(true, Ordering::Relaxed);
    }

    /// Ends the scan and returns the tools that were found.
    pub(super) fn end(&self) -> BTreeSet<String> {
        self.is_listing.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.required())
    }

    fn required(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.required.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, message: &[u8]) {
        if !message.windows(PROPERTY.len()).any(|part| part == PROPERTY) {
            return;
        }
        // An invalid message is rejected elsewhere.
        let message: Value = serde_json::from_slice(message).unwrap_or_default();
        let tools = message.pointer("/result/tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            let support = tool.pointer("/execution/taskSupport").and_then(Value::as_str);
            let name = tool.get("name").and_then(Value::as_str);
            self.required().extend(name.filter(|_| support == Some("required")).map(str::to_owned));
        }
    }
}

/// A stream of lines that are scanned.
pub(super) struct TaskScanner<R> {
    inner: R,
    line: Vec<u8>,
    tasks: Arc<TaskTools>,
}

impl<R> TaskScanner<R> {
    pub(super) fn new(inner: R, tasks: &Arc<TaskTools>) -> Self {
        Self { inner, line: Vec::new(), tasks: Arc::clone(tasks) }
    }

    fn scan(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() <= MAX_MESSAGE {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.tasks.note(&self.line);
                self.line.clear();
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for TaskScanner<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        if self.tasks.is_listing.load(Ordering::Relaxed) {
            self.scan(&buffer.filled()[before..]);
        } else {
            self.line = Vec::new();
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
    async fn tools_that_need_a_task_are_found_while_listing() {
        let tool = |name: &str, support: &str| json!({"name": name, "execution": {"taskSupport": support}});
        let list = json!({"id": 1, "result": {"tools": [
            tool("a", "required"), tool("b", "optional"), {"name": "c"}, 5,
        ]}});
        let text = format!("\"taskSupport\" no message\n{list}\n");
        for is_listing in [false, true] {
            let tasks = Arc::new(TaskTools::default());
            if is_listing {
                tasks.begin();
            }
            // In pieces, as programs write.
            let (first, rest) = text.as_bytes().split_at(40);
            let mut scanner = TaskScanner::new(first.chain(rest), &tasks);
            let mut all = String::new();
            scanner.read_to_string(&mut all).await.unwrap();
            assert_eq!(all, text);
            let found = tasks.end();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a"][..usize::from(is_listing)]);
        }
    }
}
