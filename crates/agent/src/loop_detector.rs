//! Detects loops of a model: repeated calls with equal results, repeated errors, talk without calls.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use contract::message::ToolCall;
use serde_json::Value;

/// Replies without calls after which the model is told; a user is asked after twice as many, and the
/// turn ends after three times as many.
pub(crate) const TALK: u32 = 5;

/// The reaction to a repetition or to a reply that only announces actions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    GoOn,
    Suggest(String),
    Ask(String),
    Stop(String),
}

/// The calls of a turn.
#[derive(Default)]
pub(crate) struct LoopDetector {
    limit: u32,
    seen: HashSet<u64>,
    this_reply: HashSet<u64>,
    results: HashMap<u64, u32>,
    errors: HashMap<u64, u32>,
    calls: HashMap<u64, u32>,
    failing: HashMap<String, u32>,
    /// Replies in a row with a call whose arguments could not be read.
    unreadable: u32,
    /// Replies in a row that only say what the model will do.
    talk: u32,
    idle: u32,
    pub(crate) has_acted: bool,
}

impl LoopDetector {
    /// Detects `limit` repetitions, after which the model is told; a user is asked after twice as many,
    /// and the turn ends after three times as many. Without a limit it detects none.
    pub(crate) fn new(limit: Option<u32>) -> Self {
        let limit = limit.map_or(u32::MAX, |limit| limit.max(2));
        Self { limit, ..Self::default() }
    }

    /// Begins another reply with calls. Repetitions within one reply are one observation.
    pub(crate) fn next_reply(&mut self) {
        self.this_reply.clear();
        (self.talk, self.idle) = (0, 0);
        self.has_acted = true;
    }

    /// Returns a reason to ask the user before a call runs once more.
    pub(crate) fn doubt(&self, call: &ToolCall) -> Option<String> {
        let asks = |count: &&u32| **count >= self.asks_from();
        let same = self.calls.get(&key(&(&call.name, canonical(&call.args)))).filter(asks);
        if let Some(count) = same {
            return Some(format!("the same call gave the same result {count} times in this turn"));
        }
        let count = self.failing.get(&call.name).filter(asks)?;
        Some(format!("{} failed {count} times with the same error in this turn", call.name))
    }

    /// Takes a reply into account that only says what the model will do.
    pub(crate) fn talked(&mut self) -> Reaction {
        self.talk += 1;
        let why = format!("it said {} times what it would do, and did nothing", self.talk);
        if self.talk <= self.limit {
            Reaction::Suggest(why)
        } else if self.talk <= self.asks_from() {
            Reaction::Ask(why)
        } else {
            Reaction::Stop(why)
        }
    }

    /// Takes a reply into account that calls nothing, though the turn goes on.
    pub(crate) fn idled(&mut self) -> Reaction {
        self.idle += 1;
        let why = format!("it replied {} times in a row without using a tool", self.idle);
        match self.idle {
            // Announcements are counted by themselves.
            _ if self.limit == u32::MAX || self.talk > 0 => Reaction::GoOn,
            TALK => Reaction::Suggest(why),
            idle if idle >= 3 * TALK => Reaction::Stop(why),
            idle if idle >= 2 * TALK => Reaction::Ask(why),
            _ => Reaction::GoOn,
        }
    }

