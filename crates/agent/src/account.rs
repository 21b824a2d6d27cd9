//! The cost of conversations, nested ones included, and the check of their budgets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::event::{EventKind, Outcome};
use contract::message::Usage;

use crate::settings::{Budget, Prices, Span};

pub(crate) struct Account {
    above: Option<Arc<Account>>,
    budget: Budget,
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    turn: Tally,
    all: Tally,
}

/// The usage of replies, and the part of it without a price.
#[derive(Default)]
struct Tally {
    usage: Usage,
    unpriced: Usage,
    /// Input tokens of its largest request.
    largest_input: u64,
    /// By those within it, which may have other prices: tokens.
    unpriced_within: u64,
}

impl Tally {
    fn is_unpriced(&self) -> bool {
        self.unpriced.total_tokens() + self.unpriced_within > 0
    }

    /// Gives a price to what this conversation took without one. Returns it with its tokens.
    fn price(&mut self, prices: Prices) -> (u64, f64) {
        let unpriced = std::mem::take(&mut self.unpriced);
        let (tokens, cost) = (unpriced.total_tokens(), prices.of(&unpriced));
        if tokens > 0 {
            self.pay(cost);
        }
        (tokens, cost)
    }

    fn pay(&mut self, cost: f64) {
        *self.usage.cost_usd.get_or_insert(0.0) += cost;
    }
}

impl Account {
    /// The account of a session's own conversation, whose turn has cost this much already.
    pub(crate) fn new(budget: Budget, usage: Usage) -> Arc<Self> {
        let turn = Tally { usage, ..Tally::default() };
        let spent = Spent { turn, ..Spent::default() };
        Arc::new(Self { above: None, budget, spent: Mutex::new(spent) })
    }

    pub(crate) fn within(self: &Arc<Self>, budget: Budget) -> Arc<Self> {
        Arc::new(Self { above: Some(Arc::clone(self)), budget, spent: Mutex::default() })
    }

    pub(crate) fn depth(&self) -> u32 {
        self.above.as_ref().map_or(0, |above| above.depth() + 1)
    }

    pub(crate) fn take(&self, what: &EventKind) {
        match what {
            EventKind::TurnStarted { .. } => self.spent().turn = Tally::default(),
            EventKind::ReplyFinished { usage, .. } | EventKind::Compacted { usage, .. } => {
                let is_unpriced = usage.cost_usd.is_none();
                self.change(|tally| {
                    tally.usage.add(usage);
                    tally.largest_input = tally.largest_input.max(usage.input_tokens);
                    if is_unpriced {
                        tally.unpriced.add(usage);
                    }
                });
                if let Some(above) = &self.above {
                    above.add(usage);
                }
            }
            _ => {}
        }
    }

    fn add(&self, usage: &Usage) {
        let unpriced = if usage.cost_usd.is_none() { usage.total_tokens() } else { 0 };
        self.change(|tally| {
            tally.usage.add(usage);
            tally.unpriced_within += unpriced;
        });
        if let Some(above) = &self.above {
            above.add(usage);
        }
    }

    /// Gives a price to what this conversation took before it was known.
    pub(crate) fn price(&self, prices: Prices) {
        let (tokens, cost) = {
            let mut spent = self.spent();
            spent.turn.price(prices);
            spent.all.price(prices)
        };
        if let Some(above) = self.above.as_ref().filter(|_| tokens > 0) {
            above.pay(tokens, cost);
        }
    }

    fn pay(&self, tokens: u64, cost: f64) {
        self.change(|tally| {
            tally.unpriced_within = tally.unpriced_within.saturating_sub(tokens);
            tally.pay(cost);
        });
        if let Some(above) = &self.above {
            above.pay(tokens, cost);
        }
    }

    pub(crate) fn reached(&self) -> Option<Outcome> {
        let own = {
            let spent = self.spent();
            let unpriced = || spent.all.is_unpriced().then(|| self.budget.unpriced()).flatten();
            let counted = match self.budget.span {
                Span::Conversation => &spent.all,
                Span::Turn => &spent.turn,
            };
            self.budget.reached(&counted.usage, counted.largest_input).or_else(unpriced)
        };
        own.or_else(|| self.above.as_ref()?.reached())
    }

    pub(crate) fn turn(&self) -> Usage {
        let spent = self.spent();
        Usage { unpriced: spent.turn.is_unpriced(), ..spent.turn.usage.clone() }
    }

    fn change(&self, change: impl Fn(&mut Tally)) {
        let mut spent = self.spent();
        change(&mut spent.turn);
        change(&mut spent.all);
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Bound;

    fn reply(tokens: u64) -> EventKind {
        let usage = Usage { output_tokens: tokens, ..Usage::default() };
        EventKind::ReplyFinished { reply: contract::message::Reply::default(), usage }
    }

    fn told(account: &Account) -> Option<String> {
        match account.reached()? {
            Outcome::Limited { told, .. } => Some(told),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn inner_account_charges_its_outer_account() {
        let tokens = |most| Budget { tokens: Some(Bound::new(most, "most")), ..Budget::default() };
        let outer = Account::new(tokens(100), Usage::default());
        let inner = outer.within(tokens(30));
        outer.take(&reply(60));
        inner.take(&reply(20));
        assert_eq!((inner.reached(), inner.depth()), (None, 1));
        inner.take(&reply(15));
        assert_eq!(told(&inner).as_deref(), Some("most (30)"));
        assert_eq!(outer.reached(), None);
        assert_eq!(outer.turn().output_tokens, 95);
        let sibling = outer.within(Budget::default());
        sibling.take(&reply(5));
        assert_eq!(told(&sibling).as_deref(), Some("most (100)"));
        outer.take(&EventKind::TurnStarted { prompt: String::new() });
        assert_eq!(outer.turn(), Usage::default());
    }

    #[test]
    fn earlier_usage_is_priced_with_the_price_of_its_account() {
        let prices = |output| Prices { input: 0.0, output, cache_read: None, cache_write: None };
        let outer = Account::new(Budget::default(), Usage::default());
        let inner = outer.within(Budget::default());
        outer.take(&reply(1_000_000));
        inner.take(&reply(2_000_000));
        outer.price(prices(1.0));
        let turn = outer.turn();
        assert_eq!((turn.cost_usd, turn.unpriced), (Some(1.0), true));
        inner.price(prices(10.0));
        inner.price(prices(10.0));
        let (within, turn) = (inner.turn(), outer.turn());
        assert_eq!((within.cost_usd, within.unpriced), (Some(20.0), false));
        assert_eq!((turn.cost_usd, turn.unpriced), (Some(21.0), false));
    }
}
