//! Where vi's motions lead in a text, and its text objects. Changes nothing.

use super::super::Buffer;
use super::command::Verb;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) at: usize,
    kind: Kind,
}

/// The part of a motion that an operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Up to the letter it leads to.
    Before,
    /// That letter too.
    With,
    /// Whole lines.
    Lines,
}

/// The text that an operator works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) is_lines: bool,
}

/// The text that an operator works on with a motion; `find` is the last letter searched for.
pub(super) fn span(
    verb: Verb,
    count: usize,
    operator: char,
    (buffer, find): (&Buffer, Option<(char, char)>),
) -> Option<Span> {
    let (text, cursor) = (buffer.raw(), buffer.cursor());
    if let Verb::Object { is_around, name } = verb {
        let (from, to) = object(text, cursor, name, is_around)?;
        return Some(Span { from, to, is_lines: false });
    }
    if verb == Verb::Lines {
        let last = (1..count).fold(cursor, |at, _| below(text, at).unwrap_or(at));
        return Some(lines(text, cursor, last));
    }
    let is_blank = text[cursor..].chars().next().is_none_or(char::is_whitespace);
    let verb = match verb {
        // To change a word leaves the blanks behind it.
        Verb::Letter('w') if operator == 'c' && !is_blank => Verb::Letter('e'),
        Verb::Letter('W') if operator == 'c' && !is_blank => Verb::Letter('E'),
        verb => verb,
    };
    let Reach { at, kind } = reach(verb, count, buffer, find)?;
    if kind == Kind::Lines {
        return Some(lines(text, cursor.min(at), cursor.max(at)));
    }
    let to = if kind == Kind::With { next(text, cursor.max(at)) } else { cursor.max(at) };
    // The last word of a line does not take the end of the line with it.
    let is_word = matches!(verb, Verb::Letter('w' | 'W'));
    let end = end_of_line(text, cursor);
    let to = if is_word && count == 1 { to.min(end) } else { to };
    Some(Span { from: cursor.min(at), to, is_lines: false })
}

/// The text between the cursor and another place, both letters included, or their lines.
pub(super) fn between(buffer: &Buffer, other: usize, is_lines: bool) -> Span {
    let (text, cursor) = (buffer.raw(), buffer.cursor());
    let (from, to) = (cursor.min(other).min(text.len()), cursor.max(other).min(text.len()));
    if is_lines {
        return lines(text, from, to);
    }
    Span { from, to: next(text, to), is_lines: false }
}

pub(super) fn reach(
    verb: Verb,
    count: usize,
    buffer: &Buffer,
    find: Option<(char, char)>,
) -> Option<Reach> {
    let (text, cursor) = (buffer.raw(), buffer.cursor());
    let (start, end) = (buffer.line_start(), buffer.line_end());
    let times = |step: &dyn Fn(usize) -> usize| (0..count).fold(cursor, |at, _| step(at));
    let before = |at| Some(Reach { at, kind: Kind::Before });
    let with = |at| Some(Reach { at, kind: Kind::With });
    let by_lines = |at| Some(Reach { at, kind: Kind::Lines });
    match verb {
        Verb::Letter(letter) => match letter {
            'h' => before(times(&|at| previous(text, at)).max(start)),
            'l' | ' ' => before(times(&|at| next(text, at)).min(end)),
            'w' | 'W' => before(times(&|at| next_word(text, at, letter == 'W'))),
            'e' | 'E' => with(times(&|at| word_end(text, at, letter == 'E'))),
            'b' | 'B' => before(times(&|at| word_before(text, at, letter == 'B'))),
            '0' => before(start),
            '^' => before(start + indent(text, start)),
            '$' => before(end),
            'G' => by_lines(text.len()),
            'j' => {
                let line = (0..count).try_fold(cursor, |at, _| below(text, at))?;
                by_lines(column(text, line, cursor - start))
            }
            'k' => {
                let line = (0..count).try_fold(start, |at, _| {
                    let above = at.checked_sub(1)?;
                    Some(start_of_line(text, above))
                })?;
                by_lines(column(text, line, cursor - start))
            }
            _ => None,
        },
        Verb::Begin => by_lines(0),
        Verb::Find(how, letter) => {
            let (way, letter) = match (how, find) {
                (';', Some(find)) => find,
                (',', Some((way, letter))) => (turned(way), letter),
                (';' | ',', None) => return None,
                _ => (how, letter),
            };
            let at = (0..count).try_fold(cursor, |at, number| {
                let is_again = number > 0 || way != how;
                find_on_line(text, at, (way, letter), is_again)
            })?;
            if way.is_lowercase() { with(at) } else { before(at) }
        }
        Verb::Lines | Verb::Object { .. } | Verb::Replace(_) | Verb::Again => None,
    }
}

fn turned(how: char) -> char {
    if how.is_lowercase() { how.to_ascii_uppercase() } else { how.to_ascii_lowercase() }
}

/// The next place of a letter on the line; looked for again, not the one that was found before.
fn find_on_line(
    text: &str,
    at: usize,
    (how, letter): (char, char),
    is_again: bool,
) -> Option<usize> {
    let (start, end) = (start_of_line(text, at), end_of_line(text, at));
    if how.is_lowercase() {
        let from = if how == 't' && is_again { next(text, at) } else { at };
        let from = next(text, from).min(end);
        let found = from + text[from..end].find(letter)?;
        Some(if how == 't' { previous(text, found) } else { found })
    } else {
        let to = if how == 'T' && is_again { previous(text, at) } else { at }.max(start);
        let found = start + text[start..to].rfind(letter)?;
        Some(if how == 'T' { next(text, found) } else { found })
    }
}

