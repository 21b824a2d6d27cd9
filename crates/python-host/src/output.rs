//! The standard error of a plugin: its last lines are kept for the message about its end, and all of it is
//! shown, as far as the rate allows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use contract::text;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Hears lines: the plugin, and what it says.
pub type Listener = Arc<dyn Fn(&str, &str) + Send + Sync>;

const TAIL_LINES: usize = 20;
const TAIL_BYTES: usize = 4 << 10;
const LINE_LIMIT: usize = 4 << 10;
/// Lines that are shown in a second; the rest is counted.
const LINES_PER_SECOND: u32 = 100;

/// The end of what a worker printed.
#[derive(Default)]
pub(crate) struct Tail(Mutex<VecDeque<String>>);

impl Tail {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }

    /// The last lines, safe to show; nothing where nothing was printed.
    pub(crate) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<&str> = lines.iter().map(String::as_str).collect();
        let all = all.join("\n");
        let kept = text::tail(&all, TAIL_BYTES);
        // A line that was cut at its beginning is left out, unless it is all there is.
        match (kept.len() < all.len(), kept.split_once('\n')) {
            (true, Some((_, whole))) => whole.to_owned(),
            _ => kept.to_owned(),
        }
    }
}

/// Reads all of `source`, keeps the end of it in `tail` and shows it to `listener`.
pub(crate) async fn drain(
    mut source: impl AsyncRead + Unpin,
    plugin: String,
    tail: Arc<Tail>,
    listener: Listener,
) {
    let mut gate = Gate::new();
    let mut partial: Vec<u8> = Vec::new();
    let mut chunk = vec![0; 8 << 10];
    let mut show = |line: &[u8]| {
        let line = text::visible(String::from_utf8_lossy(line).trim_end_matches('\r')).into_owned();
        tail.push(&line);
        match gate.pass(Instant::now()) {
            Pass::Open => listener(&plugin, &line),
            Pass::After(lost) => {
                listener(&plugin, &format!("({lost} more lines were not shown)"));
                listener(&plugin, &line);
            }
            Pass::Shut => {}
        }
    };
    while let Ok(count @ 1..) = source.read(&mut chunk).await {
        for piece in chunk[..count].split_inclusive(|&byte| byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end) => {
                    partial.extend_from_slice(end);
                    show(&partial);
                    partial.clear();
                }
                None => partial.extend_from_slice(piece),
            }
            if partial.len() >= LINE_LIMIT {
                show(&partial);
                partial.clear();
            }
        }
    }
    if !partial.is_empty() {
        show(&partial);
    }
    let lost = gate.lost;
    if lost > 0 {
        listener(&plugin, &format!("({lost} more lines were not shown)"));
    }
}

/// Lets a number of lines through in each second.
struct Gate {
    since: Instant,
    passed: u32,
    lost: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Pass {
    Open,
    /// Open again, after this many were held back.
    After(u64),
    Shut,
}

impl Gate {
    fn new() -> Self {
        Self { since: Instant::now(), passed: 0, lost: 0 }
    }

    fn pass(&mut self, now: Instant) -> Pass {
        if now.saturating_duration_since(self.since) >= Duration::from_secs(1) {
            self.since = now;
            self.passed = 0;
        }
        if self.passed == LINES_PER_SECOND {
            self.lost += 1;
            return Pass::Shut;
        }
        self.passed += 1;
        match std::mem::take(&mut self.lost) {
            0 => Pass::Open,
            lost => Pass::After(lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shown(bytes: &[u8]) -> (Vec<String>, String) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&heard);
        let listener: Listener = Arc::new(move |_, line| ear.lock().unwrap().push(line.to_owned()));
        let tail = Arc::new(Tail::default());
        drain(bytes, "p".to_owned(), Arc::clone(&tail), listener).await;
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
        use std::fmt::Write as _;
        let mut text = String::new();
        for number in 0..100_000 {
            writeln!(text, "line {number}").unwrap();
        }
        let (lines, tail) = shown(text.as_bytes()).await;
        assert!(lines.len() < 50_000, "{}", lines.len());
        assert!(lines.iter().any(|line| line.contains("were not shown")));
        assert_eq!(tail.lines().count(), TAIL_LINES);
        assert!(tail.ends_with("line 99999"));
    }

    #[tokio::test]
    async fn the_tail_is_bounded_in_bytes() {
        let text = format!("{}\n{}\nlast\n", "x".repeat(9000), "y".repeat(3000));
        let (_, tail) = shown(text.as_bytes()).await;
        assert!(tail.len() <= TAIL_BYTES && tail.ends_with("last"), "{}", tail.len());
    }

    #[test]
    fn output_limit_resets_after_a_second() {
        let mut gate = Gate::new();
        let start = gate.since;
        assert!((0..LINES_PER_SECOND).all(|_| gate.pass(start) == Pass::Open));
        assert_eq!(gate.pass(start), Pass::Shut);
        assert_eq!(gate.pass(start + Duration::from_secs(1)), Pass::After(1));
    }
}
