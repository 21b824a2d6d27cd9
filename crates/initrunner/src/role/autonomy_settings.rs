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
    pub compaction: Option<Compaction>,
}

/// The way in which a summary replaces the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    threshold: usize,
    pub tail_messages: usize,
    /// The model that summarizes, with the name of its provider, if it is not the role's.
    pub model: Option<String>,
    pub prefix: String,
}

impl Default for AutonomySettings {
    fn default() -> Self {
        Self {
            continuation_prompt: None,
            delay: Duration::ZERO,
            idle_iterations: 2,
            history_limit: None,
            compaction: None,
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
        let most = fields.size(from, "autonomy.max_history_messages");
        let compaction = Compaction::read(from, fields);
        Some(Self {
            continuation_prompt: prompt.filter(|prompt| !prompt.trim().is_empty()),
            delay: delay.map_or(usual.delay, Duration::from_secs_f64),
            idle_iterations: idle
                .and_then(|it| it.try_into().ok())
                .unwrap_or(usual.idle_iterations),
            history_limit: most.into_iter().chain(compaction.as_ref().map(|it| it.threshold)).min(),
            compaction,
        })
    }
}

impl Compaction {
    fn read(from: &Map<String, Value>, fields: &mut Fields) -> Option<Self> {
        const KEYS: &[&str] =
            &["enabled", "threshold", "tail_messages", "model_override", "summary_prefix"];
        let place = "autonomy.compaction";
        let from = fields.mapping(from.get("compaction"), place)?;
        fields.warn_unknown(from, place, KEYS);
        let threshold = fields.size(from, "autonomy.compaction.threshold").unwrap_or(30);
        let tail = fields.size(from, "autonomy.compaction.tail_messages").unwrap_or(6);
        let [model, prefix] = ["model_override", "summary_prefix"]
            .map(|key| fields.text(from, key, "autonomy.compaction."));
        fields.flag(from, "autonomy.compaction.enabled", false).then(|| Self {
            threshold,
            // A summary of nothing would follow every iteration.
            tail_messages: tail.min(threshold / 2),
            model,
            prefix: prefix.unwrap_or_default(),
        })
    }
}
