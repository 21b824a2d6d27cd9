//! Where keys and the mouse go: to the topmost layer, to a sequence that has begun, to the
//! conversation, to the text.

use std::time::Instant;

use contract::event::Answer;

use super::{App, Focus, Pace};
use crate::composer::{Outcome, Vim};
use crate::host::Request;
use crate::input::{Mouse, MouseKind};
use crate::key::{Code, Key};
use crate::keymap::{Action, KeyMatch};
use crate::layers::question::READ_TIME;
use crate::layers::rewinding::Rewinding;
use crate::layers::{Deed, Flow};
use crate::message::Effect;
use crate::transcript::{By, Direction, Place, Selection};

const WHEEL_ROWS: usize = 3;

impl App {
    pub(super) fn key(&mut self, key: Key, at: Instant, effects: &mut Vec<Effect>) {
        self.note.clear();
        let is_asked = self.layers.last().is_some_and(|layer| layer.is_question());
        if self.keymap.resolve(&[key]) == KeyMatch::Action(Action::Quit) && !is_asked {
            return self.act(Action::Quit, effects);
        }
        let wanted_end = |app: &Self| app.interrupted.map(|it| it.at);
        let before = wanted_end(self);
        // The key of an answer, pressed again right after it, was meant for the question too.
        let is_repeated = |(by, answered): (Key, Instant)| key == by && at < answered + READ_TIME;
        if self.layers.is_empty() && self.answered_by.is_some_and(is_repeated) {
            return;
        }
        if self.layers.is_empty() || !self.layer_key(key, at, effects) {
            self.own_key(key, effects);
        }
        // The keys of a sequence are one press.
        let is_other = self.chord.is_empty() && wanted_end(self) == before;
        if is_other && self.keymap.resolve(&[key]) != KeyMatch::Action(Action::Interrupt) {
            self.interrupted = None;
        }
    }

    /// Gives a key to the layers. Returns true if one took it.
    fn layer_key(&mut self, key: Key, at: Instant, effects: &mut Vec<Effect>) -> bool {
        let Some(layer) = self.layers.last_mut() else { return false };
        let mut deeds = Vec::new();
        let flow = layer.key(self.keymap.in_dialogs(key), at, &mut deeds);
        let is_question = layer.is_question();
        if flow == Flow::Close {
            self.layers.pop();
        }
        if deeds.iter().any(|deed| matches!(deed, Deed::Answer(..))) {
            self.answered_by = Some((key, at));
        }
        for deed in deeds {
            self.deed(deed, effects);
        }
        match flow {
            Flow::Stay | Flow::Close => true,
            // No key reaches the text below a question.
            Flow::Pass if is_question => {
                let scrolls = [Key::plain(Code::PageUp), Key::plain(Code::PageDown)];
                !scrolls.contains(&key) && key != Key::ctrl('z')
            }
            Flow::Pass => false,
        }
    }

    pub(super) fn deed(&mut self, deed: Deed, effects: &mut Vec<Effect>) {
        match deed {
            Deed::Act(action) => self.act(action, effects),
            Deed::Model(name) => self.choose_model(&name, effects),
            Deed::Effect(Effect::Leave(leave)) => self.leave(leave, effects),
            Deed::Depart(leave) => self.depart(leave, effects),
            Deed::Effect(effect) => effects.push(effect),
            Deed::Answer(calls, answer) => {
                // The whole turn stops, so nothing waits for the other answers.
                let all = || self.asks.iter().map(|ask| ask.permission.call.clone()).collect();
                let calls = if answer == Answer::Cancel { all() } else { calls };
                for call in calls {
                    self.asks.retain(|ask| ask.permission.call != call);
                    let answer = answer.clone();
                    let input = contract::event::Input::Answer { call, answer, by: None };
                    effects.push(Effect::send(input));
                }
                self.show_asks();
            }
            Deed::GoBack(message) => {
                self.layers.push(Box::new(Rewinding::ask(message, self.now)));
            }
            Deed::OneByOne => {
                self.pace = Pace::OneByOne;
                self.show_asks();
            }
            Deed::Theme { name, is_final } => {
                let found = self.themes.iter().find(|theme| theme.name == name).cloned();
                if let Some(theme) = found {
                    self.use_theme(&theme);
                    if is_final {
                        self.settings.theme = Some(theme);
                        effects.push(Effect::Ask(Request::SaveTheme { theme: name }));
                    }
                }
            }
            Deed::Write(text) => {
                self.focus = Focus::Writing;
                self.composer.buffer.recall(&text);
                self.composer.changed();
                self.text_changed();
                self.request_completions(effects);
            }
            Deed::Find { needle, direction } => self.find(&needle, direction),
            Deed::EndSearch => {
                self.view.needle.clear();
                if self.focus == Focus::Writing {
                    self.view.cursor = None;
                }
            }
            Deed::Walk => {
                self.focus = Focus::Browsing;
                self.view.cursor = self.view.found.or_else(|| self.view.entry());
            }
        }
    }

