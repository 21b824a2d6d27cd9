//! Picking one of many by a few letters: models, sessions, themes, plugins, permissions, things to
//! do, and what was sent before.

use std::time::Instant;

use ratatui_core::layout::{Position, Rect};

use super::{Deed, Flow, Layer};
use crate::canvas::{Canvas, centered, share};
use crate::composer::{Buffer, Edit};
use crate::fuzzy;
use crate::host::{Answer, Item, Leave, Picks, Request};
use crate::key::{Code, Key};
use crate::keymap::{ACTIONS, Action, Keymap};
use crate::message::Effect;
use crate::text::{Leads, Row, clean, clipped, columns, narrow, one_line, wrap};
use crate::theme::Role;

const REASON_ROWS: u16 = 6;

/// The things to pick from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A list of the host.
    Host(Picks),
    Themes,
    Actions,
    Sent,
}

/// A list to pick from.
pub(crate) struct Picker {
    subject: Subject,
    items: Vec<Item>,
    /// Lists of the host that have not arrived.
    awaited: usize,
    /// How many items stay first while others are added.
    pinned: Option<usize>,
    query: Buffer,
    found: Vec<(usize, fuzzy::Match)>,
    selected: usize,
    first: usize,
    /// The preview of an item: its value and its text.
    preview: Option<(String, String)>,
    /// The theme in use before others were tried.
    before: String,
}

impl Picker {
    /// A list that the host has yet to give.
    pub(crate) fn waiting(picks: Picks) -> Self {
        Self { awaited: 1, ..Self::of(Subject::Host(picks), Vec::new()) }
    }

    pub(crate) fn of(subject: Subject, items: Vec<Item>) -> Self {
        let mut picker = Self {
            subject,
            items: items.into_iter().map(|item| safe_item(item, subject)).collect(),
            awaited: 0,
            pinned: None,
            query: Buffer::default(),
            found: Vec::new(),
            selected: 0,
            first: 0,
            preview: None,
            before: String::new(),
        };
        picker.filter();
        picker
    }

    /// Themes, the one in use selected.
    pub(crate) fn themes(names: Vec<String>, current: &str) -> Self {
        let item = |name: String| {
            let note = if name == current { "in use" } else { "" }.to_owned();
            Item { value: name.clone(), label: name, note, ..Item::default() }
        };
        let mut picker = Self::of(Subject::Themes, names.into_iter().map(item).collect());
        picker.selected = picker.items.iter().position(|it| it.value == current).unwrap_or(0);
        current.clone_into(&mut picker.before);
        picker
    }

    /// Everything that can be done, with its keys; commands after it.
    pub(crate) fn palette(keymap: &Keymap, commands: &[Item]) -> Self {
        let action = |described: &crate::keymap::ActionInfo| Item {
            value: described.name.to_owned(),
            label: described.about.to_owned(),
            note: keymap.keys_of(described.action).join(", "),
            ..Item::default()
        };
        let command = |item: &Item| Item {
            value: format!("/{}", item.value),
            label: format!("/{}", item.value),
            detail: item.label.clone(),
            note: item.note.clone(),
            ..Item::default()
        };
        let items = ACTIONS.iter().map(action).chain(commands.iter().map(command)).collect();
        Self::of(Subject::Actions, items)
    }

    fn filter(&mut self) {
        let texts: Vec<String> = self
            .items
            .iter()
            .map(|item| format!("{} {} {} {}", item.label, item.detail, item.note, item.value))
            .collect();
        self.found = fuzzy::best(self.query.raw(), texts.iter().map(String::as_str), texts.len());
        let query = self.query.raw().trim().to_lowercase();
        if !query.is_empty() {
            self.found.sort_by_key(|(at, _)| std::cmp::Reverse(likeness(&query, &self.items[*at])));
        }
        self.selected = 0;
        self.first = 0;
    }

