//! Text at the end of a terminal's screen that is drawn again and again in its place. Whatever was
//! printed above it is never touched.

use unicode_width::UnicodeWidthChar;

/// A screen with fewer rows has no room for a draft.
const FEWEST_ROWS: usize = 3;

/// How large a terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Characters in a row.
    pub(crate) columns: usize,
    /// Rows.
    pub(crate) rows: usize,
}

/// What is drawn. The cursor stands at the beginning of the row below it.
#[derive(Default)]
pub(crate) struct Draft {
    drawn: Vec<String>,
}

impl Draft {
    /// Whether anything is drawn.
    pub(crate) fn is_drawn(&self) -> bool {
        !self.drawn.is_empty()
    }

    /// What takes the draft off the screen again.
    pub(crate) fn clear(&mut self) -> String {
        let rows = self.drawn.len();
        self.drawn.clear();
        back(rows)
    }

    /// What turns the draft on the screen into `text`, or into its end where the screen is too
    /// small for all of it.
    pub(crate) fn redraw(&mut self, text: &str, size: Size) -> String {
        let mut rows: Vec<String> =
            text.trim_end().lines().flat_map(|line| rows(line, size.columns)).collect();
        let room = if size.rows < FEWEST_ROWS { 0 } else { size.rows - 1 };
        rows.drain(..rows.len().saturating_sub(room));
        let same = rows.iter().zip(&self.drawn).take_while(|(new, old)| new == old).count();
        let mut bytes = back(self.drawn.len() - same);
        if same < rows.len() {
            // A row stays one row even where the terminal finds a character wider than we do.
            bytes.push_str("\x1b[?7l");
            for row in &rows[same..] {
                bytes.push_str(row);
                bytes.push('\n');
            }
            bytes.push_str("\x1b[?7h");
        }
        self.drawn = rows;
        bytes
    }
}

/// The beginning of a text that fits into so many columns.
pub(crate) fn clipped(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Goes back so many rows and clears all from there on.
fn back(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("\r\x1b[{rows}A\x1b[J") }
}

/// A line with its styles as rows of so many columns, each with the style it begins in.
fn rows(line: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let (mut used, mut style) = (0, String::new());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        let row = rows.last_mut().expect("there is always a row");
        if c == '\x1b' {
            let mut sequence = String::from(c);
            for c in rest.by_ref() {
                sequence.push(c);
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
            row.push_str(&sequence);
            if sequence == "\x1b[0m" {
                style.clear();
            } else {
                style.push_str(&sequence);
            }
            continue;
        }
        let width = if c == '\t' { 8 - used % 8 } else { c.width().unwrap_or(0) };
        if used + width > columns && used > 0 {
            if !style.is_empty() {
                row.push_str("\x1b[0m");
            }
            rows.push(style.clone());
            used = 0;
        }
        let row = rows.last_mut().expect("there is always a row");
        if c == '\t' {
            row.push_str(&" ".repeat(width));
        } else {
            row.push(c);
        }
        used += width;
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use testkit::Terminal;

    use super::*;
    use ::tui::prose::Prose;
    use ::tui::theme::Theme;

    const SIZE: Size = Size { columns: 10, rows: 4 };

    #[test]
    fn only_what_changed_is_drawn_again() {
        let mut draft = Draft::default();
        assert_eq!(draft.redraw("one\ntwo", SIZE), "\x1b[?7lone\ntwo\n\x1b[?7h");
        assert_eq!(draft.redraw("one\ntwo", SIZE), "");
        assert_eq!(draft.redraw("one\ntwo 3", SIZE), "\r\x1b[1A\x1b[J\x1b[?7ltwo 3\n\x1b[?7h");
        assert_eq!(draft.redraw("one", SIZE), "\r\x1b[1A\x1b[J");
        assert_eq!(draft.clear(), "\r\x1b[1A\x1b[J");
        assert_eq!(draft.clear(), "");
    }

    #[test]
    fn a_draft_that_is_taller_than_the_screen_shows_its_end() {
        let mut draft = Draft::default();
        let bytes = draft.redraw("1\n2\n3\n4\n5\n", SIZE);
        assert_eq!(bytes, "\x1b[?7l3\n4\n5\n\x1b[?7h");
        assert_eq!(draft.redraw("x", Size { columns: 10, rows: 2 }), "\r\x1b[3A\x1b[J");
    }

    #[test]
    fn long_lines_are_rows_that_keep_their_style() {
        assert_eq!(rows("0123456789ab", 10), ["0123456789", "ab"]);
        assert_eq!(rows("漢漢漢", 5), ["漢漢", "漢"]);
        assert_eq!(rows("a\tb", 20), ["a       b"]);
        assert_eq!(
            rows("\x1b[36m0123456789ab\x1b[0m", 10),
            ["\x1b[36m0123456789\x1b[0m", "\x1b[36mab\x1b[0m"]
        );
    }

    /// What a terminal of this size has shown in the end, with all that left its screen.
    fn shown(bytes: &str, size: Size) -> String {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("bytes");
        std::fs::write(&file, bytes).expect("a file");
        let fits = |count: usize| u16::try_from(count).expect("small");
        let size = (fits(size.columns), fits(size.rows));
        let cat = Path::new("/bin/cat");
        let terminal = Terminal::start(cat, &[file.into()], &[], directory.path(), size);
        assert_eq!(terminal.wait_for_end(), Some(0));
        terminal.history()
    }

    #[test]
    fn an_answer_drawn_letter_by_letter_leaves_the_answer_alone() {
        let long = "some **bold** words and 漢字 ".repeat(12);
        let text = format!(
            "# Title\n\n{long}\n\n- {long}\n- b\n\n  more\n\n```rust\n{}```\n| a | b |\n|---|---|\n\
             | {long} | 2 |\n\n> {long}\n\n{}\n",
            "let a_long_name = \"and a long text\";\n\n".repeat(5),
            "漢".repeat(60)
        );
        for (columns, rows) in [(80, 24), (40, 6), (21, 3), (7, 4), (60, 2)] {
            let size = Size { columns, rows };
            let [.., sixteen, _] = &Theme::built_in()[..] else { panic!("four themes") };
            let mut prose = Prose::new(columns, sixteen.clone());
            let (mut draft, mut drawn, mut settled) =
                (Draft::default(), String::new(), String::new());
            for letter in text.chars() {
                prose.push(letter.encode_utf8(&mut [0; 4]));
                let done = prose.settled();
                if !done.is_empty() {
                    drawn += &draft.clear();
                    drawn += &done;
                    settled += &done;
                }
                drawn += &draft.redraw(&prose.draft(), size);
            }
            drawn += &draft.clear();
            let rest = prose.finish();
            assert_eq!(
                shown(&(drawn + &rest), size),
                shown(&(settled + &rest), size),
                "{columns} × {rows}"
            );
        }
    }

    #[test]
    fn a_text_is_clipped_by_columns() {
        assert_eq!(clipped("漢漢漢", 5), "漢漢");
        assert_eq!(clipped("abc", 5), "abc");
    }
}
