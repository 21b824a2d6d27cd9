//! The commands in what a shell runs, so far as reading tells: each word as what it is, what the commands
//! read and write, and what is piped to them. Whatever is not understood from the first sign to the last, or
//! means one thing to Bash and another to a plain `sh`, is not read at all. Runs nothing.

mod reader;
mod sums;
mod words;

use std::collections::BTreeSet;
use std::ops::Range;

pub(super) use reader::read;

/// A text as commands. Those that stand within words are among them.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) commands: Vec<Command>,
    /// The names of functions that it defines.
    pub(super) functions: BTreeSet<String>,
    /// Names that sums set, which are numbers therefore.
    pub(super) counted: BTreeSet<String>,
    /// Of each shell that is started on the way, which one starts it; the first starts itself.
    scopes: Vec<usize>,
}

impl Script {
    /// Whether what is done in one shell holds in another: that which did it, or one that it starts.
    pub(super) fn is_within(&self, mut scope: usize, other: usize) -> bool {
        while scope != other && scope != 0 {
            scope = self.scopes[scope];
        }
        scope == other
    }
}

/// One command.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// As it is written.
    pub(super) text: String,
    pub(super) kind: Kind,
    /// The variables that are set before its program.
    pub(super) settings: Vec<Setting>,
    /// Its program and arguments.
    pub(super) words: Vec<Word>,
    /// Files that it reads.
    pub(super) inputs: Vec<Word>,
    /// Files that it writes.
    pub(super) targets: Vec<Word>,
    /// Whether a text that stands in the script is its input.
    pub(super) has_document: bool,
    /// The command whose output is piped to it; none where that is of several.
    pub(super) fed: Option<usize>,
    /// Whether something reads what it prints.
    pub(super) is_heard: bool,
    /// Whether it runs only where the one before it failed.
    pub(super) is_otherwise: bool,
    /// The shell that runs it.
    pub(super) scope: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words that are a program and what it is given.
    #[default]
    Simple,
    /// The first word is set to each of the others.
    Loop,
    /// `[[ .. ]]`
    Test,
    /// Words that are only looked at: those of `case`, sums, and what a group reads and writes.
    Data,
}

/// A variable and what it is set to.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: Word,
    /// Whether the value is added to another.
    pub(super) is_added: bool,
}

/// A word as what it is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    pub(super) pieces: Vec<Piece>,
    /// Where it stands in the text; nowhere, if it is a part of another.
    pub(super) range: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text {
        text: String,
        is_quoted: bool,
    },
    /// `$name`, or `${name}` with something behind the name.
    Variable {
        name: String,
        more: More,
        is_quoted: bool,
    },
    /// What the commands of these numbers print, or for some the name of a pipe to them.
    Commands {
        range: Range<usize>,
        is_quoted: bool,
    },
    /// A sum of these.
    Sum(Vec<Word>),
    /// The elements of a list.
    List(Vec<Word>),
    /// A text that is spelled by signs.
    Spelled,
}

/// What `${name..}` makes of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum More {
    Nothing,
    /// How long it is.
    Length,
    /// An element, or all.
    Element(String),
    /// A sign and what stands behind it.
    Changed(String),
}

impl Word {
    pub(super) fn of(text: &str) -> Self {
        Self::from(vec![Piece::Text { text: text.to_owned(), is_quoted: true }])
    }

    /// The word without its quotes, where nothing in it stands for something else.
    pub(super) fn literal(&self) -> Option<String> {
        let mut plain = String::new();
        for (number, piece) in self.pieces.iter().enumerate() {
            let Piece::Text { text, is_quoted } = piece else { return None };
            let is_home = (text.starts_with('~') && number == 0)
                || text.contains(":~")
                || (text.contains("=~") && text != "=~");
            let is_pattern = text != "[" && text.contains(['*', '?', '[']);
            if !is_quoted && (is_pattern || is_home || has_braces(text)) {
                return None;
            }
            plain.push_str(text);
        }
        Some(plain)
    }

    /// The word as a pattern, where it is one without anything else that stands for something.
    pub(super) fn pattern(&self) -> Option<String> {
        let mut plain = String::new();
        for piece in &self.pieces {
            let Piece::Text { text, is_quoted } = piece else { return None };
            let is_open = if *is_quoted { text.contains(['*', '?']) } else { has_braces(text) };
            if is_open || text.contains(['[', '~', '\\']) {
                return None;
            }
            plain.push_str(text);
        }
        Some(plain)
    }

    /// What it is made of, without what is empty.
    pub(super) fn filled(&self) -> Vec<&Piece> {
        let is_empty = |piece: &Piece| matches!(piece, Piece::Text { text, .. } if text.is_empty());
        self.pieces.iter().filter(|piece| !is_empty(piece)).collect()
    }

    /// The variable that the word sets.
    pub(super) fn setting(&self) -> Option<Setting> {
        let (Piece::Text { text, is_quoted: false }, rest) = self.pieces.split_first()? else {
            return None;
        };
        let (name, value) = text.split_once('=')?;
        let (name, is_added) = match name.strip_suffix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        // One element of a list.
        let name = name.split_once('[').map_or(name, |(name, _)| name);
        let value = Piece::Text { text: value.to_owned(), is_quoted: false };
        let pieces = std::iter::once(value).chain(rest.iter().cloned()).collect();
        let value = Self { pieces, range: 0..0 };
        is_name(name).then(|| Setting { name: name.to_owned(), value, is_added })
    }

    /// Every variable that is part of it, however deep.
    pub(super) fn variables(&self) -> Vec<(&str, &More)> {
        self.pieces
            .iter()
            .flat_map(|piece| match piece {
                Piece::Variable { name, more, .. } => vec![(name.as_str(), more)],
                Piece::Sum(words) | Piece::List(words) => {
                    words.iter().flat_map(Self::variables).collect()
                }
                Piece::Text { .. } | Piece::Commands { .. } | Piece::Spelled => Vec::new(),
            })
            .collect()
    }
}

impl From<Vec<Piece>> for Word {
    fn from(pieces: Vec<Piece>) -> Self {
        Self { pieces, range: 0..0 }
    }
}

/// Whether a text is the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a text stands for several.
fn has_braces(text: &str) -> bool {
    text.replace("{}", "").contains('{')
}
