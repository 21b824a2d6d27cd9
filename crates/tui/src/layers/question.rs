//! A question with its answers. The body scrolls, long texts in it are folded until they are
//! expanded, and keys that arrive before there was time to read it are dropped.

use std::time::{Duration, Instant};

use ratatui_core::layout::{Position, Rect};

use super::Flow;
use crate::canvas::Canvas;
use crate::composer::Buffer;
use crate::diff;
use crate::key::{Code, Key};
use crate::keymap::{Action, Keymap};
use crate::permission::{Part, folded};
use crate::text::{Leads, Row, clipped, columns, counted, fold, narrow, wrap};
use crate::theme::{Role, Theme};

/// Time after a question appears, or after an early key, in which keys are dropped.
pub(crate) const READ_TIME: Duration = Duration::from_millis(300);
/// The time for a user who was writing when the question appeared.
const LONG_READ_TIME: Duration = Duration::from_secs(1);
/// Rows of a command, a diff or a file that are shown before it is expanded.
const FOLDED_ROWS: usize = 20;

#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The keys that give it; the first is shown.
    pub(crate) keys: &'static str,
    pub(crate) label: String,
    /// One word for it, for small screens; empty for the first of its label.
    pub(crate) word: &'static str,
    /// True if a text may be given with it.
    pub(crate) takes_text: bool,
}

impl Choice {
    fn word(&self) -> String {
        match self.word {
            "" => self.label.split([' ', ':']).next().unwrap_or_default().to_lowercase(),
            word => word.to_owned(),
        }
    }

    fn key(&self) -> char {
        self.keys.chars().next().unwrap_or('?')
    }

    /// Its line in a list: numbers stand free, letters in brackets.
    fn line(&self) -> String {
        match self.key() {
            number if number.is_ascii_digit() => format!("{number}  {}", self.label),
            letter => format!("[{letter}] {}", self.label),
        }
    }
}

/// The effect of a key on a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyOutcome {
    /// Nothing yet; the key was taken, or dropped because it came too early.
    Nothing,
    /// This choice, with a text if it takes one.
    Choice(usize, Option<String>),
    /// The key means nothing to a question.
    Other,
}

pub(crate) struct Question {
    title: String,
    parts: Vec<Part>,
    choices: Vec<Choice>,
    /// The choice that Enter gives.
    selected: usize,
    look: Duration,
    armed_at: Instant,
    /// The choice that takes a text, and that text.
    reply: Option<(usize, Buffer)>,
    /// The name of the text that is the only answer; none if there are choices.
    text_name: Option<String>,
    scroll: usize,
    rows: Vec<Row>,
    /// Rows of each long text that are shown; none once expanded.
    pub(super) fold_at: Option<usize>,
    has_folds: bool,
    made_for: usize,
    page: usize,
    /// The effect of Esc, for the frame; empty if it needs no words.
    pub(super) escape: &'static str,
}

impl Question {
    /// A question that appears at `now`, with the position of the choice that Enter gives.
    pub(crate) fn new(
        title: String,
        parts: Vec<Part>,
        choices: Vec<Choice>,
        selected: usize,
        now: Instant,
    ) -> Self {
        Self {
            title,
            parts,
            selected: selected.min(choices.len().saturating_sub(1)),
            choices,
            look: READ_TIME,
            armed_at: now + READ_TIME,
            reply: None,
            text_name: None,
            scroll: 0,
            rows: Vec::new(),
            fold_at: Some(FOLDED_ROWS),
            has_folds: false,
            made_for: 0,
            page: 1,
            escape: "",
        }
    }

    /// A question that is answered by a text with this name.
    pub(crate) fn for_text(title: String, parts: Vec<Part>, name: String, now: Instant) -> Self {
        let reply = Some((0, Buffer::default()));
        Self { reply, text_name: Some(name), ..Self::new(title, parts, Vec::new(), 0, now) }
    }

    /// Waits longer before keys count, for a user who was writing when it appeared.
    pub(crate) fn amid_writing(mut self) -> Self {
        self.armed_at += LONG_READ_TIME.saturating_sub(self.look);
        self.look = LONG_READ_TIME;
        self
    }

