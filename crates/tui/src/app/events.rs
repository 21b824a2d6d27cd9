//! Events of the conversation, and how the interface reacts to them.

use contract::event::{Event, EventKind, Input};
use contract::id::CallId;

use super::{App, Pace};
use crate::host::{Inquiry, Request};
use crate::layers::approval::{Approval, Ask};
use crate::layers::inquiry::InquiryDialog;
use crate::message::Effect;
use crate::permission::Permission;
use crate::text::one_line;
use crate::transcript::View;

impl App {
    pub(super) fn event(&mut self, event: &Event, effects: &mut Vec<Effect>) {
        if matches!(&event.kind, EventKind::Compacted { summary: None, .. })
            && event.within.is_none()
        {
            // Messages that the model no longer sees are removed.
            self.transcript.clear();
            self.pictures.clear();
            self.view = View::default();
        }
        self.transcript.take(event);
        let turn_time = self.status.turn_time(self.now);
        self.status.take(event, self.now);
        if event.within.is_none() {
            self.user_commands.take(&event.kind);
            let results = std::mem::take(&mut self.user_commands.results);
            effects.extend(results.into_iter().map(|it| Effect::send(Input::Record(it))));
        }
        match &event.kind {
            EventKind::Asked { .. } => {
                let project = self.status.facts.project.as_deref();
                if let Some(permission) = Permission::of(event, project) {
                    let call = event.within.as_ref().map(|within| &within.call);
                    let task = call.and_then(|call| self.transcript.task(call));
                    let ask = Ask { permission, task };
                    if self.asks.is_empty() {
                        self.notify_user(&ask.title(), effects);
                    }
                    self.asks.push(ask);
                    self.show_asks();
                }
            }
            EventKind::Answered { call, .. } => self.forget_ask(call),
            // The model hears what waits before its next reply.
            EventKind::ToolFinished { call, .. } => {
                self.forget_ask(call);
                if event.within.is_none() {
                    effects.extend(self.flush_queue());
                }
            }
            EventKind::TurnFinished { .. } if event.within.is_none() => {
                self.asks.clear();
                self.note.clear();
                self.layers.retain(|layer| layer.asks_about().is_empty());
                self.dismiss_inquiries(effects);
                if turn_time.is_some_and(|time| time >= self.settings.long_run) {
                    self.notify_user("Brynhild has finished", effects);
                }
                // Nothing is left to interrupt.
                let departure = self.layers.iter().find_map(|layer| layer.departure()).cloned();
                if let Some(leave) = departure {
                    return self.depart(leave, effects);
                }
                effects.extend(self.flush_queue());
                effects.push(Effect::Ask(Request::Facts));
            }
            _ => {}
        }
    }

    pub(super) fn inquire(&mut self, inquiry: Inquiry, effects: &mut Vec<Effect>) {
        self.notify_user(&one_line(&inquiry.title), effects);
        let is_writing = !self.composer.buffer.is_empty();
        self.layers.push(Box::new(InquiryDialog::ask(inquiry, self.now, is_writing)));
    }

    /// Dismisses open inquiries: nobody waits for an answer any more.
    fn dismiss_inquiries(&mut self, effects: &mut Vec<Effect>) {
        let open = self.layers.iter().filter_map(|layer| layer.inquires());
        effects.extend(open.map(|id| Effect::Ask(Request::Reply { id, text: None })));
        self.layers.retain(|layer| layer.inquires().is_none());
    }

    fn notify_user(&self, text: &str, effects: &mut Vec<Effect>) {
        if self.settings.notifies && self.is_focused != Some(true) {
            effects.push(Effect::Notify(text.to_owned()));
        }
    }

    /// A question was answered, here or elsewhere.
    fn forget_ask(&mut self, call: &CallId) {
        self.asks.retain(|ask| ask.permission.call != *call);
        self.show_asks();
    }

    /// Shows the calls that wait in one dialog, or the first of them if they are asked about one by
    /// one. A dialog that the user writes a text into stays until one of its calls is answered.
    pub(super) fn show_asks(&mut self) {
        let waits = |call: &CallId| self.asks.iter().any(|ask| ask.permission.call == *call);
        let calls = |asks: &[Ask]| -> Vec<CallId> {
            asks.iter().map(|ask| ask.permission.call.clone()).collect()
        };
        let shown = match &self.asks[..] {
            [first, ..] if self.pace == Pace::OneByOne => std::slice::from_ref(first),
            all => all,
        };
        let open = self.layers.iter().position(|layer| !layer.asks_about().is_empty());
        if let Some(at) = open {
            let layer = &self.layers[at];
            let is_current = layer.asks_about() == calls(shown);
            if is_current || (layer.takes_text() && layer.asks_about().iter().all(waits)) {
                return;
            }
            self.layers.remove(at);
        }
        let dialog = match shown {
            [] => {
                self.pace = Pace::Together;
                return;
            }
            [one] => Approval::one(one, self.asks.len() - 1, self.now),
            several => Approval::several(several, self.now),
        };
        let is_writing = !self.composer.buffer.is_empty();
        let dialog = if is_writing { dialog.amid_writing() } else { dialog };
        let place = open.unwrap_or(self.layers.len());
        self.layers.insert(place, Box::new(dialog));
    }
}
