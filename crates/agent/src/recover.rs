//! Finds a tool call that a model wrote as text or in its reasoning. It is then treated like any call.

mod content;
mod thinking;

use std::collections::HashSet;
use std::sync::Arc;

use contract::event::{Event, EventKind, NoticeTopic};
use contract::id::CallId;
use contract::message::{Reply, ToolCall};
use contract::text::tail;
use contract::tool::{Recovery, Risk, ToolSpec};
use serde_json::{Map, Value};

use crate::settings::RecoverySettings;

const RECOVERED_CALLS_PER_SESSION: u32 = 20;

/// Bytes before a call in which a phrase about examples or intent is searched.
const NEAR: usize = 100;
/// Words that make what follows an example.
const EXAMPLES: &str = "example:|for instance|the format is:|might look like:|would look like:|\
                        looks like this:|here's an example|here's the example|here is an example";

/// The recovered calls of a session.
#[derive(Default)]
pub(crate) struct Recoveries {
    count: u32,
    last: Option<(String, Value)>,
}

pub(crate) enum Sought {
    Nothing,
    Found {
        call: ToolCall,
        policy: Recovery,
        told: String,
    },
    /// The call before it again, or one too many: it does not run.
    Refused(NoticeTopic, String),
}

struct Candidate {
    tool: Arc<ToolSpec>,
    args: Map<String, Value>,
    kind: &'static str,
    is_thought: bool,
}

impl Recoveries {
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut recoveries = Self::default();
        for event in events.iter().filter(|event| event.within.is_none()) {
            let EventKind::ToolCalled { call } = &event.kind else { continue };
            if call.id.is_recovered() {
                recoveries.count += 1;
                recoveries.last = Some((call.name.clone(), call.args.clone()));
            } else {
                recoveries.saw_native_call();
            }
        }
        recoveries
    }

    pub(crate) fn saw_native_call(&mut self) {
        self.last = None;
    }

    pub(crate) fn seek(
        &mut self,
        reply: &Reply,
        specs: &[Arc<ToolSpec>],
        settings: RecoverySettings,
    ) -> Sought {
        let offered: Vec<&Arc<ToolSpec>> =
            specs.iter().filter(|spec| spec.recovery_policy != Recovery::Deny).collect();
        let found = content::find(&reply.text(), &offered).or_else(|| {
            thinking::find(&reply.thinking(), &offered, settings.requires_intent_phrase)
        });
        let Some(Candidate { tool, args, kind, is_thought }) = found else {
            return Sought::Nothing;
        };
        let key = (tool.name.clone(), Value::Object(args));
        if self.last.as_ref() == Some(&key) {
            let text = format!("Recovery loop detected: {} - stopping recovery", tool.name);
            return Sought::Refused(NoticeTopic::RecoveryLoop, text);
        }
        if self.count >= RECOVERED_CALLS_PER_SESSION {
            let text = format!(
                "{RECOVERED_CALLS_PER_SESSION} calls were recovered from text in this session; no more are"
            );
            return Sought::Refused(NoticeTopic::RecoveryBudget, text);
        }
        self.count += 1;
        let place = if is_thought { "" } else { "content-" };
        let id = CallId::recovered(format_args!("{place}{:012x}", fastrand::u64(..1 << 48)));
        let told = if is_thought {
            let risk = risk_name(tool.risk_level);
            format!("Recovered tool call from thinking: {} (type: {kind}, risk: {risk})", key.0)
        } else {
            format!("Recovered tool call from content: {} (type: {kind})", key.0)
        };
        let (name, args) = key.clone();
        self.last = Some(key);
        let call = ToolCall { id, name, args, opaque: None };
        Sought::Found { call, policy: tool.recovery_policy, told }
    }
}

/// The calls of a model that makes calls by text. Invalid ones are answered like any invalid call.
pub(crate) fn agreed(text: &str, specs: &[Arc<ToolSpec>]) -> Vec<ToolCall> {
    let offered: Vec<&Arc<ToolSpec>> = specs.iter().collect();
    let call = |(name, args): (&str, Value)| ToolCall {
        id: CallId(format!("text-{:012x}", fastrand::u64(..1 << 48))),
        name: named(name, &offered).map_or_else(|| name.to_owned(), |spec| spec.name.clone()),
        args,
        opaque: None,
    };
    content::tags(text).into_iter().map(call).collect()
}

/// Returns true if one of these phrases is near the end of `text`.
fn says(text: &str, phrases: &str) -> bool {
    let before = tail(text, NEAR).to_lowercase();
    phrases.split('|').any(|phrase| before.contains(phrase))
}

fn risk_name(risk: Risk) -> &'static str {
    match risk {
        Risk::ReadOnly => "read_only",
        Risk::Mutating => "mutating",
        Risk::HighImpact => "high_impact",
    }
}

fn named<'a>(name: &str, specs: &[&'a Arc<ToolSpec>]) -> Option<&'a Arc<ToolSpec>> {
    let exact = specs.iter().find(|spec| spec.name == name);
    exact.or_else(|| specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(name))).copied()
}

/// The names of a tool's parameters: all of them, and those that it cannot do without.
fn parameters(spec: &ToolSpec) -> (HashSet<&str>, Vec<&str>) {
    let schema = &spec.input_schema;
    let known = schema.get("properties").and_then(Value::as_object);
    let known = known.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str).collect();
    (known, required)
}

#[cfg(test)]
mod tests;