    pub(crate) fn observe(&mut self, call: &ToolCall, content: &str, failed: bool) -> Reaction {
        // Arguments that are a string are invalid JSON.
        if call.args.is_string() {
            return self.observe_unreadable(&call.name);
        }
        self.unreadable = 0;
        let same_call = key(&(&call.name, canonical(&call.args)));
        let same_result = key(&(same_call, content));
        let same_error = key(&(&call.name, content));
        let is_first = self.this_reply.insert(same_result) && self.this_reply.insert(same_error);
        if !is_first {
            return Reaction::GoOn;
        }
        if self.seen.insert(same_result) && !failed {
            // A new result: earlier attempts may give another result now.
            self.results.clear();
            self.errors.clear();
            self.calls.clear();
            self.failing.clear();
        }
        let asks_from = self.asks_from();
        // A call that a user was asked about stays doubtful, also if it was refused.
        let counted = |count: u32, before: u32| {
            if before >= asks_from { count.max(before + 1) } else { count }
        };
        let before = self.calls.get(&same_call).copied().unwrap_or(0);
        let again = counted(bump(&mut self.results, same_result), before);
        self.calls.insert(same_call, again);
        let errors = if failed {
            let before = self.failing.get(&call.name).copied().unwrap_or(0);
            let errors = counted(bump(&mut self.errors, same_error), before);
            self.failing.insert(call.name.clone(), errors);
            errors
        } else {
            self.failing.remove(&call.name);
            0
        };
        let (count, name) = (again.max(errors), &call.name);
        let what = if again >= errors {
            format!("{name} was called {again} times with the same input and the same result")
        } else {
            format!("{name} failed {errors} times with the same error")
        };
        if count == self.limit {
            Reaction::Suggest(what)
        } else if count >= self.limit.saturating_mul(3) {
            Reaction::Stop(what)
        } else {
            Reaction::GoOn
        }
    }

    /// Counts a call with invalid JSON. A user cannot decide on it, so the turn ends soon.
    fn observe_unreadable(&mut self, name: &str) -> Reaction {
        if self.this_reply.insert(key(&"unreadable")) {
            self.unreadable += 1;
        }
        let count = self.unreadable;
        let what = format!("the arguments of {name} could not be read {count} times in a row");
        match count.cmp(&self.limit) {
            Ordering::Less => Reaction::GoOn,
            Ordering::Equal => Reaction::Suggest(what),
            Ordering::Greater => Reaction::Stop(what),
        }
    }

