//! One thing in the conversation, with the rows it comes to.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::time::Duration;

use contract::event::Level;

use super::search::seen;
use super::sheets::{Part, Sheets};
use super::thinking::Thought;
use super::tool::Tool;
use super::{Place, Shape, Transcript};
use super::{changes, guess, person, shown};
use crate::host::Changed;
use crate::markdown::Markdown;
use crate::picture::{Picture, Pictures};
use crate::slice::{Breaks, slices};
use crate::text::{Leads, Piece, Row, clipped, wrap, wrapped};
use crate::theme::{Role, Theme};

/// Rows of a closed block of text that are shown.
const PREVIEW: usize = 4;

/// What a block is.
pub(crate) enum Kind {
    /// What the user said.
    Person(String),
    /// What the model said.
    Reply(Box<Markdown>),
    /// What the model thought.
    Thinking {
        /// Its words.
        text: String,
        /// Whether more may come.
        is_open: bool,
        /// When it began, in milliseconds.
        since: i64,
        /// How long it took, once it is over.
        took: Option<Duration>,
    },
    /// A call of a tool.
    Tool(Box<Tool>),
    /// Something people should know.
    Notice {
        /// How much it matters.
        level: Level,
        /// What happened.
        text: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A line across: something changed here.
    Mark(String),
    /// Text that a command shows.
    Shown(String),
    /// Changes of files that a command shows.
    Changes(Vec<Changed>),
    /// Something the model was told by a part of the program.
    Told {
        /// By whom.
        origin: String,
        /// The words.
        text: String,
    },
}

/// One thing in the conversation.
pub(crate) struct Block {
    pub(crate) kind: Kind,
    /// Opened or closed by hand.
    is_open: Option<bool>,
    made_for: Option<Shape>,
    sheets: Sheets,
    /// How far reasoning is laid out.
    thought: Thought,
    /// Rows that it came to or may come to, for a width and a length of its text.
    guess: Cell<Option<(usize, usize, usize)>>,
    /// The part and the row at which its picture begins, where it is shown.
    picture_at: Option<(usize, usize)>,
    /// What the terminal knows its picture by.
    pub(crate) picture_id: u8,
    /// The pixels of its picture as they are written, for cells of a size.
    drawn: Option<((u16, u16), Result<String, String>)>,
}

impl Block {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            is_open: None,
            made_for: None,
            sheets: Sheets::default(),
            thought: Thought::default(),
            guess: Cell::new(None),
            picture_at: None,
            picture_id: 0,
            drawn: None,
        }
    }

    /// Whether it can be opened and closed.
    pub(crate) fn can_fold(&self) -> bool {
        match &self.kind {
            Kind::Thinking { .. } | Kind::Tool(_) | Kind::Told { .. } => true,
            Kind::Person(text) => person::is_long(text),
            Kind::Reply(_)
            | Kind::Notice { .. }
            | Kind::Mark(_)
            | Kind::Shown(_)
            | Kind::Changes(_) => false,
        }
    }

    pub(super) fn is_open(&self, shape: Shape) -> bool {
        let usual = matches!(self.kind, Kind::Thinking { .. }) && shape.shows_thinking;
        self.is_open.unwrap_or(usual)
    }

    /// Opens what is closed.
    pub(super) fn toggle(&mut self, shape: Shape) {
        if self.can_fold() {
            self.is_open = Some(!self.is_open(shape));
            self.touch();
        }
    }

    /// Takes note that it has changed.
    pub(super) fn touch(&mut self) {
        self.made_for = None;
    }

    pub(super) fn is_laid_out(&self) -> bool {
        self.made_for.is_some()
    }

    pub(super) fn forget(&mut self) {
        if let (Some(shape), Some(text), 1) = (self.made_for, self.long_text(), self.parts()) {
            self.guess.set(Some((shape.width, text.len(), self.height(0))));
        }
        self.made_for = None;
        self.sheets = Sheets::default();
        self.thought = Thought::default();
        self.drawn = None;
        if let Kind::Reply(markdown) = &mut self.kind {
            markdown.forget();
        }
    }

    /// Forgets the rows of parts that are far from some.
    pub(super) fn keep(&mut self, near: &RangeInclusive<usize>) {
        self.sheets.keep(near);
    }

    /// Forgets the rows of a part.
    pub(super) fn forget_at(&mut self, part: usize) {
        self.sheets.forget(part);
    }

    /// Whether the rows of a part are there.
    pub(super) fn is_laid_out_at(&self, part: usize) -> bool {
        self.sheets.rows(part).is_some()
    }

    /// How many parts are laid out.
    #[cfg(test)]
    pub(crate) fn laid_out(&self) -> usize {
        self.sheets.laid_out()
    }

    /// Its parts, of which it has one at least.
    pub(super) fn parts(&self) -> usize {
        self.sheets.len().max(1)
    }

    /// Rows of a part that is laid out, the gap above the first included.
    pub(super) fn height(&self, part: usize) -> usize {
        let rows = match &self.kind {
            Kind::Reply(markdown) if part == 0 => markdown.height(),
            _ => self.sheets.rows(part).map_or(0, <[Row]>::len),
        };
        rows + self.gap_at(part)
    }

    /// Rows of the parts before one, about.
    pub(super) fn rows_before(&self, part: usize) -> usize {
        if part == 0 { 0 } else { self.sheets.rows_before(part) + self.gap() }
    }

    fn gap_at(&self, part: usize) -> usize {
        if part == 0 { self.gap() } else { 0 }
    }

    /// Rows that are free above it: none within something that was told apart.
    fn gap(&self) -> usize {
        let goes_on = matches!(&self.kind, Kind::Reply(markdown) if markdown.begins_within());
        usize::from(!goes_on)
    }

    /// Its text where that decides how many rows there are.
    fn long_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Reply(markdown) => Some(markdown.text()),
            Kind::Person(text) | Kind::Shown(text) => Some(text),
            _ => None,
        }
    }

    /// Rows, known or guessed.
    pub(super) fn rows_about(&self, shape: Shape) -> usize {
        const CLOSED: usize = 4;
        let is_stale = matches!(&self.kind, Kind::Reply(markdown) if markdown.is_stale());
        if self.made_for == Some(shape) && !is_stale {
            let is_whole = self.parts() == 1;
            return if is_whole { self.height(0) } else { self.rows_before(self.parts()) };
        }
        let Some(text) = self.long_text() else { return CLOSED };
        if let Some((width, length, rows)) = self.guess.get()
            && (width, length) == (shape.width, text.len())
        {
            return rows;
        }
        let rows = match &self.kind {
            Kind::Reply(_) => guess::of_prose(text, shape.width),
            Kind::Person(text) if person::is_long(text) && !self.is_open(shape) => person::CLOSED,
            _ => guess::of_lines(text, shape.width),
        };
        let rows = rows + self.gap();
        self.guess.set(Some((shape.width, text.len(), rows)));
        rows
    }

    /// One of them; none for the gap.
    pub(super) fn row(&self, place: Place) -> Option<&Row> {
        let at = place.row.checked_sub(self.gap_at(place.part))?;
        match &self.kind {
            Kind::Reply(markdown) => markdown.row(at),
            _ => self.sheets.rows(place.part)?.get(at),
        }
    }

    /// Its rows for a width of their own, closed, nothing kept.
    pub(super) fn rows_alone(&self, width: usize, theme: &Theme) -> Vec<Row> {
        if let Kind::Reply(markdown) = &self.kind {
            let mut copy = markdown.alone();
            copy.lay_out(width, 0, theme);
            return (0..copy.height()).filter_map(|at| copy.row(at).cloned()).collect();
        }
        self.made(Part::Whole, width, theme)
    }

    /// Finds out which parts it has, where that is not known.
    pub(super) fn tell_apart(&mut self, shape: Shape, theme: &Theme) {
        if let Kind::Reply(markdown) = &mut self.kind {
            markdown.lay_out(shape.width, shape.edition, theme);
            self.made_for = Some(shape);
            return;
        }
        if self.made_for == Some(shape) {
            return;
        }
        let is_open = self.is_open(shape);
        self.made_for = Some(shape);
        if let Kind::Thinking { text, took, .. } = &self.kind {
            let rows = self.sheets.only();
            self.thought.lay_out((text, *took), (shape, is_open), theme, rows);
            return;
        }
        self.picture_at = None;
        self.sheets = Sheets::new(match &self.kind {
            Kind::Tool(tool) if is_open => tool.parts(shape.width, theme),
            Kind::Changes(changes) => changes::parts(changes, shape.width, theme),
            Kind::Shown(text) => shown::parts(text, shape.width),
            Kind::Person(text) if is_open => {
                slices(text.trim_end(), Breaks::Blanks).into_iter().map(Part::Text).collect()
            }
            Kind::Told { text, .. } if is_open => {
                let text = slices(text, Breaks::Blanks).into_iter().map(Part::Text);
                std::iter::once(Part::Head).chain(text).collect()
            }
            _ => vec![Part::Whole],
        });
    }

    /// Lays out a part of it, where it is not.
    pub(super) fn lay_out(&mut self, at: usize, shape: Shape, theme: &Theme) {
        self.tell_apart(shape, theme);
        if let Some(part) = self.sheets.part(at).filter(|_| !self.is_laid_out_at(at)) {
            let mut rows = self.made(part, shape.width, theme);
            if at + 1 == self.sheets.len() {
                self.add_picture(&mut rows, at, (shape, theme));
            }
            self.sheets.set(at, rows);
        }
    }

    /// Adds the rows that stand for a picture, or one that says why there are none, to the last part.
    fn add_picture(&mut self, rows: &mut Vec<Row>, part: usize, (shape, theme): (Shape, &Theme)) {
        let Kind::Tool(tool) = &self.kind else { return };
        let Some(picture) = &tool.picture else { return };
        let lead: Vec<Piece> = vec![(theme.style(Role::Border), "  │ ".to_owned())];
        if picture.is_shown(shape.pictures, shape.width.saturating_sub(4)) {
            // The model reads that it was not shown; the user sees it.
            let says_not = |row: &Row| {
                let text = row.text();
                text.starts_with("[image: ") && text.ends_with("not shown]")
            };
            rows.retain(|row| !says_not(row));
            self.picture_at = Some((part, rows.len() + self.gap_at(part)));
            rows.extend(picture.rows(shape.pictures, self.picture_id, &lead));
        } else {
            let why = match shape.pictures {
                Pictures::None => "this terminal shows no pictures; kitty, iTerm2 and sixel do",
                Pictures::Kitty | Pictures::Iterm | Pictures::Sixel => {
                    "a picture that cannot be shown here"
                }
            };
            let mut pieces = lead;
            let room = shape.width.saturating_sub(4);
            pieces.push((theme.style(Role::Soft), clipped(why, room)));
            rows.push(Row::decoration(&pieces));
        }
    }

    /// Its picture, with the part and the row at which it begins where it is shown.
    pub(crate) fn picture(&self) -> Option<(&Picture, (usize, usize))> {
        let Kind::Tool(tool) = &self.kind else { return None };
        tool.picture.as_ref().zip(self.picture_at)
    }

    /// What is written to have its picture shown, in cells of so many pixels.
    pub(crate) fn picture_written(
        &mut self,
        by: Pictures,
        cell: (u16, u16),
    ) -> Option<Result<String, String>> {
        let Kind::Tool(tool) = &self.kind else { return None };
        let picture = tool.picture.as_ref()?;
        if by != Pictures::Sixel {
            return Some(picture.sequences(by, self.picture_id, cell));
        }
        // It is written wherever it moves; making it takes a while.
        if self.drawn.as_ref().is_none_or(|(made_for, _)| *made_for != cell) {
            self.drawn = Some((cell, picture.sequences(by, self.picture_id, cell)));
        }
        self.drawn.as_ref().map(|(_, drawn)| drawn.clone())
    }

    /// The rows of a part; of all of it, it is closed.
    fn made(&self, part: Part, width: usize, theme: &Theme) -> Vec<Row> {
        match (&self.kind, part) {
            (Kind::Reply(_), _) => Vec::new(),
            (Kind::Person(text), Part::Text(slice)) => person::rows(text, slice, width, theme),
            (Kind::Person(text), _) => person::closed(text, width, theme),
            (Kind::Thinking { text, took, .. }, _) => {
                let shape = Shape { width, ..Shape::default() };
                let mut rows = Vec::new();
                Thought::default().lay_out((text, *took), (shape, false), theme, &mut rows);
                rows
            }
            (Kind::Tool(tool), part) => tool.part_rows(part, width, theme),
            (Kind::Notice { level, text, hint }, _) => {
                notice(*level, text, hint.as_deref(), width, theme)
            }
            (Kind::Mark(text), _) => vec![mark(text, width, theme)],
            (Kind::Shown(text), part) => shown::rows(text, part, width, theme),
            (Kind::Changes(changes), part) => changes::rows(changes, part, width, theme),
            (Kind::Told { origin, .. }, Part::Head) => vec![told("▾", origin, theme)],
            (Kind::Told { text, .. }, Part::Text(slice)) => {
                let lead = (theme.style(Role::Border), "│ ".to_owned());
                let soft = theme.style(Role::Soft);
                wrapped(slice.of(text), slice.joint, soft, (width, &lead))
            }
            (Kind::Told { origin, .. }, _) => vec![told("▸", origin, theme)],
        }
    }

    /// What is searched of a part for a text, which may end beyond it; none where that is little.
    pub(super) fn text_at(&self, part: usize, needle: &str) -> Option<&str> {
        let more = needle.len().saturating_sub(1);
        match (&self.kind, self.sheets.part(part)?) {
            (Kind::Tool(tool), part) => tool.part_text(part, more),
            (Kind::Changes(changes), part) => changes::part_text(changes, part, more),
            (Kind::Person(text) | Kind::Shown(text) | Kind::Told { text, .. }, Part::Text(it)) => {
                Some(it.and_on(text, more))
            }
            _ => None,
        }
    }

    /// The conversation that it holds, if it holds one.
    pub(super) fn inner(&self) -> Option<&Transcript> {
        if let Kind::Tool(tool) = &self.kind { tool.inner() } else { None }
    }

    /// Which block of that conversation a part shows.
    pub(super) fn inner_at(&self, part: usize) -> Option<&Self> {
        let Part::Inner(at) = self.sheets.part(part)? else { return None };
        self.inner()?.block(at)
    }

    /// Whether a part may contain a text in small letters.
    pub(super) fn may_contain_at(&self, part: usize, needle: &str) -> bool {
        match (self.text_at(part, needle), self.inner_at(part)) {
            (Some(text), _) => contains(text, needle),
            (None, Some(block)) => block.may_contain(needle),
            (None, None) => true,
        }
    }

    /// What somebody who copies it wants.
    pub(crate) fn text(&self) -> String {
        match &self.kind {
            Kind::Person(text)
            | Kind::Shown(text)
            | Kind::Mark(text)
            | Kind::Thinking { text, .. }
            | Kind::Told { text, .. } => text.clone(),
            Kind::Reply(markdown) => markdown.text().to_owned(),
            Kind::Tool(tool) => tool.text(),
            Kind::Changes(changes) => changes::text(changes),
            Kind::Notice { text, hint, .. } => match hint {
                Some(hint) => format!("{text}\n{hint}"),
                None => text.clone(),
            },
        }
    }

    /// Whether any of its text may contain a text in small letters.
    pub(super) fn may_contain(&self, needle: &str) -> bool {
        match &self.kind {
            Kind::Reply(markdown) => contains(markdown.text(), needle),
            Kind::Person(text) => contains(text, needle),
            _ => {
                let inner = self.inner().into_iter().flat_map(|inner| &inner.blocks);
                // What stands in them is shown closed.
                contains(&self.text(), needle) || inner.into_iter().any(|it| seen(it, needle) > 0)
            }
        }
    }
}

