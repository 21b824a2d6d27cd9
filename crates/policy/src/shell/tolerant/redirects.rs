//! Redirections, and processes that stand as files.

use super::{Closer, Frame, Pending, Piece, Scanner};

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
            let is_message = self.is_message(rest);
            self.scan.has_message |= is_message;
            self.scan.torn |= !is_message;
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

    /// Whether a here-document is what `"$(cat <<'E'` gives to an option of git that takes a text.
    fn is_message(&self, rest: &str) -> bool {
        let [before @ .., outer, top] = self.frames.as_slice() else { return false };
        let is_alone =
            |frame: &Frame| frame.parentheses == 0 && frame.data.is_none() && frame.sum.is_none();
        let [program, command, .., option] = outer.segment.words.as_slice() else { return false };
        let is_git = match program.text.as_str() {
            "git" => matches!(&*command.text, "commit" | "tag" | "merge" | "notes"),
            "gh" | "glab" => matches!(&*command.text, "pr" | "issue" | "release" | "mr"),
            _ => false,
        };
        let takes_text = matches!(
            &*option.text,
            "-m" | "-am" | "--message" | "--body" | "-b" | "--title" | "-t" | "--notes" | "-n"
        );
        let is_cat = matches!(top.segment.words.as_slice(), [cat] if cat.text == "cat");
        let is_quoted = ["<<'", "<<-'", "<<\""].iter().any(|begin| rest.starts_with(begin));
        before.is_empty()
            && is_alone(outer)
            && is_alone(top)
            && top.closer == Closer::Parenthesis
            && outer.quoted
            && outer.pending.is_none()
            && (is_git && takes_text && is_cat && is_quoted)
    }
}
