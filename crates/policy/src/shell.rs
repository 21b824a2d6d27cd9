//! Shell text, read twice for two questions. To allow: [`prove`] lowers text to simple commands of
//! literal words, or names the first thing it cannot be sure of; a Bash parser must agree. To deny:
//! [`survey`] finds every command the text could run, through quotes, wrappers and nesting, at any
//! length. Neither decides anything.

pub(crate) mod braces;
mod constants;
mod documents;
mod gate;
mod lower;
mod raw;
mod settled;
mod strict;
mod survey;
mod tolerant;
pub(crate) mod wrappers;

pub(crate) use lower::{Cwd, Simple};
pub(crate) use settled::settled;
pub(crate) use strict::{Flow, Redirect, Word};
pub(crate) use survey::{
    Fit, Found, Kind, LISTERS, NAME, Reach, Redirection, Survey, base_name, names_program,
    reaches_interpreter, resolve, survey, untaken,
};
pub(crate) use tolerant::{GAP, Piece};

use std::ops::Range;
use std::path::Path;

/// Text that is not plain is given to the parser only up to this many bytes: on such text the
/// parser may take long, and its answer could only confirm that it is to be asked about.
const TRIED: usize = 4096;
/// Plain text past this many bytes is asked about: the parser takes about half a millisecond for
/// each thousand of them.
const PLAIN: usize = 8 * 1024;

/// Why text is not proven to be harmless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle(pub(crate) String);

impl Obstacle {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Whether text is Bash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// It parses.
    Sound,
    /// It does not.
    Broken,
    /// It was not tried.
    Untried,
}

/// What one reading of a command gave.
pub(crate) struct Proof {
    /// Whether the text parses at all.
    pub(crate) grammar: Grammar,
    /// The simple commands, in order, where every word is known.
    pub(crate) parts: Result<Vec<Simple>, Obstacle>,
}

/// Lowers `text`, run in `cwd`, to simple commands, if every byte of it is understood.
pub(crate) fn prove(text: &str, cwd: &Path) -> Proof {
    let read = (text.len() <= PLAIN).then(|| documents::with_literals(text));
    let text = read.as_deref().unwrap_or(text);
    let plain = plain(text, cwd);
    if plain.is_err() && text.len() > TRIED {
        return Proof { grammar: Grammar::Untried, parts: plain.map(|(parts, _)| parts) };
    }
    let gate = gate::parse(text);
    let grammar = match &gate {
        Some(gate) if gate.sound => Grammar::Sound,
        Some(_) | None => Grammar::Broken,
    };
    let parts = plain.and_then(|(parts, words)| agree(gate, &parts, &words).map(|()| parts));
    Proof { grammar, parts }
}

type Plain = (Vec<Simple>, Vec<Range<usize>>);

/// The simple commands of plain text and the places of all its words, by our own reading alone.
fn plain(text: &str, cwd: &Path) -> Result<Plain, Obstacle> {
    if text.len() > PLAIN {
        return Err(Obstacle::new("it is too long to be understood as a whole"));
    }
    if let Some(c) = deceptive(text) {
        return Err(Obstacle::new(format!(
            "it holds the character {}, which is not what it looks like",
            c.escape_unicode()
        )));
    }
    let tokens = strict::tokens(text)?;
    let words = lower::words(&tokens);
    let parts = lower::lower(text, tokens, cwd)?;
    Ok((parts, words))
}

/// Whether the parser reads the text as we do.
fn agree(
    gate: Option<gate::Gate>,
    parts: &[Simple],
    words: &[Range<usize>],
) -> Result<(), Obstacle> {
    let gate = gate.ok_or_else(|| Obstacle::new("it is too involved to be understood"))?;
    if !gate.sound {
        return Err(Obstacle::new("it does not parse as Bash"));
    }
    if let Some(kind) = gate.foreign {
        return Err(Obstacle::new(format!(
            "it uses shell syntax ({kind}) that is never allowed unasked"
        )));
    }
    let commands = parts.iter().filter(|part| !part.argv.is_empty()).count();
    if words != gate.words || commands != gate.commands {
        return Err(Obstacle::new("two readings of it disagree"));
    }
    Ok(())
}

/// The first character of a text that may look like another, or like nothing.
fn deceptive(text: &str) -> Option<char> {
    let is_harmless = |b: u8| matches!(b, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(is_harmless) {
        return None;
    }
    text.chars().find(|c| contract::text::is_deceptive(*c))
}

/// Quotes a word so that the shell, and a rule, read it back as it is.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('=') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\"'\"'"))
    }
}
