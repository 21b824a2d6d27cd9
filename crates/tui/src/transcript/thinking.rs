//! What the model thought, as rows. It may come for long and in small pieces: lines that have ended
//! are laid out once.

use std::time::Duration;

use super::Shape;
use crate::text::{Leads, Row, counted, wrap};
use crate::theme::{Role, Theme};

/// How far a text is laid out.
#[derive(Default)]
pub(super) struct Thought {
    made_for: Option<(Shape, bool)>,
    /// Bytes of the lines that have ended.
    done: usize,
    /// Words in them.
    words: usize,
    /// Rows that they and the head come to.
    rows: usize,
}

impl Thought {
    /// Brings the rows of a text up to date; the text may only have grown.
    pub(super) fn lay_out(
        &mut self,
        (text, took): (&str, Option<Duration>),
        (shape, is_open): (Shape, bool),
        theme: &Theme,
        rows: &mut Vec<Row>,
    ) {
        if self.made_for != Some((shape, is_open)) {
            *self = Self { made_for: Some((shape, is_open)), rows: 1, ..Self::default() };
            *rows = vec![Row::gap()];
        }
        rows.truncate(self.rows);
        let end = text.rfind('\n').map_or(self.done, |at| at + 1);
        let (ended, last) = (&text[self.done..end], &text[end..]);
        self.words += words(ended);
        let lead = Leads::same(vec![(theme.style(Role::Border), "│ ".to_owned())]);
        let soft = theme.style(Role::Soft);
        let line = |line: &str| wrap(&[(soft, line.to_owned())], shape.width, &lead);
        if is_open {
            rows.extend(ended.lines().flat_map(line));
        }
        (self.done, self.rows) = (end, rows.len());
        if is_open {
            rows.extend(last.lines().flat_map(line));
        }
        rows[0] = head(self.words + words(last), took, is_open, theme);
    }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn head(words: usize, took: Option<Duration>, is_open: bool, theme: &Theme) -> Row {
    let mark = if is_open { "▾ " } else { "▸ " };
    let words = counted(words, "word", "words");
    let head = match took {
        Some(took) if took.as_secs() > 0 => {
            format!("Thought for {} s, {words}", took.as_secs())
        }
        Some(_) => format!("Thought, {words}"),
        None => format!("Thinking, {words}"),
    };
    Row::decoration(&[(theme.style(Role::Soft), format!("{mark}{head}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_come_to_the_same_and_lines_that_ended_stay() {
        let theme = Theme::unstyled();
        let text = "one two three\nfour five six seven\n\neight nine";
        let shape = Shape { width: 12, ..Shape::default() };
        let (mut whole, mut rows) = (Vec::new(), Vec::new());
        Thought::default().lay_out((text, None), (shape, true), &theme, &mut whole);
        assert_eq!(whole[0].line.to_string(), "▾ Thinking, 9 words");
        let mut thought = Thought::default();
        for end in 0..=text.len() {
            let before = thought.rows;
            thought.lay_out((&text[..end], None), (shape, true), &theme, &mut rows);
            assert!(thought.rows >= before, "{end}");
        }
        assert_eq!(rows, whole);
        assert_eq!(thought.done, text.len() - "eight nine".len());
        thought.lay_out((text, Some(Duration::ZERO)), (shape, false), &theme, &mut rows);
        let shown: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        assert_eq!(shown, ["▸ Thought, 9 words"]);
    }
}
