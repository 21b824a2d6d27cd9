//! Text on its way to the screen: made safe once, measured in columns, and broken into rows that
//! know what of them is text and what is decoration.

use contract::text::{escaped, is_hidden, visible};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::link::Link;

pub(crate) const TAB: usize = 4;
/// Marks the blanks of a tab in a style, so that a copy has the tab; nothing draws it.
pub(crate) const OF_TAB: Modifier = Modifier::RAPID_BLINK;
/// Marks bars and frames among the text of a row in a style, so that a copy leaves them out;
/// nothing draws it.
pub(crate) const OF_FRAME: Modifier = Modifier::SLOW_BLINK;

/// The bar between the cells of a table.
pub(crate) const BAR: &str = "│";

pub(crate) type Piece = (Style, String);

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) line: Line<'static>,
    /// Columns at its left that are decoration.
    pub(crate) lead: u16,
    /// How it follows the row above when it is copied.
    pub(crate) joint: Joint,
    /// Where the links in it lead.
    pub(crate) links: Vec<Link>,
}

/// How the text of a row follows that of the row above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Joint {
    /// On a line of its own.
    #[default]
    Line,
    /// After a space at which the line was broken.
    Space,
    /// At once: a word was broken.
    Tight,
    /// It has no text.
    Decoration,
}

impl Row {
    /// A row of pieces behind decoration.
    pub(crate) fn new(lead: &[Piece], pieces: Vec<Piece>, joint: Joint) -> Self {
        let columns: usize = lead.iter().map(|(_, text)| text.width()).sum();
        let spans =
            lead.iter().cloned().chain(pieces).map(|(style, text)| Span::styled(text, style));
        let line = Line::from(spans.collect::<Vec<_>>());
        Self { line, lead: narrow(columns), joint, links: Vec::new() }
    }

    /// A row that is all decoration.
    pub(crate) fn decoration(pieces: &[Piece]) -> Self {
        Self::new(pieces, Vec::new(), Joint::Decoration)
    }

    /// An empty row between two things.
    pub(crate) fn gap() -> Self {
        Self { joint: Joint::Decoration, ..Self::default() }
    }

    /// Has it follow the row above in some way, unless it has no text.
    pub(crate) fn follow(&mut self, joint: Joint) {
        if self.joint != Joint::Decoration {
            self.joint = joint;
        }
    }

    /// The text, without decoration.
    pub(crate) fn text(&self) -> String {
        let all: String = self.line.spans.iter().map(|span| span.content.as_ref()).collect();
        skip_columns(&all, usize::from(self.lead)).to_owned()
    }
}

/// Pieces before the rows of a broken line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leads {
    /// Before the first.
    pub(crate) first: Vec<Piece>,
    /// Before the others.
    pub(crate) rest: Vec<Piece>,
}

impl Leads {
    /// One lead for all rows.
    pub(crate) fn same(lead: Vec<Piece>) -> Self {
        Self { first: lead.clone(), rest: lead }
    }

    fn columns(&self) -> usize {
        let of = |lead: &[Piece]| lead.iter().map(|(_, text)| text.width()).sum::<usize>();
        of(&self.first).max(of(&self.rest))
    }
}

/// Text from outside, safe to draw. Line feeds and tabs stay.
pub(crate) fn clean(text: &str) -> String {
    visible(text).into_owned()
}

/// Prose from outside, safe to draw: like [`clean`], but what joins letters (in Persian, in Hindi)
/// and pictures (of families, of professions) does. It is drawn in pieces, so that a joiner may stand at
/// the end of one: no other rule than this could know what it joins.
pub(crate) fn prose(text: &str) -> String {
    // Most of what comes is plain; a long text is gone through quickly.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.to_owned();
    }
    let may_join = |c: Option<char>| c.is_none_or(|c| !c.is_ascii() && !is_hidden(c));
    let joins = |at: usize, c: char| {
        let (before, after) = (text[..at].chars().next_back(), text[at..].chars().nth(1));
        matches!(c, '\u{200c}' | '\u{200d}') && may_join(before) && may_join(after)
    };
    let places = text.char_indices().filter(|&(at, c)| is_hidden(c) && !joins(at, c));
    escaped(text, places).into_owned()
}

