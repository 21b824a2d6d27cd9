//! Notices a model that goes in circles: the same call with the same result, or the same error,
//! again and again. Pure: it counts, and says what should follow.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use contract::message::ToolCall;
use serde_json::Value;

/// What should follow a call that was made again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Nothing.
    GoOn,
    /// The model should be told.
    Suggest(String),
    /// The turn should end.
    Stop(String),
}

/// The calls of a turn.
pub(crate) struct Circles {
    limit: u32,
    tells_only: bool,
    seen: HashSet<u64>,
    this_reply: HashSet<u64>,
    results: HashMap<u64, u32>,
    errors: HashMap<u64, u32>,
    calls: HashMap<u64, u32>,
}

impl Circles {
    /// Watches for `limit` repetitions, after which the model is told; a person decides after twice
    /// as many, and three times as many are the end. Watches for none where there is no limit.
    pub(crate) fn new(limit: Option<u32>, tells_only: bool) -> Self {
        let limit = limit.map_or(u32::MAX, |limit| limit.max(2));
        let (seen, this_reply, results, errors, calls) = Default::default();
        Self { limit, tells_only, seen, this_reply, results, errors, calls }
    }

    /// Begins another reply. What one reply says twice counts once.
    pub(crate) fn next_reply(&mut self) {
        self.this_reply.clear();
    }

    /// Why a person should decide on a call before it runs once more.
    pub(crate) fn doubt(&self, call: &ToolCall) -> Option<String> {
        let count = *self.calls.get(&key(&(&call.name, canonical(&call.args))))?;
        (!self.tells_only && count >= self.limit.saturating_mul(2))
            .then(|| format!("the same call gave the same result {count} times in this turn"))
    }

    /// Takes a call that has ended into account.
    pub(crate) fn observe(&mut self, call: &ToolCall, content: &str, failed: bool) -> Advice {
        let same_call = key(&(&call.name, canonical(&call.args)));
        let same_result = key(&(same_call, content));
        let same_error = key(&(&call.name, content));
        let is_first = self.this_reply.insert(same_result) && self.this_reply.insert(same_error);
        if !is_first {
            return Advice::GoOn;
        }
        if self.seen.insert(same_result) && !failed {
            // Something new came of it: what was tried before may give something else.
            self.results.clear();
            self.errors.clear();
            self.calls.clear();
        }
        let again = bump(&mut self.results, same_result);
        self.calls.insert(same_call, again);
        let errors = if failed { bump(&mut self.errors, same_error) } else { 0 };
        let count = again.max(errors);
        let what = if again >= errors {
            format!(
                "{} was called {again} times with the same input and the same result",
                call.name
            )
        } else {
            format!("{} failed {errors} times with the same error", call.name)
        };
        if count == self.limit {
            Advice::Suggest(what)
        } else if !self.tells_only && count >= self.limit.saturating_mul(3) {
            Advice::Stop(what)
        } else {
            Advice::GoOn
        }
    }
}

fn bump(counts: &mut HashMap<u64, u32>, key: u64) -> u32 {
    let count = counts.entry(key).or_default();
    *count += 1;
    *count
}

fn key(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The arguments with the keys of every object in order.
fn canonical(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use contract::id::CallId;
    use serde_json::json;

    use super::*;

    fn call(args: Value) -> ToolCall {
        ToolCall { id: CallId("x".into()), name: "Look".into(), args, opaque: None }
    }

    fn observe(circles: &mut Circles, call: &ToolCall, content: &str, failed: bool) -> Advice {
        circles.next_reply();
        circles.observe(call, content, failed)
    }

    #[test]
    fn what_one_reply_says_often_counts_once() {
        let mut circles = Circles::new(Some(3), false);
        for _ in 0..500 {
            assert_eq!(circles.observe(&call(json!({})), "x", true), Advice::GoOn);
        }
    }

    #[test]
    fn the_same_call_with_the_same_result_is_first_mentioned_and_then_stopped() {
        let mut circles = Circles::new(Some(3), false);
        let (one, same) = (call(json!({"a": 1, "b": 2})), call(json!({"b": 2, "a": 1})));
        let mut told = Vec::new();
        for number in 1..=9 {
            assert_eq!(circles.doubt(&one).is_some(), number > 6, "{number}");
            let call = if number % 2 == 0 { &one } else { &same };
            told.push(observe(&mut circles, call, "x", false));
        }
        assert!(matches!(told[2], Advice::Suggest(_)));
        assert!(matches!(told[8], Advice::Stop(_)));
        let quiet = told.iter().filter(|advice| **advice == Advice::GoOn).count();
        assert_eq!(quiet, 7);
    }

    #[test]
    fn a_test_that_is_run_after_each_change_is_no_circle() {
        let mut circles = Circles::new(Some(3), false);
        for number in 0..10 {
            assert_eq!(
                observe(&mut circles, &call(json!({"test": true})), "red", false),
                Advice::GoOn
            );
            let edit = call(json!({"edit": number}));
            assert_eq!(observe(&mut circles, &edit, "done", false), Advice::GoOn);
        }
    }

    #[test]
    fn two_calls_in_turn_are_a_circle_too() {
        let mut circles = Circles::new(Some(3), false);
        let advice: Vec<Advice> = (0..6)
            .map(|number| observe(&mut circles, &call(json!(number % 2)), "same", false))
            .collect();
        assert!(advice.iter().any(|advice| matches!(advice, Advice::Suggest(_))), "{advice:?}");
    }

    #[test]
    fn the_same_error_from_different_calls_counts() {
        let mut circles = Circles::new(Some(3), false);
        let advice: Vec<Advice> = (0..9)
            .map(|number| observe(&mut circles, &call(json!(number)), "no such file", true))
            .collect();
        assert!(matches!(advice[2], Advice::Suggest(_)), "{advice:?}");
        assert!(matches!(advice[8], Advice::Stop(_)), "{advice:?}");
    }

    #[test]
    fn who_is_only_told_is_never_stopped() {
        let mut circles = Circles::new(Some(3), true);
        let advice: Vec<Advice> =
            (0..200).map(|_| observe(&mut circles, &call(json!({})), "x", false)).collect();
        assert_eq!(advice.iter().filter(|it| matches!(it, Advice::Suggest(_))).count(), 1);
        assert!(!advice.iter().any(|it| matches!(it, Advice::Stop(_))));
        assert_eq!(circles.doubt(&call(json!({}))), None);
    }

    #[test]
    fn without_a_limit_nothing_is_a_circle() {
        let mut circles = Circles::new(None, false);
        for _ in 0..100 {
            assert_eq!(observe(&mut circles, &call(json!({})), "x", true), Advice::GoOn);
        }
    }
}
