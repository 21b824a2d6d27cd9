//! The keys that edit: those of emacs and of every text field.

use super::{Composer, Outcome};
use crate::key::{Code, Key};

impl Composer {
    /// Takes a key.
    pub(crate) fn key(&mut self, key: Key) -> Outcome {
        if let Some(mut vim) = self.vim.take() {
            let outcome = vim.key(key, &mut self.buffer);
            self.vim = Some(vim);
            if outcome != Outcome::Ignored {
                self.changed();
                return outcome;
            }
        }
        let is_plain = !key.ctrl && !key.alt && !key.shift;
        match key.code {
            Code::Enter
                if is_plain && self.buffer.raw()[..self.buffer.cursor()].ends_with('\\') =>
            {
                self.buffer.delete_to(self.buffer.left());
                self.insert("\n")
            }
            Code::Enter if is_plain => Outcome::Send,
            Code::Enter => self.insert("\n"),
            Code::Char('j') if key.ctrl => self.insert("\n"),
            Code::Char(c) if !key.ctrl && !key.alt => self.insert(c.encode_utf8(&mut [0; 4])),
            Code::Char(c) if key.ctrl && !key.alt => self.control(c),
            Code::Char(c) if key.alt && !key.ctrl => self.meta(c),
            Code::Backspace if key.alt || key.ctrl => self.kill(super::Buffer::word_left),
            Code::Backspace => self.delete(super::Buffer::left),
            Code::Delete if key.ctrl || key.alt => self.kill(super::Buffer::word_right),
            Code::Delete => self.delete(super::Buffer::right),
            Code::Left if key.ctrl || key.alt => self.go(super::Buffer::word_left),
            Code::Right if key.ctrl || key.alt => self.go(super::Buffer::word_right),
            Code::Left => self.go(super::Buffer::left),
            Code::Right => self.go(super::Buffer::right),
            Code::Home if !key.ctrl => self.go(super::Buffer::line_start),
            Code::End if !key.ctrl => self.go(super::Buffer::line_end),
            Code::Up if is_plain => self.up(),
            Code::Down if is_plain => self.down(),
            _ => Outcome::Ignored,
        }
    }

    fn control(&mut self, letter: char) -> Outcome {
        match letter {
            'a' => self.go(super::Buffer::line_start),
            'e' => self.go(super::Buffer::line_end),
            'b' => self.go(super::Buffer::left),
            'f' => self.go(super::Buffer::right),
            'p' => self.up(),
            'n' => self.down(),
            'd' => self.delete(super::Buffer::right),
            'h' => self.delete(super::Buffer::left),
            'k' => self.kill(|buffer| match buffer.line_end() {
                end if end == buffer.cursor() => buffer.right(),
                end => end,
            }),
            'u' => self.kill(super::Buffer::line_start),
            'w' => self.kill(super::Buffer::blank_left),
            'y' => {
                self.buffer.yank();
                self.taken()
            }
            'o' => {
                self.buffer.open_line();
                self.taken()
            }
            '_' | '/' => {
                self.buffer.undo();
                self.taken()
            }
            _ => Outcome::Ignored,
        }
    }

    fn meta(&mut self, letter: char) -> Outcome {
        match letter {
            'b' => self.go(super::Buffer::word_left),
            'f' => self.go(super::Buffer::word_right),
            'd' => self.kill(super::Buffer::word_right),
            'y' => {
                self.buffer.yank_pop();
                self.taken()
            }
            '<' => self.go(|_| 0),
            '>' => self.go(|buffer| buffer.raw().len()),
            _ => Outcome::Ignored,
        }
    }

    fn taken(&mut self) -> Outcome {
        self.changed();
        Outcome::Taken
    }

    fn insert(&mut self, text: &str) -> Outcome {
        self.buffer.insert(text);
        self.taken()
    }

    fn go(&mut self, to: impl Fn(&super::Buffer) -> usize) -> Outcome {
        let at = to(&self.buffer);
        self.buffer.move_to(at);
        self.completion.refresh(&self.buffer);
        Outcome::Taken
    }

    fn delete(&mut self, to: impl Fn(&super::Buffer) -> usize) -> Outcome {
        let at = to(&self.buffer);
        self.buffer.delete_to(at);
        self.taken()
    }

    fn kill(&mut self, to: impl Fn(&super::Buffer) -> usize) -> Outcome {
        let at = to(&self.buffer);
        self.buffer.kill_to(at);
        self.taken()
    }

    fn up(&mut self) -> Outcome {
        if !self.buffer.move_row(self.width.max(1), true) {
            self.recall_earlier();
        }
        Outcome::Taken
    }

    fn down(&mut self) -> Outcome {
        if !self.buffer.move_row(self.width.max(1), false) {
            self.recall_later();
        }
        Outcome::Taken
    }

    /// Brings back what was sent before what is there.
    pub(crate) fn recall_earlier(&mut self) {
        if let Some(text) = self.history.back(&self.buffer.text()) {
            self.buffer.recall(&text);
        }
    }

    /// Brings back what was sent after what is there.
    pub(crate) fn recall_later(&mut self) {
        if let Some(text) = self.history.forth() {
            self.buffer.recall(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A composer after keys in words, `_` for a blank between typed letters.
    fn after(words: &str) -> Composer {
        let mut composer = Composer { width: 40, ..Composer::default() };
        for word in words.split(' ') {
            match Key::parse(word) {
                Some(key) => {
                    composer.key(key);
                }
                None => {
                    for letter in word.replace('_', " ").chars() {
                        composer.key(Key::plain(Code::Char(letter)));
                    }
                }
            }
        }
        composer
    }

    fn shown(words: &str) -> String {
        let composer = after(words);
        let (before, after) = composer.buffer.raw().split_at(composer.buffer.cursor());
        format!("{before}|{after}")
    }

    #[test]
    fn the_emacs_keys_do_what_they_do_in_emacs() {
        assert_eq!(shown("one_two ctrl+a"), "|one two");
        assert_eq!(shown("one_two ctrl+a ctrl+f ctrl+d"), "o|e two");
        assert_eq!(shown("one_two ctrl+b ctrl+k"), "one tw|");
        assert_eq!(shown("one_two ctrl+w ctrl+y ctrl+y"), "one twotwo|");
        assert_eq!(shown("one_two ctrl+u"), "|");
        assert_eq!(shown("one_two alt+b ctrl+o"), "one |\ntwo");
        assert_eq!(shown("ab alt+enter cd ctrl+p ctrl+e"), "ab|\ncd");
        assert_eq!(shown("ab ctrl+j cd ctrl+a ctrl+b ctrl+k"), "ab|cd");
        assert_eq!(shown("one_two ctrl+w ctrl+_"), "one two|");
        assert_eq!(shown("one_two alt+< alt+d"), "| two");
    }

    #[test]
    fn enter_sends_and_a_backslash_before_it_goes_on() {
        let mut composer = after("hi");
        assert_eq!(composer.key(Key::plain(Code::Enter)), Outcome::Send);
        assert_eq!(shown("one\\ enter two"), "one\ntwo|");
    }

    #[test]
    fn the_arrows_reach_the_history_at_the_edges() {
        let mut composer = after("draft");
        composer.history.add("earlier\nlines");
        let up = Key::plain(Code::Up);
        let down = Key::plain(Code::Down);
        composer.key(up);
        assert_eq!(composer.buffer.raw(), "earlier\nlines");
        composer.key(up);
        assert_eq!(composer.buffer.cursor(), 5);
        composer.key(down);
        composer.key(down);
        assert_eq!(composer.buffer.raw(), "draft");
    }
}
