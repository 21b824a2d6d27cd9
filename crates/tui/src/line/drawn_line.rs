//! A line on the terminal, over as many rows as it takes: what to write so that the one that stands
//! there becomes another. Nothing is written again that may stay.

use unicode_segmentation::UnicodeSegmentation;

use crate::screen::raw;
use crate::text::columns;

/// A line as it stands on the terminal: its mark, what is written, and where the cursor is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DrawnLine {
    pub(super) text: String,
    /// In bytes.
    pub(super) cursor: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// A row of the line, and a column in it.
type Place = (usize, usize);

impl DrawnLine {
    /// The bytes that turn it into another.
    pub(super) fn becomes(&self, next: &Self, size: Size) -> String {
        let at_end = |line: &Self| line.cursor == line.text.len();
        let erased = self.text.strip_prefix(&next.text).filter(|_| at_end(self) && at_end(next));
        if let Some(erased) = erased.filter(|_| self.ends_in_row_of(next, size)) {
            // Within a row single cells are erased, so that this works on every terminal.
            return "\x08 \x08".repeat(columns(erased));
        }
        if raw::is_simple() && !next.text.starts_with(&self.text) {
            return format!("\r\n{}", next.text);
        }
        let same = common(&self.text, &next.text);
        // A wide character may have stood, or may come to stand, in the next row.
        let (was, will_be) = (self.place(same, size), next.place(same, size));
        let target = was.min(will_be);
        if same < self.text.len() && target.0 < self.top(size) {
            // The difference has scrolled off the screen.
            let whole = Self::default().becomes(next, size);
            return format!("{}\r\n{whole}", self.leave(size));
        }
        let mut out = String::new();
        let mut at = self.cursor_place(size);
        let end = next.place(next.text.len(), size);
        if self.text != next.text {
            out.push_str(&moves(at, target));
            // Before, since a wide character that moves to the next row leaves a cell as it was.
            if same < self.text.len() {
                out.push_str("\x1b[J");
            }
            out.push_str(&next.text[same..]);
            if end.1 == 0 && end.0 > 0 && same < next.text.len() {
                // The row is full: a terminal goes to the next one only for what follows.
                out.push_str(" \r");
            }
            at = end;
        }
        out.push_str(&moves(at, next.cursor_place(size)));
        out
    }

    /// The bytes that move the cursor to its end.
    pub(super) fn leave(&self, size: Size) -> String {
        moves(self.cursor_place(size), self.place(self.text.len(), size))
    }

    /// Returns true if it ends in the same row as another.
    fn ends_in_row_of(&self, other: &Self, size: Size) -> bool {
        let row = |it: &Self| it.place(it.text.len(), size).0;
        row(self) == row(other)
    }

    /// The first of its rows that is on the screen.
    fn top(&self, size: Size) -> usize {
        let (last, _) = self.place(self.text.len(), size);
        (last + 1).saturating_sub(size.rows.max(1))
    }

    /// Where the cursor is: no higher than the screen begins.
    fn cursor_place(&self, size: Size) -> Place {
        let (row, column) = self.place(self.cursor, size);
        (row.max(self.top(size)), column)
    }

    /// Where the character at a byte stands.
    fn place(&self, at: usize, size: Size) -> Place {
        let width = size.columns.max(1);
        let (mut row, mut column) = (0, 0);
        for grapheme in self.text[..at].graphemes(true) {
            let wide = columns(grapheme);
            if column + wide > width {
                (row, column) = (row + 1, 0);
            }
            column += wide;
        }
        // At the end there is a column for what is typed next.
        let next = self.text[at..].graphemes(true).next().map_or(1, columns);
        if column + next > width { (row + 1, 0) } else { (row, column) }
    }
}

/// Bytes that two texts begin with, in whole characters.
fn common(one: &str, other: &str) -> usize {
    let both = one.graphemes(true).zip(other.graphemes(true));
    both.take_while(|(one, other)| one == other).map(|(one, _)| one.len()).sum()
}