/// Whether a text contains another, which is in small letters, in any case.
pub(super) fn contains(text: &str, needle: &str) -> bool {
    if needle.is_ascii() && text.is_ascii() {
        let (text, needle) = (text.as_bytes(), needle.as_bytes());
        let Some(first) = needle.first() else { return true };
        let begins = |byte: &u8| byte.eq_ignore_ascii_case(first);
        let mut rest = text;
        while let Some(at) = rest.iter().position(begins) {
            match rest.get(at..at + needle.len()) {
                Some(window) if window.eq_ignore_ascii_case(needle) => return true,
                Some(_) => rest = &rest[at + 1..],
                None => return false,
            }
        }
        return false;
    }
    text.to_lowercase().contains(needle)
}

fn notice(level: Level, text: &str, hint: Option<&str>, width: usize, theme: &Theme) -> Vec<Row> {
    let (role, word) = match level {
        Level::Info => (Role::Soft, "note: "),
        Level::Warning => (Role::Caution, "warning: "),
        Level::Error => (Role::Bad, "error: "),
    };
    let lines = |role: Role, word: &str, text: &str| {
        let style = theme.style(role);
        let leads = Leads {
            first: vec![(style, word.to_owned())],
            rest: vec![(style, " ".repeat(word.len()))],
        };
        let body = if role == Role::Soft { style } else { theme.style(Role::Text) };
        let mut rows = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let leads = if number == 0 { leads.clone() } else { Leads::same(leads.rest.clone()) };
            rows.extend(wrap(&[(body, line.to_owned())], width, &leads));
        }
        rows
    };
    let mut rows = lines(role, word, text);
    if let Some(hint) = hint {
        rows.extend(lines(Role::Code, "hint: ", hint));
    }
    rows
}

