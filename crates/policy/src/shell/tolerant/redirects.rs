//! Redirections, and processes that stand as files.

use super::{Closer, Pending, Piece, Scanner};

/// A process that stands as a file: `<(..)` or `>(..)`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    /// What it prints is read.
    Read,
    /// It reads what the segment around it writes.
    Fed,
}

impl Scanner<'_> {
    pub(super) fn redirect(&mut self) {
        if self.peek(1) == Some(b'(') {
            let process = if self.bytes[self.at] == b'>' { Process::Fed } else { Process::Read };
            let depth = self.frames.len();
            self.open(Closer::Parenthesis, 2);
            if self.frames.len() > depth {
                let top = self.top();
                top.process = Some(process);
                if process == Process::Fed {
                    (top.segment.is_fed, top.segment.opens) = (true, 1);
                }
            }
            return;
        }
        // A number that touches the redirection is a descriptor, not a word.
        let number =
            |word: &Piece| !word.text.is_empty() && word.text.bytes().all(|b| b.is_ascii_digit());
        if self.top().word.as_ref().is_some_and(number) {
            self.top().word = None;
        }
        self.end_word();
        let rest = &self.text[self.at..];
        // In arithmetic `<<` shifts; what follows must not pass for a here-document.
        if rest.starts_with("<<") && self.nested() {
            self.scan.torn = true;
        }
        let (pending, length) = if rest.starts_with("<<<") {
            (Pending::Feed, 3)
        } else if rest.starts_with("<<-") {
            (Pending::Heredoc { strip: true }, 3)
        } else if rest.starts_with("<<") {
            (Pending::Heredoc { strip: false }, 2)
        } else if ["<>", ">>", ">|", ">&"].iter().any(|op| rest.starts_with(op)) {
            (Pending::Write, 2)
        } else if rest.starts_with("<&") {
            (Pending::Duplicate, 2)
        } else if rest.starts_with('>') {
            (Pending::Write, 1)
        } else {
            (Pending::Read, 1)
        };
        self.at += length;
        self.top().pending = Some(pending);
    }
}
