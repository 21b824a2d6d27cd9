//! A question with everything that its answer depends on: the body scrolls and is never cut, and
//! no key counts that was typed before there was time to see it.

use std::time::{Duration, Instant};

use ratatui_core::layout::{Position, Rect};

use super::{Canvas, Flow};
use crate::diff;
use crate::key::{Code, Key};
use crate::text::{Leads, Row, clipped, columns, fold, narrow, wrap};
use crate::theme::{Role, Theme};

/// A key pressed sooner after a question appears, or after such a key, was not meant for it.
pub(crate) const A_LOOK: Duration = Duration::from_millis(300);

/// A part of what a question is about.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Prose.
    Words(Role, String),
    /// Text as it is, behind a bar.
    Verbatim(String),
    /// A change of a file.
    Change {
        /// The file.
        path: String,
        /// The change.
        unified: String,
    },
}

/// An answer that can be given.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The letters that give it; the first is shown.
    pub(crate) letters: &'static str,
    /// What it is.
    pub(crate) label: String,
    /// Whether words may go with it.
    pub(crate) takes_words: bool,
}

/// What somebody decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decided {
    /// Nothing yet.
    Nothing,
    /// This choice, with words where it takes them.
    Choice(usize, Option<String>),
    /// The key was typed too early; it belongs to what was there before.
    Early,
    /// The key is not for a question.
    Other,
}

/// A question.
pub(crate) struct Question {
    title: String,
    parts: Vec<Part>,
    choices: Vec<Choice>,
    selected: usize,
    armed_at: Instant,
    words: Option<(usize, String)>,
    scroll: usize,
    rows: Vec<Row>,
    made_for: usize,
    page: usize,
}

impl Question {
    /// A question that appears at `now`.
    pub(crate) fn new(title: String, parts: Vec<Part>, choices: Vec<Choice>, now: Instant) -> Self {
        Self {
            title,
            parts,
            choices,
            selected: 0,
            armed_at: now + A_LOOK,
            words: None,
            scroll: 0,
            rows: Vec::new(),
            made_for: 0,
            page: 1,
        }
    }

    /// When keys begin to count.
    pub(crate) fn armed_at(&self) -> Instant {
        self.armed_at
    }

    /// Names the question otherwise.
    pub(crate) fn set_title(&mut self, title: String) {
        self.title = title;
    }

    /// Takes a key that arrived at `at`.
    pub(crate) fn key(&mut self, key: Key, at: Instant) -> Decided {
        if at < self.armed_at {
            // Whoever is still typing has not looked yet.
            self.armed_at = self.armed_at.max(at + A_LOOK);
            return Decided::Early;
        }
        if self.words.is_some() {
            return self.word_key(key);
        }
        match key.code {
            Code::Up => self.selected = self.selected.saturating_sub(1),
            Code::Down => self.selected = (self.selected + 1).min(self.choices.len() - 1),
            Code::Tab => self.selected = (self.selected + 1) % self.choices.len(),
            Code::PageUp => self.scroll = self.scroll.saturating_sub(self.page),
            Code::PageDown | Code::Char(' ') => self.scroll += self.page,
            Code::Home => self.scroll = 0,
            Code::End => self.scroll = usize::MAX / 2,
            Code::Char('j') if !key.ctrl => self.scroll += 1,
            Code::Char('k') if !key.ctrl => self.scroll = self.scroll.saturating_sub(1),
            Code::Enter => return self.choose(self.selected),
            _ => {
                let Some(letter) = key.typed() else { return Decided::Other };
                let chosen = |choice: &Choice| choice.letters.contains(letter);
                match self.choices.iter().position(chosen) {
                    Some(at) => return self.choose(at),
                    None => return Decided::Nothing,
                }
            }
        }
        Decided::Nothing
    }

