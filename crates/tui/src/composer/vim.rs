//! Vi's keys, for those who want them: a normal mode for moving and changing, an insert mode in
//! which all other keys stay as they are, and a visual mode for marking. `:` takes a line and does
//! nothing with it.

mod command;
mod motion;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::{Buffer, Outcome};
use crate::key::{Code, Key};
use command::{Command, ParseResult, Verb, parse};
use motion::{Reach, Span};

#[derive(Default)]
pub(crate) struct Vim {
    is_normal: bool,
    /// Where marking began, and whether it is by lines.
    mark: Option<(usize, bool)>,
    pending: String,
    /// The text that was deleted or copied last; true if it is whole lines.
    register: (String, bool),
    /// The last search on the line: how, and the letter.
    find: Option<(char, char)>,
    /// The keys of the change that is being made, and of the last one.
    change: Vec<Key>,
    last_change: Vec<Key>,
}

impl Vim {
    pub(crate) fn is_normal(&self) -> bool {
        self.is_normal
    }

    /// Returns true if Esc ends something here.
    pub(crate) fn takes_escape(&self) -> bool {
        !self.is_normal || self.mark.is_some() || !self.pending.is_empty()
    }

    pub(crate) fn is_marking(&self) -> bool {
        self.mark.is_some()
    }

    pub(crate) fn marked(&self, buffer: &Buffer) -> Option<Range<usize>> {
        let (from, is_lines) = self.mark?;
        let Span { from, to, .. } = motion::between(buffer, from, is_lines);
        Some(from..to)
    }

    /// Takes a key; the rest of the composer sees the keys that it ignores.
    pub(super) fn key(&mut self, key: Key, buffer: &mut Buffer) -> Outcome {
        if !self.is_normal {
            self.change.push(key);
            if key != Key::plain(Code::Esc) {
                return Outcome::Ignored;
            }
            self.leave_insert(buffer);
            return Outcome::Taken;
        }
        let is_line = self.pending.starts_with(':');
        let Some(letter) = key.typed() else {
            if key == Key::ctrl('r') {
                buffer.redo();
                self.settle(buffer);
                return Outcome::Taken;
            }
            let has_begun = !std::mem::take(&mut self.pending).is_empty()
                | (key.code == Code::Esc && self.mark.take().is_some());
            let ends = [Code::Enter, Code::Esc].contains(&key.code);
            return if has_begun && ends { Outcome::Taken } else { Outcome::Ignored };
        };
        // The selection exists already, so no motion follows.
        if self.mark.is_some() && self.pending == "g" && matches!(letter, 'u' | 'U' | '~') {
            self.pending.clear();
        }
        if self.pending.is_empty() && self.mark_key(letter, buffer) {
            self.settle(buffer);
            return Outcome::Taken;
        }
        if self.mark.is_some() && self.mark_object(letter, buffer) {
            return Outcome::Taken;
        }
        self.pending.push(letter);
        if is_line {
            return Outcome::Taken;
        }
        match parse(&self.pending) {
            ParseResult::More => {}
            ParseResult::Nothing => self.pending.clear(),
            ParseResult::Command(command) => {
                let letters = std::mem::take(&mut self.pending);
                if self.mark.is_some() && command.changes() {
                    return Outcome::Taken;
                }
                if command.verb == Verb::Again {
                    self.again(buffer);
                } else {
                    self.change = letters.chars().map(|it| Key::plain(Code::Char(it))).collect();
                    buffer.begin_change();
                    self.act(command, buffer);
                    if self.is_normal {
                        buffer.end_change();
                    }
                    if self.is_normal && command.changes() {
                        self.last_change = std::mem::take(&mut self.change);
                    }
                }
                self.settle(buffer);
            }
        }
        Outcome::Taken
    }

