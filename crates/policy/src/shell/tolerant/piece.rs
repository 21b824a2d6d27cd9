//! A word, and what is known of it before a shell has put anything in.

use std::hash::{Hash, Hasher};

/// What stands for an expansion in [`Piece::marked`]; no word of a shell has such a character.
pub(crate) const GAP: char = '\0';

/// What a word begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// What it says, or something that may be anything.
    #[default]
    Usual,
    /// Something that was left out and may be a folder above, or the one before.
    Above,
    /// Something that another program prints.
    Printed,
}

/// A word as the shell might see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The word without quotes and escapes; expansions are left out.
    pub(crate) text: String,
    /// Whether something was left out.
    pub(crate) dynamic: bool,
    /// Whether a leading `~` stands for the home.
    pub(crate) home: bool,
    /// Whether it has wildcards.
    pub(crate) glob: bool,
    /// What it begins with.
    pub(crate) beginning: Beginning,
    /// Where in the text something was left out.
    pub(crate) gaps: Vec<usize>,
}

impl Hash for Piece {
    /// Words of the same text are seldom different: the rest of them takes longer to hash than to compare.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Piece {
    /// Whether it begins with what may be a folder above, or the one before.
    pub(crate) fn is_above(&self) -> bool {
        self.beginning == Beginning::Above
    }

    /// Whether it is nothing but what another program prints.
    pub(crate) fn is_printed(&self) -> bool {
        self.beginning == Beginning::Printed && self.text.is_empty()
    }

    /// The word with a [`GAP`] wherever something was left out.
    pub(crate) fn marked(&self) -> String {
        let mut marked = String::with_capacity(self.text.len() + self.gaps.len());
        let mut from = 0;
        for gap in self.gaps.iter().copied() {
            let known = self.text.get(from..gap).unwrap_or_default();
            marked.push_str(known);
            from += known.len();
            if !marked.ends_with(GAP) {
                marked.push(GAP);
            }
        }
        marked.push_str(&self.text[from..]);
        // The home of another user, or the folder before this one.
        if self.dynamic && !self.home && marked.starts_with('~') {
            let end = marked.find('/').unwrap_or(marked.len());
            marked.replace_range(..end, "\0");
        }
        marked
    }

    /// The same word with another text, in which each [`GAP`] is something that is left out.
    pub(crate) fn saying(&self, marked: &str) -> Self {
        let mut text = String::with_capacity(marked.len());
        let mut gaps = Vec::new();
        for known in marked.split(GAP) {
            text.push_str(known);
            gaps.push(text.len());
        }
        gaps.pop();
        Self { text, gaps, ..self.clone() }
    }

    /// Notes that something is left out at the end of what is known so far.
    pub(super) fn leave_out(&mut self) {
        self.dynamic = true;
        if self.gaps.last() != Some(&self.text.len()) {
            self.gaps.push(self.text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Piece;

    #[test]
    fn what_is_left_out_stands_where_it_was() {
        let word = Piece { dynamic: true, ..Piece::default() }.saying("a\0b/\0");
        assert_eq!((word.text.as_str(), word.gaps.as_slice()), ("ab/", [1, 3].as_slice()));
        assert_eq!(word.marked(), "a\0b/\0");
        // Of another text the places may be none.
        let other = Piece { text: String::from("\u{e4}"), ..word };
        assert_eq!(other.marked(), "\0\u{e4}");
        let before = Piece { text: String::from("~-/k"), dynamic: true, ..Piece::default() };
        assert_eq!(before.marked(), "\0/k");
    }
}