    /// Adds items, ordered by their notes behind the first ones; the same one stays selected.
    fn add(&mut self, items: &[Item]) {
        let selected = self.current().map(|item| item.value.clone());
        for item in items {
            let item = safe_item(item.clone(), self.subject);
            match self.items.iter_mut().find(|it| it.value == item.value && !it.value.is_empty()) {
                Some(known) => known.detail = item.detail,
                None => self.items.push(item),
            }
        }
        self.pinned = self.pinned.or(Some(self.items.len()));
        self.items[self.pinned.unwrap_or(0)..].sort_by(|a, b| a.note.cmp(&b.note));
        self.filter();
        let place =
            |value: &String| self.found.iter().position(|(at, _)| self.items[*at].value == *value);
        self.selected = selected.as_ref().and_then(place).unwrap_or(0);
    }

    fn current(&self) -> Option<&Item> {
        self.found.get(self.selected).map(|(at, _)| &self.items[*at])
    }

    /// The title, the effect of Enter, and the text of an empty list.
    fn texts(&self) -> [&'static str; 3] {
        match self.subject {
            Subject::Host(Picks::Models) => {
                ["Models", "to select", "No provider lists a model; `/model NAME` takes any name"]
            }
            Subject::Host(Picks::Sessions) => ["Sessions", "to resume", "No saved sessions yet"],
            Subject::Host(Picks::Messages) => {
                ["Your messages", "to go back to it", "No message to go back to yet"]
            }
            Subject::Host(Picks::Plugins) => [
                "Plugins",
                "to enable or disable",
                "No plugins yet; `brynhild plugin paths` lists the directories that are searched",
            ],
            Subject::Host(Picks::Permissions) => {
                ["Permissions", "to revoke", "No rules: the mode decides"]
            }
            Subject::Themes => ["Themes", "to select", "No themes"],
            Subject::Actions => ["Command palette", "to run", "No commands"],
            Subject::Sent => ["Prompt history", "to insert", "No prompts yet"],
        }
    }

    fn empty_text(&self) -> &'static str {
        let [.., none] = self.texts();
        match (self.awaited > 0, self.items.is_empty()) {
            (true, _) => "…",
            (false, true) => none,
            (false, false) => "No matches",
        }
    }

    fn go(&mut self, by: isize, deeds: &mut Vec<Deed>) {
        let last = self.found.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
        self.look(deeds);
    }

    fn look(&mut self, deeds: &mut Vec<Deed>) {
        let Some(item) = self.current() else { return };
        let value = item.value.clone();
        match self.subject {
            Subject::Themes => deeds.push(Deed::Theme { name: value, is_final: false }),
            Subject::Host(Picks::Sessions)
                if self.preview.as_ref().is_none_or(|(id, _)| *id != value) =>
            {
                deeds.push(Deed::ask(Request::Preview(value)));
            }
            Subject::Sent => self.preview = Some((value.clone(), value)),
            Subject::Host(Picks::Messages) => self.preview = Some((value, item.detail.clone())),
            Subject::Host(_) | Subject::Actions => {}
        }
    }

    /// The reason why the selected item failed, if it did.
    fn reason(&self) -> Option<&str> {
        self.current().filter(|item| item.has_failed).map(|item| item.detail.as_str())
    }

    /// Picks nothing and takes a preview back.
    fn leave(&self, deeds: &mut Vec<Deed>) -> Flow {
        if self.subject == Subject::Themes {
            deeds.push(Deed::Theme { name: self.before.clone(), is_final: false });
        }
        Flow::Close
    }

    fn pick(&mut self, deeds: &mut Vec<Deed>) -> Flow {
        let Some(item) = self.current().cloned() else { return Flow::Stay };
        match self.subject {
            Subject::Host(Picks::Models) => {
                // A provider whose list failed has no value.
                if item.value.is_empty() {
                    return Flow::Stay;
                }
                deeds.push(Deed::Model(item.value));
            }
            Subject::Host(Picks::Sessions) => {
                deeds.push(Deed::Effect(Effect::Leave(Leave::Session(item.value))));
            }
            Subject::Host(Picks::Messages) => deeds.push(Deed::GoBack(item)),
            Subject::Host(Picks::Plugins) => {
                if item.value.is_empty() {
                    return Flow::Stay;
                }
                let on = !item.is_enabled;
                deeds.push(Deed::ask(Request::Switch { plugin: item.value, on }));
                deeds.push(Deed::ask(Request::Plugins));
                return Flow::Stay;
            }
            Subject::Host(Picks::Permissions) => {
                if !item.value.is_empty() {
                    deeds.push(Deed::ask(Request::Forget(item.value)));
                    deeds.push(Deed::ask(Request::Permissions));
                }
                return Flow::Stay;
            }
            Subject::Themes => deeds.push(Deed::Theme { name: item.value, is_final: true }),
            Subject::Actions => {
                let action = ACTIONS.iter().find(|described| described.name == item.value);
                deeds.push(match action {
                    Some(described) => Deed::Act(described.action),
                    None => Deed::Write(format!("{} ", item.value)),
                });
            }
            Subject::Sent => deeds.push(Deed::Write(item.value)),
        }
        Flow::Close
    }

    fn draw_list(&mut self, area: Rect, canvas: &mut Canvas<'_>) {
        let height = usize::from(area.height).max(1);
        if self.selected < self.first {
            self.first = self.selected;
        } else if self.selected >= self.first + height {
            self.first = self.selected + 1 - height;
        }
        if self.found.is_empty() {
            let rows = wrapped(self.empty_text(), usize::from(area.width), canvas);
            canvas.rows(&rows, area);
        }
        let rows = self.found.iter().enumerate().skip(self.first).take(height);
        for (y, (number, (at, found))) in (area.y..area.bottom()).zip(rows) {
            let item = &self.items[*at];
            let note = clipped(&item.note, usize::from(area.width) / 3);
            let room = usize::from(area.width).saturating_sub(columns(&note) + 2);
            let label = clipped(&item.label, room);
            let start = Position { x: area.x, y };
            let used = canvas.text(start, &label, Role::Text, area.width);
            // The preview shows the detail of a message.
            let is_message = self.subject == Subject::Host(Picks::Messages);
            let detail = if is_message { "" } else { item.detail.as_str() };
            let detail = format!("  {detail}");
            let detail = clipped(&detail, room.saturating_sub(usize::from(used)));
            canvas.text(Position { x: area.x + used, y }, &detail, Role::Soft, area.width - used);
            let x = area.right().saturating_sub(narrow(columns(&note)));
            canvas.text(Position { x, y }, &note, Role::Soft, area.width);
            canvas.accent(&label, &found.places, start);
            if number == self.selected {
                canvas.select_row(area, y);
            }
        }
    }
}

