//! The format of model profiles: how to treat one model or family of models.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model's profile. Unknown keys are refused, so that a typing error is seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the fields are a published file format")]
pub struct ModelProfile {
    pub name: String,
    pub family: String,
    pub description: String,
    pub default_temperature: f64,
    pub default_max_tokens: u64,
    /// Lower bound on that bound.
    pub min_max_tokens: Option<u64>,
    pub supports_tools: bool,
    pub supports_reasoning: bool,
    pub supports_streaming: bool,
    /// Further fields of a request's body.
    pub api_params: BTreeMap<String, Value>,
    pub system_prompt_prefix: String,
    pub system_prompt_suffix: String,
    /// Named passages for the system prompt.
    pub prompt_patterns: BTreeMap<String, String>,
    pub enabled_patterns: Vec<String>,
    pub tool_format: String,
    pub tool_parallelization: bool,
    pub max_tools_per_turn: Option<u64>,
    pub enable_tool_recovery: bool,
    pub recovery_feedback_enabled: bool,
    pub recovery_requires_intent_phrase: bool,
    pub eagerness: String,
    pub verbosity: String,
    pub thoroughness: String,
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
    /// Returns true if the model calls tools by writing the call into its answer.
    pub fn calls_by_text(&self) -> bool {
        self.tool_format == "text"
    }

    /// The passages that stand before the system prompt: the prefix, then the enabled ones.
    pub fn opening(&self) -> Vec<&str> {
        let enabled = self.enabled_patterns.iter();
        let passages = enabled.filter_map(|name| self.prompt_patterns.get(name));
        [&self.system_prompt_prefix].into_iter().chain(passages).map(String::as_str).collect()
    }

    pub fn guidelines(&self) -> Vec<&'static str> {
        let sentences = [
            match self.eagerness.as_str() {
                "low" => Some("Do what was asked and no more; ask before you go further."),
                "high" => Some("Act on your own judgment until the whole task is done."),
                _ => None,
            },
            match self.verbosity.as_str() {
                "low" => Some("Keep your words to the least that is needed."),
                "high" => Some("Explain what you do and why, step by step."),
                _ => None,
            },
            match self.thoroughness.as_str() {
                "low" | "fast" | "quick" => Some("Take the shortest way to a good result."),
                "high" | "thorough" => {
                    Some("Look at everything that could matter before you conclude.")
                }
                _ => None,
            },
        ];
        sentences.into_iter().flatten().collect()
    }

    /// The profile without all that the agent applies to requests itself, for a provider that
    /// applies the rest. None for the usual profile, which says nothing.
    pub fn unapplied(&self) -> Option<Value> {
        let unapplied = Self {
            min_max_tokens: None,
            system_prompt_prefix: String::new(),
            system_prompt_suffix: String::new(),
            enabled_patterns: Vec::new(),
            ..self.clone()
        };
        (self.name != "default").then(|| serde_json::to_value(unapplied).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_follow_the_prefix_in_the_order_of_their_names() {
        let profile = ModelProfile {
            system_prompt_prefix: "first".into(),
            prompt_patterns: [("a".into(), "A".into()), ("b".into(), "B".into())].into(),
            enabled_patterns: vec!["b".into(), "a".into(), "missing".into()],
            ..ModelProfile::default()
        };
        assert_eq!(profile.opening(), ["first", "B", "A"]);
    }

    #[test]
    fn profile_styles_become_guidelines() {
        let profile = ModelProfile {
            eagerness: "high".into(),
            verbosity: "low".into(),
            thoroughness: "thorough".into(),
            ..ModelProfile::default()
        };
        let guidelines = profile.guidelines();
        let beginnings = ["Act on your own judgment", "Keep your words", "Look at everything"];
        assert!(guidelines.iter().zip(beginnings).all(|(it, start)| it.starts_with(start)));
        assert_eq!((guidelines.len(), ModelProfile::default().guidelines().len()), (3, 0));
    }

    #[test]
    fn unapplied_profile_lacks_the_texts_of_the_prompt() {
        let profile = ModelProfile {
            name: "zed".into(),
            system_prompt_prefix: "PRE".into(),
            enabled_patterns: vec!["a".into()],
            default_temperature: 0.25,
            ..ModelProfile::default()
        };
        let unapplied = profile.unapplied().expect("a profile with a name of its own");
        assert_eq!(unapplied["system_prompt_prefix"], "");
        assert_eq!(unapplied["enabled_patterns"], Value::Array(Vec::new()));
        assert_eq!(unapplied["default_temperature"], 0.25);
        assert_eq!(ModelProfile::default().unapplied(), None);
    }
}