    /// The time from which keys count.
    pub(crate) fn armed_at(&self) -> Instant {
        self.armed_at
    }

    /// Returns true while a text is being written as a part of the answer.
    pub(crate) fn takes_text(&self) -> bool {
        self.reply.is_some()
    }

    pub(crate) fn key(&mut self, key: Key, at: Instant) -> KeyOutcome {
        if at < self.armed_at {
            // A user who is still typing has not read it yet.
            self.armed_at = self.armed_at.max(at + self.look);
            return KeyOutcome::Nothing;
        }
        if self.reply.is_some() {
            return self.text_key(key);
        }
        match key.code {
            Code::Up => self.selected = self.selected.saturating_sub(1),
            Code::Down => self.selected = (self.selected + 1).min(self.choices.len() - 1),
            Code::Tab => self.selected = (self.selected + 1) % self.choices.len(),
            Code::PageUp => self.scroll = self.scroll.saturating_sub(self.page),
            Code::PageDown | Code::Char(' ') => self.page_down(),
            Code::Home => self.scroll = 0,
            Code::End => self.scroll = usize::MAX / 2,
            Code::Char('j') if !key.ctrl => self.scroll += 1,
            Code::Char('k') if !key.ctrl => self.scroll = self.scroll.saturating_sub(1),
            Code::Char('e') if !key.ctrl && self.has_folds => self.expand(),
            Code::Enter => return self.choose(self.selected),
            _ => {
                let Some(letter) = key.typed() else { return KeyOutcome::Other };
                let chosen = |choice: &Choice| choice.keys.contains(letter);
                match self.choices.iter().position(chosen) {
                    Some(choice) => return self.choose(choice),
                    // A user who types another letter is writing a text meant for elsewhere.
                    None => self.armed_at = at + self.look,
                }
            }
        }
        KeyOutcome::Nothing
    }

    fn expand(&mut self) {
        self.fold_at = None;
        self.made_for = 0;
    }

    /// Scrolls by a page; expands what is folded once its end is in sight.
    fn page_down(&mut self) {
        let is_at_end = self.scroll + self.page >= self.rows.len().saturating_sub(1);
        if is_at_end && self.has_folds {
            self.expand();
        }
        self.scroll += self.page;
    }

    /// Takes text that was pasted at `at` if a text is being written, and drops it otherwise. Keys
    /// right behind it may have been a part of it.
    pub(crate) fn paste(&mut self, text: &str, at: Instant) -> Flow {
        self.armed_at = self.armed_at.max(at + self.look);
        if let Some((_, reply)) = &mut self.reply {
            reply.insert_in_line(text);
        }
        Flow::Stay
    }

    pub(crate) fn scroll(&mut self, is_down: bool) {
        self.scroll = if is_down { self.scroll + 3 } else { self.scroll.saturating_sub(3) };
    }

    fn choose(&mut self, at: usize) -> KeyOutcome {
        if self.choices[at].takes_text {
            self.selected = at;
            self.reply = Some((at, Buffer::default()));
            return KeyOutcome::Nothing;
        }
        KeyOutcome::Choice(at, None)
    }

    fn text_key(&mut self, key: Key) -> KeyOutcome {
        let Some((at, reply)) = &mut self.reply else { return KeyOutcome::Nothing };
        match key.code {
            Code::Enter => {
                let text = reply.raw().trim().to_owned();
                return KeyOutcome::Choice(*at, Some(text).filter(|text| !text.is_empty()));
            }
            Code::Esc if self.text_name.is_none() => self.reply = None,
            _ => {
                if reply.key(key).is_none() {
                    return KeyOutcome::Other;
                }
            }
        }
        KeyOutcome::Nothing
    }

    /// Rows that it takes of an area.
    pub(crate) fn height(&mut self, area: Rect, theme: &Theme) -> u16 {
        let is_framed = area.height >= 6 && area.width >= 12;
        self.lay_out(width_in(area), theme);
        // The answers have their place before they appear, so that nothing jumps.
        let footer = match &self.text_name {
            Some(_) => 2,
            None => self.answers(area, width_in(area)).len(),
        };
        let frame = if is_framed { 2 } else { 1 };
        area.height.min(narrow(self.rows.len() + footer + 1 + frame))
    }

