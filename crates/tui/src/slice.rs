//! A long text in slices that are laid out one by one. Only the places where they may end are looked
//! at, so that telling megabytes apart costs next to nothing.

use unicode_segmentation::UnicodeSegmentation;

use crate::text::Joint;

/// Bytes of a slice, about: laid out within a frame even where each of them is a row.
const SLICE_BYTES: usize = 8 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// How its first row follows the last one of the slice before.
    pub(crate) joint: Joint,
}

impl Slice {
    pub(crate) fn whole(text: &str) -> Self {
        Self { from: 0, to: text.len(), joint: Joint::Line }
    }

    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.from..self.to).unwrap_or_default()
    }

    /// Its part of the text, and so many bytes more.
    pub(crate) fn and_on(self, text: &str, more: usize) -> &str {
        let to = text.ceil_char_boundary(self.to + more);
        text.get(self.from..to).unwrap_or_default()
    }

    pub(crate) fn len(self) -> usize {
        self.to - self.from
    }
}

/// Where a line that is longer than a slice may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breaks {
    /// Where a row of so many columns is full.
    Columns(usize),
    Blanks,
}

/// A text in slices that end with a line wherever they can; none where it is empty.
pub(crate) fn slices(text: &str, breaks: Breaks) -> Vec<Slice> {
    let mut all = Vec::new();
    let (mut from, mut joint) = (0, Joint::Line);
    while from < text.len() {
        let (length, next) = end(&text[from..], breaks);
        all.push(Slice { from, to: from + length, joint });
        from += length;
        joint = next;
    }
    all
}

/// Where the first slice of a text ends, and how the next one follows.
fn end(text: &str, breaks: Breaks) -> (usize, Joint) {
    if text.len() <= 2 * SLICE_BYTES {
        return (text.len(), Joint::Line);
    }
    let window = contract::text::head(text, 2 * SLICE_BYTES);
    let middle = window.floor_char_boundary(SLICE_BYTES);
    if let Some(at) = window[middle..].find('\n') {
        return (middle + at + 1, Joint::Line);
    }
    let (at, joint) = match breaks {
        Breaks::Columns(room) => (full_row(window, room), Joint::Tight),
        Breaks::Blanks => match window[middle..].rfind(' ') {
            Some(at) => (middle + at + 1, Joint::Space),
            None => (last_letter(window), Joint::Tight),
        },
    };
    // A part that ends with its line includes the line feed.
    if text[at..].starts_with('\n') { (at + 1, Joint::Line) } else { (at, joint) }
}

/// The end of the last full row of a text whose last line goes on.
fn full_row(text: &str, room: usize) -> usize {
    let begin = text.rfind('\n').map_or(0, |at| at + 1);
    let line = &text[begin..];
    let rows = line.len() / room.max(1);
    // Other letters have other widths; there the row stays shorter.
    if rows > 0 && line.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        begin + rows * room.max(1)
    } else {
        last_letter(text)
    }
}

/// Where the last letter begins, so that none is parted.
fn last_letter(text: &str) -> usize {
    let last = text.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
    if last > 0 { last } else { text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slices of a text, which are checked to be all of it, and short.
    fn all(text: &str, breaks: Breaks) -> Vec<(&str, Joint)> {
        let all: Vec<_> =
            slices(text, breaks).into_iter().map(|slice| (slice.of(text), slice.joint)).collect();
        let whole: String = all.iter().map(|(part, _)| *part).collect();
        assert_eq!(whole, text);
        assert!(all.iter().all(|(part, _)| !part.is_empty() && part.len() <= 2 * SLICE_BYTES + 1));
        all
    }

    #[test]
    fn slices_end_between_lines() {
        assert!(all("", Breaks::Blanks).is_empty());
        assert_eq!(all("short\ntext", Breaks::Blanks).len(), 1);
        let lines = "a line of some words\n".repeat(10_000);
        let parts = all(&lines, Breaks::Columns(80));
        assert!(parts.len() > 10);
        assert!(parts.iter().all(|(part, joint)| part.ends_with('\n') && *joint == Joint::Line));
    }

    #[test]
    fn slices_of_a_long_line_end_with_a_full_row() {
        let line = format!("first\n{}\nlast", "x".repeat(100_000));
        let parts = all(&line, Breaks::Columns(77));
        assert_eq!((parts[0].0.len() - "first\n".len()) % 77, 0);
        assert!(parts[1..parts.len() - 1].iter().all(|(part, _)| part.len() % 77 == 0));
        assert!(parts[1..].iter().all(|(_, joint)| *joint == Joint::Tight));
        let exact = format!("{}\nrest{}", "x".repeat(2 * SLICE_BYTES), "y".repeat(100));
        let joints: Vec<Joint> = all(&exact, Breaks::Columns(64)).iter().map(|it| it.1).collect();
        assert_eq!(joints, [Joint::Line, Joint::Line], "no empty row between them");
        all(&"漢".repeat(100_000), Breaks::Columns(77));
        all(&"e\u{301}".repeat(100_000), Breaks::Blanks);
        all(&"\u{301}".repeat(100_000), Breaks::Columns(10));
    }

    #[test]
    fn slices_of_prose_end_between_words() {
        let prose = "some words ".repeat(10_000);
        let parts = all(&prose, Breaks::Blanks);
        assert!(parts.len() > 5);
        assert!(
            parts[1..]
                .iter()
                .all(|(part, joint)| { !part.starts_with(' ') && *joint == Joint::Space })
        );
    }
}