/// Output of a program, safe to draw: its colors and moves of the cursor are left out, and each
/// text that it wrote over a line stands on a line of its own.
pub fn printed(text: &str) -> String {
    if !text.contains(['\x1b', '\r']) {
        return clean(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\x1b', '\r']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix('\r') {
            rest = after.trim_start_matches('\r');
            let is_line = plain.is_empty() || plain.ends_with('\n');
            if !rest.starts_with('\n') && !is_line {
                plain.push('\n');
            }
        } else {
            let length = sequence(rest);
            if length == 0 {
                // No sequence: `clean` shows what it is.
                plain.push('\x1b');
            }
            rest = &rest[length.max(1)..];
        }
    }
    plain.push_str(rest);
    clean(&plain)
}

/// Bytes of the escape sequence that a text begins with; none where it is not one, or not whole.
fn sequence(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'[') => {
            let inner = bytes[2..].iter().position(|byte| !(0x20..=0x3f).contains(byte));
            let ends = |at: &usize| (0x40..=0x7e).contains(&bytes[2 + at]);
            inner.filter(ends).map_or(0, |at| at + 3)
        }
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let bell = text.find('\x07').map(|at| at + 1);
            let end = text.find("\x1b\\").map(|at| at + 2);
            bell.into_iter().chain(end).min().unwrap_or(0)
        }
        Some(b'(' | b')' | b'#') if bytes.get(2).is_some_and(u8::is_ascii_graphic) => 3,
        Some(b'=' | b'>' | b'7' | b'8' | b'c' | b'D' | b'E' | b'H' | b'M') => 2,
        _ => 0,
    }
}

/// A number with what it counts.
pub(crate) fn counted(number: usize, one: &str, more: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {more}") }
}

/// Text from outside that may not pretend to be several lines.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\u{a}").replace('\t', " ")
}

/// A number of columns or rows as the screen counts them.
pub(crate) fn narrow(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text cut to so many columns, with `…` where something is missing.
pub fn clipped(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut head = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let width = grapheme.width();
        if used + width + 1 > room {
            break;
        }
        used += width;
        head.push_str(grapheme);
    }
    if room > 0 {
        head.push('…');
    }
    head
}

/// The rest of a text after so many columns.
pub(crate) fn skip_columns(text: &str, count: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        if used >= count {
            return &text[at..];
        }
        used += grapheme.width();
    }
    ""
}

/// Breaks prose into rows of at most `width` columns, at spaces where it can.
pub(crate) fn wrap(pieces: &[Piece], width: usize, leads: &Leads) -> Vec<Row> {
    let mut filler = RowFiller::new(width, leads);
    for (style, text) in pieces {
        for (number, part) in text.split([' ', '\t', '\n']).enumerate() {
            if number > 0 {
                filler.end_word();
                filler.spaces += 1;
            }
            if !part.is_empty() {
                filler.word.push((*style, part));
            }
        }
    }
    filler.end_word();
    filler.end_row();
    filler.rows
}

/// Breaks verbatim text, one line of it, into rows of at most `width` columns. Keeps every space.
pub(crate) fn fold(pieces: &[Piece], width: usize, leads: &Leads) -> Vec<Row> {
    let mut filler = RowFiller::new(width, leads);
    for (style, text) in pieces {
        for (number, part) in text.split('\t').enumerate() {
            if number > 0 {
                filler.take(style.add_modifier(OF_TAB), &" ".repeat(TAB));
            }
            filler.take(*style, part);
        }
    }
    filler.end_row();
    filler.rows
}

/// The rows of lines of prose, each behind `lead`; the first follows what is above it by `joint`.
pub(crate) fn wrapped(
    text: &str,
    joint: Joint,
    style: Style,
    (width, lead): (usize, &Piece),
) -> Vec<Row> {
    let leads = Leads::same(vec![lead.clone()]);
    line_rows(text, joint, |line| wrap(&[(style, line.to_owned())], width, &leads))
}

/// The rows of lines, each as `layout` breaks it; the first follows what is above it by `joint`.
pub(crate) fn line_rows(
    text: &str,
    joint: Joint,
    layout: impl FnMut(&str) -> Vec<Row>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = text.lines().flat_map(layout).collect();
    if let Some(first) = rows.first_mut() {
        first.joint = joint;
    }
    rows
}

/// Rows on the way to being full.
struct RowFiller<'a> {
    room: usize,
    leads: &'a Leads,
    rows: Vec<Row>,
    row: Vec<Piece>,
    used: usize,
    spaces: usize,
    joint: Joint,
    word: Vec<(Style, &'a str)>,
}

