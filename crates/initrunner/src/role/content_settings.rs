//! The keys `security.preset` and `security.content` of a role.

use fancy_regex::Regex;
use formats::pattern;
use serde_json::{Map, Value, json};

use super::Fields;

const KEYS: &[&str] = &[
    "profanity_filter",
    "blocked_input_patterns",
    "blocked_output_patterns",
    "output_action",
    "llm_classifier_enabled",
    "allowed_topics_prompt",
    "max_prompt_length",
    "max_output_length",
    "redact_patterns",
    "pii_redaction",
];

/// Patterns for SQL, for attempts to override the prompt, and for shell commands.
const PUBLIC_PATTERNS: [&str; 3] = [
    r"\b(union\s+(all\s+)?select|drop\s+table|insert\s+into|delete\s+from)\b",
    r"\b(ignore|disregard|forget)\s+(all\s+)?(the\s+|your\s+)?(previous|prior|above)\s+(instructions|prompts?)\b",
    r"(\$\(|`|\|\||&&|;)\s*(rm|curl|wget|bash|sh|nc|chmod)\b",
];

/// Rules on the texts that go into a role and come out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentSettings {
    pub(crate) blocked_input: Vec<String>,
    pub(crate) blocked_output: Vec<String>,
    pub(crate) redacted: Vec<String>,
    pub(crate) max_prompt_length: usize,
    pub(crate) max_output_length: usize,
    /// True if output that matches is withheld, and not only the matching part.
    pub(crate) blocks_output: bool,
    pub(crate) refuses_profanity: bool,
    pub(crate) redacts_personal_data: bool,
    /// The topics by which a model classifies prompts, if one does.
    pub(crate) allowed_topics: Option<String>,
}

impl ContentSettings {
    /// Reads the keys; none if the role has neither. Keys that are written replace those of a preset.
    pub(crate) fn read(security: Option<&Value>, fields: &mut Fields) -> Option<Self> {
        let security = security?.as_object()?;
        let preset = fields.text(security, "preset", "security.");
        let mut content = match preset.as_deref() {
            Some("public" | "sandbox") => json!({
                "blocked_input_patterns": PUBLIC_PATTERNS, "max_prompt_length": 10_000,
                "pii_redaction": true, "output_action": "block",
            }),
            None | Some("internal" | "development") => json!({}),
            Some(_) => {
                let what = "it is none of `public`, `internal`, `sandbox` and `development`";
                fields.error("security.preset", what);
                json!({})
            }
        };
        let written = fields.mapping(security.get("content"), "security.content");
        let content = content.as_object_mut()?;
        for (key, value) in written.into_iter().flatten() {
            if !KEYS.contains(&key.as_str()) {
                fields.error(&format!("security.content.{key}"), "it is not known");
            }
            content.insert(key.clone(), value.clone());
        }
        (!content.is_empty()).then(|| Self::of(content, fields))
    }

    fn of(content: &Map<String, Value>, fields: &mut Fields) -> Self {
        let mut patterns = |key: &str| {
            let path = format!("security.content.{key}");
            let patterns = fields.texts(content, &path);
            for pattern in &patterns {
                if let Err(error) = compile(pattern) {
                    fields.error(&path, format!("Invalid regex pattern '{pattern}': {error}"));
                }
            }
            patterns
        };
        let (blocked_input, blocked_output, redacted) = (
            patterns("blocked_input_patterns"),
            patterns("blocked_output_patterns"),
            patterns("redact_patterns"),
        );
        let blocks_output = match fields.text(content, "output_action", "security.content.") {
            None => false,
            Some(action) if action == "strip" || action == "block" => action == "block",
            Some(_) => {
                let what = "it is neither `strip` nor `block`";
                fields.error("security.content.output_action", what);
                false
            }
        };
        let mut flag = |key: &str| fields.flag(content, &format!("security.content.{key}"), false);
        let refuses_profanity = flag("profanity_filter");
        let redacts_personal_data = flag("pii_redaction");
        let is_classified = flag("llm_classifier_enabled");
        let topics = fields.text(content, "allowed_topics_prompt", "security.content.");
        let mut size = |key: &str, usual| {
            fields.size(content, &format!("security.content.{key}")).unwrap_or(usual)
        };
        Self {
            max_prompt_length: size("max_prompt_length", 50_000),
            max_output_length: size("max_output_length", 100_000),
            allowed_topics: is_classified.then(|| topics.unwrap_or_default()),
            blocked_input,
            blocked_output,
            redacted,
            blocks_output,
            refuses_profanity,
            redacts_personal_data,
        }
    }
}

/// Compiles a pattern that ignores case.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(&format!("(?i:{})", pattern::translate(pattern))).map_err(|error| error.to_string())
}
