//! The answer to a question: one line, shown as it is typed and never drawn again, so that it works
//! on every terminal. Escape leaves it open, and so does the end of the input.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::AsFd;

use unicode_segmentation::UnicodeSegmentation as _;

use super::arrived;
use crate::input::{Decoder, Input};
use crate::key::{Code, Key};
use crate::screen::{raw, stop_here};
use crate::text::columns;

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
    /// Reads it behind a mark; none where the person leaves it open. Blocks, until the question is
    /// dropped.
    pub fn read(self, mark: &str) -> io::Result<Option<String>> {
        let (mut out, mut decoder, mut typed) = (io::stderr(), Decoder::default(), String::new());
        out.write_all(mark.as_bytes())?;
        let answer = 'reading: loop {
            // Whoever gave it up has the terminal by now.
            let Some(inputs) = arrived(&mut decoder, Some(self.given_up.as_fd()))? else {
                return Ok(None);
            };
            for input in inputs {
                match step(&mut typed, &input) {
                    Step::Shows(text) => out.write_all(text.as_bytes())?,
                    Step::Answers => break 'reading Some(typed),
                    Step::Leaves => break 'reading None,
                    Step::Suspends => {
                        raw::restore();
                        stop_here();
                        raw::enter_answer()?;
                        out.write_all(
                            format!("{mark}{}", contract::text::visible(&typed)).as_bytes(),
                        )?;
                    }
                }
            }
        };
        raw::restore();
        out.write_all(b"\n")?;
        Ok(answer)
    }
}

/// What comes of a key.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// This is written.
    Shows(String),
    Answers,
    Leaves,
    Suspends,
}

fn step(typed: &mut String, input: &Input) -> Step {
    let key = match input {
        Input::Key(key) => *key,
        Input::Paste(text) => return add(typed, text),
        Input::Closed => return Step::Leaves,
        Input::Mouse(_) | Input::Focus(_) | Input::Report(_) | Input::Stalled => {
            return Step::Shows(String::new());
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
        let last = typed.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
        return cut(typed, last);
    }
    if key == Key::ctrl('u') {
        return cut(typed, 0);
    }
    if key == Key::ctrl('w') {
        let words = typed.trim_end();
        let last = words.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        return cut(typed, last);
    }
    match key.typed() {
        Some(letter) => add(typed, letter.encode_utf8(&mut [0; 4])),
        None => Step::Shows(String::new()),
    }
}

/// An answer is one line, whatever is pasted.
fn add(typed: &mut String, text: &str) -> Step {
    let text = text.replace(|c: char| c.is_control(), " ");
    typed.push_str(&text);
    Step::Shows(contract::text::visible(&text).into_owned())
}

fn cut(typed: &mut String, at: usize) -> Step {
    let gone = typed.split_off(at);
    Step::Shows("\x08 \x08".repeat(columns(&contract::text::visible(&gone))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is typed after these keys, what was written, and what the last of them came to.
    fn after(keys: &str) -> (String, String, Step) {
        let (mut typed, mut written, mut last) = (String::new(), String::new(), Step::Leaves);
        for word in keys.split(' ') {
            last = step(&mut typed, &Input::Key(Key::parse(word).expect("a key")));
            if let Step::Shows(text) = &last {
                written.push_str(text);
            }
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
        assert_eq!(after("y ctrl+d").2, Step::Shows(String::new()));
        assert_eq!(after("up left tab").1, "");
    }

    #[test]
    fn what_is_pasted_does_not_answer_by_itself() {
        let mut typed = String::new();
        let pasted = Input::Paste("y\ry\x1b[2K".to_owned());
        assert_eq!(step(&mut typed, &pasted), Step::Shows("y y [2K".to_owned()));
        assert_eq!(typed, "y y [2K");
    }
}