/// Makes the texts of an item safe to draw: a title is whatever somebody has piped in.
fn safe_item(item: Item, subject: Subject) -> Item {
    let [label, note] = [&item.label, &item.note].map(|it| one_line(it));
    // A message is shown whole, in the preview.
    let is_message = subject == Subject::Host(Picks::Messages);
    let detail = if is_message { clean(&item.detail) } else { one_line(&item.detail) };
    Item { label, detail, note, ..item }
}

/// Ranks an item for a query: names before words, words before letters anywhere.
fn likeness(query: &str, item: &Item) -> u8 {
    let name = item.value.trim_start_matches('/').to_lowercase();
    let label = item.label.to_lowercase();
    if name == query {
        4
    } else if name.starts_with(query) {
        3
    } else if label.split(|c: char| !c.is_alphanumeric()).any(|word| word.starts_with(query)) {
        2
    } else {
        u8::from(label.contains(query) || name.contains(query))
    }
}

/// Prose in rows.
fn wrapped(text: &str, width: usize, canvas: &Canvas<'_>) -> Vec<Row> {
    let style = canvas.theme.style(Role::Soft);
    let row = |line: &str| {
        let line = line.replace('\t', "    ");
        let bar = if line.starts_with("┃ ") { "┃ " } else { "" };
        let leads = Leads { first: Vec::new(), rest: vec![(style, bar.to_owned())] };
        wrap(&[(style, line)], width.max(1), &leads)
    };
    text.lines().flat_map(row).collect()
}

impl Layer for Picker {
    fn key(&mut self, key: Key, _at: Instant, deeds: &mut Vec<Deed>) -> Flow {
        match key.code {
            Code::Up | Code::BackTab => self.go(-1, deeds),
            Code::Down | Code::Tab => self.go(1, deeds),
            Code::PageUp => self.go(-10, deeds),
            Code::PageDown => self.go(10, deeds),
            Code::Home => self.go(isize::MIN, deeds),
            Code::End => self.go(isize::MAX, deeds),
            Code::Char('p') if key.ctrl => self.go(-1, deeds),
            Code::Char('n' | 'r') if key.ctrl => self.go(1, deeds),
            Code::Enter => return self.pick(deeds),
            Code::Esc => return self.leave(deeds),
            Code::Char('c' | 'g') if key.ctrl => return self.leave(deeds),
            _ => {
                if self.query.key(key) == Some(Edit::Changed) {
                    self.filter();
                    self.look(deeds);
                }
            }
        }
        Flow::Stay
    }

