//! What happens in the conversation, and what the interface does about it.

use contract::event::{Event, What};
use contract::id::CallId;

use super::App;
use crate::host::{Inquiry, Request};
use crate::layers::approval::{Approval, Ask};
use crate::layers::inquiry::Asking;
use crate::message::Effect;
use crate::text::one_line;
use crate::transcript::View;

impl App {
    pub(super) fn event(&mut self, event: &Event, effects: &mut Vec<Effect>) {
        if matches!(&event.what, What::Compacted { summary: None, .. }) && event.within.is_none() {
            // What the model does not see any more is not shown as if it did.
            self.transcript.clear();
            self.pictures.clear();
            self.view = View::default();
        }
        self.transcript.take(event);
        let turn_time = self.status.turn_time(self.now);
        self.status.take(event, self.now);
        match &event.what {
            What::Asked { .. } => {
                if let Some(ask) = Ask::of(event) {
                    let call = event.within.as_ref().map(|within| &within.call);
                    let ask = ask.within(call.and_then(|call| self.transcript.task(call)));
                    self.call_person(&ask.title(0), effects);
                    self.asks.push_back(ask);
                    self.show_asks();
                }
            }
            What::Answered { call, .. } => self.forget_ask(call),
            // The model hears what waits before its next reply.
            What::ToolFinished { call, .. } => {
                self.forget_ask(call);
                if event.within.is_none() {
                    effects.extend(self.flush_queue());
                }
            }
            What::TurnFinished { .. } if event.within.is_none() => {
                self.asks.clear();
                self.note.clear();
                self.layers.retain(|layer| layer.asks_about().is_none());
                self.put_inquiries_aside(effects);
                if turn_time.is_some_and(|time| time >= self.settings.long_run) {
                    self.call_person("Brynhild is done", effects);
                }
                effects.extend(self.flush_queue());
                effects.push(Effect::Ask(Request::Facts));
            }
            _ => {}
        }
    }

    /// A part of the program wants to know something.
    pub(super) fn inquire(&mut self, inquiry: Inquiry, effects: &mut Vec<Effect>) {
        self.call_person(&one_line(&inquiry.title), effects);
        let is_writing = !self.composer.buffer.is_empty();
        self.layers.push(Box::new(Asking::ask(inquiry, self.now, is_writing)));
    }

    /// Nobody waits for an answer any more.
    fn put_inquiries_aside(&mut self, effects: &mut Vec<Effect>) {
        let open = self.layers.iter().filter_map(|layer| layer.inquires());
        effects.extend(open.map(|id| Effect::Ask(Request::Reply { id, words: None })));
        self.layers.retain(|layer| layer.inquires().is_none());
    }

    /// Calls whoever looks elsewhere.
    fn call_person(&self, text: &str, effects: &mut Vec<Effect>) {
        if self.settings.notifies && self.is_focused != Some(true) {
            effects.push(Effect::Notify(text.to_owned()));
        }
    }

    /// A question was answered, here or elsewhere.
    fn forget_ask(&mut self, call: &CallId) {
        self.asks.retain(|ask| ask.call != *call);
        self.layers.retain(|layer| layer.asks_about() != Some(call));
        self.show_asks();
    }

    /// Goes on with the next question.
    pub(super) fn next_ask(&mut self) {
        self.asks.pop_front();
        self.show_asks();
    }

    /// Shows the first question that waits, and how many others do.
    fn show_asks(&mut self) {
        let others = self.asks.len().saturating_sub(1);
        let open = self.layers.iter_mut().find(|layer| layer.asks_about().is_some());
        match (open, self.asks.front()) {
            (Some(layer), _) => layer.set_waiting(others),
            (None, Some(ask)) => {
                let approval = Approval::ask(ask.clone(), others, self.now);
                let is_writing = !self.composer.buffer.is_empty();
                let approval = if is_writing { approval.amid_writing() } else { approval };
                self.layers.push(Box::new(approval));
            }
            (None, None) => {}
        }
    }
}
