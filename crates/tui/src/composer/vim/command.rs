//! The grammar of vi's normal mode: letters in, a command out, or the word that more must come.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) count: usize,
    /// The operator over the motion: `d`, `c`, `y`, or `U`, `u`, `~` for capital and small letters.
    pub(super) operator: Option<char>,
    pub(super) verb: Verb,
}

/// A command without an operator, or the motion of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// A command or a motion of one letter.
    Letter(char),
    /// Whole lines: the operator's letter twice.
    Lines,
    /// The beginning of all: `gg`.
    Begin,
    /// To a letter on the line: `f`, `F`, `t` or `T`; `;` and `,` again.
    Find(char, char),
    /// The inside of a pair, or all of it.
    Object {
        is_around: bool,
        name: char,
    },
    Replace(char),
    Again,
}

impl Command {
    pub(super) fn changes(self) -> bool {
        match (self.operator, self.verb) {
            (Some(operator), _) => operator != 'y',
            (None, Verb::Letter(letter)) => "xXDCsSpPJ~aAiIoO".contains(letter),
            (None, Verb::Replace(_)) => true,
            (None, _) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParseResult {
    Command(Command),
    More,
    Nothing,
}

pub(super) fn parse(letters: &str) -> ParseResult {
    let (first, rest) = number(letters);
    let (operator, after) = operator(rest);
    let (second, rest) = if operator.is_some() { number(after) } else { (None, rest) };
    let count = (first.unwrap_or(1) * second.unwrap_or(1)).clamp(1, 999);
    let mut rest = rest.chars();
    let Some(letter) = rest.next() else { return ParseResult::More };
    let argument = rest.next();
    let verb = match (letter, argument) {
        (':', _) if operator.is_none() => return ParseResult::More,
        (letter, _) if Some(letter) == operator => Verb::Lines,
        ('g' | 'f' | 'F' | 't' | 'T', None) => return ParseResult::More,
        ('r', None) if operator.is_none() => return ParseResult::More,
        ('i' | 'a', None) if operator.is_some() => return ParseResult::More,
        ('g', Some(again)) if Some(again) == operator => Verb::Lines,
        ('g', Some('g')) => Verb::Begin,
        ('f' | 'F' | 't' | 'T', Some(wanted)) => Verb::Find(letter, wanted),
        (';' | ',', _) => Verb::Find(letter, letter),
        ('r', Some(put)) => Verb::Replace(put),
        ('i' | 'a', Some(name)) => Verb::Object { is_around: letter == 'a', name },
        ('.', _) if operator.is_none() => Verb::Again,
        (letter, _) if "hl wWeEbB0^$Gjk".contains(letter) => Verb::Letter(letter),
        (letter, _) if operator.is_none() && "iaIAoOxXDCsSYpPuJ~".contains(letter) => {
            Verb::Letter(letter)
        }
        _ => return ParseResult::Nothing,
    };
    ParseResult::Command(Command { count, operator, verb })
}

/// The operator that letters begin with, and the rest. Those for capital and small letters have a
/// `g` before them.
fn operator(letters: &str) -> (Option<char>, &str) {
    let (known, rest) = match letters.strip_prefix('g') {
        Some(rest) => ("uU~", rest),
        None => ("dcy", letters),
    };
    let mut rest = rest.chars();
    let operator = rest.next().filter(|it| known.contains(*it));
    (operator, rest.as_str())
}

/// The number that letters begin with, and the rest.
fn number(letters: &str) -> (Option<usize>, &str) {
    if letters.starts_with('0') {
        return (None, letters);
    }
    let end = letters.find(|c: char| !c.is_ascii_digit()).unwrap_or(letters.len());
    (letters[..end].parse().ok().map(|it: usize| it.min(999)), &letters[end..])
}
