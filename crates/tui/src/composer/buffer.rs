//! A text that is being written: a string, a cursor, a kill ring, and undo.
//! Knows nothing of keys or of the screen but the width at which rows break.

#[cfg(test)]
mod tests;

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::text::{columns, counted, prose};

const MAX_UNDO: usize = 200;
const MAX_KILLS: usize = 30;
/// Characters that stand for pasted texts: no keyboard types them, and no font has them.
const FIRST_CHIP: u32 = 0x10_0000;
const MAX_CHIPS: u32 = 0xfff0;
/// A text from an earlier time that is longer is one chip: it would hardly be edited.
const LONG_LINES: usize = 200;
const LONG_BYTES: usize = 16 * 1024;
/// The marks around a pasted text in a draft: no text that was typed has them.
const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

#[derive(Default)]
pub(crate) struct Buffer {
    text: String,
    cursor: usize,
    chips: Vec<String>,
    ring: Vec<String>,
    /// The text of the last yank, and its place in the ring.
    yanked: Option<(Range<usize>, usize)>,
    is_killing: bool,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
    is_typing: bool,
    /// The number of undo steps when a change began that is undone at once.
    begun: Option<usize>,
    /// The column that moves up and down try to keep.
    goal: Option<usize>,
}

/// One row of the text on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) range: Range<usize>,
    pub(crate) shown: String,
}

impl Buffer {
    /// The text as it is held, chips as single characters.
    pub(crate) fn raw(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns true if the cursor stands right behind a backslash.
    pub(crate) fn is_after_backslash(&self) -> bool {
        self.text[..self.cursor].ends_with('\\')
    }

    pub(crate) fn cursor_column(&self) -> usize {
        columns(&self.text[..self.cursor])
    }

    pub(crate) fn insert_in_line(&mut self, text: &str) {
        self.insert(&text.replace(char::is_control, " "));
    }

    /// The text with what chips stand for.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.text.len());
        for c in self.text.chars() {
            match self.pasted(c) {
                Some(pasted) => text.push_str(pasted),
                None => text.push(c),
            }
        }
        text
    }

    /// The text in a form that [`Self::restore`] makes the same of, chips too.
    pub(crate) fn draft(&self) -> String {
        self.marked(&self.text)
    }

    /// The draft of a text that was taken out before.
    pub(crate) fn draft_of(&self, text: &str) -> String {
        self.marked(&self.with_chips(text))
    }

    fn marked(&self, raw: &str) -> String {
        let mut draft = String::with_capacity(raw.len());
        for c in raw.chars() {
            match self.pasted(c) {
                Some(pasted) => {
                    draft.push(MARKS[0]);
                    draft.push_str(pasted);
                    draft.push(MARKS[1]);
                }
                None => draft.push(c),
            }
        }
        draft
    }

    /// Begins with a draft, the cursor at its end.
    pub(crate) fn restore(&mut self, draft: &str) {
        self.set("");
        for (number, part) in draft.split(MARKS).enumerate() {
            if number % 2 == 1 {
                self.insert_chip(part);
            } else {
                self.insert(part);
            }
        }
        self.shorten();
    }

    /// Begins with a text from an earlier time, the cursor at its end; as a chip where it is long.
    pub(crate) fn recall(&mut self, text: &str) {
        self.set(text);
        self.shorten();
    }

    fn shorten(&mut self) {
        let text = &self.text;
        if text.len() > LONG_BYTES || text.lines().nth(LONG_LINES).is_some() {
            let whole = self.text();
            self.text.clear();
            self.cursor = 0;
            self.insert_chip(&whole);
        }
    }

    fn pasted(&self, c: char) -> Option<&String> {
        chip_number(c).and_then(|number| self.chips.get(number))
    }

    /// A text in which what was pasted as a chip is one.
    fn with_chips(&self, text: &str) -> String {
        let mut text = typed(text);
        for (number, pasted) in self.chips.iter().enumerate() {
            if let Some(chip) = chip(number) {
                text = text.replace(pasted, chip.encode_utf8(&mut [0; 4]));
            }
        }
        text
    }

    /// Begins with another text, the cursor at its end. What was pasted as a chip is one again.
    pub(crate) fn set(&mut self, text: &str) {
        self.save();
        self.text = self.with_chips(text);
        self.cursor = self.text.len();
        self.settle();
    }

    /// Takes the text out and leaves nothing.
    pub(crate) fn take(&mut self) -> String {
        let text = self.text();
        self.save();
        self.begun = None;
        self.text.clear();
        self.cursor = 0;
        self.settle();
        text
    }

