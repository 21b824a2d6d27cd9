//! The figures of a session, day by day.

use std::collections::BTreeMap;

use contract::event::{CallOutcome, Event, EventKind};
use contract::id::{CallId, SessionId, Timestamp};
use contract::message::Usage;

use crate::figures::{Figures, Spent, Used};

/// The figures of one session.
#[derive(Clone, Debug)]
pub struct SessionFigures {
    /// The session.
    pub id: SessionId,
    /// Its figures, by the day in UTC (`2026-03-01`).
    pub days: BTreeMap<String, Figures>,
    /// The usage of its last turn.
    pub last_turn: Spent,
}

/// A fold over the events of a session.
#[derive(Default)]
pub struct Fold {
    days: BTreeMap<String, Figures>,
    last_turn: Spent,
    /// When the session began; what is older was copied from another one.
    start: Option<Timestamp>,
    /// Who answers, in the session itself and in conversations within it.
    models: BTreeMap<String, String>,
    /// The plugins of calls that are running.
    sources: BTreeMap<CallId, String>,
}

impl Fold {
    /// Takes the next event into account.
    pub fn add(&mut self, event: &Event) {
        let conversation =
            event.within.as_ref().map(|within| within.call.to_string()).unwrap_or_default();
        match &event.kind {
            EventKind::Configured { provider, model, .. } => {
                self.models.insert(conversation, format!("{provider}/{model}"));
                return;
            }
            EventKind::SessionStarted { .. } => {
                self.start.get_or_insert(event.at);
                return;
            }
            _ => {}
        }
        if self.start.is_some_and(|start| event.at < start) {
            return;
        }
        match &event.kind {
            EventKind::TurnStarted { .. } if event.within.is_none() => {
                self.day(event).turns += 1;
                self.last_turn = Spent::default();
            }
            EventKind::ReplyFinished { usage, .. } => self.spend(event, &conversation, usage),
            EventKind::Compacted { usage, .. } if usage.total_tokens() > 0 => {
                self.spend(event, &conversation, usage);
            }
            EventKind::ToolJudged { call, source: Some(source), .. } => {
                self.sources.insert(call.clone(), source.clone());
            }
            EventKind::ToolFinished { call, name, outcome, output, content, duration_ms } => {
                let source = self.sources.remove(call);
                if *outcome == CallOutcome::Ran {
                    let used = Used::once(source, output.success, *duration_ms, content);
                    self.day(event).tools.entry(name.clone()).or_default().add(&used);
                }
            }
            _ => {}
        }
    }

    /// The figures of the session with this id.
    pub fn finish(self, id: SessionId) -> SessionFigures {
        SessionFigures { id, days: self.days, last_turn: self.last_turn }
    }

    fn day(&mut self, event: &Event) -> &mut Figures {
        let day = event.at.0.strftime("%Y-%m-%d").to_string();
        self.days.entry(day).or_default()
    }

    fn spend(&mut self, event: &Event, conversation: &str, usage: &Usage) {
        let spent = Spent::of(usage);
        self.last_turn.add(&spent);
        // A conversation within the session has the model of the session where it names none.
        let model = self.models.get(conversation).or_else(|| self.models.get(""));
        let model = model.cloned().unwrap_or_else(|| "unknown".to_owned());
        self.day(event).models.entry(model).or_default().add(&spent);
    }
}

impl SessionFigures {
    /// All days together.
    pub fn total(&self) -> Figures {
        self.since("")
    }

    /// A day and all after it together.
    pub fn since(&self, day: &str) -> Figures {
        let mut total = Figures::default();
        for figures in self.days.iter().filter(|(at, _)| at.as_str() >= day).map(|(_, it)| it) {
            total.add(figures);
        }
        total
    }
}

/// Gives a cost to replies that came before their price was known. `cost` is asked for the usage of
/// a `provider/model`.
pub fn complete_costs(
    sessions: &mut [SessionFigures],
    mut cost: impl FnMut(&str, &Usage) -> Option<f64>,
) {
    let mut price = |name: &str, spent: &mut Spent| {
        if spent.unpriced_replies > 0
            && let Some(cost) = cost(name, &spent.unpriced)
        {
            spent.price(cost);
        }
    };
    for session in sessions {
        let mut models = session.total().models.into_keys();
        // The figures of a turn do not name its model.
        if let (Some(only), None) = (models.next(), models.next()) {
            price(&only, &mut session.last_turn);
        }
        for figures in session.days.values_mut() {
            for (name, spent) in &mut figures.models {
                price(name, spent);
            }
        }
    }
}

#[cfg(test)]
mod tests;
