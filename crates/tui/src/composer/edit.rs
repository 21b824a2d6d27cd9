//! The keys that edit: those of emacs and of every text field.

use super::{Buffer, Composer, Outcome};
use crate::key::{Code, Key};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Moved,
    Changed,
}

impl Buffer {
    /// Takes a key that edits within a line; none for any other key.
    pub(crate) fn key(&mut self, key: Key) -> Option<Edit> {
        let by_word = key.ctrl || key.alt;
        match key.code {
            Code::Char(c) if !by_word => self.insert(c.encode_utf8(&mut [0; 4])),
            Code::Char(c) if key.ctrl && !key.alt => return self.control(c),
            Code::Char(c) if key.alt && !key.ctrl => return self.meta(c),
            Code::Backspace if by_word => self.kill_to(self.word_left()),
            Code::Backspace => self.delete_to(self.left()),
            Code::Delete if by_word => self.kill_to(self.word_right()),
            Code::Delete => self.delete_to(self.right()),
            Code::Left if by_word => return Some(self.go_to(self.word_left())),
            Code::Right if by_word => return Some(self.go_to(self.word_right())),
            Code::Left => return Some(self.go_to(self.left())),
            Code::Right => return Some(self.go_to(self.right())),
            Code::Home if !key.ctrl => return Some(self.go_to(self.line_start())),
            Code::End if !key.ctrl => return Some(self.go_to(self.line_end())),
            _ => return None,
        }
        Some(Edit::Changed)
    }

    fn control(&mut self, letter: char) -> Option<Edit> {
        match letter {
            'a' => return Some(self.go_to(self.line_start())),
            'e' => return Some(self.go_to(self.line_end())),
            'b' => return Some(self.go_to(self.left())),
            'f' => return Some(self.go_to(self.right())),
            'd' => self.delete_to(self.right()),
            'h' => self.delete_to(self.left()),
            'k' if self.line_end() == self.cursor() => self.kill_to(self.right()),
            'k' => self.kill_to(self.line_end()),
            'u' => self.kill_to(self.line_start()),
            'w' => self.kill_to(self.blank_left()),
            'y' => self.yank(),
            'o' => self.open_line(),
            '_' | '/' => self.undo(),
            _ => return None,
        }
        Some(Edit::Changed)
    }

    fn meta(&mut self, letter: char) -> Option<Edit> {
        match letter {
            'b' => return Some(self.go_to(self.word_left())),
            'f' => return Some(self.go_to(self.word_right())),
            '<' => return Some(self.go_to(0)),
            '>' => return Some(self.go_to(self.raw().len())),
            'd' => self.kill_to(self.word_right()),
            'y' => self.yank_pop(),
            _ => return None,
        }
        Some(Edit::Changed)
    }

    fn go_to(&mut self, at: usize) -> Edit {
        self.move_to(at);
        Edit::Moved
    }
}

impl Composer {
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
            Code::Enter if is_plain && !self.buffer.is_after_backslash() => return Outcome::Send,
            Code::Enter => {
                if is_plain {
                    self.buffer.delete_to(self.buffer.left());
                }
                self.buffer.insert("\n");
            }
            Code::Char('j') if key.ctrl => self.buffer.insert("\n"),
            Code::Up if is_plain => return self.move_row(true),
            Code::Down if is_plain => return self.move_row(false),
            Code::Char('p') if key.ctrl && !key.alt => return self.move_row(true),
            Code::Char('n') if key.ctrl && !key.alt => return self.move_row(false),
            _ => match self.buffer.key(key) {
                Some(Edit::Changed) => {}
                Some(Edit::Moved) => {
                    self.completion.refresh(&self.buffer);
                    return Outcome::Taken;
                }
                None => return Outcome::Ignored,
            },
        }
        self.changed();
        Outcome::Taken
    }

    /// Moves by a row; at the edge through the history.
    fn move_row(&mut self, is_up: bool) -> Outcome {
        if !self.buffer.move_row(self.width.max(1), is_up) {
            self.recall(is_up);
        }
        Outcome::Taken
    }

    /// Brings back the entry of the history before or after the one that is there.
    pub(crate) fn recall(&mut self, is_earlier: bool) {
        let text =
            if is_earlier { self.history.back(&self.buffer.text()) } else { self.history.forth() };
        self.recalls_on_load = is_earlier && text.is_none();
        if let Some(text) = text {
            self.buffer.recall(&text);
        }
    }

    /// Loads the history. Recalls its last entry if the user wanted that already.
    pub(crate) fn load_history(&mut self, entries: Vec<String>) {
        self.history.load(entries);
        if std::mem::take(&mut self.recalls_on_load) && self.buffer.is_empty() {
            self.recall(true);
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
    fn emacs_keys_edit_as_in_emacs() {
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
    fn backslash_before_enter_continues_the_text() {
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
