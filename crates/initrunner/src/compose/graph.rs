//! The graph of a flow: which agent's output goes where.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::settings::Vote;
use crate::role::Fields;

/// Agents one after the other, at most.
const MAX_DEPTH: usize = 20;
const USUAL_ITERATIONS: u64 = 3;
const THEN: &[&str] = &[
    "to",
    "strategy",
    "ensemble",
    "loop_back",
    "queue_size",
    "timeout_seconds",
    "circuit_breaker_threshold",
    "circuit_breaker_reset_seconds",
    "keep_existing_sinks",
];

/// The agents of a flow by their places in the document.
#[derive(Default)]
pub struct FlowGraph {
    pub(crate) thens: Vec<Then>,
    /// Pairs of source and target, in the order of the document.
    pub(crate) edges: Vec<(usize, usize)>,
    pub(crate) loops: Vec<Loop>,
    pub(crate) entry: usize,
    /// True if the results of finished agents are kept, so that a failed run can be resumed.
    pub is_durable: bool,
}

/// The choice among the targets of an agent.
#[derive(Default)]
pub(crate) struct Then {
    pub(crate) to: Vec<usize>,
    pub(crate) route: Route,
}

#[derive(Default)]
pub(crate) enum Route {
    #[default]
    All,
    Keyword,
    Sense,
    Ensemble(Vote),
}

