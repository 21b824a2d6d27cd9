//! One thing in the conversation, with the rows it comes to.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::time::Duration;

use contract::event::Level;

use super::parts::{Part, Parts};
use super::search::visible_matches;
use super::tool::Tool;
use super::{Place, Shape, Transcript};
use super::{changes, output, prompt};
use crate::host::FileChange;
use crate::markdown::Markdown;
use crate::picture::{Picture, Pictures};
use crate::slice::{Breaks, slices};
use crate::text::{Leads, Piece, Row, clipped, counted, wrap, wrapped};
use crate::theme::{Role, Theme};

const PREVIEW_ROWS: usize = 4;

pub(crate) enum Kind {
    Prompt(String),
    Reply(Box<Markdown>),
    Thinking {
        text: String,
        /// True if more may come.
        is_open: bool,
        /// When it began, in milliseconds.
        since: i64,
        /// How long it took, once it is over.
        took: Option<Duration>,
    },
    Tool(Box<Tool>),
    /// Something people should know.
    Notice {
        level: Level,
        text: String,
        hint: Option<String>,
        /// True if it is about the repetition of a request.
        is_retry: bool,
    },
    /// A line across: something changed here.
    Mark(String),
    Output(String),
    Changes(Vec<FileChange>),
    /// A text that a part of the program gave the model.
    Injected {
        title: String,
        text: String,
    },
}