    fn asks_from(&self) -> u32 {
        self.limit.saturating_mul(2)
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

    fn observe(
        circles: &mut LoopDetector,
        call: &ToolCall,
        content: &str,
        failed: bool,
    ) -> Reaction {
        circles.next_reply();
        circles.observe(call, content, failed)
    }

    #[test]
    fn repeated_calls_in_one_reply_are_one_observation() {
        let mut circles = LoopDetector::new(Some(3));
        for _ in 0..500 {
            assert_eq!(circles.observe(&call(json!({})), "x", true), Reaction::GoOn);
        }
    }

    #[test]
    fn repeated_call_gets_a_suggestion_then_a_stop() {
        let mut circles = LoopDetector::new(Some(3));
        let (one, same) = (call(json!({"a": 1, "b": 2})), call(json!({"b": 2, "a": 1})));
        let mut told = Vec::new();
        for number in 1..=9 {
            assert_eq!(circles.doubt(&one).is_some(), number > 6, "{number}");
            let call = if number % 2 == 0 { &one } else { &same };
            told.push(observe(&mut circles, call, "x", false));
        }
        assert!(matches!(told[2], Reaction::Suggest(_)));
        assert!(matches!(told[8], Reaction::Stop(_)));
        let quiet = told.iter().filter(|advice| **advice == Reaction::GoOn).count();
        assert_eq!(quiet, 7);
    }

    #[test]
    fn repeated_test_between_edits_is_no_loop() {
        let mut circles = LoopDetector::new(Some(3));
        for number in 0..10 {
            assert_eq!(
                observe(&mut circles, &call(json!({"test": true})), "red", false),
                Reaction::GoOn
            );
            let edit = call(json!({"edit": number}));
            assert_eq!(observe(&mut circles, &edit, "done", false), Reaction::GoOn);
        }
    }

    #[test]
    fn alternating_calls_are_a_loop() {
        let mut circles = LoopDetector::new(Some(3));
        let advice: Vec<Reaction> = (0..6)
            .map(|number| observe(&mut circles, &call(json!(number % 2)), "same", false))
            .collect();
        assert!(advice.iter().any(|advice| matches!(advice, Reaction::Suggest(_))), "{advice:?}");
    }

    #[test]
    fn repeated_error_of_different_calls_is_a_loop() {
        let mut circles = LoopDetector::new(Some(3));
        let advice: Vec<Reaction> = (0..9)
            .map(|number| observe(&mut circles, &call(json!(number)), "no such file", true))
            .collect();
        assert!(matches!(advice[2], Reaction::Suggest(_)), "{advice:?}");
        assert!(matches!(advice[8], Reaction::Stop(_)), "{advice:?}");
    }

    #[test]
    fn invalid_arguments_get_a_suggestion_then_a_stop() {
        let mut circles = LoopDetector::new(Some(3));
        let broken = |number: u32| call(json!(format!("{{\"a\": {number}")));
        let mut told: Vec<Reaction> =
            (0..2).map(|number| observe(&mut circles, &broken(number), "not JSON", true)).collect();
        observe(&mut circles, &call(json!({})), "x", false);
        told.extend((0..4).map(|number| observe(&mut circles, &broken(number), "not JSON", true)));
        assert!(matches!(told[4], Reaction::Suggest(_)), "{told:?}");
        assert!(matches!(told[5], Reaction::Stop(_)), "{told:?}");
        assert_eq!(told.iter().filter(|advice| **advice == Reaction::GoOn).count(), 4);
    }

    #[test]
    fn refused_loop_needs_approval_until_progress() {
        let mut circles = LoopDetector::new(Some(3));
        for _ in 0..6 {
            observe(&mut circles, &call(json!({})), "x", false);
        }
        assert_eq!(observe(&mut circles, &call(json!({})), "refused", true), Reaction::GoOn);
        assert!(circles.doubt(&call(json!({}))).is_some());
        observe(&mut circles, &call(json!({"other": true})), "something new", false);
        assert_eq!(circles.doubt(&call(json!({}))), None);
    }

    #[test]
    fn tool_with_a_repeated_error_needs_approval() {
        let mut circles = LoopDetector::new(Some(3));
        for number in 0..6 {
            assert_eq!(circles.doubt(&call(json!(number))), None, "{number}");
            observe(&mut circles, &call(json!(number)), "no such file", true);
        }
        assert!(circles.doubt(&call(json!("another"))).is_some());
        observe(&mut circles, &call(json!({"good": true})), "found", false);
        assert_eq!(circles.doubt(&call(json!("another"))), None);
    }

    #[test]
    fn repeated_talk_escalates_from_suggestion_to_stop() {
        let mut circles = LoopDetector::new(Some(2));
        let rungs: Vec<Reaction> = (0..5).map(|_| circles.talked()).collect();
        assert!(matches!(rungs[..2], [Reaction::Suggest(_), Reaction::Suggest(_)]), "{rungs:?}");
        assert!(matches!(rungs[2..4], [Reaction::Ask(_), Reaction::Ask(_)]), "{rungs:?}");
        assert!(matches!(rungs[4], Reaction::Stop(_)), "{rungs:?}");
        circles.next_reply();
        assert!(matches!(circles.talked(), Reaction::Suggest(_)));
    }

    #[test]
    fn replies_without_calls_escalate_to_a_stop() {
        let mut circles = LoopDetector::new(Some(3));
        let rungs: Vec<Reaction> = (0..15).map(|_| circles.idled()).collect();
        assert!(matches!(rungs[4], Reaction::Suggest(_)));
        assert!(matches!(&rungs[9..14], [Reaction::Ask(_), ..]), "{rungs:?}");
        assert!(matches!(rungs[14], Reaction::Stop(_)), "{rungs:?}");
        assert_eq!(rungs.iter().filter(|rung| **rung == Reaction::GoOn).count(), 8);
        circles.next_reply();
        assert_eq!(circles.idled(), Reaction::GoOn);
    }

    #[test]
    fn loop_detection_without_a_limit_is_off() {
        let mut circles = LoopDetector::new(None);
        assert!((0..100).all(|_| circles.idled() == Reaction::GoOn));
        for _ in 0..100 {
            assert_eq!(observe(&mut circles, &call(json!({})), "x", true), Reaction::GoOn);
        }
    }
}
