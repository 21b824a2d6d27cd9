//! What happens in the conversation, and what the interface does about it.

use contract::event::{Event, What};
use contract::id::CallId;

use super::App;
use crate::host::Request;
use crate::layers::approval::{Approval, Ask};
use crate::message::Effect;

impl App {
    pub(super) fn event(&mut self, event: &Event, effects: &mut Vec<Effect>) {
        self.transcript.take(event);
        let turn_time = self.status.turn_time(self.now);
        self.status.take(event, self.now);
        match &event.what {
            What::Asked { .. } => {
                if let Some(ask) = Ask::of(event) {
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
                if turn_time.is_some_and(|time| time >= self.settings.long_run) {
                    self.call_person("Brynhild is done", effects);
                }
                effects.extend(self.flush_queue());
                effects.push(Effect::Ask(Request::Facts));
            }
            _ => {}
        }
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
                let approval = Approval::new(ask.clone(), others, self.now);
                let is_writing = !self.composer.buffer.is_empty();
                let approval = if is_writing { approval.amid_writing() } else { approval };
                self.layers.push(Box::new(approval));
            }
            (None, None) => {}
        }
    }
}