pub(super) fn next(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(at, |letter| at + letter.len_utf8())
}

pub(super) fn previous(text: &str, at: usize) -> usize {
    text[..at].chars().next_back().map_or(at, |letter| at - letter.len_utf8())
}

fn start_of_line(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

fn end_of_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length)
}

pub(super) fn indent(text: &str, start: usize) -> usize {
    let line = &text[start..end_of_line(text, start)];
    line.len() - line.trim_start().len()
}

/// Where the next line begins; none at the last one.
fn below(text: &str, at: usize) -> Option<usize> {
    let end = end_of_line(text, at);
    (end < text.len()).then_some(end + 1)
}

/// A column of the line at a place.
fn column(text: &str, line: usize, column: usize) -> usize {
    let start = start_of_line(text, line);
    start + text[start..end_of_line(text, line)].floor_char_boundary(column)
}

fn lines(text: &str, first: usize, last: usize) -> Span {
    Span { from: start_of_line(text, first), to: end_of_line(text, last), is_lines: true }
}

/// Which letters make a word together.
fn class(letter: char, is_big: bool) -> u8 {
    match letter {
        letter if letter.is_whitespace() => 0,
        letter if is_big || letter.is_alphanumeric() || letter == '_' => 1,
        _ => 2,
    }
}

/// The end of the letters of one class from a place on.
fn end_of_run(text: &str, at: usize, is_big: bool) -> usize {
    let Some(first) = text[at..].chars().next().map(|it| class(it, is_big)) else { return at };
    let rest = text[at..].char_indices().find(|(_, it)| class(*it, is_big) != first);
    rest.map_or(text.len(), |(length, _)| at + length)
}

fn skip_blanks(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start().len()
}

fn next_word(text: &str, at: usize, is_big: bool) -> usize {
    skip_blanks(text, end_of_run(text, at, is_big))
}

fn word_end(text: &str, at: usize, is_big: bool) -> usize {
    let begin = skip_blanks(text, next(text, at));
    previous(text, end_of_run(text, begin, is_big)).max(at)
}

fn word_before(text: &str, at: usize, is_big: bool) -> usize {
    let before = text[..at].trim_end();
    let Some(last) = before.chars().next_back().map(|it| class(it, is_big)) else { return 0 };
    let rest = before.char_indices().rev().find(|(_, it)| class(*it, is_big) != last);
    rest.map_or(0, |(place, letter)| place + letter.len_utf8())
}

/// A word, or the text within quotes or brackets, with them if `is_around`.
fn object(text: &str, cursor: usize, name: char, is_around: bool) -> Option<(usize, usize)> {
    let inner = |open: usize, close: usize| {
        if is_around { (open, next(text, close)) } else { (next(text, open), close) }
    };
    match name {
        'w' | 'W' => {
            let is_big = name == 'W';
            let from = (text[..cursor].char_indices().rev())
                .take_while(|(_, it)| {
                    let here = text[cursor..].chars().next().unwrap_or(' ');
                    class(*it, is_big) == class(here, is_big) && *it != '\n'
                })
                .last()
                .map_or(cursor, |(place, _)| place);
            let to = end_of_run(text, cursor, is_big);
            let end = end_of_line(text, cursor);
            let to = to.min(end);
            Some(if is_around { with_blanks(text, from, to) } else { (from, to) })
        }
        '"' | '\'' | '`' => {
            let (start, end) = (start_of_line(text, cursor), end_of_line(text, cursor));
            let marks: Vec<usize> =
                text[start..end].match_indices(name).map(|(at, _)| start + at).collect();
            let pair = marks.chunks_exact(2).find(|pair| pair[1] >= cursor)?;
            let (from, to) = inner(pair[0], pair[1]);
            Some(if is_around { with_blanks(text, from, to) } else { (from, to) })
        }
        '(' | ')' | 'b' => bracket(text, cursor, ('(', ')')).map(|(a, b)| inner(a, b)),
        '[' | ']' => bracket(text, cursor, ('[', ']')).map(|(a, b)| inner(a, b)),
        '{' | '}' | 'B' => bracket(text, cursor, ('{', '}')).map(|(a, b)| inner(a, b)),
        '<' | '>' => bracket(text, cursor, ('<', '>')).map(|(a, b)| inner(a, b)),
        _ => None,
    }
}

/// A part of a line with the blanks after it; with those before it where there are none.
fn with_blanks(text: &str, from: usize, to: usize) -> (usize, usize) {
    let after = skip_blanks(text, to).min(end_of_line(text, to));
    if after > to {
        return (from, after);
    }
    let start = start_of_line(text, from);
    let before = start + text[start..from].trim_end().len();
    // The white space at the start of a line is its indentation.
    (if before == start { from } else { before }, to)
}

fn bracket(text: &str, cursor: usize, (open, close): (char, char)) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let is_on_close = text[cursor..].starts_with(close);
    let mut before =
        text[..if is_on_close { cursor } else { next(text, cursor) }].char_indices().rev();
    let from = before.find_map(|(at, letter)| {
        if letter == close {
            depth += 1;
        } else if letter == open {
            if depth == 0 {
                return Some(at);
            }
            depth -= 1;
        }
        None
    })?;
    let mut depth = 0_usize;
    let to = text[from..].char_indices().find_map(|(at, letter)| {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth -= 1;
            if depth == 0 {
                return Some(from + at);
            }
        }
        None
    })?;
    Some((from, to))
}
