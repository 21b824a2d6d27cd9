//! Lines that a user types or a program pipes in, one prompt each. A backslash at the end of a
//! line takes the next one in.

use std::io::{self, BufRead, Write};

use ::tui::line::{Editor, Read, give_back};
use tokio::task::JoinHandle;

use super::Signals;
use crate::exit::Exit;
use crate::output;

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
    source: Source,
    /// A line that is being waited for; a signal does not end the wait.
    pending: Option<Wait>,
}

/// Where lines come from.
enum Source {
    /// A program.
    Pipe,
    /// A terminal that edits lines itself.
    Terminal,
    /// A terminal on which we edit; none while a line is being waited for.
    Edited(Option<Box<Editor>>),
}

/// A line that is being waited for, and the editor that comes back with it.
type Wait = JoinHandle<(io::Result<Got>, Option<Box<Editor>>)>;

/// What was read.
enum Got {
    Bytes(Vec<u8>),
    Edited(Read),
}

impl Lines {
    /// Reads, with a mark for people where they type on a terminal.
    pub(crate) fn new(is_terminal: bool) -> Self {
        let source = if is_terminal { Source::Terminal } else { Source::Pipe };
        Self { source, pending: None }
    }

    /// Reads from a terminal with an editor.
    pub(crate) fn edited(editor: Editor) -> Self {
        Self { source: Source::Edited(Some(Box::new(editor))), pending: None }
    }

    /// Begins the next line with texts that were not sent; shows them where lines cannot be edited.
    pub(crate) fn put_back(&mut self, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        let text = texts.join("\n\n");
        match &mut self.source {
            Source::Edited(Some(editor)) => editor.put_back(&text),
            Source::Edited(None) | Source::Terminal | Source::Pipe => {
                output::hint(&format!("not sent, since the turn was stopped: {text}"));
            }
        }
    }

    /// The next one.
    pub(crate) async fn next(&mut self, signals: &mut Signals) -> io::Result<Line> {
        let mut text = String::new();
        let mut mark = "> ";
        loop {
            if self.pending.is_none() {
                self.pending = Some(self.wait(mark)?);
            }
            let Some(pending) = self.pending.as_mut() else { continue };
            let (got, editor) = tokio::select! {
                read = pending => read.map_err(io::Error::other)?,
                exit = signals.next() => return Ok(Line::Signal(exit)),
            };
            self.pending = None;
            if let Source::Edited(place) = &mut self.source {
                *place = editor;
            }
            let line = match got? {
                Got::Edited(Read::Interrupted) => return Ok(Line::Signal(Exit::Interrupted)),
                Got::Edited(Read::End) => String::new(),
                Got::Edited(Read::Line(line)) => format!("{line}\n"),
                Got::Bytes(bytes) => match String::from_utf8(bytes) {
                    Ok(line) => line,
                    Err(_) => return Ok(Line::Unreadable),
                },
            };
            if line.is_empty() {
                if matches!(self.source, Source::Terminal) {
                    show("\n")?;
                }
                return Ok(if text.is_empty() { Line::End } else { Line::Text(text) });
            }
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

    /// Begins to wait for a line.
    fn wait(&mut self, mark: &'static str) -> io::Result<Wait> {
        if let Source::Edited(place) = &mut self.source
            && let Some(mut editor) = place.take()
        {
            let edit = move || (editor.read(mark).map(Got::Edited), Some(editor));
            return Ok(tokio::task::spawn_blocking(edit));
        }
        if matches!(self.source, Source::Terminal) {
            show(mark)?;
        }
        Ok(tokio::task::spawn_blocking(|| (read().map(Got::Bytes), None)))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // A line may still be waited for, on another thread, with the terminal taken.
        if self.pending.is_some() && matches!(self.source, Source::Edited(_)) {
            give_back();
        }
    }
}

fn show(text: &str) -> io::Result<()> {
    let mut out = io::stderr().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn read() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut bytes)?;
    Ok(bytes)
}