fn mark(text: &str, width: usize, theme: &Theme) -> Row {
    let text = clipped(text, width.saturating_sub(6));
    let used = crate::text::columns(&text) + 4;
    let border = theme.style(Role::Border);
    Row::decoration(&[
        (border, "── ".to_owned()),
        (theme.style(Role::Soft), text),
        (border, format!(" {}", "─".repeat(width.saturating_sub(used)))),
    ])
}

fn told(mark: &str, origin: &str, theme: &Theme) -> Row {
    Row::decoration(&[(theme.style(Role::Soft), format!("{mark} {origin} told the model"))])
}

/// Which end of a long text matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// What it begins with.
    First,
    /// What it comes to: why something failed.
    Last,
}

/// As much of one end of a text as a closed block could show, and how many lines that leaves out: a
/// long one is not laid out for a few rows.
pub(super) fn excerpt(text: &str, end: End) -> (&str, usize) {
    const LINES: usize = 100;
    const BYTES: usize = 32 * 1024;
    match end {
        End::First => {
            let lines =
                text.match_indices('\n').nth(LINES - 1).map_or(text.len(), |(at, _)| at + 1);
            let shown = contract::text::head(&text[..lines], BYTES);
            (shown, text[shown.len()..].lines().count())
        }
        End::Last => {
            let from = text.rmatch_indices('\n').nth(LINES).map_or(0, |(at, _)| at + 1);
            let shown = contract::text::tail(&text[from..], BYTES);
            (shown, text[..text.len() - shown.len()].lines().count())
        }
    }
}

/// The rows of a long text, so many lines of which were left out: all of them, or a few at one end
/// and how many more there are.
pub(super) fn shortened(
    mut rows: Vec<Row>,
    (is_open, left_out): (bool, usize),
    theme: &Theme,
    (lead, end): (&[Piece], End),
) -> Vec<Row> {
    let hidden = rows.len().saturating_sub(PREVIEW);
    if is_open || hidden + left_out < 2 {
        return rows;
    }
    let mut more = lead.to_vec();
    more.push((theme.style(Role::Soft), format!("… {} more rows", hidden + left_out)));
    let more = Row::decoration(&more);
    match end {
        End::First => {
            rows.truncate(PREVIEW);
            rows.push(more);
        }
        End::Last => {
            rows.drain(..hidden);
            rows.insert(0, more);
        }
    }
    rows
}
