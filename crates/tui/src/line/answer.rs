//! The answer to a question: one line, shown as it is typed. Within a row it is erased cell by cell, so
//! that this works on every terminal. Escape leaves it open, and so does the end of the input.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::AsFd;

use unicode_segmentation::UnicodeSegmentation as _;

use super::painted::{Painted, Size};
use super::{arrived, size};
use crate::input::{Decoder, Input, STALLED};
use crate::key::{Code, Key};
use crate::screen::{raw, stop_here};
use crate::text::{columns, printed};

/// A question that stands on the terminal. Dropping it ends the wait for an answer and gives the
/// terminal back.
pub struct Question {
    _end: PipeWriter,
    is_open: bool,
}

/// What waits for the answer to a question.
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
        let (mut out, mut decoder, mut typed) = (io::stderr(), Decoder::default(), String::new());
        out.write_all(mark.as_bytes())?;
        let head = printed(mark.rsplit('\n').next().unwrap_or_default());
        let answer = 'reading: loop {
            // Whoever gave it up has the terminal by now.
            let Some(inputs) = arrived(&mut decoder, Some(self.given_up.as_fd()))? else {
                return Ok(None);
            };
            for input in inputs {
                let before = painted(&head, &typed);
                if input == Input::Stalled {
                    out.write_all(format!("\r\n({STALLED})\r\n{}", before.text).as_bytes())?;
                }
                match step(&mut typed, &input) {
                    Step::GoesOn => {
                        let after = painted(&head, &typed);
                        out.write_all(change(&before, &after, size()).as_bytes())?;
                    }
                    Step::Answers => break 'reading Some(typed),
                    Step::Leaves => break 'reading None,
                    Step::Suspends => {
                        raw::restore();
                        stop_here();
                        raw::enter_answer()?;
                        out.write_all(format!("{mark}{}", shown(&typed)).as_bytes())?;
                    }
                }
            }
        };
        raw::restore();
        out.write_all(b"\n")?;
        Ok(answer)
    }
}

fn painted(head: &str, typed: &str) -> Painted {
    let text = format!("{head}{}", shown(typed));
    Painted { cursor: text.len(), text }
}

fn shown(typed: &str) -> String {
    contract::text::visible(typed).into_owned()
}

/// What is written so that an answer becomes another, which has more or less at its end.
fn change(before: &Painted, after: &Painted, size: Size) -> String {
    match before.text.strip_prefix(&after.text) {
        Some(gone) if before.ends_in_row_of(after, size) => "\x08 \x08".repeat(columns(gone)),
        // Nothing leads back into the row above.
        Some(_) if raw::is_simple() => format!("\r\n{}", after.text),
        _ => before.becomes(after, size),
    }
}

/// What comes of a key.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    GoesOn,
    Answers,
    Leaves,
    Suspends,
}

fn step(typed: &mut String, input: &Input) -> Step {
    let key = match input {
        Input::Key(key) => *key,
        Input::Paste(text) => {
            add(typed, text);
            return Step::GoesOn;
        }
        Input::Closed => return Step::Leaves,
        Input::Mouse(_) | Input::Focus(_) | Input::Report(_) | Input::Stalled => {
            return Step::GoesOn;
        }
    };
    let is_end = [Key::ctrl('d'), Key::ctrl(' ')].contains(&key) && typed.is_empty();
    if is_end || key.code == Code::Esc || key == Key::ctrl('c') {
        return Step::Leaves;
    }
    if key.code == Code::Enter || key == Key::ctrl('j') {
        return Step::Answers;
    }
    if key == Key::ctrl('z') {
        return Step::Suspends;
    }
    if key.code == Code::Backspace || key == Key::ctrl('h') {
        typed.truncate(typed.grapheme_indices(true).next_back().map_or(0, |(at, _)| at));
    } else if key == Key::ctrl('u') {
        typed.clear();
    } else if key == Key::ctrl('w') {
        let words = typed.trim_end();
        typed.truncate(words.rfind(char::is_whitespace).map_or(0, |at| at + 1));
    } else if let Some(letter) = key.typed() {
        add(typed, letter.encode_utf8(&mut [0; 4]));
    }
    Step::GoesOn
}

/// An answer is one line, whatever is pasted.
fn add(typed: &mut String, text: &str) {
    typed.push_str(&text.replace(|c: char| c.is_control(), " "));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is typed after these keys, what was written, and what the last of them came to.
    fn after(keys: &str) -> (String, String, Step) {
        let (mut typed, mut written, mut last) = (String::new(), String::new(), Step::Leaves);
        let size = Size { columns: 20, rows: 10 };
        for word in keys.split(' ') {
            let before = painted("Sure? ", &typed);
            last = step(&mut typed, &Input::Key(Key::parse(word).expect("a key")));
            written.push_str(&change(&before, &painted("Sure? ", &typed), size));
        }
        (typed, written, last)
    }

    #[test]
    fn an_answer_is_written_once_and_erased_by_single_cells() {
        let (typed, written, last) = after("n o backspace enter");
        assert_eq!((typed.as_str(), written.as_str()), ("n", "no\x08 \x08"));
        assert_eq!(last, Step::Answers);
        let (typed, written, _) = after("本 backspace backspace");
        assert_eq!((typed.as_str(), written.as_str()), ("", "本\x08 \x08\x08 \x08"));
        assert_eq!(after("a space b c ctrl+w").0, "a ");
        assert_eq!(after("a space b ctrl+u").0, "");
    }

    #[test]
    fn escape_leaves_a_question_open_whatever_was_typed_and_shows_nothing() {
        for keys in ["esc", "y esc", "ctrl+d", "y ctrl+c"] {
            assert_eq!(after(keys).2, Step::Leaves, "{keys}");
        }
        assert_eq!(after("y ctrl+d").2, Step::GoesOn);
        assert_eq!(after("up left tab").1, "");
    }

    #[test]
    fn what_is_pasted_does_not_answer_by_itself() {
        let mut typed = String::new();
        let pasted = Input::Paste("y\ry\x1b[2K".to_owned());
        assert_eq!(step(&mut typed, &pasted), Step::GoesOn);
        assert_eq!(typed, "y y [2K");
    }
}
