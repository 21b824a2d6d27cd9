//! Lines that a person types or a program pipes in, one prompt each. A backslash at the end of a
//! line takes the next one in.

use std::io::{self, BufRead, Write};

use tokio::task::JoinHandle;

use super::Signals;
use crate::exit::Exit;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Something was said.
    Text(String),
    /// What was said is not valid text.
    Unreadable,
    /// Nothing more will be said.
    End,
    /// A signal came instead.
    Signal(Exit),
}

/// Reads lines from standard input.
pub(crate) struct Lines {
    is_terminal: bool,
    /// A line that is being waited for; a signal does not end the wait.
    pending: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl Lines {
    /// Reads, with a mark for people where they type on a terminal.
    pub(crate) fn new(is_terminal: bool) -> Self {
        Self { is_terminal, pending: None }
    }

    /// The next one.
    pub(crate) async fn next(&mut self, signals: &mut Signals) -> io::Result<Line> {
        let mut text = String::new();
        let mut mark = "> ";
        loop {
            if self.pending.is_none() {
                self.show(mark)?;
            }
            let pending = self.pending.get_or_insert_with(|| tokio::task::spawn_blocking(read));
            let bytes = tokio::select! {
                read = pending => read.map_err(io::Error::other)?,
                exit = signals.next() => return Ok(Line::Signal(exit)),
            };
            self.pending = None;
            let bytes = bytes?;
            if bytes.is_empty() {
                self.show("\n")?;
                return Ok(if text.is_empty() { Line::End } else { Line::Text(text) });
            }
            let Ok(line) = String::from_utf8(bytes) else {
                return Ok(Line::Unreadable);
            };
            let line = line.trim_end_matches(['\n', '\r']);
            let Some(part) = line.strip_suffix('\\') else {
                text.push_str(line);
                return Ok(Line::Text(text));
            };
            text.push_str(part);
            text.push('\n');
            mark = "… ";
        }
    }

    fn show(&self, text: &str) -> io::Result<()> {
        if !self.is_terminal {
            return Ok(());
        }
        let mut out = io::stderr().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

fn read() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut bytes)?;
    Ok(bytes)
}