pub(crate) struct Block {
    pub(crate) kind: Kind,
    /// Opened or closed by hand.
    is_open: Option<bool>,
    made_for: Option<Shape>,
    parts: Parts,
    /// Rows that it came to or may come to, for a width and a length of its text.
    guess: Cell<Option<(usize, usize, usize)>>,
    /// The part and the row at which its picture begins, where it is shown.
    picture_at: Option<(usize, usize)>,
    /// The number by which the terminal knows its picture.
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
            parts: Parts::default(),
            guess: Cell::new(None),
            picture_at: None,
            picture_id: 0,
            drawn: None,
        }
    }

    pub(crate) fn can_fold(&self) -> bool {
        match &self.kind {
            Kind::Thinking { .. } | Kind::Tool(_) | Kind::Injected { .. } => true,
            Kind::Prompt(text) => prompt::is_long(text),
            Kind::Reply(_)
            | Kind::Notice { .. }
            | Kind::Mark(_)
            | Kind::Output(_)
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
        self.parts = Parts::default();
        self.drawn = None;
        if let Kind::Reply(markdown) = &mut self.kind {
            markdown.forget();
        }
    }

    /// Forgets the rows of parts that are far from some.
    pub(super) fn keep(&mut self, near: &RangeInclusive<usize>) {
        self.parts.keep(near);
    }

    pub(super) fn forget_at(&mut self, part: usize) {
        self.parts.forget(part);
    }

    pub(super) fn is_laid_out_at(&self, part: usize) -> bool {
        self.parts.rows(part).is_some()
    }

    /// How many parts are laid out.
    #[cfg(test)]
    pub(crate) fn laid_out(&self) -> usize {
        self.parts.laid_out()
    }

    /// Its parts, of which it has one at least.
    pub(super) fn parts(&self) -> usize {
        self.parts.len().max(1)
    }

    /// Rows of a part that is laid out, the gap above the first included.
    pub(super) fn height(&self, part: usize) -> usize {
        let rows = match &self.kind {
            Kind::Reply(markdown) if part == 0 => markdown.height(),
            _ => self.parts.rows(part).map_or(0, <[Row]>::len),
        };
        rows + self.gap_at(part)
    }

    /// Rows of the parts before one, about.
    pub(super) fn rows_before(&self, part: usize) -> usize {
        if part == 0 { 0 } else { self.parts.rows_before(part) + self.gap() }
    }

    fn gap_at(&self, part: usize) -> usize {
        if part == 0 { self.gap() } else { 0 }
    }

    /// Rows that are free above it: none within a reply that was split.
    fn gap(&self) -> usize {
        let goes_on = matches!(&self.kind, Kind::Reply(markdown) if markdown.begins_within());
        usize::from(!goes_on)
    }

    /// Its text where that decides how many rows there are.
    fn long_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Reply(markdown) => Some(markdown.text()),
            Kind::Prompt(text) | Kind::Output(text) => Some(text),
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
            Kind::Prompt(text) if prompt::is_long(text) && !self.is_open(shape) => {
                prompt::CLOSED_ROWS
            }
            _ => text.lines().map(|line| line.len().div_ceil(shape.width.max(1)).max(1)).sum(),
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
            _ => self.parts.rows(place.part)?.get(at),
        }
    }

    /// Its rows for a width of their own, closed. Stores none.
    pub(super) fn rows_alone(&self, width: usize, theme: &Theme) -> Vec<Row> {
        if let Kind::Reply(markdown) = &self.kind {
            let mut copy = markdown.alone();
            copy.lay_out(width, 0, theme);
            return (0..copy.height()).filter_map(|at| copy.row(at).cloned()).collect();
        }
        self.made(Part::Whole, width, theme)
    }

    /// Finds out which parts it has, where that is not known.
    pub(super) fn split_parts(&mut self, shape: Shape, theme: &Theme) {
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
        self.picture_at = None;
        self.parts = Parts::new(match &self.kind {
            Kind::Tool(tool) if is_open => tool.parts(shape.width, theme),
            Kind::Changes(changes) => changes::parts(changes, shape.width, theme),
            Kind::Output(text) => output::parts(text, shape.width),
            Kind::Prompt(text) if is_open => {
                slices(text.trim_end(), Breaks::Blanks).into_iter().map(Part::Text).collect()
            }
            Kind::Injected { text, .. } | Kind::Thinking { text, .. } if is_open => {
                let text = slices(text, Breaks::Blanks).into_iter().map(Part::Text);
                std::iter::once(Part::Head).chain(text).collect()
            }
            _ => vec![Part::Whole],
        });
    }

    /// Lays out a part of it, where it is not.
    pub(super) fn lay_out(&mut self, at: usize, shape: Shape, theme: &Theme) {
        self.split_parts(shape, theme);
        if let Some(part) = self.parts.part(at).filter(|_| !self.is_laid_out_at(at)) {
            let mut rows = self.made(part, shape.width, theme);
            if at + 1 == self.parts.len() {
                self.add_picture(&mut rows, at, (shape, theme));
            }
            self.parts.set(at, rows);
        }
    }

    /// Adds the rows that stand for a picture, or one that says why there are none, to the last part.
    fn add_picture(&mut self, rows: &mut Vec<Row>, part: usize, (shape, theme): (Shape, &Theme)) {
        let Kind::Tool(tool) = &self.kind else { return };
        let Some(picture) = &tool.picture else { return };
        let lead: Vec<Piece> = vec![(theme.style(Role::Border), "  │ ".to_owned())];
        if picture.is_shown(shape.pictures, shape.width.saturating_sub(4)) {
            self.picture_at = Some((part, rows.len() + self.gap_at(part)));
            rows.extend(picture.rows(shape.pictures, self.picture_id, &lead));
        } else {
            let why = match shape.pictures {
                Pictures::None => {
                    "This terminal cannot show images (kitty, iTerm2 and sixel terminals can)"
                }
                Pictures::Kitty | Pictures::Iterm | Pictures::Sixel => {
                    "An image that cannot be shown here"
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

    /// The sequences that show its picture, in cells of so many pixels.
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
            (Kind::Prompt(text), Part::Text(slice)) => prompt::rows(text, slice, width, theme),
            (Kind::Prompt(text), _) => prompt::closed(text, width, theme),
            (Kind::Tool(tool), part) => tool.part_rows(part, width, theme),
            (Kind::Notice { level, text, hint, .. }, _) => {
                notice(*level, text, hint.as_deref(), width, theme)
            }
            (Kind::Mark(text), _) => vec![mark(text, width, theme)],
            (Kind::Output(text), part) => output::rows(text, part, width, theme),
            (Kind::Changes(changes), part) => changes::rows(changes, part, width, theme),
            (Kind::Injected { text, .. } | Kind::Thinking { text, .. }, Part::Text(slice)) => {
                let lead = (theme.style(Role::Border), "│ ".to_owned());
                let soft = theme.style(Role::Soft);
                wrapped(slice.of(text), slice.joint, soft, (width, &lead))
            }
            (Kind::Injected { title, .. }, part) => vec![fold_head(part, title, theme)],
            (Kind::Thinking { text, took, .. }, part) => {
                vec![fold_head(part, &thinking_title(text, *took), theme)]
            }
        }
    }

    /// The text of a part to be searched, with enough more for a match that begins in it; none if it is
    /// little.
    pub(super) fn text_at(&self, part: usize, needle: &str) -> Option<&str> {
        let more = needle.len().saturating_sub(1);
        match (&self.kind, self.parts.part(part)?) {
            (Kind::Tool(tool), part) => tool.part_text(part, more),
            (Kind::Changes(changes), part) => changes::part_text(changes, part, more),
            (
                Kind::Prompt(text)
                | Kind::Output(text)
                | Kind::Injected { text, .. }
                | Kind::Thinking { text, .. },
                Part::Text(it),
            ) => Some(it.and_on(text, more)),
            _ => None,
        }
    }

    /// The conversation that it holds, if it holds one.
    pub(super) fn inner(&self) -> Option<&Transcript> {
        if let Kind::Tool(tool) = &self.kind { tool.inner() } else { None }
    }

    /// Which block of that conversation a part shows.
    pub(super) fn inner_at(&self, part: usize) -> Option<&Self> {
        let Part::Inner(at) = self.parts.part(part)? else { return None };
        self.inner()?.block(at)
    }

    /// Returns true if a part may contain a text in lower case.
    pub(super) fn may_contain_at(&self, part: usize, needle: &str) -> bool {
        match (self.text_at(part, needle), self.inner_at(part)) {
            (Some(text), _) => contains(text, needle),
            (None, Some(block)) => block.may_contain(needle),
            (None, None) => true,
        }
    }

    pub(crate) fn text(&self) -> String {
        match &self.kind {
            Kind::Prompt(text)
            | Kind::Output(text)
            | Kind::Mark(text)
            | Kind::Thinking { text, .. }
            | Kind::Injected { text, .. } => text.clone(),
            Kind::Reply(markdown) => markdown.text().to_owned(),
            Kind::Tool(tool) => tool.text(),
            Kind::Changes(changes) => changes::text(changes),
            Kind::Notice { text, hint, .. } => match hint {
                Some(hint) => format!("{text}\n{hint}"),
                None => text.clone(),
            },
        }
    }

    /// Returns true if any of its text may contain a text in lower case.
    pub(super) fn may_contain(&self, needle: &str) -> bool {
        match &self.kind {
            Kind::Reply(markdown) => contains(markdown.text(), needle),
            Kind::Prompt(text) => contains(text, needle),
            _ => {
                let inner = self.inner().into_iter().flat_map(|inner| &inner.blocks);
                // Their content is shown collapsed.
                contains(&self.text(), needle)
                    || inner.into_iter().any(|it| visible_matches(it, needle) > 0)
            }
        }
    }
}

/// Returns true if a text contains another, which is in lower case, in any case.
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

fn fold_head(part: Part, title: &str, theme: &Theme) -> Row {
    let mark = if part == Part::Head { "▾" } else { "▸" };
    Row::decoration(&[(theme.style(Role::Soft), format!("{mark} {title}"))])
}

fn thinking_title(text: &str, took: Option<Duration>) -> String {
    let words = counted(text.split_whitespace().count(), "word", "words");
    match took.map(|took| took.as_secs()) {
        Some(0) => format!("Thought, {words}"),
        Some(seconds) => format!("Thought for {seconds} s, {words}"),
        None => format!("Thinking, {words}"),
    }
}

/// Which end of a long text matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    First,
    /// The end, which says why something failed.
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
    let hidden = rows.len().saturating_sub(PREVIEW_ROWS);
    if is_open || hidden + left_out < 2 {
        return rows;
    }
    let mut more = lead.to_vec();
    more.push((
        theme.style(Role::Soft),
        format!("… {}", counted(hidden + left_out, "more line", "more lines")),
    ));
    let more = Row::decoration(&more);
    match end {
        End::First => {
            rows.truncate(PREVIEW_ROWS);
            rows.push(more);
        }
        End::Last => {
            rows.drain(..hidden);
            rows.insert(0, more);
        }
    }
    rows
}
