//! The answer to a question: one line, read by the editor. Escape leaves it open, and so does the end
//! of the input.

use std::io::{self, PipeReader, PipeWriter, Write};

use super::Line;
use super::editor::Editor;
use crate::screen::raw;
use crate::text::printed;

/// A question that stands on the terminal. Dropping it ends the wait for an answer and gives the
/// terminal back.
pub struct Question {
    _end: PipeWriter,
    is_open: bool,
}

/// The reader of the answer to a question.
pub struct Answer {
    given_up: PipeReader,
}

/// Takes the terminal that standard input is, for one question. What is typed is not shown before it
/// is asked for.
pub fn question() -> io::Result<(Question, Answer)> {
    let (given_up, end) = io::pipe()?;
    raw::enter_answer()?;
    Ok((Question { _end: end, is_open: true }, Answer { given_up }))
}

impl Question {
    /// It was answered, or left open.
    pub fn close(mut self) {
        self.is_open = false;
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if self.is_open {
            raw::restore();
            // A terminal that is gone needs no new line.
            let _ = io::stderr().write_all(b"\n");
        }
    }
}

impl Answer {
    /// Reads it behind a mark; none where the user leaves it open. Blocks, until the question is
    /// dropped.
    pub fn read(self, mark: &str) -> io::Result<Option<String>> {
        let (above, mark) =
            mark.rsplit_once('\n').map_or(("", mark), |(above, mark)| (above, mark));
        if !above.is_empty() {
            io::stderr().write_all(format!("{above}\n").as_bytes())?;
        }
        match Editor::for_answer(self.given_up).read(&printed(mark))? {
            Line::Text(text) => Ok(Some(text)),
            Line::Invalid | Line::Interrupted | Line::End => Ok(None),
        }
    }
}
