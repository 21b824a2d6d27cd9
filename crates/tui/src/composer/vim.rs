//! Vi's keys, for those who want them: a normal mode for moving and changing, an insert mode in
//! which all other keys stay as they are.

use super::{Buffer, Outcome};
use crate::key::{Code, Key};

/// Where we are between keys.
#[derive(Default)]
pub(crate) struct Vim {
    is_normal: bool,
    /// An operator or a prefix that waits for more.
    pending: Option<char>,
    count: usize,
}

impl Vim {
    /// Whether letters are commands.
    pub(crate) fn is_normal(&self) -> bool {
        self.is_normal
    }

    /// Takes a key; the rest of the composer sees what it ignores.
    pub(super) fn key(&mut self, key: Key, buffer: &mut Buffer) -> Outcome {
        if !self.is_normal {
            if key == Key::plain(Code::Esc) {
                self.is_normal = true;
                let is_at_start = buffer.cursor() == buffer.line_start();
                if !is_at_start {
                    buffer.move_to(buffer.left());
                }
                return Outcome::Taken;
            }
            return Outcome::Ignored;
        }
        let Some(letter) = key.typed() else { return Outcome::Ignored };
        if let Some(digit) = letter.to_digit(10)
            && (digit > 0 || self.count > 0)
        {
            let digit = usize::try_from(digit).unwrap_or(0);
            self.count = (self.count * 10 + digit).min(999);
            return Outcome::Taken;
        }
        let times = std::mem::take(&mut self.count).max(1);
        match self.pending.take() {
            Some(operator) => self.operate(operator, letter, times, buffer),
            None => {
                for _ in 0..times {
                    self.command(letter, buffer);
                    if self.pending.is_some() {
                        self.count = if times > 1 { times } else { 0 };
                        break;
                    }
                }
            }
        }
        Outcome::Taken
    }

    fn command(&mut self, letter: char, buffer: &mut Buffer) {
        if let Some(at) = target(letter, buffer) {
            buffer.move_to(at);
            return;
        }
        match letter {
            'i' => self.is_normal = false,
            'a' => {
                buffer.move_to(buffer.right().min(buffer.line_end()));
                self.is_normal = false;
            }
            'I' => {
                buffer.move_to(buffer.line_start());
                self.is_normal = false;
            }
            'A' => {
                buffer.move_to(buffer.line_end());
                self.is_normal = false;
            }
            'o' => {
                buffer.move_to(buffer.line_end());
                buffer.insert("\n");
                self.is_normal = false;
            }
            'O' => {
                buffer.move_to(buffer.line_start());
                buffer.open_line();
                self.is_normal = false;
            }
            'x' => buffer.kill_to(buffer.right().min(buffer.line_end())),
            'X' => buffer.kill_to(buffer.left().max(buffer.line_start())),
            'D' => buffer.kill_to(buffer.line_end()),
            'C' => {
                buffer.kill_to(buffer.line_end());
                self.is_normal = false;
            }
            'p' | 'P' => buffer.yank(),
            'u' => buffer.undo(),
            'd' | 'c' | 'g' => self.pending = Some(letter),
            _ => {}
        }
    }

    fn operate(&mut self, operator: char, letter: char, times: usize, buffer: &mut Buffer) {
        if operator == 'g' {
            if letter == 'g' {
                buffer.move_to(0);
            }
            return;
        }
        for _ in 0..times {
            if letter == operator {
                buffer.move_to(buffer.line_start());
                let end = buffer.line_end();
                // A whole line goes with its end, unless something is to take its place.
                let is_cut = operator == 'd' && end < buffer.raw().len();
                buffer.kill_to(if is_cut { end + 1 } else { end });
            } else if let Some(at) = target(letter, buffer) {
                buffer.kill_to(at);
            }
        }
        if operator == 'c' {
            self.is_normal = false;
        }
    }
}

/// Where a motion leads.
fn target(letter: char, buffer: &Buffer) -> Option<usize> {
    let next_word = || {
        let rest = &buffer.raw()[buffer.word_right()..];
        let blanks = rest.find(char::is_alphanumeric).unwrap_or(rest.len());
        buffer.raw().len() - rest.len() + blanks
    };
    Some(match letter {
        'h' => buffer.left().max(buffer.line_start()),
        'l' | ' ' => buffer.right().min(buffer.line_end()),
        'w' | 'W' => next_word(),
        'e' | 'E' => buffer.word_right(),
        'b' | 'B' => buffer.word_left(),
        '0' | '^' => buffer.line_start(),
        '$' => buffer.line_end(),
        'G' => buffer.raw().len(),
        'j' => {
            let start = (buffer.line_end() + 1).min(buffer.raw().len());
            let column = buffer.cursor() - buffer.line_start();
            let line = buffer.raw()[start..].split('\n').next().unwrap_or_default();
            start + line.floor_char_boundary(column)
        }
        'k' => {
            let end = buffer.line_start().checked_sub(1)?;
            let start = buffer.raw()[..end].rfind('\n').map_or(0, |at| at + 1);
            let column = buffer.cursor() - buffer.line_start();
            start + buffer.raw()[start..end].floor_char_boundary(column)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, keys: &str) -> String {
        let mut buffer = Buffer::default();
        buffer.set(text);
        let mut vim = Vim::default();
        vim.key(Key::plain(Code::Esc), &mut buffer);
        for letter in keys.chars() {
            if vim.key(Key::plain(Code::Char(letter)), &mut buffer) == Outcome::Ignored {
                buffer.insert(&letter.to_string());
            }
        }
        let (before, after) = buffer.raw().split_at(buffer.cursor());
        format!("{before}|{after}")
    }

    #[test]
    fn vi_moves_and_changes() {
        assert_eq!(after("one two three", "0dw"), "|two three");
        assert_eq!(after("one two three", "02dw"), "|three");
        assert_eq!(after("one two", "0cwX"), "X|two");
        assert_eq!(after("one\ntwo\nthree", "kdd"), "one\n|three");
        assert_eq!(after("one\ntwo", "ggA!"), "one!|\ntwo");
        assert_eq!(after("abc", "0xp"), "a|bc");
        assert_eq!(after("abc", "0xu"), "|abc");
        assert_eq!(after("one\ntwo", "Onew"), "one\nnew|\ntwo");
        assert_eq!(after("one\ntwo", "kl"), "one|\ntwo");
    }

    #[test]
    fn no_key_breaks_anything() {
        for first in ' '..='~' {
            for second in ' '..='~' {
                after("é\n\n漢 x", &format!("{first}{second}"));
            }
        }
    }
}
