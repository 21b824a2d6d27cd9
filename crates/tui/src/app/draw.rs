//! The screen, from the bottom layer up.

use ratatui_core::layout::{Position, Rect};
use ratatui_core::terminal::Frame;

use super::{App, Focus};
use crate::canvas::Canvas;
use crate::composer::complete::MAX_PROPOSALS;
use crate::keymap::{Action, ActionInfo};
use crate::link::Links;
use crate::picture::Pictures;
use crate::text::{clipped, columns, narrow, one_line};
use crate::theme::Role;
use crate::transcript::{By, Shape};

const MAX_PROPOSAL_ROWS: usize = 8;
const MIN_ROWS_WITH_RULE: u16 = 8;

impl App {
    /// Draws everything.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        self.is_dirty = false;
        let area = frame.area();
        self.size = (area.width, area.height);
        if area.width == 0 || area.height == 0 {
            return;
        }
        let theme = self.theme.clone();
        let keys = self.keymap.clone();
        let mut canvas = Canvas { buffer: frame.buffer_mut(), theme: &theme, keys: &keys };
        let mut places = self.places(area);
        let above = Rect { height: area.height.saturating_sub(1), ..area };
        let covered = self.layers.iter_mut().map(|layer| layer.covers(above, &theme)).max();
        let free = above.height.saturating_sub(covered.unwrap_or(0));
        places.body.height = places.body.height.min(free);
        self.draw_body(places.body, &mut canvas);
        self.draw_queue(places.queue, &mut canvas);
        let mut cursor = self.draw_composer(places.composer, &mut canvas);
        let note = self.note_line();
        self.status.draw(places.status, &mut canvas, self.now, &note);
        self.draw_proposals(places.composer, &mut canvas);
        if !self.chord.is_empty() {
            self.draw_following(area, &mut canvas);
        }
        for layer in &mut self.layers {
            cursor = layer.draw(above, &mut canvas);
        }
        if let Some(cursor) = cursor
            && area.contains(cursor)
        {
            frame.set_cursor_position(cursor);
        }
    }

    fn places(&mut self, area: Rect) -> Places {
        let status = u16::from(area.height > 2);
        let most = (area.height / 3).max(1);
        let composer = self.composer.height(area.width).clamp(1, most);
        // A line above the text, where there is room for one.
        let rule = u16::from(area.height >= MIN_ROWS_WITH_RULE);
        let free = area.height.saturating_sub(status + composer + rule);
        let queue = narrow(self.queue.len()).min(free / 3);
        let body = free - queue;
        let at = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
        Places {
            body: at(0, body),
            queue: at(body, queue),
            composer: at(body + queue + rule, composer),
            status: at(area.height - status, status),
        }
    }

    fn draw_body(&mut self, area: Rect, canvas: &mut Canvas<'_>) {
        // A column stays free at each side where there is room.
        let margin = u16::from(area.width >= 40);
        let area =
            Rect { x: area.x + margin, width: area.width.saturating_sub(2 * margin), ..area };
        self.body = area;
        let shape = Shape {
            width: usize::from(area.width),
            edition: self.edition,
            shows_thinking: self.settings.shows_thinking,
            pictures: self.settings.pictures,
        };
        let height = usize::from(area.height);
        self.view.prepare(&mut self.transcript, canvas.theme, height, shape);
        if self.transcript.len() == 0 {
            self.draw_welcome(area, canvas);
        }
        self.view.draw(&self.transcript, area, canvas.buffer, canvas.theme);
    }

    pub(crate) fn links(&self) -> Links {
        self.view.links(&self.transcript)
    }

    /// The sequences to write after a frame so that its pictures are shown; none if they are.
    /// `cell` gives the pixels of a cell.
    pub fn pictures(&mut self, cell: impl FnOnce() -> (u16, u16)) -> Option<PictureOutput> {
        if self.settings.pictures == Pictures::None {
            return None;
        }
        let is_free = self.layers.is_empty() && self.chord.is_empty();
        let seen = if is_free { self.view.pictures(&self.transcript) } else { Vec::new() };
        let at = |row: usize| Position {
            x: self.body.x.saturating_add(4),
            y: self.body.y.saturating_add(narrow(row)),
        };
        let seen: Vec<(usize, Position)> =
            seen.into_iter().map(|(block, row)| (block, at(row))).collect();
        match self.settings.pictures {
            Pictures::None => None,
            // Each is sent once; the characters that stand for it move with the text.
            Pictures::Kitty => {
                let is_fresh =
                    |it: &&(usize, Position)| self.pictures.iter().all(|(block, _)| *block != it.0);
                let fresh: Vec<(usize, Position)> = seen.iter().filter(is_fresh).copied().collect();
                let written = self.picture_sequences(&fresh, cell);
                // The earlier image with this number is gone.
                let id = |block: usize| self.transcript.block(block).map(|it| it.picture_id);
                let is_left = |known: &(usize, Position)| {
                    fresh.iter().all(|(block, _)| id(*block) != id(known.0))
                };
                self.pictures.retain(is_left);
                self.pictures.extend(fresh);
                (!written.is_empty()).then_some(PictureOutput { written, needs_redraw: false })
            }
            // Images at other positions disappear only with a full redraw.
            Pictures::Iterm | Pictures::Sixel => {
                if seen == self.pictures {
                    return None;
                }
                let written = self.picture_sequences(&seen, cell);
                let needs_redraw = !self.pictures.is_empty();
                self.pictures = seen;
                Some(PictureOutput { written, needs_redraw })
            }
        }
    }

    /// The sequences for pictures of blocks at their places; notes one that cannot be shown.
    fn picture_sequences(
        &mut self,
        seen: &[(usize, Position)],
        cell: impl FnOnce() -> (u16, u16),
    ) -> Vec<(Position, String)> {
        if seen.is_empty() {
            return Vec::new();
        }
        let (by, cell) = (self.settings.pictures, cell());
        let mut all = Vec::with_capacity(seen.len());
        for (block, at) in seen {
            let block = self.transcript.block_mut(*block);
            match block.and_then(|block| block.picture_written(by, cell)) {
                Some(Ok(written)) => all.push((*at, written)),
                Some(Err(why)) => {
                    self.note = format!("Cannot show an image: {}", one_line(&why));
                    self.is_dirty = true;
                }
                None => {}
            }
        }
        all
    }

    fn draw_queue(&self, area: Rect, canvas: &mut Canvas<'_>) {
        let skipped = self.queue.len().saturating_sub(usize::from(area.height));
        for (y, text) in (area.y..area.bottom()).zip(self.queue.iter().skip(skipped)) {
            // Of a long text no more is looked at than could be shown.
            let text = contract::text::head(text.trim(), 8 * usize::from(area.width));
            let line = format!("Queued: {}", one_line(&text.replace('\n', " ⏎ ")));
            let line = clipped(&line, usize::from(area.width).saturating_sub(16));
            let at = Position { x: area.x, y };
            let used = canvas.text(at, &line, Role::Soft, area.width);
            if y + 1 == area.bottom() && self.composer.buffer.is_empty() {
                let at = Position { x: area.x + used, y };
                canvas.text(at, "  (↑ to edit)", Role::Soft, area.width - used);
            }
        }
    }

    fn draw_composer(&self, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position> {
        if self.size.1 >= MIN_ROWS_WITH_RULE {
            let rule = "─".repeat(usize::from(area.width));
            let at = Position { x: area.x, y: area.y.saturating_sub(1) };
            canvas.text(at, &rule, Role::Border, area.width);
            if let Some(percent) = self.view.progress(&self.transcript) {
                let end = self.keymap.hint(Action::Bottom);
                let text = format!(" {percent}% · {end} for the end ");
                let text = clipped(&text, usize::from(area.width));
                let x = area.right().saturating_sub(narrow(columns(&text)));
                canvas.text(Position { x, ..at }, &text, Role::Selection, area.width);
            }
        }
        let placeholder = match (self.is_connected, self.status.is_busy()) {
            (false, _) => "Starting… you can type already".to_owned(),
            (true, true) => {
                let hint = |action: Action| self.keymap.hint(action);
                format!("{} to queue · {} to interrupt", hint(Action::Send), hint(Action::Cancel))
            }
            (true, false) => "Ask anything…".to_owned(),
        };
        let cursor = self.composer.draw(area, canvas, &placeholder);
        (self.focus == Focus::Writing).then_some(cursor)
    }

    fn note_line(&self) -> String {
        if !self.note.is_empty() {
            return self.note.clone();
        }
        if self.focus == Focus::Browsing {
            let is_selecting = self.view.selection.is_some_and(|it| it.by != By::Mouse);
            let keys = if is_selecting {
                "Selecting: arrows extend · o other end · y copy"
            } else {
                "Browsing: Enter open · j k row · v select · y copy · / search"
            };
            return format!("{keys} · {} to leave", self.keymap.hint(Action::Cancel));
        }
        let mode = match &self.composer.vim {
            Some(vim) if vim.is_marking() => "VISUAL",
            Some(vim) if vim.is_normal() => "NORMAL",
            Some(_) | None => "",
        };
        if let Some(help) = &self.composer.completion.help {
            return help.clone();
        }
        match self.view.progress(&self.transcript).filter(|_| self.size.1 < MIN_ROWS_WITH_RULE) {
            Some(percent) => format!("{percent}%"),
            None => mode.to_owned(),
        }
    }

    fn draw_proposals(&self, composer: Rect, canvas: &mut Canvas<'_>) {
        let completion = &self.composer.completion;
        if !completion.is_open() || self.focus != Focus::Writing || !self.layers.is_empty() {
            return;
        }
        let room = usize::from(composer.y);
        let count = completion.proposals.len().min(MAX_PROPOSAL_ROWS).min(room);
        let first = completion.selected.saturating_sub(count.saturating_sub(1));
        let top = composer.y - narrow(count);
        let area = Rect { y: top, height: narrow(count), ..composer };
        canvas.clear(area);
        let shown = completion.proposals.iter().enumerate().skip(first).take(count);
        // Their purpose has a column of its own if there is room.
        let widest = shown.clone().map(|(_, it)| columns(&one_line(&it.text))).max().unwrap_or(0);
        let widest = narrow(widest).min(area.width / 2);
        for (y, (number, proposal)) in (area.y..area.bottom()).zip(shown) {
            let at = Position { x: area.x + 2.min(area.width), y };
            let room = area.width.saturating_sub(2);
            let used = canvas.text(at, &one_line(&proposal.text), Role::Text, room);
            canvas.accent(&proposal.text, &proposal.places, at);
            let after = Position { x: at.x + used.max(widest), y };
            let hidden = completion.proposals.len() - first - count;
            let more = if y + 1 == area.bottom() && hidden > 0 {
                let others = if completion.proposals.len() == MAX_PROPOSALS { "+" } else { "" };
                format!("  {hidden}{others} more below")
            } else {
                String::new()
            };
            let room = area.right().saturating_sub(after.x + narrow(columns(&more)));
            let about = clipped(&format!("  {}", one_line(&proposal.about)), usize::from(room));
            canvas.text(after, &about, Role::Soft, room);
            let end = Position { x: area.right().saturating_sub(narrow(columns(&more))), y };
            canvas.text(end, &more, Role::Accent, area.width);
            if number == completion.selected {
                canvas.select_row(area, y);
            }
        }
    }

    /// Draws the keys that can follow those of a sequence: with descriptions if all fit, else with
    /// names, and in pages if even that is too much.
    fn draw_following(&mut self, area: Rect, canvas: &mut Canvas<'_>) {
        let following = self.keymap.following(&self.chord);
        let keys: Vec<String> = self.chord.iter().map(ToString::to_string).collect();
        let inner = usize::from(area.width).saturating_sub(4).max(1);
        let most = usize::from(area.height.saturating_sub(5)).max(1);
        let cells = |about: fn(&ActionInfo) -> &'static str| {
            let cell = |(keys, described): &(String, &ActionInfo)| (keys.clone(), about(described));
            let cells: Vec<(String, &str)> = following.iter().map(cell).collect();
            let wide = |(keys, about): &(String, &str)| columns(keys) + columns(about) + 3;
            let widest = cells.iter().map(wide).max().unwrap_or(1);
            let across = (inner / widest.max(1)).max(1);
            (cells, across)
        };
        let (mut all, mut across) = cells(|described| described.about);
        if all.len().div_ceil(across) > most {
            (all, across) = cells(|described| described.name);
        }
        let rows = all.len().div_ceil(across).min(most);
        let height = narrow(rows + 2).min(area.height.saturating_sub(1)).max(1);
        let place = Rect { y: area.bottom().saturating_sub(height + 1), height, ..area };
        let inner = canvas.frame(place, &keys.join(" "));
        let rows = usize::from(inner.height).max(1);
        let page = rows * across;
        self.chord_page = self.chord_page.min(all.len().saturating_sub(1) / page);
        let first = self.chord_page * page;
        let below = all.len().saturating_sub(first + page);
        if first + below > 0 {
            let more = match (first, below) {
                (0, below) => format!("{below} more ↓"),
                (above, 0) => format!("{above} more ↑"),
                (above, below) => format!("{above} ↑ {below} ↓"),
            };
            if inner.x == place.x {
                // Without a frame its title has room for it.
                canvas.frame(place, &format!("{} {more}", keys.join(" ")));
            } else {
                canvas.foot(
                    place,
                    &format!("{more} · {} for all keys", canvas.keys.hint(Action::Help)),
                );
            }
        }
        let wide = inner.width / narrow(across).max(1);
        for (number, (keys, about)) in all.iter().skip(first).take(page).enumerate() {
            let x = inner.x + narrow(number / rows) * wide;
            let at = Position { x, y: inner.y + narrow(number % rows) };
            let room = wide.min(inner.right().saturating_sub(x));
            let used = canvas.text(at, keys, Role::Accent, room);
            let at = Position { x: at.x + used + 1, ..at };
            let about = clipped(about, usize::from(room.saturating_sub(used + 1)));
            canvas.text(at, &about, Role::Text, room.saturating_sub(used + 1));
        }
    }
}

/// Pictures to be written to the terminal.
pub struct PictureOutput {
    /// Places with the sequences to write there.
    pub written: Vec<(Position, String)>,
    /// True if the screen is to be drawn again before.
    pub needs_redraw: bool,
}

struct Places {
    body: Rect,
    queue: Rect,
    composer: Rect,
    status: Rect,
}