/// A way back: the output of the first target returns to an earlier agent.
pub(crate) struct Loop {
    /// The agents whose output is checked: the first target, or all targets of an ensemble.
    pub(crate) tails: Vec<usize>,
    pub(crate) target: usize,
    pub(crate) max_iterations: u64,
    pub(crate) until: Option<Until>,
    /// The agents that run again.
    pub(crate) region: BTreeSet<usize>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Until {
    Contains(String),
    Compares(Comparison, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Equal,
}

impl FlowGraph {
    pub(super) fn read(
        children: &[(String, Map<String, Value>)],
        durability: Option<&Value>,
        fields: &mut Fields,
    ) -> Self {
        let names: Vec<&str> = children.iter().map(|(name, _)| name.as_str()).collect();
        let mut graph = Self { is_durable: is_durable(durability, fields), ..Self::default() };
        let mut loop_backs = Vec::new();
        for (source, (name, child)) in children.iter().enumerate() {
            let path = format!("agents.{name}");
            let (then, loop_back) = then(child.get("then"), &path, (source, &names), fields);
            graph.edges.extend(then.to.iter().map(|target| (source, *target)));
            loop_backs.extend(loop_back.map(|keys| (source, keys)));
            graph.thens.push(then);
        }
        for (target, (name, child)) in children.iter().enumerate() {
            let path = format!("agents.{name}.after");
            for source in targets(child.get("after"), &path, (target, &names), fields) {
                if !graph.edges.contains(&(source, target)) {
                    graph.edges.push((source, target));
                }
            }
        }
        if graph.check_order(&names, fields) {
            for (source, keys) in loop_backs {
                graph.add_loop(source, keys, &names, fields);
            }
        }
        if graph.is_durable && !graph.loops.is_empty() {
            fields.error("durability", "a flow with 'loop_back' cannot be durable");
        }
        graph
    }

    pub(crate) fn targets(&self, source: usize) -> impl Iterator<Item = usize> {
        self.edges.iter().filter(move |(from, _)| *from == source).map(|(_, to)| *to)
    }

    /// The agents that lead to `target`, in the order of the document.
    pub(crate) fn sources(&self, target: usize) -> Vec<usize> {
        let edges = self.edges.iter().filter(|(_, to)| *to == target);
        let sources: BTreeSet<usize> = edges.map(|(from, _)| *from).collect();
        sources.into_iter().collect()
    }

    /// The places that an agent leads to, itself included.
    fn reach(&self, start: usize) -> BTreeSet<usize> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(place) = open.pop() {
            if reached.insert(place) {
                open.extend(self.targets(place));
            }
        }
        reached
    }

    /// Finds the entry. Reports cycles, too deep graphs, agents that nothing leads to, and votes
    /// whose candidates wait for others.
    fn check_order(&mut self, names: &[&str], fields: &mut Fields) -> bool {
        let mut depths: Vec<Option<usize>> = vec![None; names.len()];
        for _ in names {
            for place in 0..names.len() {
                let before: Option<Vec<usize>> =
                    self.sources(place).iter().map(|source| depths[*source]).collect();
                depths[place] = before.map(|depths| depths.iter().max().map_or(1, |it| it + 1));
            }
        }
        let cycle: Vec<&str> =
            names.iter().zip(&depths).filter(|(_, it)| it.is_none()).map(|(it, _)| *it).collect();
        if !cycle.is_empty() {
            let what =
                format!("{} wait for each other; use 'loop_back' for a cycle", cycle.join(", "));
            fields.error("agents", what);
            return false;
        }
        if depths.iter().flatten().any(|depth| *depth > MAX_DEPTH) {
            fields.error("agents", format!("more than {MAX_DEPTH} agents follow each other"));
        }
        let is_free = |place: &usize| self.sources(*place).is_empty();
        let free: Vec<usize> = (0..names.len()).filter(is_free).collect();
        self.entry = free.first().copied().unwrap_or_default();
        for place in free.into_iter().skip(1) {
            let what = "no agent precedes it, so it never runs";
            fields.warning(&format!("agents.{}", names[place]), what);
        }
        for (source, then) in self.thens.iter().enumerate() {
            let waits = |target: &usize| self.sources(*target).len() > 1;
            if matches!(then.route, Route::Ensemble(_)) && then.to.iter().any(waits) {
                let path = format!("agents.{}.then", names[source]);
                fields.error(&path, "a candidate of an ensemble also waits for another agent");
            }
        }
        true
    }

    fn add_loop(
        &mut self,
        source: usize,
        keys: &Map<String, Value>,
        names: &[&str],
        fields: &mut Fields,
    ) {
        let path = format!("agents.{}.then.loop_back", names[source]);
        fields.warn_unknown(keys, &path, &["target", "max_iterations", "until"]);
        let back_to = fields.text(keys, "target", &format!("{path}.")).unwrap_or_default();
        let max_iterations = fields.count(keys, &format!("{path}.max_iterations"), (1, 20));
        let until = until(keys.get("until"), &path, fields);
        let then = &self.thens[source];
        let tails = match then.route {
            Route::Ensemble(_) => then.to.clone(),
            _ => then.to.iter().take(1).copied().collect(),
        };
        let Some(target) = names.iter().position(|name| *name == back_to) else {
            fields.error(&format!("{path}.target"), format!("there is no agent '{back_to}'"));
            return;
        };
        if then.to.contains(&target) || !self.reach(target).contains(&source) {
            let what = format!("'{back_to}' does not come before '{}'", names[source]);
            fields.error(&format!("{path}.target"), what);
            return;
        }
        let ends = |place: &usize| tails.iter().any(|tail| self.reach(*place).contains(tail));
        let region = self.reach(target).into_iter().filter(ends).collect();
        let max_iterations = max_iterations.unwrap_or(USUAL_ITERATIONS);
        self.loops.push(Loop { tails, target, max_iterations, until, region });
    }
}

fn is_durable(value: Option<&Value>, fields: &mut Fields) -> bool {
    let Some(keys) = fields.mapping(value, "durability") else { return false };
    // InitRunner accepts the keys about retries and ignores them.
    let idle = ["retry_policy", "max_retries", "retry_delay_seconds"];
    fields.warn_unknown(keys, "durability", &[&["enabled", "backend"], &idle[..]].concat());
    let backend = fields.text(keys, "backend", "durability.");
    if backend.as_ref().is_some_and(|it| it != "none" && it != "journal") {
        fields.error("durability.backend", "it is neither `none` nor `journal`");
    }
    fields.flag(keys, "durability.enabled", true) && backend.as_deref() != Some("none")
}

fn then<'a>(
    value: Option<&'a Value>,
    path: &str,
    (source, names): (usize, &[&str]),
    fields: &mut Fields,
) -> (Then, Option<&'a Map<String, Value>>) {
    let path = format!("{path}.then");
    let Some(Value::Object(keys)) = value else {
        let to = targets(value, &path, (source, names), fields);
        return (Then { to, route: Route::All }, None);
    };
    fields.warn_unknown(keys, &path, THEN);
    let to = targets(keys.get("to"), &format!("{path}.to"), (source, names), fields);
    if to.is_empty() {
        fields.error(&format!("{path}.to"), "it names no agent");
    }
    let chosen: Vec<&str> = to.iter().map(|target| names[*target]).collect();
    let route = match fields.text(keys, "strategy", &format!("{path}.")).as_deref() {
        None | Some("all") => Route::All,
        Some("keyword") => Route::Keyword,
        Some("sense") => Route::Sense,
        Some("ensemble") => {
            if to.len() < 2 || !keys.contains_key("ensemble") {
                let what = "'ensemble' needs at least two targets and the key `ensemble`";
                fields.error(&format!("{path}.strategy"), what);
            }
            let owner = ("flow ensemble", chosen.as_slice());
            let path = format!("{path}.ensemble");
            Route::Ensemble(Vote::read(keys.get("ensemble"), &path, owner, fields))
        }
        Some(other) => {
            let known = "there are all, keyword, sense and ensemble";
            fields.error(&format!("{path}.strategy"), format!("`{other}` is not known; {known}"));
            Route::All
        }
    };
    let loop_back = fields.mapping(keys.get("loop_back"), &format!("{path}.loop_back"));
    (Then { to, route }, loop_back)
}