    /// Draws it in the lower part of an area.
    pub(crate) fn draw(
        &mut self,
        area: Rect,
        canvas: &mut Canvas<'_>,
        now: Instant,
    ) -> Option<Position> {
        let width = width_in(area);
        let height = self.height(area, canvas.theme);
        let footer = self.footer(area, width, now, canvas.keys);
        let place = Rect { y: area.bottom() - height, height, ..area };
        let inner = canvas.frame(place, &self.title);
        if !self.escape.is_empty() && self.reply.is_none() {
            let key = canvas.keys.hint(Action::Cancel);
            canvas.foot(place, &format!("{key} to {}", self.escape));
        }
        // The answers always stay in sight; the body gets what is left, at least a row.
        let room = usize::from(inner.height);
        let below = footer.len().min(room.saturating_sub(1));
        let has_rule = room > below + 3 || room > below + self.rows.len();
        let page = room.saturating_sub(below + usize::from(has_rule)).max(1);
        self.page = page.saturating_sub(1).max(1);
        self.scroll = self.scroll.min(self.rows.len().saturating_sub(page));
        let last = self.rows.len().min(self.scroll + page);
        canvas.rows(&self.rows[self.scroll..last], inner);
        let hidden = self.rows.len().saturating_sub(self.scroll + page);
        let at = |row: usize| Position { x: inner.x, y: inner.y.saturating_add(narrow(row)) };
        if has_rule {
            let key = canvas.keys.hint(Action::PageDown);
            let more = format!("── {} ({key}) ", counted(hidden, "more line", "more lines"));
            let more = if hidden > 0 { more } else { String::new() };
            let rule = format!("{more}{}", "─".repeat(width.saturating_sub(columns(&more))));
            canvas.text(at(page), &rule, Role::Border, inner.width);
        }
        let first = page + usize::from(has_rule);
        for (number, (role, line)) in footer.iter().take(below).enumerate() {
            let is_hidden = number == 0 && !has_rule && hidden > 0 && self.reply.is_none();
            let line = match is_hidden.then(|| format!("↓{hidden} {line}")) {
                Some(more) if columns(&more) <= width => more,
                Some(_) => self.tiny(hidden, width),
                None => line.clone(),
            };
            canvas.text(at(first + number), &line, *role, inner.width);
        }
        let (_, reply) = self.reply.as_ref()?;
        let (_, column) = self.prompt(reply, width);
        let x = inner.x.saturating_add(narrow(column));
        Some(Position { x: x.min(inner.right().saturating_sub(1)), ..at(first) })
    }

    fn footer(&self, area: Rect, width: usize, now: Instant, keys: &Keymap) -> Vec<(Role, String)> {
        if let Some((at, reply)) = &self.reply {
            let [enter, leaves] = [Action::Send, Action::Cancel].map(|it| keys.hint(it));
            let help = match self.choices.get(*at) {
                Some(choice) => {
                    let short =
                        format!("{enter} to send, empty for no reason · {leaves} to go back");
                    let long = format!("{}: {short}", choice.label);
                    if columns(&long) <= width { long } else { clipped(&short, width) }
                }
                None if now < self.armed_at => "…".to_owned(),
                None => clipped(&format!("{enter} to answer · {leaves} to dismiss"), width),
            };
            return vec![(Role::Text, self.prompt(reply, width).0), (Role::Soft, help)];
        }
        if now < self.armed_at {
            return vec![(Role::Soft, "…".to_owned())];
        }
        self.answers(area, width)
    }

    /// The line in which the text of an answer is written, as far as it fits, and the column of the
    /// cursor in it.
    fn prompt(&self, reply: &Buffer, width: usize) -> (String, usize) {
        let name = clipped(self.text_name.as_deref().unwrap_or("Reason"), width / 2);
        let room = width.saturating_sub(columns(&name) + 3);
        let hidden = columns(reply.raw()).saturating_sub(room).min(reply.cursor_column());
        let column = columns(&name) + 2 + reply.cursor_column() - hidden;
        (format!("{name}: {}", crate::text::skip_columns(reply.raw(), hidden)), column)
    }

