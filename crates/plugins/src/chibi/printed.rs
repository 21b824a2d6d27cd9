//! Standard error of a plugin: shown line by line up to a limit, and its end kept for messages. An
//! unfinished line is a prompt.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::text;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Hears lines: the plugin, and what it says.
pub type Listener = Arc<dyn Fn(&str, &str) + Send + Sync>;

const SHOWN_LINES: usize = 1000;
const LINE_LIMIT: usize = 4 << 10;
const TAIL_LIMIT: usize = 4 << 10;
/// How long a line may stay unfinished before it is taken for a prompt.
const PROMPT_DELAY: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(crate) struct Tail(Mutex<String>);

impl Tail {
    fn push(&self, line: &str) {
        let mut end = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !end.is_empty() {
            end.push('\n');
        }
        end.push_str(line);
        if end.len() > 2 * TAIL_LIMIT {
            let cut = end.len() - text::tail(&end, TAIL_LIMIT).len();
            end.drain(..cut);
        }
    }

    pub(crate) fn text(&self) -> String {
        let end = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text::tail(&end, TAIL_LIMIT).to_owned()
    }
}

/// Reads all of `source`, shows it to `listener` and keeps the end of it in `tail`. Sends prompts
/// to `prompts` while it is open.
pub(crate) async fn drain(
    mut source: impl AsyncRead + Unpin,
    plugin: &str,
    tail: &Tail,
    listener: &Listener,
    prompts: mpsc::Sender<String>,
) {
    let mut count = 0;
    let mut partial: Vec<u8> = Vec::new();
    let mut chunk = vec![0; 8 << 10];
    let visible = |line: &[u8]| {
        text::visible(String::from_utf8_lossy(line).trim_end_matches('\r')).into_owned()
    };
    let mut show = |line: &[u8]| {
        let line = visible(line);
        tail.push(&line);
        count += 1;
        if count <= SHOWN_LINES {
            listener(plugin, &line);
        }
    };
    loop {
        let reading = source.read(&mut chunk);
        let read = if partial.is_empty() || prompts.is_closed() {
            Ok(reading.await)
        } else {
            timeout(PROMPT_DELAY, reading).await
        };
        let Ok(read) = read else {
            let prompt = visible(&std::mem::take(&mut partial));
            tail.push(&prompt);
            // The process may have closed its terminal.
            let _ = prompts.send(prompt).await;
            continue;
        };
        let Ok(length @ 1..) = read else { break };
        for piece in chunk[..length].split_inclusive(|&byte| byte == b'\n') {
            partial.extend_from_slice(piece.strip_suffix(b"\n").unwrap_or(piece));
            if piece.ends_with(b"\n") || partial.len() >= LINE_LIMIT {
                show(&partial);
                partial.clear();
            }
        }
    }
    if !partial.is_empty() {
        show(&partial);
    }
    if count > SHOWN_LINES {
        listener(plugin, &format!("({} more lines were not shown)", count - SHOWN_LINES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shown(bytes: &[u8]) -> (Vec<String>, String) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&heard);
        let listener: Listener = Arc::new(move |_, line| ear.lock().unwrap().push(line.to_owned()));
        let tail = Tail::default();
        drain(bytes, "p", &tail, &listener, mpsc::channel(1).0).await;
        let lines = heard.lock().unwrap().clone();
        (lines, tail.text())
    }

    #[tokio::test]
    async fn lines_are_shown_with_control_characters_visible() {
        let (lines, tail) = shown(b"a\x1b[2J\r\n\xff\nend").await;
        assert_eq!(lines, ["a\\u{1b}[2J", "\u{fffd}", "end"]);
        assert_eq!(tail, "a\\u{1b}[2J\n\u{fffd}\nend");
    }

    #[tokio::test]
    async fn flood_of_output_is_cut_and_its_end_retained() {
        let text = "line\n".repeat(100_000) + "last\n";
        let (lines, tail) = shown(text.as_bytes()).await;
        assert_eq!(lines.len(), SHOWN_LINES + 1);
        assert_eq!(lines[SHOWN_LINES], "(99001 more lines were not shown)");
        assert!(tail.len() <= TAIL_LIMIT && tail.ends_with("line\nlast"), "{}", tail.len());
    }
}
