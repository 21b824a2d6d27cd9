//! Scripts of shells, split into commands and their words.

use std::iter::Peekable;
use std::str::Chars;

/// Words of a shell behind which a command stands.
const KEYWORDS: [&str; 10] =
    ["!", "coproc", "do", "elif", "else", "if", "then", "until", "while", "{"];

/// A script, as far as it is understood.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<Command>,
    /// Whether nothing in it may run what its words do not tell.
    pub(crate) is_whole: bool,
}

/// A command of a script.
#[derive(Debug, Default)]
pub(crate) struct Command {
    /// Variables that are set for it.
    pub(crate) settings: Vec<String>,
    /// Its words, and then the files that it reads from.
    pub(crate) words: Vec<String>,
}

impl Script {
    /// Splits a script.
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = Reader {
            characters: text.chars().peekable(),
            commands: Vec::new(),
            words: Vec::new(),
            inputs: Vec::new(),
            word: None,
            place: Place::Command,
            is_whole: true,
        };
        reader.read();
        let commands = reader.commands.into_iter().map(Command::of);
        let commands = commands.filter(|it| !it.words.is_empty() || !it.settings.is_empty());
        Self { commands: commands.collect(), is_whole: reader.is_whole }
    }
}

impl Command {
    /// The command behind what a shell has before one.
    fn of(words: Vec<String>) -> Self {
        let mut settings = Vec::new();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next_if(|it| is_before(it)) {
            if word == "function" {
                words.next();
            } else if is_setting(&word) {
                settings.push(word);
            }
        }
        Self { settings, words: words.collect() }
    }
}

fn is_before(word: &str) -> bool {
    KEYWORDS.contains(&word) || word == "function" || is_setting(word)
}

fn is_setting(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(is_name)
}

/// Whether a text can be the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What becomes of the next word.
#[derive(PartialEq, Eq)]
enum Place {
    Command,
    /// A file that the command reads from.
    Input,
    /// A file that it writes to, which is none of its words.
    Output,
}

struct Reader<'a> {
    characters: Peekable<Chars<'a>>,
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    inputs: Vec<String>,
    word: Option<String>,
    place: Place,
    is_whole: bool,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(c) = self.characters.next() {
            match c {
                '\\' => match self.characters.next() {
                    Some('\n') => {}
                    Some(c) => self.push(c),
                    None => self.is_whole = false,
                },
                '\'' => self.quoted(),
                '"' => self.double_quoted(),
                '$' if self.characters.next_if_eq(&'\'').is_some() => self.escaped(),
                '$' if self.characters.peek() == Some(&'"') => {}
                '#' if self.word.is_none() => {
                    while self.characters.next_if(|c| *c != '\n').is_some() {}
                }
                '<' | '>' => self.redirect(c),
                '&' if self.characters.next_if_eq(&'>').is_some() => self.redirect('>'),
                '`' => {
                    self.is_whole = false;
                    self.end_command();
                }
                '\n' | ';' | '&' | '|' | '(' | ')' => self.end_command(),
                c if c.is_whitespace() => self.end_word(),
                c => self.push(c),
            }
        }
        self.end_command();
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn quoted(&mut self) {
        self.word.get_or_insert_default();
        loop {
            match self.characters.next() {
                Some('\'') => return,
                Some(c) => self.push(c),
                None => return self.is_whole = false,
            }
        }
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default();
        loop {
            match self.characters.next() {
                Some('"') => return,
                Some('\\') => match self.characters.next() {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.push(c),
                    Some(c) => self.word.get_or_insert_default().extend(['\\', c]),
                    None => return self.is_whole = false,
                },
                Some(c) => {
                    // A command within a word, whose own quotes end none of these.
                    let is_command = c == '`' || (c == '$' && self.characters.peek() == Some(&'('));
                    self.is_whole &= !is_command;
                    self.push(c);
                }
                None => return self.is_whole = false,
            }
        }
    }

    /// Quotes in which a backslash stands for other characters.
    fn escaped(&mut self) {
        self.word.get_or_insert_default();
        loop {
            match self.characters.next() {
                Some('\'') => return,
                Some('\\') => match self.characters.next() {
                    Some(c @ ('\'' | '"' | '\\')) => self.push(c),
                    Some('n') => self.push('\n'),
                    Some('t') => self.push('\t'),
                    Some(_) | None => self.is_whole = false,
                },
                Some(c) => self.push(c),
                None => return self.is_whole = false,
            }
        }
    }

    fn redirect(&mut self, c: char) {
        let is_number =
            self.word.as_ref().is_some_and(|word| word.bytes().all(|it| it.is_ascii_digit()));
        if is_number {
            self.word = None;
        }
        self.end_word();
        let next = self.characters.next_if(|next| "<>|&".contains(*next));
        // Text of the script itself, or a command in place of a file.
        let is_odd = (c, next) == ('<', Some('<')) || self.characters.peek() == Some(&'(');
        self.is_whole &= !is_odd;
        self.place = match (c, next) {
            ('<', None | Some('>')) => Place::Input,
            _ => Place::Output,
        };
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.place, Place::Command) {
            Place::Command => self.words.push(word),
            Place::Input => self.inputs.push(word),
            Place::Output => {}
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.words.append(&mut self.inputs);
        self.commands.push(std::mem::take(&mut self.words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(script: &str) -> Vec<String> {
        Script::read(script).commands.iter().map(|command| command.words.join("|")).collect()
    }

    #[test]
    fn scripts_fall_into_commands() {
        let script = "cd 'a b' && X=1 exec python3 s.py; if true; then { ./t \"c\\\"d\"; }; fi";
        assert_eq!(
            commands(script),
            ["cd|a b", "exec|python3|s.py", "true", "./t|c\"d", "}", "fi"]
        );
        assert!(commands(" ; \n # x").is_empty());
        assert_eq!(commands("# don't\na b#c # it's\nd"), ["a|b#c", "d"]);
        assert_eq!(commands("2>/dev/null a <b >c 2>&1 d &>e; f"), ["a|d|b", "f"]);
        assert_eq!(commands("a \\\n b; function f { c; }"), ["a|b", "c", "}"]);
        assert_eq!(commands("a $'don\\'t' \"\\n\""), ["a|don't|\\n"]);
        assert_eq!(Script::read("A=1 B+=2 c").commands[0].settings, ["A=1", "B+=2"]);
    }

    #[test]
    fn what_is_not_understood_is_known() {
        for script in
            ["a 'b", "a \"b", "a \\", "a `b`", "a \"$(b)\"", "a <<E", "a <(b)", "$'\\x61'"]
        {
            assert!(!Script::read(script).is_whole, "{script}");
        }
        for script in ["a 'b'", "a \"$b\" $(c)", "# it's", "a < b"] {
            assert!(Script::read(script).is_whole, "{script}");
        }
    }
}
