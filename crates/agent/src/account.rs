//! What conversations cost: each counts its own replies and those of the conversations within it,
//! and none goes on when its budget, or that of one around it, is used up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::event::What;
use contract::message::Usage;

use crate::settings::{Budget, Span};

/// The account of one conversation.
pub(crate) struct Account {
    above: Option<Arc<Account>>,
    budget: Budget,
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    turn: Usage,
    all: Usage,
    /// Whether a reply had no price.
    is_unpriced: bool,
}

impl Account {
    /// The account of a session's own conversation, whose turn has cost this much already.
    pub(crate) fn new(budget: Budget, turn: Usage) -> Arc<Self> {
        let spent = Spent { turn, ..Spent::default() };
        Arc::new(Self { above: None, budget, spent: Mutex::new(spent) })
    }

    /// The account of a conversation within this one.
    pub(crate) fn within(self: &Arc<Self>, budget: Budget) -> Arc<Self> {
        Arc::new(Self { above: Some(Arc::clone(self)), budget, spent: Mutex::default() })
    }

    /// How many conversations are around this one.
    pub(crate) fn depth(&self) -> u32 {
        self.above.as_ref().map_or(0, |above| above.depth() + 1)
    }

    /// Takes into account what happened in this conversation.
    pub(crate) fn take(&self, what: &What) {
        match what {
            What::TurnStarted { .. } => self.spent().turn = Usage::default(),
            What::ReplyFinished { usage, .. } | What::Compacted { usage, .. } => self.add(usage),
            _ => {}
        }
    }

    fn add(&self, usage: &Usage) {
        {
            let mut spent = self.spent();
            spent.turn.add(usage);
            spent.all.add(usage);
            spent.is_unpriced |= usage.cost_usd.is_none() && usage.total_tokens() > 0;
        }
        if let Some(above) = &self.above {
            above.add(usage);
        }
    }

    /// The limit that is reached, in words.
    pub(crate) fn reached(&self) -> Option<String> {
        let own = {
            let spent = self.spent();
            let unpriced = || spent.is_unpriced.then(|| self.budget.unpriced()).flatten();
            let counted = match self.budget.span {
                Span::Conversation => &spent.all,
                Span::Turn => &spent.turn,
            };
            self.budget.reached(counted).or_else(unpriced)
        };
        own.or_else(|| self.above.as_ref()?.reached())
    }

    /// What the turn has cost so far.
    pub(crate) fn turn(&self) -> Usage {
        self.spent().turn.clone()
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(tokens: u64) -> What {
        let usage = Usage { output_tokens: tokens, ..Usage::default() };
        What::ReplyFinished { reply: contract::message::Reply::default(), usage }
    }

    #[test]
    fn what_is_spent_within_counts_around_it_too() {
        let budget = Budget { tokens: Some(100), ..Budget::default() };
        let outer = Account::new(budget, Usage::default());
        let inner = outer.within(Budget { tokens: Some(30), ..Budget::default() });
        outer.take(&reply(60));
        inner.take(&reply(20));
        assert_eq!((inner.reached(), inner.depth()), (None, 1));
        inner.take(&reply(15));
        assert_eq!(inner.reached().as_deref(), Some("max_tokens (30)"));
        assert_eq!(outer.reached(), None);
        assert_eq!(outer.turn().output_tokens, 95);
        let sibling = outer.within(Budget::default());
        sibling.take(&reply(5));
        assert_eq!(sibling.reached().as_deref(), Some("max_tokens (100)"));
        outer.take(&What::TurnStarted { prompt: String::new() });
        assert_eq!(outer.turn(), Usage::default());
    }
}
