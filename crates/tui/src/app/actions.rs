//! The effects of actions, and the way of a message that is sent.

use std::time::Instant;

use contract::event::{Input, Level};
use contract::policy::Mode;

use super::{App, Focus, INTERRUPT_WINDOW, Interruption, SAME_PRESS};
use crate::host::{Leave, Picks, Request, Stop};
use crate::keymap::Action;
use crate::layers::help::Page;
use crate::layers::leaving::Leaving;
use crate::layers::picker::{Picker, Subject};
use crate::layers::search::Search;
use crate::message::Effect;
use crate::screen::MAX_COPY_BYTES;
use crate::transcript::Kind;

impl App {
    pub(super) fn act(&mut self, action: Action, effects: &mut Vec<Effect>) {
        match action {
            Action::Help => self.layers.push(Box::new(Page::help(&self.keymap))),
            Action::Palette => {
                self.layers.push(Box::new(Picker::palette(&self.keymap, &self.commands)));
            }
            Action::Quit => self.quit(effects),
            Action::Thinking => {
                self.settings.shows_thinking = !self.settings.shows_thinking;
                let word = if self.settings.shows_thinking { "shown" } else { "hidden" };
                self.note = format!("Reasoning {word}");
            }
            Action::Clear => {
                if self.status.is_busy() {
                    "The conversation is cleared when this turn ends".clone_into(&mut self.note);
                }
                effects.push(Effect::Ask(Request::Command("/clear".to_owned())));
            }
            Action::Compact => effects.push(Effect::Ask(Request::Command("/compact".to_owned()))),
            Action::Models => self.pick(Picks::Models, Request::Models, effects),
            Action::Sessions => self.pick(Picks::Sessions, Request::Sessions, effects),
            Action::Plugins => self.pick(Picks::Plugins, Request::Plugins, effects),
            Action::Permissions => self.pick(Picks::Permissions, Request::Permissions, effects),
            Action::Fresh => self.leave(Leave::Fresh, effects),
            Action::Rewind => self.pick(Picks::Messages, Request::Messages, effects),
            Action::Themes => {
                for problem in std::mem::take(&mut self.theme_problems) {
                    self.transcript.notice(Level::Warning, &problem, None);
                }
                let names = self.themes.iter().map(|theme| theme.name.clone()).collect();
                self.layers.push(Box::new(Picker::themes(names, &self.theme.name)));
            }
            Action::Mode => self.next_mode(effects),
            Action::Effort => {
                effects.push(Effect::Ask(Request::Command("/effort next".to_owned())));
            }
            Action::Search => {
                self.view.found = None;
                self.layers.push(Box::new(Search::default()));
            }
            Action::History => self.search_history(),
            Action::Browse => {
                self.focus = Focus::Browsing;
                self.view.cursor = self.view.entry();
            }
            Action::Open => {
                if let Some(at) = self.transcript.last_foldable() {
                    self.toggle(at);
                }
            }
            Action::Copy => self.copy_reply(effects),
            Action::Editor => effects.push(Effect::Edit(self.composer.buffer.text())),
            Action::Mouse => self.switch_mouse(effects),
            Action::Vim => {
                let is_on = self.composer.vim.is_none();
                self.composer.set_vim(is_on);
                let word = if is_on { "on" } else { "off" };
                self.note = format!("Vim mode {word}");
            }
            Action::PageUp | Action::PageDown | Action::Top | Action::Bottom => self.scroll(action),
            Action::Redraw | Action::Suspend => {
                self.forget_pictures();
                let is_redraw = action == Action::Redraw;
                effects.push(if is_redraw { Effect::Redraw } else { Effect::Suspend });
            }
            Action::Cancel => self.cancel(effects),
            Action::Interrupt => self.interrupt(effects),
            Action::Send => self.send(effects),
            Action::Newline => {
                self.composer.buffer.insert("\n");
                self.composer.changed();
                self.text_changed();
            }
        }
    }

    fn switch_mouse(&mut self, effects: &mut Vec<Effect>) {
        self.has_mouse = !self.has_mouse;
        effects.push(Effect::Mouse(self.has_mouse));
        let text =
            if self.has_mouse { "Mouse captured · Shift selects text" } else { "Mouse released" };
        text.clone_into(&mut self.note);
    }

    fn scroll(&mut self, action: Action) {
        let page = self.view.page();
        match action {
            Action::PageUp => self.view.up(page, &mut self.transcript, &self.theme),
            Action::PageDown => self.view.down(page, &mut self.transcript, &self.theme),
            Action::Top => self.view.rewind(),
            _ => self.view.follow(),
        }
    }