    fn own_key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let completes = self.chord.is_empty() && self.focus == Focus::Writing;
        if completes && self.completion_key(key, effects) {
            return;
        }
        let is_vims = |vim: &Vim| {
            (key == Key::plain(Code::Esc) && vim.takes_escape())
                || (key == Key::ctrl('r') && vim.is_normal())
        };
        if completes && self.composer.vim.as_ref().is_some_and(is_vims) {
            self.composer.key(key);
            return;
        }
        if self.chord.is_empty() && self.focus == Focus::Browsing && self.browse_key(key, effects) {
            return;
        }
        if self.chord.is_empty() {
            self.chord_page = 0;
        }
        self.chord.push(key);
        match self.keymap.resolve(&self.chord) {
            KeyMatch::Action(action) => {
                self.chord.clear();
                self.act(action, effects);
            }
            KeyMatch::Prefix => {}
            KeyMatch::Unknown if self.chord.len() > 1 && turns(key) != 0 => {
                self.chord.pop();
                self.chord_page = self.chord_page.saturating_add_signed(turns(key));
            }
            KeyMatch::Unknown if self.chord.len() > 1 => {
                if key != Key::plain(Code::Esc) {
                    self.note = format!("{key} is not bound");
                }
                self.chord.clear();
            }
            KeyMatch::Unknown => {
                self.chord.clear();
                self.write_key(key, effects);
            }
        }
    }

    fn write_key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        if key == Key::ctrl('l') {
            effects.push(Effect::Redraw);
            return;
        }
        let is_empty = self.composer.buffer.is_empty();
        if is_empty && key == Key::ctrl('d') {
            return self.act(Action::Quit, effects);
        }
        if is_empty && key.typed() == Some('?') {
            return self.act(Action::Help, effects);
        }
        if is_empty && key == Key::plain(Code::Up) && !self.queue.is_empty() {
            let text = self.queue.pop().unwrap_or_default();
            self.composer.buffer.set(&text);
            self.text_changed();
            self.tell_ready(effects);
            return;
        }
        match self.composer.key(key) {
            Outcome::Send => self.send(effects),
            Outcome::Taken => {
                self.text_changed();
                self.request_completions(effects);
            }
            Outcome::Ignored => {}
        }
    }

    /// Requests files when the user begins to name one, and the arguments of a command.
    pub(super) fn request_completions(&mut self, effects: &mut Vec<Effect>) {
        let raw = self.composer.buffer.raw();
        let before = &raw[..self.composer.buffer.cursor()];
        let begins = before.ends_with('@');
        if begins && self.composer.completion.wanted().is_some() {
            effects.push(Effect::Ask(Request::Files));
        }
        if let Some(command) = self.composer.completion.asked_for(&self.composer.buffer) {
            effects.push(Effect::Ask(Request::Arguments(command.to_owned())));
        }
    }

    fn completion_key(&mut self, key: Key, effects: &mut Vec<Effect>) -> bool {
        let composer = &mut self.composer;
        if !composer.completion.is_open() {
            return false;
        }
        match key {
            Key { code: Code::Esc, .. } => composer.completion.close(&composer.buffer),
            Key { code: Code::Up, .. } => composer.completion.step(false),
            Key { code: Code::Down, .. } => composer.completion.step(true),
            key if key == Key::ctrl('p') => composer.completion.step(false),
            key if key == Key::ctrl('n') => composer.completion.step(true),
            key if key == Key::plain(Code::Tab) => {
                composer.completion.accept(&mut composer.buffer);
                self.text_changed();
                self.request_completions(effects);
            }
            key if key == Key::plain(Code::Enter) => {
                let (completion, buffer) = (&composer.completion, &composer.buffer);
                if completion.is_exact(buffer) || completion.is_optional(buffer) {
                    composer.completion.close(&composer.buffer);
                    self.send(effects);
                } else {
                    composer.completion.accept(&mut composer.buffer);
                    self.text_changed();
                    self.request_completions(effects);
                }
            }
            _ => return false,
        }
        true
    }

    fn browse_key(&mut self, key: Key, effects: &mut Vec<Effect>) -> bool {
        if key.ctrl || key.alt {
            return false;
        }
        if self.selection_key(key, effects) {
            return true;
        }
        let last = self.transcript.len().saturating_sub(1);
        let place = self.view.cursor.unwrap_or(Place::head(last));
        let at = place.block;
        let page = isize::try_from(self.view.page()).unwrap_or(1);
        let (transcript, theme) = (&mut self.transcript, &self.theme);
        match key.code {
            Code::Char('v') => self.view.select(By::Characters, transcript, theme),
            Code::Char('V') => self.view.select(By::Rows, transcript, theme),
            Code::Char('k') => self.view.walk(-1, transcript, theme),
            Code::Char('j') => self.view.walk(1, transcript, theme),
            Code::PageUp => self.view.walk(-page, transcript, theme),
            Code::PageDown => self.view.walk(page, transcript, theme),
            Code::Up => self.go_to(if place.is_head() { at.saturating_sub(1) } else { at }),
            Code::Down => self.go_to((at + 1).min(last)),
            Code::Char('g') | Code::Home => self.go_to(0),
            Code::Char('G') | Code::End => {
                self.go_to(last);
                self.view.follow();
            }
            Code::Enter | Code::Char(' ') => {
                self.view.hold();
                self.toggle(at);
                self.go_to(at);
            }
            Code::Char('y') => {
                if let Some(text) = self.transcript.text_of(at) {
                    self.copy(text, effects);
                }
            }
            Code::Char('/') => self.act(Action::Search, effects),
            Code::Char('n') => self.find_again(Direction::Down),
            Code::Char('N') => self.find_again(Direction::Up),
            Code::Esc | Code::Char('i' | 'q') => self.stop_browsing(),
            Code::Char(_) => {}
            _ => return false,
        }
        true
    }

    fn selection_key(&mut self, key: Key, effects: &mut Vec<Effect>) -> bool {
        let Some(selection) = self.view.selection.filter(|it| it.by != By::Mouse) else {
            return false;
        };
        let (transcript, theme) = (&mut self.transcript, &self.theme);
        let page = isize::try_from(self.view.page()).unwrap_or(1);
        match key.code {
            Code::Char('o') => self.view.turn(transcript, theme),
            Code::PageUp => self.view.extend(-page, transcript, theme),
            Code::PageDown => self.view.extend(page, transcript, theme),
            Code::Up | Code::Char('k') => self.view.extend(-1, transcript, theme),
            Code::Down | Code::Char('j') => self.view.extend(1, transcript, theme),
            Code::Left | Code::Char('h') => self.view.widen(-1, transcript),
            Code::Right | Code::Char('l') => self.view.widen(1, transcript),
            Code::Char('w') => self.view.widen(8, transcript),
            Code::Char('b') => self.view.widen(-8, transcript),
            Code::Home | Code::Char('0' | '^') => self.view.widen(i16::MIN, transcript),
            Code::End | Code::Char('$') => self.view.widen(i16::MAX, transcript),
            Code::Esc | Code::Char('v' | 'V') => self.view.selection = None,
            Code::Enter | Code::Char('y') => {
                let text = transcript.selected(&selection, theme);
                self.view.selection = None;
                self.copy(text, effects);
            }
            _ => return false,
        }
        true
    }

    pub(super) fn stop_browsing(&mut self) {
        self.focus = Focus::Writing;
        self.view.cursor = None;
        self.view.selection = None;
        self.view.follow();
    }

    pub(super) fn go_to(&mut self, block: usize) {
        let place = Place::head(block);
        self.view.cursor = Some(place);
        self.view.show(place, &mut self.transcript, &self.theme);
    }

    pub(super) fn toggle(&mut self, block: usize) {
        self.transcript.toggle(block);
        if !self.transcript.is_open(block) {
            self.view.closed(block);
        }
    }

    fn find(&mut self, needle: &str, direction: Direction) {
        let needle = needle.to_lowercase();
        if needle != self.view.needle {
            self.view.found = None;
            self.view.needle = needle;
        }
        self.find_again(direction);
    }

    fn find_again(&mut self, direction: Direction) {
        let needle = self.view.needle.clone();
        let end = Place { block: self.transcript.len(), ..Place::default() };
        let from = self.view.found.unwrap_or(end);
        match self.transcript.find(&needle, from, direction, &self.theme) {
            Some(place) => {
                self.view.found = Some(place);
                // The one that was found stands out among the others.
                self.view.cursor = Some(place);
                self.view.show(place, &mut self.transcript, &self.theme);
                let (number, count) = self.transcript.matches(&needle, place);
                self.note = format!("Match {number} of {count}");
            }
            None if needle.is_empty() => {}
            None => "Not found".clone_into(&mut self.note),
        }
    }

    pub(super) fn mouse(&mut self, mouse: Mouse, effects: &mut Vec<Effect>) {
        let is_wheel = matches!(mouse.kind, MouseKind::ScrollUp | MouseKind::ScrollDown);
        if is_wheel {
            let is_down = mouse.kind == MouseKind::ScrollDown;
            match self.layers.last_mut() {
                Some(layer) => layer.scroll(is_down),
                None if is_down => self.view.down(WHEEL_ROWS, &mut self.transcript, &self.theme),
                None => self.view.up(WHEEL_ROWS, &mut self.transcript, &self.theme),
            }
            return;
        }
        let row = usize::from(mouse.row.saturating_sub(self.body.y));
        let column = mouse.column.saturating_sub(self.body.x);
        let is_inside = mouse.row >= self.body.y && mouse.row < self.body.bottom();
        let place = self.view.place_at(row).filter(|_| is_inside && self.layers.is_empty());
        match (mouse.kind, place) {
            (MouseKind::Press, Some(place)) => {
                self.view.selection = Some(Selection::new(By::Mouse, place, column));
            }
            (MouseKind::Drag, place) => {
                // Beyond the last row the last one counts.
                let place = place.or_else(|| self.view.last_place());
                if let (Some(selection), Some(place)) = (&mut self.view.selection, place) {
                    selection.to = (place, column);
                }
            }
            (MouseKind::Release, place) => self.release(place, effects),
            _ => self.view.selection = None,
        }
    }

    /// A click opens, a selection is copied.
    fn release(&mut self, place: Option<Place>, effects: &mut Vec<Effect>) {
        let Some(selection) = self.view.selection else { return };
        if selection.is_empty() {
            self.view.selection = None;
            if let Some(place) = place {
                self.view.hold();
                self.toggle(place.block);
            }
            return;
        }
        let text = self.transcript.selected(&selection, &self.theme);
        if !text.is_empty() {
            self.copy(text, effects);
        }
    }
}

/// The direction in which a key turns the pages of a panel; 0 for other keys.
fn turns(key: Key) -> isize {
    match key.code {
        Code::Down | Code::PageDown => 1,
        Code::Up | Code::PageUp => -1,
        _ => 0,
    }
}
