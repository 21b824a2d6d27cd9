//! How to treat one model or family of models.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model's profile. Unknown keys are refused, so that a typing error is seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the fields are a published file format")]
pub struct ModelProfile {
    /// Its name.
    pub name: String,
    /// The prefix of the model names it fits.
    pub family: String,
    /// What it is for.
    pub description: String,
    /// Sampling temperature.
    pub default_temperature: f64,
    /// Upper bound on a reply.
    pub default_max_tokens: u64,
    /// Lower bound on that bound.
    pub min_max_tokens: Option<u64>,
    /// Whether tools are offered.
    pub supports_tools: bool,
    /// Whether the model reasons.
    pub supports_reasoning: bool,
    /// Whether replies can be streamed.
    pub supports_streaming: bool,
    /// Further fields of a request's body.
    pub api_params: BTreeMap<String, Value>,
    /// Before the system prompt.
    pub system_prompt_prefix: String,
    /// After the system prompt.
    pub system_prompt_suffix: String,
    /// Named passages for the system prompt.
    pub prompt_patterns: BTreeMap<String, String>,
    /// The passages in use, in this order.
    pub enabled_patterns: Vec<String>,
    /// The wire form of tools.
    pub tool_format: String,
    /// Whether calls of one reply may run together.
    pub tool_parallelization: bool,
    /// Upper bound on calls in one reply.
    pub max_tools_per_turn: Option<u64>,
    /// Whether calls are recovered from text.
    pub enable_tool_recovery: bool,
    /// Whether the model is told of a recovery.
    pub recovery_feedback_enabled: bool,
    /// Whether recovery needs a phrase of intent.
    pub recovery_requires_intent_phrase: bool,
    /// How readily the model acts.
    pub eagerness: String,
    /// How much it writes.
    pub verbosity: String,
    /// How far it looks.
    pub thoroughness: String,
    /// Whether repetition is watched for.
    pub stuck_detection_enabled: bool,
    /// Identical calls that count as stuck.
    pub max_similar_tool_calls: u64,
    /// Per provider, further fields of a request's body.
    pub provider_specific: BTreeMap<String, Value>,
}

impl Default for ModelProfile {
    fn default() -> Self {
        Self {
            name: "default".into(),
            family: String::new(),
            description: String::new(),
            default_temperature: 0.7,
            default_max_tokens: 8192,
            min_max_tokens: None,
            supports_tools: true,
            supports_reasoning: false,
            supports_streaming: true,
            api_params: BTreeMap::new(),
            system_prompt_prefix: String::new(),
            system_prompt_suffix: String::new(),
            prompt_patterns: BTreeMap::new(),
            enabled_patterns: Vec::new(),
            tool_format: "openai".into(),
            tool_parallelization: true,
            max_tools_per_turn: None,
            enable_tool_recovery: false,
            recovery_feedback_enabled: true,
            recovery_requires_intent_phrase: false,
            eagerness: "medium".into(),
            verbosity: "medium".into(),
            thoroughness: "balanced".into(),
            stuck_detection_enabled: true,
            max_similar_tool_calls: 3,
            provider_specific: BTreeMap::new(),
        }
    }
}

impl ModelProfile {
    /// Whether the model calls tools by writing the call into its answer.
    pub fn calls_by_text(&self) -> bool {
        self.tool_format == "text"
    }

    /// The system prompt with prefix, enabled passages and suffix around it.
    pub fn wrap_system_prompt(&self, base: &str) -> String {
        let mut parts = vec![self.system_prompt_prefix.as_str()];
        let passage = |name| self.prompt_patterns.get(name).map(String::as_str);
        parts.extend(self.enabled_patterns.iter().filter_map(passage));
        parts.extend([base, &self.system_prompt_suffix]);
        let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_between_prefix_and_base_in_their_own_order() {
        let profile = ModelProfile {
            system_prompt_prefix: "first".into(),
            system_prompt_suffix: "last".into(),
            prompt_patterns: [("a".into(), "A".into()), ("b".into(), "B".into())].into(),
            enabled_patterns: vec!["b".into(), "a".into(), "missing".into()],
            ..ModelProfile::default()
        };
        assert_eq!(profile.wrap_system_prompt("base"), "first\n\nB\n\nA\n\nbase\n\nlast");
    }
}