    fn pick(&mut self, picks: Picks, request: Request, effects: &mut Vec<Effect>) {
        self.layers.push(Box::new(Picker::waiting(picks)));
        effects.push(Effect::Ask(request));
    }

    fn search_history(&mut self) {
        let mut seen = std::collections::HashSet::new();
        let sent = self.composer.history.newest_first().filter(|text| seen.insert(*text));
        let items = sent.map(|text| crate::host::Item {
            value: text.clone(),
            label: crate::text::one_line(text.lines().next().unwrap_or_default()),
            ..crate::host::Item::default()
        });
        let items = items.collect();
        self.layers.push(Box::new(Picker::of(Subject::Sent, items)));
    }

    fn copy_reply(&mut self, effects: &mut Vec<Effect>) {
        let is_reply = |at: &usize| {
            let block = self.transcript.block(*at);
            block.is_some_and(|block| matches!(block.kind, Kind::Reply(_)))
        };
        let last = (0..self.transcript.len()).rev().find(is_reply);
        match last.and_then(|at| self.transcript.text_of(at)) {
            Some(text) => self.copy(text, effects),
            None => "No reply to copy yet".clone_into(&mut self.note),
        }
    }

    /// Has the terminal put a text on its clipboard, and says how much of it.
    pub(super) fn copy(&mut self, text: String, effects: &mut Vec<Effect>) {
        let whole = text.len();
        self.note = if whole > MAX_COPY_BYTES {
            let (most, whole) = (MAX_COPY_BYTES / 1024, whole.div_ceil(1024));
            format!("Copied the first {most} of {whole} KB · `/export` writes everything to a file")
        } else {
            "Copied".to_owned()
        };
        effects.push(Effect::Copy(text));
    }

    fn next_mode(&mut self, effects: &mut Vec<Effect>) {
        // No key selects yolo: that takes `/mode yolo`.
        let mode = match self.status.mode {
            Mode::ReadOnly | Mode::Yolo => Mode::Normal,
            Mode::Normal => Mode::Ask,
            Mode::Ask => Mode::ReadOnly,
        };
        effects.push(Effect::Ask(Request::Command(format!("/mode {}", mode.as_str()))));
    }

    /// Closes what is open, else stops the model.
    fn cancel(&mut self, effects: &mut Vec<Effect>) {
        if !self.view.needle.is_empty() || self.view.selection.is_some() {
            self.view.needle.clear();
            self.view.selection = None;
        } else if self.focus == Focus::Browsing {
            self.stop_browsing();
        } else if self.status.is_busy() {
            self.stop_turn(effects);
        } else {
            self.view.follow();
            self.escape_twice(effects);
        }
    }

    /// Goes back to an earlier message on the second Esc in an empty text.
    fn escape_twice(&mut self, effects: &mut Vec<Effect>) {
        if !self.composer.buffer.is_empty() || !self.is_connected {
            return;
        }
        let is_second = |at: Instant| self.now.saturating_duration_since(at) < INTERRUPT_WINDOW;
        if self.escaped.take().is_some_and(is_second) {
            return self.act(Action::Rewind, effects);
        }
        self.escaped = Some(self.now);
        let key = self.keymap.hint(Action::Cancel);
        self.note = format!("Press {key} again to go back to an earlier message");
    }

    fn stop_turn(&mut self, effects: &mut Vec<Effect>) {
        effects.push(Effect::send(Input::Interrupt));
        "Interrupting".clone_into(&mut self.note);
        // Queued messages would start the next turn: after a stop the user decides again.
        self.put_back();
    }

    /// Puts what waits back into the text.
    pub(super) fn put_back(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        let mut texts = std::mem::take(&mut self.queue);
        texts.push(self.composer.buffer.text());
        self.composer.buffer.set(texts.join("\n\n").trim_end_matches('\n'));
        self.composer.changed();
        self.text_changed();
    }