impl<'a> RowFiller<'a> {
    fn new(width: usize, leads: &'a Leads) -> Self {
        Self {
            room: width.saturating_sub(leads.columns()).max(1),
            leads,
            rows: Vec::new(),
            row: Vec::new(),
            used: 0,
            spaces: 0,
            joint: Joint::Line,
            word: Vec::new(),
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let columns: usize = self.word.iter().map(|(_, part)| word_columns(part)).sum();
        let spaces = std::mem::take(&mut self.spaces);
        if self.used > 0 && self.used + spaces + columns > self.room {
            self.end_row();
            self.joint = Joint::Space;
        } else if self.used > 0 {
            let style = self.row.last().map_or_else(Style::default, |(style, _)| *style);
            let blank = if self.word[0].0 == style { style } else { Style::default() };
            match spaces {
                1 => self.put(blank, " "),
                _ => self.put(blank, &" ".repeat(spaces)),
            }
            self.used += spaces;
        }
        for (style, part) in std::mem::take(&mut self.word) {
            let columns = word_columns(part);
            if self.used + columns <= self.room {
                self.used += columns;
                self.put(style, part);
            } else {
                self.take(style, part);
            }
        }
    }

    /// Adds text grapheme by grapheme, with a break wherever a row is full.
    fn take(&mut self, style: Style, text: &str) {
        if text.is_ascii() && self.used + text.len() <= self.room {
            self.used += text.len();
            self.put(style, text);
            return;
        }
        let mut begin = 0;
        for (at, grapheme) in text.grapheme_indices(true) {
            let width = grapheme.width();
            if self.used > 0 && self.used + width > self.room {
                self.put(style, &text[begin..at]);
                begin = at;
                self.end_row();
                self.joint = Joint::Tight;
            }
            self.used += width;
        }
        self.put(style, &text[begin..]);
    }

    fn put(&mut self, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.row.last_mut() {
            Some((last, so_far)) if *last == style => so_far.push_str(text),
            _ => self.row.push((style, text.to_owned())),
        }
    }

    fn end_row(&mut self) {
        let lead = if self.rows.is_empty() { &self.leads.first } else { &self.leads.rest };
        let row = std::mem::take(&mut self.row);
        self.rows.push(Row::new(lead, row, self.joint));
        self.used = 0;
        self.joint = Joint::Line;
    }
}

/// Columns of a word, most of which are plain letters.
fn word_columns(word: &str) -> usize {
    if word.bytes().all(|byte| byte.is_ascii_graphic()) { word.len() } else { word.width() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<Piece> {
        vec![(Style::default(), text.to_owned())]
    }

    fn texts(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.line.to_string()).collect()
    }

    #[test]
    fn joiners_are_escaped_outside_of_prose() {
        for joined in ["👨\u{200d}👩\u{200d}👧", "می\u{200c}خواهم", "क्\u{200d}ष", "\u{200d}👩"]
        {
            assert_eq!(prose(joined), joined);
        }
        assert_eq!(prose("a\u{200d}b \u{202e}"), "a\\u{200d}b \\u{202e}");
        assert_eq!(prose("👨\u{200d}\u{202e}"), "👨\\u{200d}\\u{202e}");
        assert_eq!(clean("👨\u{200d}👩"), "👨\\u{200d}👩");
    }

    #[test]
    fn prose_breaks_at_spaces_and_long_words_anywhere() {
        let rows = wrap(&plain("one two threefourfive"), 8, &Leads::default());
        assert_eq!(texts(&rows), ["one two", "threefou", "rfive"]);
        let joints: Vec<Joint> = rows.iter().map(|row| row.joint).collect();
        assert_eq!(joints, [Joint::Line, Joint::Space, Joint::Tight]);
    }

    #[test]
    fn no_row_is_wider_than_the_screen() {
        let text = "漢字漢字 a\u{301}bc 👍👍 wordwordword";
        for width in 3..12 {
            for rows in [
                wrap(&plain(text), width, &Leads::same(plain("│"))),
                fold(&plain(text), width, &Leads::default()),
            ] {
                assert!(rows.iter().all(|row| row.line.width() <= width), "{width}: {rows:?}");
            }
        }
    }

    #[test]
    fn verbatim_text_keeps_its_spaces() {
        let rows = fold(&plain("  a   b\tc"), 6, &Leads::default());
        assert_eq!(texts(&rows), ["  a   ", "b    c"]);
    }

    #[test]
    fn row_distinguishes_text_from_decoration() {
        let rows = wrap(&plain("ab cd"), 4, &Leads::same(plain("│ ")));
        assert_eq!(rows[0].text(), "ab");
        assert_eq!(rows[1].text(), "cd");
    }

    #[test]
    fn clipping_counts_columns() {
        assert_eq!(clipped("漢字漢字", 5), "漢字…");
        assert_eq!(clipped("short", 5), "short");
    }
}
