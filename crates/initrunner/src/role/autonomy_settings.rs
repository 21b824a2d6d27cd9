//! The key `autonomy` of a role.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Fields;
use super::guardrails::DAEMON_NOTE;

const KEYS: &[&str] = &[
    "continuation_prompt",
    "iteration_delay_seconds",
    "max_no_tool_call_iterations",
    // Accepted and without effect, as where it comes from.
    "max_plan_steps",
    "max_history_messages",
    "compaction",
];

const DAEMON_ONLY: &[&str] =
    &["max_scheduled_per_run", "max_scheduled_total", "max_schedule_delay_seconds"];

#[derive(Clone, Debug, PartialEq)]
pub struct AutonomySettings {
    pub(crate) continuation_prompt: Option<String>,
    pub(crate) delay: Duration,
    /// Iterations in a row without a tool call that end a run.
    pub(crate) idle_iterations: u32,
    /// Messages from which on the history is summarized; none if only the model's context limits it.
    pub(crate) history_limit: Option<usize>,
}

impl Default for AutonomySettings {
    fn default() -> Self {
        Self {
            continuation_prompt: None,
            delay: Duration::ZERO,
            idle_iterations: 2,
            history_limit: None,
        }
    }
}

impl AutonomySettings {
    pub(super) fn read(value: Option<&Value>, fields: &mut Fields) -> Option<Self> {
        let usual = Self::default();
        let from = fields.mapping(value, "autonomy")?;
        for key in from.keys().map(String::as_str).filter(|key| !KEYS.contains(key)) {
            let text = if DAEMON_ONLY.contains(&key) {
                DAEMON_NOTE
            } else {
                "it is not known and is ignored"
            };
            fields.warning(&format!("autonomy.{key}"), text);
        }
        let delay = fields.number(from, "autonomy.iteration_delay_seconds", (0.0, 1e6));
        let idle = fields.count(from, "autonomy.max_no_tool_call_iterations", (1, 1000));
        let prompt = fields.text(from, "continuation_prompt", "autonomy.");
        Some(Self {
            continuation_prompt: prompt.filter(|prompt| !prompt.trim().is_empty()),
            delay: delay.map_or(usual.delay, Duration::from_secs_f64),
            idle_iterations: idle
                .and_then(|it| it.try_into().ok())
                .unwrap_or(usual.idle_iterations),
            history_limit: history_limit(from, fields),
        })
    }
}

/// The lower of the two limits of the history.
fn history_limit(from: &Map<String, Value>, fields: &mut Fields) -> Option<usize> {
    const UNUSED: &[&str] = &["tail_messages", "model_override", "summary_prefix"];
    let messages = fields.size(from, "autonomy.max_history_messages");
    let compaction = fields.mapping(from.get("compaction"), "autonomy.compaction");
    let Some(compaction) = compaction else { return messages };
    fields.warn_unknown(
        compaction,
        "autonomy.compaction",
        &[&["enabled", "threshold"], UNUSED].concat(),
    );
    for key in UNUSED.iter().filter(|key| compaction.contains_key(**key)) {
        let text = "it does nothing here: the role's model summarizes, and about a third stays";
        fields.warning(&format!("autonomy.compaction.{key}"), text);
    }
    let threshold = fields.size(compaction, "autonomy.compaction.threshold").unwrap_or(30);
    let is_enabled = fields.flag(compaction, "autonomy.compaction.enabled", false);
    messages.into_iter().chain(is_enabled.then_some(threshold)).min()
}
