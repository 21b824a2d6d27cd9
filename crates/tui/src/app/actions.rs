//! What actions do, and what becomes of a message that is sent.

use contract::event::Input;
use contract::policy::Mode;

use super::{App, Focus, TWICE};
use crate::host::{Leave, Picks, Request};
use crate::keymap::Action;
use crate::layers::help::Page;
use crate::layers::picker::{Picker, Subject};
use crate::layers::search::Search;
use crate::message::Effect;
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
                let word = if self.settings.shows_thinking { "open" } else { "closed" };
                self.note = format!("reasoning is {word}");
            }
            Action::Clear => effects.push(Effect::Ask(Request::Command("/clear".to_owned()))),
            Action::Compact => effects.push(Effect::Ask(Request::Command("/compact".to_owned()))),
            Action::Models => self.pick(Picks::Models, Request::Models, effects),
            Action::Sessions => self.pick(Picks::Sessions, Request::Sessions, effects),
            Action::Plugins => self.pick(Picks::Plugins, Request::Plugins, effects),
            Action::Permissions => self.pick(Picks::Permissions, Request::Permissions, effects),
            Action::Fresh => {
                self.save_draft(effects);
                effects.push(Effect::Leave(Leave::Fresh));
            }
            Action::Themes => {
                let names = self.themes.iter().map(|theme| theme.name.clone()).collect();
                self.layers.push(Box::new(Picker::themes(names, &self.theme.name)));
            }
            Action::Mode => self.next_mode(effects),
            Action::Search => {
                self.view.found = None;
                self.layers.push(Box::new(Search::default()));
            }
            Action::History => self.search_history(),
            Action::Browse => {
                self.focus = Focus::Browsing;
                self.go_to(self.transcript.len().saturating_sub(1));
            }
            Action::Open => {
                if let Some(at) = self.transcript.last_foldable() {
                    self.transcript.toggle(at);
                }
            }
            Action::Copy => self.copy_reply(effects),
            Action::Editor => effects.push(Effect::Edit(self.composer.buffer.text())),
            Action::Mouse => self.switch_mouse(effects),
            Action::Vim => {
                let is_on = self.composer.vim.is_none();
                self.composer.set_vim(is_on);
                let word = if is_on { "vi" } else { "emacs" };
                self.note = format!("keys edit like {word}");
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
                self.written();
            }
        }
    }

    fn switch_mouse(&mut self, effects: &mut Vec<Effect>) {
        self.has_mouse = !self.has_mouse;
        effects.push(Effect::Mouse(self.has_mouse));
        let word = if self.has_mouse { "ours" } else { "the terminal's" };
        self.note = format!("the mouse is {word}");
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
        let items = self.composer.history.newest_first().map(|text| crate::host::Item {
            value: text.clone(),
            label: crate::text::one_line(text.lines().next().unwrap_or_default()),
            ..crate::host::Item::default()
        });
        let items = items.collect();
        self.layers.push(Box::new(Picker::of(Subject::Sent, items)));
    }

    fn copy_reply(&mut self, effects: &mut Vec<Effect>) {
        let reply = (0..self.transcript.len()).rev().find_map(|at| {
            let block = self.transcript.block(at)?;
            matches!(block.kind, Kind::Reply(_)).then(|| block.text())
        });
        match reply {
            Some(text) => {
                effects.push(Effect::Copy(text));
                "copied".clone_into(&mut self.note);
            }
            None => "there is no reply yet".clone_into(&mut self.note),
        }
    }

    fn next_mode(&mut self, effects: &mut Vec<Effect>) {
        let mode = match self.status.mode {
            Mode::ReadOnly => Mode::Normal,
            Mode::Normal => Mode::Yolo,
            Mode::Yolo => Mode::ReadOnly,
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
        }
    }

    fn stop_turn(&mut self, effects: &mut Vec<Effect>) {
        effects.push(Effect::send(Input::Interrupt));
        "stopping".clone_into(&mut self.note);
    }

    /// Stops the model, else empties the text, else ends when it comes twice.
    fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        if self.status.is_busy() {
            self.stop_turn(effects);
        } else if !self.composer.buffer.is_empty() {
            let text = self.composer.buffer.take();
            self.composer.changed();
            self.composer.history.add(&text);
            self.written();
            "the text is in the history: Up brings it back".clone_into(&mut self.note);
            return;
        } else if !self.queue.is_empty() {
            self.queue.pop();
            return;
        }
        let is_second = self
            .interrupted
            .is_some_and(|before| self.now.saturating_duration_since(before) < TWICE);
        if is_second {
            self.quit(effects);
        } else {
            self.interrupted = Some(self.now);
            if !self.status.is_busy() {
                "Ctrl+C once more ends".clone_into(&mut self.note);
            }
        }
    }

    fn quit(&mut self, effects: &mut Vec<Effect>) {
        self.save_draft(effects);
        effects.push(Effect::Leave(Leave::Quit));
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
        let is_command = text.trim_start().starts_with('/');
        if is_command && self.is_connected {
            effects.push(Effect::Ask(Request::Command(text.trim().to_owned())));
        } else if self.status.is_busy() || !self.is_connected {
            self.queue.push(text);
        } else {
            self.status.begin(self.now);
            effects.push(Effect::send(Input::Prompt(text)));
        }
        self.save_draft(effects);
    }

    /// Sends what has waited.
    pub(super) fn flush_queue(&mut self) -> Vec<Effect> {
        if !self.is_connected {
            return Vec::new();
        }
        let mut effects: Vec<Effect> = Vec::new();
        for text in std::mem::take(&mut self.queue) {
            if text.trim_start().starts_with('/') {
                effects.push(Effect::Ask(Request::Command(text.trim().to_owned())));
            } else {
                self.status.begin(self.now);
                effects.push(Effect::send(Input::Prompt(text)));
            }
        }
        if !effects.is_empty() {
            self.save_draft(&mut effects);
        }
        effects
    }
}