/// The places of the agents that a text or a list names.
fn targets(
    value: Option<&Value>,
    path: &str,
    (own, names): (usize, &[&str]),
    fields: &mut Fields,
) -> Vec<usize> {
    let listed = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let mut targets = Vec::new();
    for value in listed {
        let name = value.as_str().unwrap_or_default();
        match names.iter().position(|it| *it == name) {
            Some(place) if place == own => fields.error(path, format!("'{name}' names itself")),
            Some(place) if !targets.contains(&place) => targets.push(place),
            Some(_) => {}
            None => fields.error(path, format!("there is no agent {value}")),
        }
    }
    targets
}

fn until(value: Option<&Value>, path: &str, fields: &mut Fields) -> Option<Until> {
    let keys = fields.mapping(value, &format!("{path}.until"))?;
    let path = format!("{path}.until");
    if let Some(key) = keys.keys().find(|key| *key != "output") {
        let what = format!("loop_back until only supports the 'output' field, got '{key}'");
        fields.error(&path, what);
        return None;
    }
    let condition = fields.text(keys, "output", &format!("{path}."))?;
    let until = Until::parse(&condition);
    if until.is_none() {
        fields.error(
            &path,
            format!(
                "loop_back until condition '{condition}' must be 'contains:<text>' or '<op><number>'"
            ),
        );
    }
    until
}

impl Until {
    fn parse(condition: &str) -> Option<Self> {
        let condition = condition.trim();
        if let Some(text) = condition.strip_prefix("contains:") {
            return Some(Self::Contains(text.trim().to_lowercase()));
        }
        // The longer operators come first: `>` is the beginning of `>=`.
        let operators = [
            (">=", Comparison::GreaterOrEqual),
            ("<=", Comparison::LessOrEqual),
            ("==", Comparison::Equal),
            (">", Comparison::Greater),
            ("<", Comparison::Less),
        ];
        let (rest, comparison) = operators
            .into_iter()
            .find_map(|(sign, it)| condition.strip_prefix(sign).map(|rest| (rest, it)))?;
        rest.trim().parse().ok().map(|number| Self::Compares(comparison, number))
    }

    /// Returns true if an output meets the condition. One without a number meets no comparison.
    pub(crate) fn is_met(&self, output: &str) -> bool {
        match self {
            Self::Contains(text) => output.to_lowercase().contains(text),
            Self::Compares(comparison, wanted) => {
                first_number(output).is_some_and(|number| match comparison {
                    Comparison::Greater => number > *wanted,
                    Comparison::GreaterOrEqual => number >= *wanted,
                    Comparison::Less => number < *wanted,
                    Comparison::LessOrEqual => number <= *wanted,
                    Comparison::Equal => (number - wanted).abs() < f64::EPSILON,
                })
            }
        }
    }
}

fn first_number(text: &str) -> Option<f64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = &text[start..];
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    let number: f64 = digits[..end].trim_end_matches('.').parse().ok()?;
    Some(if text[..start].ends_with('-') { -number } else { number })
}
