//! Keys, and the words they are written in: `ctrl+t`, `alt+enter`, `f1`, `?`.

use std::fmt;

/// A key without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    Char(char),
    F(u8),
    Enter,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Esc,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Insert,
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub code: Code,
    pub ctrl: bool,
    pub alt: bool,
    /// Only set where the character does not tell.
    pub shift: bool,
}

const NAMES: &[(&str, Code)] = &[
    ("enter", Code::Enter),
    ("tab", Code::Tab),
    ("backtab", Code::BackTab),
    ("backspace", Code::Backspace),
    ("delete", Code::Delete),
    ("esc", Code::Esc),
    ("up", Code::Up),
    ("down", Code::Down),
    ("left", Code::Left),
    ("right", Code::Right),
    ("home", Code::Home),
    ("end", Code::End),
    ("pageup", Code::PageUp),
    ("pagedown", Code::PageDown),
    ("insert", Code::Insert),
    ("space", Code::Char(' ')),
];

impl Key {
    /// A key alone.
    pub const fn plain(code: Code) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    /// A key with Control.
    pub const fn ctrl(letter: char) -> Self {
        Self { ctrl: true, ..Self::plain(Code::Char(letter)) }
    }

    /// A key with Alt.
    pub const fn alt(code: Code) -> Self {
        Self { alt: true, ..Self::plain(code) }
    }

    /// The character that this key types.
    pub fn typed(self) -> Option<char> {
        match self.code {
            Code::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }

    /// Reads a key's words.
    pub fn parse(words: &str) -> Option<Self> {
        let mut key = Self::plain(Code::Esc);
        let mut rest = words.trim();
        while let Some((word, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty())
        {
            match word.trim().to_ascii_lowercase().as_str() {
                "ctrl" | "control" => key.ctrl = true,
                "alt" | "meta" => key.alt = true,
                "shift" => key.shift = true,
                _ => return None,
            }
            rest = after.trim();
        }
        let lower = rest.to_ascii_lowercase();
        let named = NAMES.iter().find(|(name, _)| *name == lower).map(|(_, code)| *code);
        let function = lower.strip_prefix('f').and_then(|number| number.parse().ok());
        let mut characters = rest.chars();
        let single = characters.next().filter(|_| characters.next().is_none());
        key.code = match (named, function, single) {
            (Some(Code::Tab), _, _) if std::mem::take(&mut key.shift) => Code::BackTab,
            (Some(code), _, _) => code,
            (None, _, Some(c)) if key.ctrl => Code::Char(c.to_ascii_lowercase()),
            (None, _, Some(c)) => Code::Char(c),
            (None, Some(number @ 1..=24), None) => Code::F(number),
            (None, _, None) => return None,
        };
        Some(key)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (is_held, word) in [(self.ctrl, "Ctrl+"), (self.alt, "Alt+"), (self.shift, "Shift+")] {
            if is_held {
                f.write_str(word)?;
            }
        }
        let title = |name: &str| {
            let (first, rest) = name.split_at(1);
            format!("{}{rest}", first.to_ascii_uppercase())
        };
        match self.code {
            Code::F(number) => write!(f, "F{number}"),
            Code::Char(' ') => f.write_str("Space"),
            Code::Char(c) if self.ctrl => write!(f, "{}", c.to_ascii_uppercase()),
            Code::Char(c) => write!(f, "{c}"),
            Code::BackTab => f.write_str("Shift+Tab"),
            Code::PageUp => f.write_str("PageUp"),
            Code::PageDown => f.write_str("PageDown"),
            code => {
                let name = NAMES.iter().find(|(_, named)| *named == code).map_or("?", |it| it.0);
                f.write_str(&title(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_survive_formatting_and_parsing() {
        for (words, shown) in [
            ("ctrl+t", "Ctrl+T"),
            ("alt+enter", "Alt+Enter"),
            ("f10", "F10"),
            ("?", "?"),
            ("ctrl+alt+x", "Ctrl+Alt+X"),
            ("+", "+"),
            ("ctrl++", "Ctrl++"),
            ("Space", "Space"),
            ("f", "f"),
            ("Q", "Q"),
            ("backtab", "Shift+Tab"),
            ("pagedown", "PageDown"),
        ] {
            let key = Key::parse(words).unwrap_or_else(|| panic!("{words}"));
            assert_eq!(key.to_string(), shown);
            assert_eq!(Key::parse(&key.to_string()), Some(key), "{shown}");
        }
        for bad in ["", "ctrl+", "hyper+x", "word", "f99"] {
            assert_eq!(Key::parse(bad), None, "{bad}");
        }
    }
}
