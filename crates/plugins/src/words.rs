//! Fixed lists of words.

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
