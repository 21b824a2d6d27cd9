//! Lines of standard input: edited on a terminal, or as they come. Also the answer to a question, and
//! the echo of the terminal.

mod answer;
mod drawn_line;
mod editor;

use std::io::{self, BufRead, Write};

use tokio::task::JoinHandle;

use crate::screen::raw;
use drawn_line::Size;

pub use answer::{Answer, Question, question};
pub use editor::Editor;

/// A line of standard input, or several that backslashes at their ends join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Text(String),
    /// It is not UTF-8.
    Invalid,
    /// The user interrupted it; what was written is gone.
    Interrupted,
    End,
}

/// Reads lines from standard input.
pub struct Lines {
    source: Source,
    /// The line that is being read, and the editor that comes back with it.
    pending: Option<PendingLine>,
}

type PendingLine = JoinHandle<(io::Result<Line>, Option<Box<Editor>>)>;

enum Source {
    Pipe,
    /// A terminal that edits lines itself.
    Terminal,
    /// A terminal with our editor; none while it reads.
    Edited(Option<Box<Editor>>),
}

impl Lines {
    /// Reads lines as they come; behind a mark from a terminal.
    pub fn new(is_terminal: bool) -> Self {
        let source = if is_terminal { Source::Terminal } else { Source::Pipe };
        Self { source, pending: None }
    }

    /// Reads lines from a terminal with an editor.
    pub fn edited(editor: Editor) -> Self {
        Self { source: Source::Edited(Some(Box::new(editor))), pending: None }
    }

    /// Begins the next line with a text. Returns false if lines cannot be edited.
    #[must_use]
    pub fn put_back(&mut self, text: &str) -> bool {
        let Source::Edited(Some(editor)) = &mut self.source else { return false };
        editor.set_text(text);
        true
    }

    /// The next line. A line that is being read when the future is dropped is not lost.
    pub async fn next(&mut self) -> io::Result<Line> {
        let mut text = String::new();
        loop {
            let mark = if text.is_empty() { "> " } else { "… " };
            if self.pending.is_none() {
                self.pending = Some(self.begin(mark)?);
            }
            let Some(pending) = &mut self.pending else { continue };
            let (read, editor) = pending.await.map_err(io::Error::other)?;
            self.pending = None;
            if let Source::Edited(place) = &mut self.source {
                *place = editor;
            }
            match read? {
                Line::Text(line) => {
                    let part = line.strip_suffix('\\');
                    text.push_str(part.unwrap_or(&line));
                    if part.is_none() {
                        break;
                    }
                    text.push('\n');
                }
                Line::End => {
                    if matches!(self.source, Source::Terminal) {
                        show("\n")?;
                    }
                    if text.is_empty() {
                        return Ok(Line::End);
                    }
                    break;
                }
                other => return Ok(other),
            }
        }
        if let Source::Edited(Some(editor)) = &mut self.source {
            editor.remember(&text);
        }
        Ok(Line::Text(text))
    }

    /// Begins to read a line on another thread.
    fn begin(&mut self, mark: &'static str) -> io::Result<PendingLine> {
        match &mut self.source {
            Source::Edited(place) => {
                if let Some(mut editor) = place.take() {
                    let edit = move || (editor.read(mark), Some(editor));
                    return Ok(tokio::task::spawn_blocking(edit));
                }
            }
            Source::Terminal => show(mark)?,
            Source::Pipe => {}
        }
        Ok(tokio::task::spawn_blocking(|| (read(), None)))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // The editor may still wait on another thread, with the terminal taken.
        if self.pending.is_some() && matches!(self.source, Source::Edited(_)) {
            raw::restore();
        }
    }
}

fn show(text: &str) -> io::Result<()> {
    let mut out = io::stderr().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn read() -> io::Result<Line> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(Line::End);
    }
    Ok(match String::from_utf8(bytes) {
        Ok(line) => Line::Text(line.trim_end_matches(['\n', '\r']).to_owned()),
        Err(_) => Line::Invalid,
    })
}

/// Sets the echo of the terminal until it is dropped.
pub struct Echo {
    was_off: bool,
}

impl Echo {
    /// Switches the echo off.
    pub fn off() -> Self {
        raw::echo_off();
        Self { was_off: false }
    }

    /// Switches the echo on where another one has switched it off.
    pub fn on() -> Self {
        Self { was_off: raw::echo_on() }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        if self.was_off {
            raw::echo_off();
        } else {
            raw::echo_on();
        }
    }
}

/// Takes note that the terminal knows no sequences, so that questions write none.
pub fn set_simple() {
    raw::set_simple();
}

fn size() -> Size {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let (columns, rows) = size.map_or((0, 0), |size| (size.ws_col, size.ws_row));
    let known = |length: u16, usual: usize| if length == 0 { usual } else { usize::from(length) };
    Size { columns: known(columns, 80), rows: known(rows, 24) }
}
