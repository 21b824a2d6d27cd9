//! Fixed lists of words, and words as a shell splits them.

use std::str::SplitAsciiWhitespace;

/// Words with blanks between them.
#[derive(Clone, Copy)]
pub(crate) struct Words(pub(crate) &'static str);

impl Words {
    pub(crate) fn has(self, word: &str) -> bool {
        self.into_iter().any(|it| it == word)
    }
}

impl IntoIterator for Words {
    type Item = &'static str;
    type IntoIter = SplitAsciiWhitespace<'static>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.split_ascii_whitespace()
    }
}

/// The commands of a text as a shell splits them, each as its words: blanks separate, quotes hold
/// together, and the characters of `ends` end a command.
pub(crate) fn shell_commands(text: &str, ends: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words) = (Vec::new(), Vec::new());
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => {
                // A line that goes on is one line.
                let escaped = characters.next().filter(|c| *c != '\n');
                word.get_or_insert_default().extend(escaped);
            }
            ('\'' | '"', None) => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (c, None) if ends.contains(c) => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None | Some(_)) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    commands.push(words);
    commands
}