    fn answers(&self, area: Rect, width: usize) -> Vec<(Role, String)> {
        let is_tall = usize::from(area.height) >= 12 + self.choices.len();
        if is_tall {
            let line = |(at, choice): (usize, &Choice)| {
                let is_selected = at == self.selected;
                let (mark, role) =
                    if is_selected { ("›", Role::Accent) } else { (" ", Role::Text) };
                (role, clipped(&format!("{mark} {}", choice.line()), width))
            };
            return self.choices.iter().enumerate().map(line).collect();
        }
        let all: Vec<String> = self.choices.iter().map(Choice::line).collect();
        let all = all.join("  ");
        if columns(&all) <= width {
            return vec![(Role::Accent, all)];
        }
        let most = if area.height >= 9 { 2 } else { 1 };
        if let Some(short) = self.short(width, most) {
            return short.into_iter().map(|line| (Role::Accent, line)).collect();
        }
        vec![(Role::Accent, self.tiny(0, width))]
    }

    /// All answers in one short row, behind the number of hidden rows.
    fn tiny(&self, hidden: usize, width: usize) -> String {
        let more = if hidden > 0 { format!("↓{hidden} ") } else { String::new() };
        let all: Vec<String> = self.short_labels().collect();
        let line = format!("{more}{}", all.join(" "));
        match &all[..] {
            // The first and the last are yes and no.
            [first, .., last] if columns(&line) > width => {
                clipped(&format!("{more}{first} {last}"), width)
            }
            _ => clipped(&line, width),
        }
    }

    /// Each answer in a word behind its key.
    fn short_labels(&self) -> impl Iterator<Item = String> {
        self.choices.iter().enumerate().map(|(at, choice)| {
            let mark = if at == self.selected { "›" } else { "" };
            format!("{mark}{} {}", choice.key(), choice.word())
        })
    }

    /// All answers in a word each, if they fit into so many rows.
    fn short(&self, width: usize, most: usize) -> Option<Vec<String>> {
        let mut rows = vec![String::new()];
        for word in self.short_labels() {
            let row = rows.last_mut()?;
            let is_first = row.is_empty();
            if !is_first && columns(row) + 2 + columns(&word) > width {
                rows.push(word);
            } else {
                row.push_str(if is_first { "" } else { "  " });
                row.push_str(&word);
            }
        }
        let fits = |row: &String| columns(row) <= width;
        (rows.len() <= most && rows.iter().all(fits)).then_some(rows)
    }

    fn lay_out(&mut self, width: usize, theme: &Theme) {
        if self.made_for == width {
            return;
        }
        self.made_for = width;
        let lead = vec![(theme.style(Role::Border), "│ ".to_owned())];
        let leads = Leads::same(lead.clone());
        self.rows = Vec::new();
        self.has_folds = false;
        for part in &self.parts {
            let mut rows = match part {
                Part::Prose(role, text) => {
                    let pieces = |line: &str| [(theme.style(*role), line.to_owned())];
                    let wrapped = |line: &str| wrap(&pieces(line), width, &Leads::default());
                    self.rows.extend(text.split('\n').flat_map(wrapped));
                    continue;
                }
                // Not `lines`, which would swallow a carriage return before a line feed.
                Part::Verbatim(text) => {
                    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
                    let pieces = |line: &str| [(theme.style(Role::Code), line.to_owned())];
                    lines.flat_map(|line| fold(&pieces(line), width, &leads)).collect()
                }
                Part::Change { path, unified } => diff::rows(unified, path, theme, width, &lead),
            };
            if let Some(most) = self.fold_at.filter(|most| rows.len() > most + 1) {
                let note = folded(rows.len() - most);
                rows.truncate(most);
                rows.extend(wrap(&[(theme.style(Role::Soft), note)], width, &leads));
                self.has_folds = true;
            }
            self.rows.extend(rows);
        }
    }
}

/// Columns for text in an area: less where there is a frame.
fn width_in(area: Rect) -> usize {
    let frame = if area.height >= 6 && area.width >= 12 { 4 } else { 0 };
    usize::from(area.width).saturating_sub(frame).max(1)
}
