//! The memory of hooks for a session: how its tools fared, and the additions to its system prompt.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use contract::hook::{HookContext, HookError, Moment};
use contract::id::Timestamp;
use contract::policy::Mode;
use serde_json::{Value, json};

use super::host::Reported;
use super::moment::{Listener, Occurrence, Reply};
use super::yaml_hook::YamlHook;

/// Remembers for all hooks of a program, over changes of their files.
#[derive(Default)]
pub struct Ledger {
    pages: Mutex<HashMap<String, Page>>,
    mode: Mutex<Option<Mode>>,
    pub reported: Reported,
    begun: Mutex<BTreeMap<String, Vec<Arc<YamlHook>>>>,
    life: OnceLock<String>,
}

#[derive(Debug, Default)]
struct Page {
    tools: BTreeMap<String, Metrics>,
    injections: BTreeMap<usize, Value>,
}

#[derive(Clone, Debug, Default)]
struct Metrics {
    calls: u64,
    successes: u64,
    milliseconds: f64,
    last_used: Option<f64>,
}

impl Ledger {
    /// From here on processes of hooks are confined as this mode says.
    pub fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = Some(mode);
    }

    pub fn mode(&self) -> Option<Mode> {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plugins that have begun, with the hooks of their lives. Those of a plugin may change.
    pub(crate) fn begun(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Arc<YamlHook>>>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session id for hooks of plugins' own events: sixteen digits.
    pub(crate) fn life(&self) -> &str {
        self.life.get_or_init(|| format!("{:016x}", RandomState::new().hash_one(0)))
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<String, Page>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self, session: &str, tool: &str, success: bool, duration: Duration) {
        let mut pages = self.pages();
        let page = pages.entry(session.to_owned()).or_default();
        let metrics = page.tools.entry(tool.to_owned()).or_default();
        metrics.calls += 1;
        metrics.successes += u64::from(success);
        metrics.milliseconds += duration.as_secs_f64() * 1000.0;
        metrics.last_used = Some(Timestamp::now().0.as_duration().as_secs_f64());
    }

    pub(crate) fn tool(&self, session: &str, tool: &str) -> Option<Value> {
        let pages = self.pages();
        let metrics = pages.get(session)?.tools.get(tool)?;
        Some(json!({
            "tool_name": tool,
            "call_count": metrics.calls,
            "success_count": metrics.successes,
            "failure_count": metrics.calls - metrics.successes,
            "total_duration_ms": metrics.milliseconds,
            "average_duration_ms": ratio(metrics.milliseconds, metrics.calls),
            "success_rate": ratio(as_number(metrics.successes) * 100.0, metrics.calls),
            "last_used": metrics.last_used,
        }))
    }

    pub(crate) fn summary(&self, session: &str) -> Option<Value> {
        let pages = self.pages();
        let tools = &pages.get(session)?.tools;
        if tools.is_empty() {
            return None;
        }
        let calls: u64 = tools.values().map(|metrics| metrics.calls).sum();
        let successes: u64 = tools.values().map(|metrics| metrics.successes).sum();
        let milliseconds: f64 = tools.values().map(|metrics| metrics.milliseconds).sum();
        Some(json!({
            "total_calls": calls,
            "total_success": successes,
            "total_failures": calls - successes,
            "success_rate": ratio(as_number(successes) * 100.0, calls),
            "total_duration_ms": milliseconds,
            "tools_used": tools.len(),
        }))
    }

    pub(crate) fn injections(&self, session: &str, position: usize) -> Vec<Value> {
        let pages = self.pages();
        let Some(page) = pages.get(session) else { return Vec::new() };
        page.injections.range(..position).map(|(_, injection)| injection.clone()).collect()
    }

    /// Remembers what a hook added to the system prompt, or that it added nothing.
    pub(crate) fn inject(&self, session: &str, position: usize, injection: Option<Value>) {
        let mut pages = self.pages();
        let page = pages.entry(session.to_owned()).or_default();
        match injection {
            Some(injection) => page.injections.insert(position, injection),
            None => page.injections.remove(&position),
        };
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody calls tools 2^52 times")]
fn as_number(count: u64) -> f64 {
    count as f64
}

fn ratio(amount: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { amount / as_number(count) }
}

/// Counts calls before any other hook hears of them.
pub(crate) struct Meter(pub(crate) Arc<Ledger>);

#[async_trait]
impl Listener for Meter {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::AfterTool
    }

    async fn hear(&self, context: &HookContext, what: Occurrence<'_>) -> Result<Reply, HookError> {
        if let Occurrence::CallResult(result) = what {
            let success = result.output.success;
            self.0.count(context.session.as_str(), result.call.tool, success, result.duration);
        }
        Ok(Reply::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_for_each_session_and_tool() {
        let ledger = Ledger::default();
        assert_eq!(ledger.summary("a"), None);
        ledger.count("a", "Bash", true, Duration::from_millis(30));
        ledger.count("a", "Bash", false, Duration::from_millis(10));
        ledger.count("a", "Read", true, Duration::ZERO);
        ledger.count("b", "Read", true, Duration::ZERO);
        let bash = ledger.tool("a", "Bash").unwrap();
        assert_eq!(bash["call_count"], 2);
        assert_eq!(bash["failure_count"], 1);
        assert_eq!(bash["success_rate"], 50.0);
        assert_eq!(bash["average_duration_ms"], 20.0);
        let summary = ledger.summary("a").unwrap();
        assert_eq!(summary["total_calls"], 3);
        assert_eq!(summary["tools_used"], 2);
        assert_eq!(ledger.tool("b", "Bash"), None);
    }

    #[test]
    fn later_hooks_see_additions_of_earlier_ones() {
        let ledger = Ledger::default();
        ledger.inject("a", 2, Some(json!("two")));
        ledger.inject("a", 1, Some(json!("one")));
        assert_eq!(ledger.injections("a", 2), [json!("one")]);
        ledger.inject("a", 1, None);
        assert_eq!(ledger.injections("a", 3), [json!("two")]);
    }
}
