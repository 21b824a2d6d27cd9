//! The vendors that are known by name. They are data, in `compatible.yaml`; this only reads it, at
//! first use.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use contract::provider::ReasoningLevel;
use formats::yaml::{self, YES_NO};
use serde::Deserialize;
use serde_json::Value;

/// A provider that users can select by name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    pub name: String,
    /// The name in messages.
    pub label: String,
    pub description: String,
    pub wire: Wire,
    #[serde(default)]
    pub base_url: Option<String>,
    /// The environment variable with its key; none if it needs no key.
    #[serde(default)]
    pub key_env: Option<String>,
    #[serde(default)]
    pub default_model: Option<String>,
    /// True if it runs on the user's own machine.
    #[serde(default)]
    pub local: bool,
    #[serde(default)]
    pub quirks: Quirks,
}

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Chat completions.
    OpenaiChat,
    /// Messages.
    Anthropic,
    /// Ollama's own.
    Ollama,
    /// Gemini's own.
    Gemini,
    /// A scenario file.
    Script,
    /// The format of a plugin, which connects by itself.
    Plugin,
}

/// Differences of a vendor from the plain format.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// The field for the limit of a reply.
    pub max_tokens_field: String,
    /// True if it reports usage in streams.
    pub stream_usage: bool,
    pub reasoning_level: LevelStyle,
    /// Levels that have another name here.
    pub level_words: BTreeMap<String, String>,
    /// The field in which past reasoning is sent back.
    pub reasoning_field: Option<String>,
    /// True if structured reasoning is sent back as well.
    pub reasoning_details: bool,
    pub call_ids: CallIds,
    /// Models that accept no images; a `*` at the end stands for anything.
    pub text_models: Vec<String>,
    /// Models that reason, and are asked by the Responses API at the vendor's own address.
    pub responses_models: Vec<String>,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// Fields of every request's body.
    pub body: BTreeMap<String, Value>,
}

impl Vendor {
    /// The vendor of a provider that a plugin has.
    pub fn of_plugin(name: &str, description: String, default_model: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            label: name.to_owned(),
            description,
            wire: Wire::Plugin,
            base_url: None,
            key_env: None,
            default_model,
            local: false,
            quirks: Quirks::default(),
        }
    }

    /// The level after another one, of those that a model tells apart; the first after the last.
    pub fn level_after(&self, model: &str, current: &ReasoningLevel) -> ReasoningLevel {
        let levels = self.reasoning_levels(model);
        let next = levels.iter().position(|level| level == current).map_or(0, |at| at + 1);
        levels.get(next).or(levels.first()).cloned().unwrap_or_default()
    }

    /// The reasoning levels that a model tells apart, `auto` first; none if levels are not sent.
    pub fn reasoning_levels(&self, model: &str) -> Vec<ReasoningLevel> {
        use ReasoningLevel::{Auto, High, Low, Maximum, Medium, Off};
        let levels = match self.wire {
            Wire::OpenaiChat if self.quirks.reasoning_level == LevelStyle::None => {
                return Vec::new();
            }
            Wire::Ollama if model.contains("gpt-oss") => vec![Auto, Low, Medium, High],
            Wire::Ollama => vec![Auto, Off, High],
            Wire::Gemini => vec![Auto, Off, Low, Medium, High],
            _ => vec![Auto, Off, Low, Medium, High, Maximum],
        };
        // The word of a level may be the name of another one.
        let word = |level: &ReasoningLevel| self.quirks.level_words.get(level.as_str());
        let is_own = |level: &ReasoningLevel| {
            word(level).is_none_or(|word| !["low", "medium", "high"].contains(&word.as_str()))
        };
        levels.into_iter().filter(is_own).collect()
    }
}

/// The form in which a reasoning level is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelStyle {
    /// As `reasoning.effort`.
    Object,
    /// As `reasoning_effort`.
    Effort,
    /// Not at all.
    #[default]
    None,
}

/// The ids of calls that a vendor accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    #[default]
    Any,
    /// Nine letters or digits.
    NineLetters,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            max_tokens_field: "max_tokens".into(),
            stream_usage: true,
            reasoning_level: LevelStyle::None,
            level_words: BTreeMap::new(),
            reasoning_field: None,
            reasoning_details: false,
            call_ids: CallIds::Any,
            text_models: Vec::new(),
            responses_models: Vec::new(),
            headers: BTreeMap::new(),
            body: BTreeMap::new(),
        }
    }
}

static CATALOG: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
    let tree = yaml::parse(include_str!("compatible.yaml"), YES_NO);
    let catalog = tree.expect("the catalog in the binary is YAML").to_type();
    catalog.expect("the catalog in the binary is well-formed")
});

/// Returns true if a model is among these; a `*` at the end stands for anything.
pub(crate) fn is_listed(patterns: &[String], model: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => model.starts_with(start),
        None => model == pattern,
    })
}

/// All vendors, the default one first.
pub fn catalog() -> &'static [Vendor] {
    &CATALOG
}

/// The vendor of that name.
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    catalog().iter().find(|vendor| vendor.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::endpoint::Endpoint;

    #[test]
    fn every_vendor_is_complete_and_unique() {
        let mut names = BTreeSet::new();
        for vendor in catalog() {
            assert!(names.insert(&vendor.name), "{} twice", vendor.name);
            if vendor.wire == Wire::Script {
                continue;
            }
            let base_url = vendor.base_url.as_deref().unwrap();
            let endpoint = Endpoint::parse(base_url, None).unwrap();
            assert_eq!(endpoint.is_loopback(), vendor.local, "{}", vendor.name);
            assert_eq!(endpoint.is_plain(), vendor.local, "{}", vendor.name);
            assert_eq!(vendor.key_env.is_some(), !vendor.local, "{}", vendor.name);
        }
    }

    #[test]
    fn openrouter_is_first_and_denies_data_collection() {
        let first = &catalog()[0];
        assert_eq!(first.name, "openrouter");
        assert_eq!(first.quirks.body["provider"]["data_collection"], "deny");
        assert_eq!(first.quirks.level_words["maximum"], "xhigh");
        assert_eq!(first.quirks.level_words["off"], "none");
    }

    #[test]
    fn unknown_vendor_is_not_found() {
        assert_eq!(vendor("ollama").map(|vendor| vendor.wire), Some(Wire::Ollama));
        assert!(vendor("Ollama ").is_none());
    }

    #[test]
    fn levels_are_those_that_a_model_tells_apart() {
        let levels = |name: &str, model: &str| {
            let levels = vendor(name).unwrap().reasoning_levels(model);
            levels.iter().map(|level| level.as_str().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(levels("openai", "m"), "auto off low medium high maximum");
        assert_eq!(levels("ollama", "qwen3"), "auto off high");
        assert_eq!(levels("ollama", "gpt-oss:20b"), "auto low medium high");
        assert_eq!(levels("xai", "m"), "auto low high");
        assert_eq!(levels("mistral", "m"), "");
    }
}