    /// Begins to mark, or works on the marked text. Returns true if the letter is for that.
    fn mark_key(&mut self, letter: char, buffer: &mut Buffer) -> bool {
        let Some((from, is_lines)) = self.mark else {
            let begins = matches!(letter, 'v' | 'V');
            self.mark = begins.then_some((buffer.cursor(), letter == 'V'));
            return begins;
        };
        let operator = match letter {
            'v' | 'V' if is_lines == (letter == 'V') => {
                self.mark = None;
                return true;
            }
            'v' | 'V' => {
                self.mark = Some((from, letter == 'V'));
                return true;
            }
            'o' => {
                self.mark = Some((buffer.cursor(), is_lines));
                buffer.move_to(from);
                return true;
            }
            'd' | 'x' | 'X' | 'D' => 'd',
            'c' | 's' | 'C' | 'S' => 'c',
            'y' | 'Y' => 'y',
            'u' | 'U' | '~' | 'p' => letter,
            'P' => 'p',
            _ => return false,
        };
        let takes_lines = letter.is_uppercase() && !matches!(letter, 'U' | 'P');
        let span = motion::between(buffer, from, is_lines || takes_lines);
        self.mark = None;
        // The text that replaces it can be inserted again elsewhere.
        self.change = vec![Key::plain(Code::Char('i'))];
        buffer.begin_change();
        self.operate(operator, span, buffer);
        if self.is_normal {
            buffer.end_change();
        }
        if operator == 'y' {
            buffer.move_to(span.from);
        }
        true
    }

    /// Marks the inside of a pair, or a word. Returns true if the letter is for that.
    fn mark_object(&mut self, letter: char, buffer: &mut Buffer) -> bool {
        let is_around = match self.pending.as_str() {
            "" if matches!(letter, 'i' | 'a') => {
                self.pending.push(letter);
                return true;
            }
            "i" => false,
            "a" => true,
            _ => return false,
        };
        self.pending.clear();
        let verb = Verb::Object { is_around, name: letter };
        if let Some(Span { from, to, .. }) = motion::span(verb, 1, 'y', (buffer, None))
            && from < to
        {
            self.mark = Some((from, false));
            buffer.move_to(motion::previous(buffer.raw(), to));
        }
        true
    }

    fn leave_insert(&mut self, buffer: &mut Buffer) {
        self.is_normal = true;
        buffer.end_change();
        self.last_change = std::mem::take(&mut self.change);
        if buffer.cursor() > buffer.line_start() {
            buffer.move_to(buffer.left());
        }
    }

    /// In normal mode the cursor is on a letter, not behind the last one.
    fn settle(&self, buffer: &mut Buffer) {
        let is_behind = buffer.cursor() == buffer.line_end();
        if self.is_normal && is_behind && buffer.cursor() > buffer.line_start() {
            buffer.move_to(buffer.left());
        }
    }

    fn again(&mut self, buffer: &mut Buffer) {
        let keys = self.last_change.clone();
        for key in &keys {
            if self.key(*key, buffer) != Outcome::Ignored {
                continue;
            }
            match key.typed() {
                Some(letter) => buffer.insert(letter.encode_utf8(&mut [0; 4])),
                None if key.code == Code::Enter => buffer.insert("\n"),
                None if key.code == Code::Backspace => buffer.delete_to(buffer.left()),
                None => {}
            }
        }
        self.last_change = keys;
    }

    fn act(&mut self, command: Command, buffer: &mut Buffer) {
        let Command { count, operator, verb } = command;
        if let Verb::Find(how, letter) = verb
            && !matches!(how, ';' | ',')
        {
            self.find = Some((how, letter));
        }
        match (operator, verb) {
            (Some(operator), verb) => {
                if let Some(span) = motion::span(verb, count, operator, (buffer, self.find)) {
                    self.operate(operator, span, buffer);
                }
            }
            (None, Verb::Letter(letter)) => self.letter(letter, count, buffer),
            (None, Verb::Replace(letter)) => {
                let end = (0..count).fold(buffer.cursor(), |at, _| motion::next(buffer.raw(), at));
                if end <= buffer.line_end() {
                    let at = buffer.cursor();
                    buffer.replace(at..end, &letter.to_string().repeat(count));
                    buffer.move_to(at + letter.len_utf8() * (count - 1));
                }
            }
            (None, verb) => {
                if let Some(Reach { at, .. }) = motion::reach(verb, count, buffer, self.find) {
                    buffer.move_to(at);
                }
            }
        }
    }