    /// Stops the model, else empties the text, else ends when it comes twice.
    fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        let is_busy = self.status.is_busy();
        let since = |before: &Interruption| self.now.saturating_duration_since(before.at);
        // Whoever presses twice to stop the model has not read what else it does.
        if self.interrupted.is_some_and(|before| before.was_busy && since(&before) < SAME_PRESS) {
            return self.warn_of_end(is_busy);
        }
        if is_busy {
            self.stop_turn(effects);
        } else if !self.composer.buffer.is_empty() {
            let text = self.composer.buffer.take();
            self.composer.changed();
            self.composer.history.add(&text);
            self.text_changed();
            "Cleared · Up brings it back".clone_into(&mut self.note);
            return;
        } else if !self.queue.is_empty() {
            self.queue.pop();
            self.tell_ready(effects);
            return;
        }
        let since = |before: &Interruption| self.now.saturating_duration_since(before.at);
        match self.interrupted.filter(|before| since(before) < INTERRUPT_WINDOW) {
            Some(before) if is_busy || before.was_busy => {
                self.depart(Leave::Stopped(Stop::Interrupted), effects);
            }
            Some(_) => self.quit(effects),
            None => {
                self.interrupted = Some(Interruption { at: self.now, was_busy: is_busy });
                self.warn_of_end(is_busy);
            }
        }
    }

    fn warn_of_end(&mut self, is_busy: bool) {
        let doing = if is_busy { "Interrupting · press" } else { "Press" };
        let key = self.keymap.hint(Action::Interrupt);
        self.note = format!("{doing} {key} again to exit");
    }

    fn quit(&mut self, effects: &mut Vec<Effect>) {
        self.depart(Leave::Quit, effects);
    }

    /// Leaves the conversation for something else; asks before where that stops the model.
    pub(super) fn leave(&mut self, leave: Leave, effects: &mut Vec<Effect>) {
        if leave.goes_on() && self.status.is_busy() {
            self.layers.push(Box::new(Leaving::ask(leave, self.now)));
        } else {
            self.depart(leave, effects);
        }
    }

    pub(super) fn depart(&mut self, leave: Leave, effects: &mut Vec<Effect>) {
        self.save_draft(effects);
        effects.push(Effect::Leave(leave));
    }

    /// Sends what is written, or has it wait.
    pub(super) fn send(&mut self, effects: &mut Vec<Effect>) {
        if self.composer.buffer.text().trim().is_empty() {
            return;
        }
        let text = self.composer.buffer.take();
        self.composer.changed();
        self.composer.history.add(&text);
        effects.push(Effect::Ask(Request::Remember(text.clone())));
        self.view.follow();
        self.view.selection = None;
        let is_due = !self.status.is_busy() || !ends_turns(&text);
        if is_command(&text) && is_due && self.is_connected {
            effects.push(Effect::Ask(Request::Command(text.trim().to_owned())));
        } else if self.status.is_busy() || !self.is_connected {
            self.queue.push(text);
            self.tell_ready(effects);
        } else {
            self.status.begin(self.now);
            effects.push(Effect::send(Input::Prompt { text }));
        }
        self.save_draft(effects);
    }

    pub(super) fn flush_queue(&mut self) -> Vec<Effect> {
        if !self.is_connected {
            return Vec::new();
        }
        let mut effects: Vec<Effect> = Vec::new();
        let words = std::mem::take(&mut self.queue);
        let had_words = !words.is_empty();
        let mut words = words.into_iter();
        for text in words.by_ref() {
            if !is_command(&text) {
                self.status.begin(self.now);
                effects.push(Effect::send(Input::Prompt { text }));
            } else if ends_turns(&text) && self.status.is_busy() {
                self.queue.push(text);
            } else {
                let is_last = ends_turns(&text);
                effects.push(Effect::Ask(Request::Command(text.trim().to_owned())));
                if is_last {
                    // What follows is meant for what comes of it.
                    break;
                }
            }
        }
        self.queue.extend(words);
        if had_words {
            self.tell_ready(&mut effects);
            self.save_draft(&mut effects);
        }
        effects
    }

    /// Tells the conversation whether something waits for its next step.
    pub(super) fn tell_ready(&self, effects: &mut Vec<Effect>) {
        if self.is_connected {
            let has_words = self.queue.iter().any(|text| !is_command(text));
            effects.push(Effect::send(Input::Ready(has_words)));
        }
    }

    /// Has another model answer, after the turn that is going on.
    pub(super) fn choose_model(&mut self, name: &str, effects: &mut Vec<Effect>) {
        let command = format!("/model {name}");
        if self.status.is_busy() || !self.is_connected {
            self.queue.push(command);
        } else {
            effects.push(Effect::Ask(Request::Command(command)));
        }
    }
}

fn is_command(text: &str) -> bool {
    text.trim_start().starts_with(['/', '!'])
}

/// Returns true if the turn that is going on would not outlive a command.
fn ends_turns(text: &str) -> bool {
    let mut words = text.split_whitespace();
    match words.next() {
        Some("/clear" | "/compact") => true,
        Some("/model") => words.next().is_some(),
        Some(word) if word.starts_with('!') => true,
        _ => false,
    }
}
