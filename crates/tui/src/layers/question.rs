//! A question with everything that its answer depends on: the body scrolls and is never cut, and
//! no key counts that was typed before there was time to see it.

use std::time::{Duration, Instant};

use ratatui_core::layout::{Position, Rect};

use super::{Canvas, Flow};
use crate::diff;
use crate::key::{Code, Key};
use crate::keymap::{Action, Keymap};
use crate::text::{Leads, Row, clipped, columns, counted, fold, narrow, wrap};
use crate::theme::{Role, Theme};

/// A key pressed sooner after a question appears, or after such a key, was not meant for it.
pub(crate) const A_LOOK: Duration = Duration::from_millis(300);
/// The same for somebody who was writing when it appeared.
const A_LONG_LOOK: Duration = Duration::from_secs(1);

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
    /// The same in a word, for small screens.
    pub(crate) word: &'static str,
    /// Whether words may go with it.
    pub(crate) takes_words: bool,
    /// What it lets happen.
    pub(crate) grants: Grants,
}

/// What an answer lets happen: for anything everything must have been seen, and it is never what Enter gives by
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grants {
    /// Nothing.
    Nothing,
    /// What the question is about.
    This,
    /// More than that: its letter, which may begin a word that is typed, only points at it, and Enter gives it.
    More,
}

impl Grants {
    /// What the question is about, or nothing.
    pub(crate) fn this(grants: bool) -> Self {
        if grants { Self::This } else { Self::Nothing }
    }
}

impl Choice {
    /// What it is in a word.
    fn word(&self) -> String {
        match self.word {
            "" => self.label.split([' ', ':']).next().unwrap_or_default().to_lowercase(),
            word => word.to_owned(),
        }
    }

    /// The letter that is shown for it.
    fn letter(&self) -> char {
        self.letters.chars().next().unwrap_or('?')
    }
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
    /// The choice that Enter gives; none before one was looked at, where somebody was writing.
    selected: Option<usize>,
    look: Duration,
    armed_at: Instant,
    words: Option<(usize, String)>,
    /// What the words are called that alone answer it; none where there are choices.
    only_words: Option<String>,
    scroll: usize,
    rows: Vec<Row>,
    /// The rows that have been on the screen, from the first.
    seen: usize,
    made_for: usize,
    page: usize,
}

impl Question {
    /// A question that appears at `now`.
    pub(crate) fn new(title: String, parts: Vec<Part>, choices: Vec<Choice>, now: Instant) -> Self {
        let selected = choices.iter().position(|choice| choice.grants == Grants::Nothing);
        Self {
            title,
            parts,
            choices,
            selected,
            look: A_LOOK,
            armed_at: now + A_LOOK,
            words: None,
            only_words: None,
            scroll: 0,
            rows: Vec::new(),
            seen: 0,
            made_for: 0,
            page: 1,
        }
    }

    /// A question that is answered by words, which are called so.
    pub(crate) fn for_words(title: String, parts: Vec<Part>, name: String, now: Instant) -> Self {
        let words = Some((0, String::new()));
        Self { words, only_words: Some(name), ..Self::new(title, parts, Vec::new(), now) }
    }

    /// The same question with this choice for Enter.
    pub(crate) fn beginning_at(mut self, choice: Option<usize>) -> Self {
        self.selected = choice.filter(|at| *at < self.choices.len()).or(self.selected);
        self
    }