/// The bytes that move the cursor.
fn moves(from: Place, to: Place) -> String {
    let by = |count: usize, letter: char| match count {
        0 => String::new(),
        count => format!("\x1b[{count}{letter}"),
    };
    let up_or_down = by(from.0.saturating_sub(to.0), 'A') + &by(to.0.saturating_sub(from.0), 'B');
    let across = match (from.1, to.1) {
        (1.., 0) => "\r".to_owned(),
        (from, to) => by(from.saturating_sub(to), 'D') + &by(to.saturating_sub(from), 'C'),
    };
    up_or_down + &across
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    const SIZE: Size = Size { columns: 10, rows: 6 };

    fn line(text: &str, cursor: usize) -> DrawnLine {
        DrawnLine { text: text.to_owned(), cursor }
    }

    fn terminal() -> vt100::Parser {
        let narrow = |length: usize| u16::try_from(length).ok().and_then(NonZeroU16::new).unwrap();
        vt100::Parser::new(narrow(SIZE.rows), narrow(SIZE.columns), 0)
    }

    fn end(text: &str) -> DrawnLine {
        line(text, text.len())
    }

    #[test]
    fn drawn_line_appends_across_rows() {
        assert_eq!(end("> a").becomes(&end("> ab"), SIZE), "b");
        let text = "> words that go on and on";
        let mut written = String::new();
        for at in 2..text.len() {
            written.push_str(&end(&text[..at]).becomes(&end(&text[..=at]), SIZE));
        }
        assert_eq!(written.replace(" \r", ""), text[2..].replace(" \r", ""));
        assert_eq!(written.len(), text.len() - 2 + 2 * 2, "two rows were full");
    }

    #[test]
    fn drawn_line_rewrites_from_the_change() {
        let written = line("> abcd", 4).becomes(&line("> abxcd", 5), SIZE);
        assert_eq!(written, "\x1b[Jxcd\x1b[2D");
        assert_eq!(end("> ab").becomes(&end("> a"), SIZE), "\x08 \x08");
        assert_eq!(end("> ab").becomes(&line("> ab", 2), SIZE), "\x1b[2D");
    }

    /// One line after the other on a terminal: at last it shows what it would if the last one had
    /// been written at once.
    #[test]
    fn drawn_line_matches_the_terminal_after_any_change() {
        let texts = [
            "> ",
            "> a",
            "> abcdefgh",
            "> abcdefghi",
            "> abcdefg漢字",
            "> abc漢漢漢漢漢漢 and more words",
            "> words that go on, and on",
            "(x) words that go on, and on",
            "> 👍👍👍👍👍 é",
        ];
        let mut seed = 7_usize;
        let mut before = DrawnLine::default();
        let mut terminal = terminal();
        for step in 0..400 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let text = texts[(seed >> 33) % texts.len()];
            let places: Vec<usize> =
                text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            let next = line(text, places[(seed >> 40) % places.len()]);
            terminal.process(before.becomes(&next, SIZE).as_bytes());
            let mut fresh = self::terminal();
            fresh.process(DrawnLine::default().becomes(&next, SIZE).as_bytes());
            let (shown, expected) = (terminal.screen(), fresh.screen());
            let (lines, wanted) = (shown.contents(), expected.contents());
            assert_eq!(lines.trim_end(), wanted.trim_end(), "{step}: {before:?} {next:?}");
            assert_eq!(shown.cursor_position(), expected.cursor_position(), "{step}: {next:?}");
            before = next;
        }
    }

    #[test]
    fn drawn_line_above_the_screen_is_rewritten() {
        let long = format!("> {}", "abcde fghi".repeat(9));
        let (whole, front) = (end(&long), line(&long, 2));
        assert_eq!(whole.becomes(&front, SIZE), "\x1b[5A", "as far as the screen goes");
        let next = line(&long.replacen("> ", "> x", 1), 3);
        let written = front.becomes(&next, SIZE);
        assert!(written.starts_with("\x1b[5B") && written.contains("\r\n> xabc"), "{written:?}");
    }
}