    /// Takes pasted text where words are being written.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some((_, words)) = &mut self.words {
            words.extend(text.chars().filter(|c| !c.is_control()));
        }
    }

    /// Scrolls by a few rows.
    pub(crate) fn scroll(&mut self, is_down: bool) {
        self.scroll = if is_down { self.scroll + 3 } else { self.scroll.saturating_sub(3) };
    }

    fn choose(&mut self, at: usize) -> Decided {
        if self.choices[at].takes_words {
            self.selected = at;
            self.words = Some((at, String::new()));
            return Decided::Nothing;
        }
        Decided::Choice(at, None)
    }

    fn word_key(&mut self, key: Key) -> Decided {
        let Some((at, words)) = &mut self.words else { return Decided::Nothing };
        match key.code {
            Code::Enter => {
                let words = words.trim().to_owned();
                return Decided::Choice(*at, Some(words).filter(|words| !words.is_empty()));
            }
            Code::Esc => self.words = None,
            Code::Backspace => {
                words.pop();
            }
            Code::Char('u') if key.ctrl => words.clear(),
            _ => match key.typed() {
                Some(letter) => words.push(letter),
                None => return Decided::Other,
            },
        }
        Decided::Nothing
    }

    /// Draws it in the lower part of an area.
    pub(crate) fn draw(
        &mut self,
        area: Rect,
        canvas: &mut Canvas<'_>,
        now: Instant,
    ) -> Option<Position> {
        let is_framed = area.height >= 6 && area.width >= 12;
        let width = usize::from(area.width).saturating_sub(if is_framed { 4 } else { 0 }).max(1);
        self.lay_out(width, canvas.theme);
        let footer = self.footer(area, width, now);
        let frame = if is_framed { 2 } else { 1 };
        let wanted = self.rows.len() + footer.len() + 1 + frame;
        let height = area.height.min(narrow(wanted));
        let place = Rect { y: area.bottom() - height, height, ..area };
        let inner = canvas.frame(place, &self.title);
        // The answers always stay in sight; the body gets what is left, at least a row.
        let room = usize::from(inner.height);
        let below = footer.len().min(room.saturating_sub(1));
        let has_rule = room > below + 3;
        let page = room.saturating_sub(below + usize::from(has_rule)).max(1);
        self.page = page.saturating_sub(1).max(1);
        self.scroll = self.scroll.min(self.rows.len().saturating_sub(page));
        let shown = self.rows.iter().skip(self.scroll).take(page);
        for (y, row) in (inner.y..inner.bottom()).zip(shown) {
            canvas.buffer.set_line(inner.x, y, &row.line, inner.width);
        }
        let hidden = self.rows.len().saturating_sub(self.scroll + page);
        let at = |row: usize| Position { x: inner.x, y: inner.y.saturating_add(narrow(row)) };
        if has_rule {
            let more = if hidden > 0 {
                format!("── {hidden} more rows below: PageDown ")
            } else {
                String::new()
            };
            let rule = format!("{more}{}", "─".repeat(width.saturating_sub(columns(&more))));
            let look = if hidden > 0 { Role::Caution } else { Role::Border };
            canvas.text(at(page), &rule, look, inner.width);
        }
        let first = page + usize::from(has_rule);
        for (number, (role, line)) in footer.iter().take(below).enumerate() {
            canvas.text(at(first + number), line, *role, inner.width);
        }
        let (_, words) = self.words.as_ref()?;
        let x = inner.x.saturating_add(narrow(columns(&prompt(words, width))));
        Some(Position { x: x.min(inner.right().saturating_sub(1)), ..at(first) })
    }

    fn footer(&self, area: Rect, width: usize, now: Instant) -> Vec<(Role, String)> {
        if let Some((at, words)) = &self.words {
            let label = &self.choices[*at].label;
            return vec![
                (Role::Text, prompt(words, width)),
                (Role::Soft, format!("{label}: say why, or only Enter; Esc goes back")),
            ];
        }
        if now < self.armed_at {
            return vec![(Role::Soft, "…".to_owned())];
        }
        let letter = |choice: &Choice| choice.letters.chars().next().unwrap_or('?');
        let is_tall = usize::from(area.height) >= 12 + self.choices.len();
        if is_tall {
            let line = |(at, choice): (usize, &Choice)| {
                let (mark, role) =
                    if at == self.selected { ("›", Role::Accent) } else { (" ", Role::Text) };
                (role, format!("{mark} [{}] {}", letter(choice), choice.label))
            };
            return self.choices.iter().enumerate().map(line).collect();
        }
        let all: Vec<String> = self
            .choices
            .iter()
            .map(|choice| format!("[{}] {}", letter(choice), choice.label))
            .collect();
        let all = all.join("  ");
        if columns(&all) <= width {
            return vec![(Role::Accent, all)];
        }
        let letters: Vec<String> = self.choices.iter().map(|it| letter(it).to_string()).collect();
        let selected = &self.choices[self.selected].label;
        vec![(Role::Accent, clipped(&format!("{}: {selected}", letters.join("/")), width))]
    }

    fn lay_out(&mut self, width: usize, theme: &Theme) {
        if self.made_for == width {
            return;
        }
        self.made_for = width;
        let lead = vec![(theme.style(Role::Border), "│ ".to_owned())];
        let leads = Leads::same(lead.clone());
        self.rows = Vec::new();
        for part in &self.parts {
            match part {
                Part::Words(role, text) => {
                    for line in text.split('\n') {
                        let pieces = [(theme.style(*role), line.to_owned())];
                        self.rows.extend(wrap(&pieces, width, &Leads::default()));
                    }
                }
                // Not `lines`, which would swallow what stands before a line feed.
                Part::Verbatim(text) => {
                    let text = text.strip_suffix('\n').unwrap_or(text);
                    for line in text.split('\n') {
                        let pieces = [(theme.style(Role::Code), line.to_owned())];
                        self.rows.extend(fold(&pieces, width, &leads));
                    }
                }
                Part::Change { path, unified } => {
                    self.rows.extend(diff::rows(unified, path, theme, width, &lead));
                }
            }
        }
    }
}

fn prompt(words: &str, width: usize) -> String {
    let room = width.saturating_sub(10);
    let hidden = columns(words).saturating_sub(room);
    format!("because: {}", crate::text::skip_columns(words, hidden))
}

/// What a key means for a layer, once the question has taken it.
pub(crate) fn flow(decided: &Decided) -> Flow {
    match decided {
        Decided::Nothing => Flow::Stay,
        Decided::Choice(..) => Flow::Close,
        Decided::Early | Decided::Other => Flow::Pass,
    }
}
