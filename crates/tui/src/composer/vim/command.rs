//! The grammar of vi's normal mode: letters in, a command out, or the word that more must come.

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// How many times.
    pub(super) count: usize,
    /// What is done over the motion: `d`, `c`, `y`, or `U`, `u`, `~` for capital and small letters.
    pub(super) operator: Option<char>,
    pub(super) what: EventKind,
}

/// What a command does, or where its motion leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    /// A command or a motion of one letter.
    Letter(char),
    /// Whole lines: the operator's letter twice.
    Lines,
    /// The beginning of all: `gg`.
    Begin,
    /// To a letter on the line: `f`, `F`, `t` or `T`; `;` and `,` again.
    Find(char, char),
    /// What is within a pair, or with it.
    Object { is_around: bool, name: char },
    /// Another letter in place of the one at the cursor.
    Replace(char),
    /// The last change once more.
    Again,
}

impl Command {
    /// Whether it changes the text.
    pub(super) fn changes(self) -> bool {
        match (self.operator, self.what) {
            (Some(operator), _) => operator != 'y',
            (None, EventKind::Letter(letter)) => "xXDCsSpPJ~aAiIoO".contains(letter),
            (None, EventKind::Replace(_)) => true,
            (None, _) => false,
        }
    }
}

/// What letters come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// This.
    Command(Command),
    /// More must follow.
    More,
    /// Nothing that is known.
    Nothing,
}

/// Reads letters.
pub(super) fn parse(letters: &str) -> Parsed {
    let (first, rest) = number(letters);
    let (operator, after) = operator(rest);
    let (second, rest) = if operator.is_some() { number(after) } else { (None, rest) };
    let count = (first.unwrap_or(1) * second.unwrap_or(1)).clamp(1, 999);
    let mut rest = rest.chars();
    let Some(letter) = rest.next() else { return Parsed::More };
    let argument = rest.next();
    let what = match (letter, argument) {
        (':', _) if operator.is_none() => return Parsed::More,
        (letter, _) if Some(letter) == operator => EventKind::Lines,
        ('g' | 'f' | 'F' | 't' | 'T', None) => return Parsed::More,
        ('r', None) if operator.is_none() => return Parsed::More,
        ('i' | 'a', None) if operator.is_some() => return Parsed::More,
        ('g', Some(again)) if Some(again) == operator => EventKind::Lines,
        ('g', Some('g')) => EventKind::Begin,
        ('f' | 'F' | 't' | 'T', Some(wanted)) => EventKind::Find(letter, wanted),
        (';' | ',', _) => EventKind::Find(letter, letter),
        ('r', Some(put)) => EventKind::Replace(put),
        ('i' | 'a', Some(name)) => EventKind::Object { is_around: letter == 'a', name },
        ('.', _) if operator.is_none() => EventKind::Again,
        (letter, _) if "hl wWeEbB0^$Gjk".contains(letter) => EventKind::Letter(letter),
        (letter, _) if operator.is_none() && "iaIAoOxXDCsSYpPuJ~".contains(letter) => {
            EventKind::Letter(letter)
        }
        _ => return Parsed::Nothing,
    };
    Parsed::Command(Command { count, operator, what })
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