    fn paste(&mut self, text: &str, _at: Instant) -> Flow {
        self.query.insert_in_line(text);
        self.filter();
        Flow::Stay
    }

    fn answer(&mut self, answer: &Answer, deeds: &mut Vec<Deed>) -> bool {
        match answer {
            Answer::Items(picks, items) if self.subject == Subject::Host(*picks) => {
                let selected = self.selected;
                let safe = |item: &Item| safe_item(item.clone(), self.subject);
                self.items = items.iter().map(safe).collect();
                self.awaited = 0;
                self.filter();
                self.selected = selected.min(self.found.len().saturating_sub(1));
                self.look(deeds);
                true
            }
            Answer::Models { items, more } if self.subject == Subject::Host(Picks::Models) => {
                self.awaited = self.awaited.saturating_sub(1) + more.len();
                deeds.extend(more.iter().map(|it| Deed::ask(Request::ModelsOf(it.clone()))));
                self.add(items);
                true
            }
            Answer::Preview { id, text } => {
                // The preview of an item that is no longer selected may arrive last.
                if self.current().is_some_and(|item| item.value == *id) {
                    self.preview = Some((id.clone(), text.clone()));
                }
                true
            }
            _ => false,
        }
    }

    fn scroll(&mut self, is_down: bool) {
        self.go(if is_down { 3 } else { -3 }, &mut Vec::new());
    }

    fn draw(&mut self, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position> {
        let has_preview = matches!(
            self.subject,
            Subject::Host(Picks::Sessions | Picks::Messages) | Subject::Sent
        );
        let width = if has_preview { area.width } else { 90 };
        // As high as the whole list needs, so that it stands still while letters are typed.
        let most = share(area.height, 80).max(6);
        let reasons = if self.items.iter().any(|item| item.has_failed) { REASON_ROWS } else { 0 };
        let needed = narrow(self.items.len()).saturating_add(3 + reasons).max(8);
        let height = if has_preview { most } else { most.min(needed) };
        let place = centered(area, width, height);
        let [title, purpose, _] = self.texts();
        let more = if self.awaited > 0 { " …" } else { "" };
        let count = format!("{title} ({}{more})", self.found.len());
        let inner = canvas.frame(place, &count);
        let [does, closes] = [Action::Send, Action::Cancel].map(|it| canvas.keys.hint(it));
        canvas.foot(place, &format!("{does} {purpose} · {closes} to close"));
        let at = inner.as_position();
        let used = canvas.text(at, "> ", Role::Person, inner.width);
        let at = Position { x: at.x + used, ..at };
        let room = inner.width.saturating_sub(used);
        canvas.text(at, self.query.raw(), Role::Text, room);
        if self.query.is_empty() {
            canvas.text(at, "Type to filter", Role::Soft, room);
        }
        let below = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
        let list_width =
            if has_preview && inner.width >= 60 { share(inner.width, 50) } else { inner.width };
        let reason = self.reason().map(|text| wrapped(text, usize::from(inner.width), canvas));
        let reason = reason.unwrap_or_default();
        let rows = narrow(reason.len()).min(below.height.saturating_sub(2));
        let list = Rect { width: list_width, height: below.height - rows, ..below };
        self.draw_list(list, canvas);
        canvas.rows(&reason, Rect { y: list.bottom(), height: rows, ..inner });
        if list_width < inner.width
            && let Some((id, text)) = &self.preview
            && self.current().is_some_and(|item| item.value == *id)
        {
            let x = inner.x + list_width + 2;
            let width = inner.right().saturating_sub(x);
            let rows = wrapped(text, usize::from(width), canvas);
            canvas.rows(&rows, Rect { x, width, ..below });
        }
        let x = at.x.saturating_add(narrow(self.query.cursor_column()));
        Some(Position { x: x.min(inner.right().saturating_sub(1)), ..at })
    }
}