    fn operate(&mut self, operator: char, span: Span, buffer: &mut Buffer) {
        let Span { from, to, is_lines } = span;
        if let 'u' | 'U' | '~' = operator {
            let text: String =
                buffer.raw()[from..to].chars().map(|it| cased(it, operator)).collect();
            buffer.replace(from..to, &text);
            buffer.move_to(from);
            return;
        }
        let taken = (buffer.raw()[from..to].to_owned(), is_lines);
        let (text, were_lines) = std::mem::replace(&mut self.register, taken);
        match operator {
            'p' => {
                let text = if were_lines && !is_lines { format!("\n{text}\n") } else { text };
                buffer.replace(from..to, &text);
                let end = from + text.len();
                buffer.move_to(if text.is_empty() {
                    from
                } else {
                    motion::previous(buffer.raw(), end)
                });
            }
            'y' => buffer.move_to(if is_lines { buffer.cursor() } else { from }),
            'd' if is_lines => {
                // A line goes with its end, the last one with the end of the one before.
                let is_last = to == buffer.raw().len();
                let range = if is_last { from.saturating_sub(1)..to } else { from..to + 1 };
                buffer.replace(range, "");
                buffer.move_to(from.min(buffer.raw().len()));
                buffer.move_to(buffer.line_start());
            }
            _ => {
                buffer.replace(from..to, "");
                buffer.move_to(from);
                self.is_normal = operator != 'c';
            }
        }
    }

    /// Does the same as an operator over a motion.
    fn short(&mut self, operator: char, motion: char, count: usize, buffer: &mut Buffer) {
        let verb = if motion == operator { Verb::Lines } else { Verb::Letter(motion) };
        self.act(Command { count, operator: Some(operator), verb }, buffer);
    }

    fn letter(&mut self, letter: char, count: usize, buffer: &mut Buffer) {
        let is_empty_line = buffer.line_start() == buffer.line_end();
        match letter {
            'x' if !is_empty_line => self.short('d', 'l', count, buffer),
            'X' => self.short('d', 'h', count, buffer),
            'D' => self.short('d', '$', count, buffer),
            'C' => self.short('c', '$', count, buffer),
            's' if is_empty_line => self.is_normal = false,
            's' => self.short('c', 'l', count, buffer),
            'S' => self.short('c', 'c', count, buffer),
            'Y' => self.short('y', 'y', count, buffer),
            'p' | 'P' => (0..count).for_each(|_| self.put(letter == 'P', buffer)),
            'u' => (0..count).for_each(|_| buffer.undo()),
            'J' => (0..count).for_each(|_| join(buffer)),
            '~' => (0..count).for_each(|_| turn_case(buffer)),
            'i' => self.is_normal = false,
            'a' | 'A' | 'I' | 'o' | 'O' => {
                self.is_normal = false;
                let start = buffer.line_start();
                buffer.move_to(match letter {
                    'a' => buffer.right().min(buffer.line_end()),
                    'I' => start + motion::indent(buffer.raw(), start),
                    'O' => start,
                    _ => buffer.line_end(),
                });
                match letter {
                    'o' => buffer.insert("\n"),
                    'O' => buffer.open_line(),
                    _ => {}
                }
            }
            _ => {
                let reached = motion::reach(Verb::Letter(letter), count, buffer, self.find);
                if let Some(Reach { at, .. }) = reached {
                    buffer.move_to(at);
                }
            }
        }
    }

    fn put(&self, is_before: bool, buffer: &mut Buffer) {
        let (text, is_lines) = &self.register;
        if text.is_empty() {
            return;
        }
        if !*is_lines {
            let at =
                if is_before { buffer.cursor() } else { buffer.right().min(buffer.line_end()) };
            buffer.move_to(at);
            buffer.insert(text);
            buffer.move_to(buffer.left());
        } else if is_before {
            let at = buffer.line_start();
            buffer.move_to(at);
            buffer.insert(&format!("{text}\n"));
            buffer.move_to(at);
        } else {
            let at = buffer.line_end();
            buffer.move_to(at);
            buffer.insert(&format!("\n{text}"));
            buffer.move_to(at + 1);
        }
    }
}

fn join(buffer: &mut Buffer) {
    let end = buffer.line_end();
    if end == buffer.raw().len() {
        return;
    }
    let blanks = motion::indent(buffer.raw(), end + 1);
    buffer.replace(end..end + 1 + blanks, " ");
    buffer.move_to(end);
}

/// A letter made big (`U`), small (`u`), or the other way round.
fn cased(letter: char, operator: char) -> String {
    if operator == 'U' || (operator == '~' && !letter.is_uppercase()) {
        letter.to_uppercase().collect()
    } else {
        letter.to_lowercase().collect()
    }
}

/// Makes a small letter big and the other way round, and goes on.
fn turn_case(buffer: &mut Buffer) {
    let at = buffer.cursor();
    let Some(letter) = buffer.raw()[at..buffer.line_end()].chars().next() else { return };
    let turned = cased(letter, '~');
    buffer.replace(at..at + letter.len_utf8(), &turned);
    buffer.move_to(at + turned.len());
}