    pub(crate) fn insert(&mut self, text: &str) {
        let is_word = text.chars().all(char::is_alphanumeric);
        if !(self.is_typing && is_word) {
            self.save();
        }
        let text = typed(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        self.settle();
        self.is_typing = is_word;
    }

    /// Puts a pasted text in as one character.
    pub(crate) fn insert_chip(&mut self, pasted: &str) {
        let pasted = typed(pasted);
        let known = self.chips.iter().position(|it| *it == pasted);
        let Some(chip) = chip(known.unwrap_or(self.chips.len())) else {
            self.insert(&pasted);
            return;
        };
        if known.is_none() {
            self.chips.push(pasted);
        }
        self.save();
        self.text.insert(self.cursor, chip);
        self.cursor += chip.len_utf8();
        self.settle();
    }

    pub(crate) fn replace(&mut self, range: Range<usize>, text: &str) {
        self.save();
        self.text.replace_range(range.clone(), text);
        self.cursor = range.start + text.len();
        self.settle();
    }

    pub(crate) fn undo(&mut self) {
        if let Some(before) = self.undo.pop() {
            self.redo.push((std::mem::replace(&mut self.text, before.0), self.cursor));
            self.cursor = before.1;
            self.settle();
        }
    }

    pub(crate) fn redo(&mut self) {
        if let Some(after) = self.redo.pop() {
            self.undo.push((std::mem::replace(&mut self.text, after.0), self.cursor));
            self.cursor = after.1;
            self.settle();
        }
    }

    /// Begins a change that is undone at once, of however many it is made.
    pub(crate) fn begin_change(&mut self) {
        let is_kept = self.undo.last().is_some_and(|(text, _)| *text == self.text);
        self.begun = Some(self.undo.len() - usize::from(is_kept));
    }

    /// Ends the change that was begun.
    pub(crate) fn end_change(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.undo.truncate(begun + 1);
        }
    }

    fn save(&mut self) {
        self.redo.clear();
        if self.undo.last().is_none_or(|(text, _)| *text != self.text) {
            self.undo.push((self.text.clone(), self.cursor));
            if self.undo.len() > MAX_UNDO {
                self.undo.remove(0);
                self.begun = self.begun.map(|begun| begun.saturating_sub(1));
            }
        }
    }

    /// Ends what only holds for keys in a row.
    fn settle(&mut self) {
        self.yanked = None;
        self.is_killing = false;
        self.is_typing = false;
        self.goal = None;
    }

    pub(crate) fn move_to(&mut self, at: usize) {
        self.cursor = at.min(self.text.len());
        self.settle();
    }

