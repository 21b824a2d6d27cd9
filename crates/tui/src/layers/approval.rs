//! The dialog that asks whether calls may run: one for all calls that wait, or for one of them.

use std::time::Instant;

use contract::event::Answer;
use contract::id::CallId;

use super::Deed;
use super::dialog::{Dialog, Purpose};
use super::question::{Choice, Question};
use crate::permission::{self, Part, Permission};

/// Rows of each command or diff that are shown in a dialog about several calls.
const ROWS_OF_SEVERAL: usize = 6;

/// The calls of a dialog and the answers it offers.
pub(crate) struct Approval {
    calls: Vec<CallId>,
    answers: Vec<Answer>,
}

/// A call that waits for an answer, with the task of the agent that made it.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) permission: Permission,
    pub(crate) task: Option<String>,
}

impl Ask {
    fn agent(&self) -> String {
        match (&self.permission.agent, &self.task) {
            (Some(agent), Some(task)) => format!(" ({agent}: {task})"),
            (Some(agent), None) => format!(" ({agent})"),
            (None, _) => String::new(),
        }
    }

    pub(crate) fn title(&self) -> String {
        format!("{}{}", self.permission.title(), self.agent())
    }
}

impl Approval {
    /// Asks about one call from `now` on, while `others` more wait for their turn.
    pub(crate) fn one(ask: &Ask, others: usize, now: Instant) -> Dialog<Self> {
        let more = if others == 0 { String::new() } else { format!(" ({others} more)") };
        let title = format!("{}{more}", ask.title());
        let parts = ask.permission.parts.clone();
        Self::dialog(std::slice::from_ref(ask), title, parts, now)
    }

    /// Asks about several calls at once from `now` on.
    pub(crate) fn several(asks: &[Ask], now: Instant) -> Dialog<Self> {
        let numbered = (1..).zip(asks);
        let parts =
            numbered.flat_map(|(at, ask)| ask.permission.numbered(at, &ask.agent())).collect();
        let asked: Vec<Permission> = asks.iter().map(|ask| ask.permission.clone()).collect();
        Self::dialog(asks, permission::title(&asked), parts, now)
    }

    fn dialog(asks: &[Ask], title: String, parts: Vec<Part>, now: Instant) -> Dialog<Self> {
        let asked: Vec<Permission> = asks.iter().map(|ask| ask.permission.clone()).collect();
        let (offers, default) = permission::offers(&asked);
        let mut choices: Vec<Choice> = offers
            .iter()
            .map(|offer| Choice {
                keys: offer.keys,
                word: offer.word,
                label: offer.label.clone(),
                takes_text: matches!(offer.answer, Answer::Deny { .. }),
            })
            .collect();
        if asks.len() > 1 {
            let keys = if choices.len() > 2 { "5o" } else { "3o" };
            let label = permission::ONE_BY_ONE.to_owned();
            choices.push(Choice { keys, word: "each", label, takes_text: false });
        }
        let mut question = Question::new(title, parts, choices, default, now);
        question.escape = "stop the turn";
        if asks.len() > 1 {
            question.fold_at = Some(ROWS_OF_SEVERAL);
        }
        let answers = offers.into_iter().map(|offer| offer.answer).collect();
        let calls = asked.into_iter().map(|it| it.call).collect();
        Dialog::new(Self { calls, answers }, question, now)
    }
}

impl Purpose for Approval {
    fn choose(&self, at: usize, text: Option<String>) -> Option<Deed> {
        Some(match self.answers.get(at) {
            Some(Answer::Deny { .. }) => {
                Deed::Answer(self.calls.clone(), Answer::Deny { reason: text })
            }
            Some(answer) => Deed::Answer(self.calls.clone(), answer.clone()),
            None => Deed::OneByOne,
        })
    }

    fn cancel(&self) -> Option<Deed> {
        Some(Deed::Answer(self.calls.clone(), Answer::Cancel))
    }

    fn calls(&self) -> &[CallId] {
        &self.calls
    }
}