    /// The same question for somebody who was writing: it takes a longer look, and Enter gives no
    /// answer before one is chosen, since it may have been meant for the text.
    pub(crate) fn amid_writing(mut self) -> Self {
        self.armed_at += A_LONG_LOOK.saturating_sub(self.look);
        self.look = A_LONG_LOOK;
        self.selected = None;
        self
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
            self.armed_at = self.armed_at.max(at + self.look);
            return Decided::Early;
        }
        if self.words.is_some() {
            return self.word_key(key);
        }
        match key.code {
            Code::Up => self.selected = Some(self.selected.unwrap_or(0).saturating_sub(1)),
            Code::Down => {
                let next = self.selected.map_or(0, |at| at + 1);
                self.selected = Some(next.min(self.choices.len() - 1));
            }
            Code::Tab => {
                self.selected = Some(self.selected.map_or(0, |at| at + 1) % self.choices.len());
            }
            Code::PageUp => self.scroll = self.scroll.saturating_sub(self.page),
            Code::PageDown | Code::Char(' ') => self.scroll += self.page,
            Code::Home => self.scroll = 0,
            Code::End => self.scroll = usize::MAX / 2,
            Code::Char('j') if !key.ctrl => self.scroll += 1,
            Code::Char('k') if !key.ctrl => self.scroll = self.scroll.saturating_sub(1),
            Code::Enter => match self.selected {
                Some(at) => return self.choose(at),
                None => return Decided::Nothing,
            },
            _ => {
                let Some(letter) = key.typed() else { return Decided::Other };
                let chosen = |choice: &Choice| choice.letters.contains(letter);
                match self.choices.iter().position(chosen) {
                    Some(choice) if self.choices[choice].grants == Grants::More => {
                        self.selected = Some(choice);
                    }
                    Some(choice) => return self.choose(choice),
                    None => self.take_for_words(at),
                }
            }
        }
        Decided::Nothing
    }

    /// Whoever types another letter is writing, so that what was pointed at was a part of words.
    fn take_for_words(&mut self, at: Instant) {
        self.selected = None;
        self.armed_at = at + self.look;
    }

    /// Takes text that was pasted at `at` where words are being written. Keys right behind it may
    /// have been a part of it. Elsewhere it belongs to what is below.
    pub(crate) fn paste(&mut self, text: &str, at: Instant) -> Flow {
        self.armed_at = self.armed_at.max(at + self.look);
        let Some((_, words)) = &mut self.words else { return Flow::Pass };
        words.extend(text.chars().filter(|c| !c.is_control()));
        Flow::Stay
    }

    /// Scrolls by a few rows.
    pub(crate) fn scroll(&mut self, is_down: bool) {
        self.scroll = if is_down { self.scroll + 3 } else { self.scroll.saturating_sub(3) };
    }

    fn choose(&mut self, at: usize) -> Decided {
        if self.choices[at].grants != Grants::Nothing && self.seen < self.rows.len() {
            // What was never on the screen cannot be agreed to.
            self.selected = Some(at);
            self.scroll += self.page;
            return Decided::Nothing;
        }
        if self.choices[at].takes_words {
            self.selected = Some(at);
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
            Code::Esc if self.only_words.is_some() => return Decided::Other,
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

    /// Rows that it takes of an area.
    pub(crate) fn height(&mut self, area: Rect, theme: &Theme) -> u16 {
        let is_framed = area.height >= 6 && area.width >= 12;
        self.lay_out(width_in(area), theme);
        // The answers have their place before they appear, so that nothing jumps.
        let footer = match &self.only_words {
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
        self.seen = self.seen.max((self.scroll + page).min(self.rows.len()));
        let hidden = self.rows.len().saturating_sub(self.scroll + page);
        let at = |row: usize| Position { x: inner.x, y: inner.y.saturating_add(narrow(row)) };
        if has_rule {
            let rows = counted(hidden, "more row", "more rows");
            let is_seen = self.seen >= self.rows.len();
            let more = match hidden {
                0 => String::new(),
                _ if is_seen => format!("── {rows} below "),
                _ => {
                    let key = canvas.keys.hint(Action::PageDown);
                    let long = format!("── {rows} below, to be seen first: {key} ");
                    let fits = columns(&long) <= width;
                    if fits { long } else { format!("── {hidden} more, first: {key} ") }
                }
            };
            let rule = format!("{more}{}", "─".repeat(width.saturating_sub(columns(&more))));
            let look = if hidden > 0 && !is_seen { Role::Caution } else { Role::Border };
            canvas.text(at(page), &rule, look, inner.width);
        }
        let first = page + usize::from(has_rule);
        for (number, (role, line)) in footer.iter().take(below).enumerate() {
            let is_hidden = number == 0 && !has_rule && hidden > 0 && self.words.is_none();
            let line = match is_hidden.then(|| format!("↓{hidden} {line}")) {
                Some(more) if columns(&more) <= width => more,
                Some(_) => self.tiny(hidden, width),
                None => line.clone(),
            };
            canvas.text(at(first + number), &line, *role, inner.width);
        }
        let (_, words) = self.words.as_ref()?;
        let x = inner.x.saturating_add(narrow(columns(&self.prompt(words, width))));
        Some(Position { x: x.min(inner.right().saturating_sub(1)), ..at(first) })
    }

    fn footer(&self, area: Rect, width: usize, now: Instant, keys: &Keymap) -> Vec<(Role, String)> {
        if let Some((at, words)) = &self.words {
            let [enter, leaves] = [Action::Send, Action::Cancel].map(|it| keys.hint(it));
            let help = match self.choices.get(*at) {
                Some(choice) => {
                    let short = format!("say why, or only {enter}; {leaves} goes back");
                    let long = format!("{}: {short}", choice.label);
                    if columns(&long) <= width { long } else { clipped(&short, width) }
                }
                None if now < self.armed_at => "…".to_owned(),
                None => {
                    clipped(&format!("{enter} answers, {leaves} puts the question aside"), width)
                }
            };
            return vec![(Role::Text, self.prompt(words, width)), (Role::Soft, help)];
        }
        if now < self.armed_at {
            return vec![(Role::Soft, "…".to_owned())];
        }
        self.answers(area, width)
    }

    /// The line in which words are written, as far as it fits.
    fn prompt(&self, words: &str, width: usize) -> String {
        let name = clipped(self.only_words.as_deref().unwrap_or("because"), width / 2);
        let hidden = columns(words).saturating_sub(width.saturating_sub(columns(&name) + 3));
        format!("{name}: {}", crate::text::skip_columns(words, hidden))
    }

    fn answers(&self, area: Rect, width: usize) -> Vec<(Role, String)> {
        let is_tall = usize::from(area.height) >= 12 + self.choices.len();
        if is_tall {
            let line = |(at, choice): (usize, &Choice)| {
                let (mark, role) = if Some(at) == self.selected {
                    ("›", Role::Accent)
                } else {
                    (" ", Role::Text)
                };
                (role, format!("{mark} [{}] {}", choice.letter(), choice.label))
            };
            return self.choices.iter().enumerate().map(line).collect();
        }
        let all: Vec<String> = self
            .choices
            .iter()
            .map(|choice| format!("[{}] {}", choice.letter(), choice.label))
            .collect();
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

    /// All answers in one short row: those that allow together, behind how many rows are hidden.
    fn tiny(&self, hidden: usize, width: usize) -> String {
        let (grants, others): (Vec<&Choice>, Vec<&Choice>) =
            self.choices.iter().partition(|choice| choice.grants != Grants::Nothing);
        let word = |choice: &&Choice| format!("{} {}", choice.letter(), choice.word());
        let all: Vec<String> = self.choices.iter().map(|choice| word(&choice)).collect();
        let all = all.join(" ");
        if hidden == 0 && columns(&all) <= width {
            return all;
        }
        let letters: String = grants.iter().map(|choice| choice.letter()).collect();
        let first = match grants.first() {
            Some(first) if hidden > 0 => format!("↓{hidden} {} on", first.letter()),
            Some(first) => format!("{letters} {}", first.word()),
            None => String::new(),
        };
        let rows = [first].into_iter().chain(others.iter().map(word));
        clipped(rows.collect::<Vec<_>>().join(" ").trim_start(), width)
    }

    /// All answers in a word each, if they fit into so many rows.
    fn short(&self, width: usize, most: usize) -> Option<Vec<String>> {
        let mut rows = vec![String::new()];
        for choice in &self.choices {
            let word = format!("{} {}", choice.letter(), choice.word());
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
        // What is laid out anew is looked at from its beginning.
        (self.seen, self.scroll) = (0, 0);
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

/// Columns for text in an area: less where there is a frame.
fn width_in(area: Rect) -> usize {
    let frame = if area.height >= 6 && area.width >= 12 { 4 } else { 0 };
    usize::from(area.width).saturating_sub(frame).max(1)
}

/// What a key means for a layer, once the question has taken it.
pub(crate) fn flow(decided: &Decided) -> Flow {
    match decided {
        Decided::Nothing => Flow::Stay,
        Decided::Choice(..) => Flow::Close,
        Decided::Early | Decided::Other => Flow::Pass,
    }
}