    pub(crate) fn left(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    pub(crate) fn right(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    pub(crate) fn word_left(&self) -> usize {
        let before = self.text[..self.cursor].trim_end_matches(|c: char| !c.is_alphanumeric());
        before.trim_end_matches(char::is_alphanumeric).len()
    }

    pub(crate) fn word_right(&self) -> usize {
        let after = &self.text[self.cursor..];
        let word = after.trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - word.trim_start_matches(char::is_alphanumeric).len()
    }

    /// The beginning of what blanks surround before the cursor.
    pub(crate) fn blank_left(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.trim_end_matches(|c: char| !c.is_whitespace()).len()
    }

    pub(crate) fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    pub(crate) fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Removes what is between the cursor and a byte.
    pub(crate) fn delete_to(&mut self, at: usize) {
        let range = self.cursor.min(at)..self.cursor.max(at);
        if range.is_empty() {
            return;
        }
        self.save();
        self.text.replace_range(range.clone(), "");
        self.cursor = range.start;
        self.settle();
    }

    /// Removes what is between the cursor and a byte, to be brought back by a yank.
    pub(crate) fn kill_to(&mut self, at: usize) {
        let range = self.cursor.min(at)..self.cursor.max(at);
        if range.is_empty() {
            return;
        }
        let killed = self.text[range.clone()].to_owned();
        let is_before = at < self.cursor;
        let goes_on = self.is_killing;
        match self.ring.last_mut().filter(|_| goes_on) {
            Some(last) if is_before => last.insert_str(0, &killed),
            Some(last) => last.push_str(&killed),
            None => {
                self.ring.push(killed);
                if self.ring.len() > MAX_KILLS {
                    self.ring.remove(0);
                }
            }
        }
        self.delete_to(at);
        self.is_killing = true;
    }

    pub(crate) fn yank(&mut self) {
        if let Some(text) = self.ring.last().cloned() {
            self.yank_from(self.cursor..self.cursor, &text, self.ring.len() - 1);
        }
    }

    /// Right after a yank: brings back what was killed before that instead.
    pub(crate) fn yank_pop(&mut self) {
        let Some((range, at)) = self.yanked.clone() else { return };
        let at = at.checked_sub(1).unwrap_or(self.ring.len() - 1);
        let text = self.ring[at].clone();
        self.yank_from(range, &text, at);
    }

    fn yank_from(&mut self, range: Range<usize>, text: &str, at: usize) {
        let start = range.start;
        self.replace(range, text);
        self.yanked = Some((start..start + text.len(), at));
    }

    /// Breaks the line after the cursor.
    pub(crate) fn open_line(&mut self) {
        let at = self.cursor;
        self.insert("\n");
        self.cursor = at;
    }

    /// The rows that the text takes.
    pub(crate) fn lines(&self, width: usize) -> Vec<Line> {
        let width = width.max(1);
        let mut lines = Vec::new();
        let mut at = 0;
        for paragraph in self.text.split('\n') {
            self.break_up(at, paragraph, width, &mut lines);
            at += paragraph.len() + 1;
        }
        lines
    }

    fn break_up(&self, start: usize, text: &str, width: usize, lines: &mut Vec<Line>) {
        // Most rows are short and plain: a long text of them costs little.
        let is_plain = text.len() <= width && text.bytes().all(|it| matches!(it, b' '..=b'~'));
        if is_plain {
            lines.push(Line { range: start..start + text.len(), shown: text.to_owned() });
            return;
        }
        let mut line = Line { range: start..start, shown: String::new() };
        let mut used = 0;
        // Where the row can be broken: after a blank, with the columns up to there.
        let mut blank: Option<(usize, usize)> = None;
        for (at, grapheme) in text.grapheme_indices(true) {
            let shown = self.display(grapheme);
            let wide = columns(&shown);
            if used + wide > width && used > 0 {
                let (cut, shown_cut) = blank.take().unwrap_or((start + at, line.shown.len()));
                let rest = line.shown.split_off(shown_cut);
                line.range.end = cut;
                let next = Line { range: cut..cut, shown: rest };
                lines.push(std::mem::replace(&mut line, next));
                used = columns(&line.shown);
            }
            line.shown.push_str(&shown);
            used += wide;
            line.range.end = start + at + grapheme.len();
            if grapheme == " " {
                blank = Some((line.range.end, line.shown.len()));
            }
        }
        lines.push(line);
    }

    /// All of it in one line, line feeds as a sign, and where the cursor is in that.
    pub(crate) fn in_one_line(&self) -> (String, usize) {
        let mut line = String::with_capacity(self.text.len());
        let mut cursor = None;
        for (at, grapheme) in self.text.grapheme_indices(true) {
            if at >= self.cursor {
                cursor.get_or_insert(line.len());
            }
            match grapheme {
                "\n" => line.push('↵'),
                grapheme => line.push_str(&self.display(grapheme)),
            }
        }
        let end = line.len();
        (line, cursor.unwrap_or(end))
    }

    fn display(&self, grapheme: &str) -> String {
        let chip = grapheme.chars().next().and_then(chip_number);
        if let Some((number, pasted)) = chip.and_then(|at| Some((at, self.chips.get(at)?))) {
            let length = match pasted.lines().count() {
                0 | 1 => counted(pasted.chars().count(), "letter", "letters"),
                lines => counted(lines, "line", "lines"),
            };
            return format!("[pasted text {}: {length}]", number + 1);
        }
        if grapheme == "\t" { "    ".to_owned() } else { prose(grapheme) }
    }

    /// The columns of a row that show a part of the text.
    pub(crate) fn columns_of(&self, line: &Line, part: &Range<usize>) -> Range<usize> {
        let (mut at, mut column) = (line.range.start, 0);
        let mut shown: Option<Range<usize>> = None;
        for grapheme in self.text[line.range.clone()].graphemes(true) {
            let wide = columns(&self.display(grapheme));
            if part.contains(&at) {
                let from = shown.map_or(column, |shown| shown.start);
                shown = Some(from..column + wide);
            }
            (at, column) = (at + grapheme.len(), column + wide);
        }
        shown.unwrap_or_default()
    }

    pub(crate) fn position(&self, width: usize) -> (usize, usize) {
        let lines = self.lines(width);
        let last = lines.len().saturating_sub(1);
        let row = lines
            .iter()
            .enumerate()
            .rposition(|(_, line)| line.range.start <= self.cursor)
            .unwrap_or(last);
        let before = &self.text[lines[row].range.start..self.cursor];
        let column = before.graphemes(true).map(|it| columns(&self.display(it))).sum();
        (row, column)
    }

    /// Moves by a row; says whether there was one.
    pub(crate) fn move_row(&mut self, width: usize, is_up: bool) -> bool {
        let lines = self.lines(width);
        let (row, column) = self.position(width);
        let target = if is_up { row.checked_sub(1) } else { Some(row + 1) };
        let Some(line) = target.and_then(|row| lines.get(row)) else { return false };
        let goal = self.goal.unwrap_or(column);
        let mut used = 0;
        let mut at = line.range.start;
        for grapheme in self.text[line.range.clone()].graphemes(true) {
            let wide = columns(&self.display(grapheme));
            if used + wide > goal {
                break;
            }
            used += wide;
            at += grapheme.len();
        }
        self.move_to(at);
        self.goal = Some(goal);
        true
    }
}

fn chip(number: usize) -> Option<char> {
    let number = u32::try_from(number).ok().filter(|number| *number < MAX_CHIPS)?;
    char::from_u32(FIRST_CHIP + number)
}

fn chip_number(c: char) -> Option<usize> {
    let number = u32::from(c).checked_sub(FIRST_CHIP)?;
    usize::try_from(number).ok()
}

/// Text as it may stand in the buffer: no control characters, none that stand for chips.
fn typed(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let keeps =
        |c: &char| (!c.is_control() || matches!(c, '\n' | '\t')) && chip_number(*c).is_none();
    text.chars().filter(keeps).collect()
}
