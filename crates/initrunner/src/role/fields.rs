//! Values of a role, key by key, with what is wrong with them.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Finding, ModelSettings, Severity};

/// Keys of `execution` that nothing reads, and values that change nothing.
const IDLE_EXECUTION: [(&str, &str); 4] = [
    ("end_strategy", "\"graceful\""),
    ("max_concurrency", "null"),
    ("http_retries", "3"),
    ("http_retry_max_wait", "60"),
];

const MODEL: &[&str] = &[
    "provider",
    "name",
    "base_url",
    "api_key_env",
    "temperature",
    "max_tokens",
    "fallback",
    "fallback_on",
    "context_window",
    "thinking",
    "extra_body",
    "prompt_cache",
];

/// Settings of a model that are sent to it as they are.
const SAMPLING: &[&str] = &[
    "top_p",
    "top_k",
    "seed",
    "stop_sequences",
    "parallel_tool_calls",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
];

#[derive(Default)]
pub(crate) struct Fields {
    pub(crate) findings: Vec<Finding>,
}

impl Fields {
    pub(crate) fn error(&mut self, path: &str, message: impl Into<String>) {
        self.note(Severity::Error, path, message.into());
    }

    pub(crate) fn warning(&mut self, path: &str, message: impl Into<String>) {
        self.note(Severity::Warning, path, message.into());
    }

    fn note(&mut self, severity: Severity, path: &str, message: String) {
        self.findings.push(Finding { severity, path: path.to_owned(), message });
    }

    /// A mapping, if there is one.
    pub(crate) fn mapping<'a>(
        &mut self,
        value: Option<&'a Value>,
        path: &str,
    ) -> Option<&'a Map<String, Value>> {
        match value? {
            Value::Null => None,
            Value::Object(fields) => Some(fields),
            _ => {
                self.error(path, "it is not a mapping");
                None
            }
        }
    }

    pub(crate) fn warn_unknown(&mut self, from: &Map<String, Value>, above: &str, known: &[&str]) {
        for key in from.keys().filter(|key| !known.contains(&key.as_str())) {
            self.warning(&format!("{above}.{key}"), "it is not known and is ignored");
        }
    }

    pub(crate) fn flag(&mut self, from: &Map<String, Value>, path: &str, usual: bool) -> bool {
        match from.get(last(path)) {
            None | Some(Value::Null) => usual,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.error(path, "it is neither true nor false");
                usual
            }
        }
    }

    /// A whole number of at least 1.
    pub(crate) fn size(&mut self, from: &Map<String, Value>, path: &str) -> Option<usize> {
        self.count(from, path, (1, u64::MAX)).and_then(|size| usize::try_from(size).ok())
    }

    pub(crate) fn text(
        &mut self,
        from: &Map<String, Value>,
        key: &str,
        above: &str,
    ) -> Option<String> {
        match from.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                self.error(&format!("{above}{key}"), "it is not text");
                None
            }
        }
    }

    pub(super) fn required_text(
        &mut self,
        from: &Map<String, Value>,
        key: &str,
        above: &str,
    ) -> Option<String> {
        if matches!(from.get(key), None | Some(Value::Null)) {
            self.error(&format!("{above}{key}"), "it is missing");
            return None;
        }
        self.text(from, key, above)
    }

    pub(crate) fn texts(&mut self, from: &Map<String, Value>, key: &str) -> Vec<String> {
        let items = match from.get(last(key)) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.error(key, "it is not a list");
                return Vec::new();
            }
        };
        let text = |item: &Value| {
            let named = || item.get("path").or_else(|| item.get("name"))?.as_str();
            item.as_str().or_else(named).map(str::to_owned)
        };
        let texts: Vec<String> = items.iter().filter_map(text).collect();
        if texts.len() < items.len() {
            self.error(key, "it has entries that are not text");
        }
        texts
    }

    pub(crate) fn model(&mut self, value: Option<&Value>) -> ModelSettings {
        let fields = match value {
            None | Some(Value::Null) => return ModelSettings::default(),
            Some(Value::String(text)) => {
                let (provider, name) = match text.split_once(':') {
                    Some((provider, name)) => (Some(provider.to_owned()), name),
                    None => (None, text.as_str()),
                };
                let name = Some(name.to_owned()).filter(|name| !name.is_empty());
                return ModelSettings { provider, name, ..ModelSettings::default() };
            }
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                self.error("model", "it is neither `provider:name` nor a mapping");
                return ModelSettings::default();
            }
        };
        let is_known = |key: &str| MODEL.contains(&key) || SAMPLING.contains(&key);
        // Requests are always cached where the provider can do that.
        let is_other_cache = fields.get("prompt_cache").is_some_and(|it| *it == false);
        let cache = fields.keys().filter(|key| is_other_cache && *key == "prompt_cache");
        let is_usual = |key: &str| key == "tool_choice" && fields[key] == "auto";
        let other = fields.keys().filter(|key| !is_known(key) && !is_usual(key));
        for key in other.chain(cache) {
            self.warning(&format!("model.{key}"), "it is not supported and does nothing here");
        }
        let more = self.mapping(fields.get("extra_body"), "model.extra_body").cloned();
        let sampling = fields.iter().filter(|(key, _)| SAMPLING.contains(&key.as_str()));
        let sampling = sampling.map(|(key, value)| (key.clone(), value.clone()));
        let params = sampling.chain(more.unwrap_or_default()).filter(|(_, it)| !it.is_null());
        let params = params.collect();
        let lists = ["model.fallback", "model.fallback_on"];
        let [fallback, fallback_on] = lists.map(|key| self.texts(fields, key));
        if fallback.is_empty() && !fallback_on.is_empty() {
            let what = "fallback_on has no effect without fallback models. Add `fallback`";
            self.warning("model.fallback_on", what);
        }
        let mut text = |key| self.text(fields, key, "model.").filter(|text| !text.is_empty());
        let [provider, name, base_url, api_key_env] =
            ["provider", "name", "base_url", "api_key_env"].map(&mut text);
        ModelSettings {
            provider,
            name,
            base_url,
            api_key_env,
            temperature: self.number(fields, "model.temperature", (0.0, 2.0)),
            max_tokens: self.count(fields, "model.max_tokens", (1, 128_000)),
            fallback,
            fallback_on,
            context_window: self.count(fields, "model.context_window", (1, u64::MAX)),
            thinking: self.thinking(fields.get("thinking")),
            params,
        }
    }

    fn thinking(&mut self, value: Option<&Value>) -> Option<String> {
        let level = match value? {
            Value::Null => return None,
            Value::Bool(false) => "off",
            Value::String(word) => match word.as_str() {
                "minimal" => "raw:minimal",
                "xhigh" => "maximum",
                "low" | "medium" | "high" => word,
                _ => "",
            },
            _ => "",
        };
        if level.is_empty() {
            self.error("model.thinking", "it is neither false nor a level from minimal to xhigh");
        }
        Some(level.to_owned()).filter(|level| !level.is_empty())
    }

    pub(super) fn output(&mut self, value: Option<&Value>) -> Option<Value> {
        let value = value.filter(|value| !value.is_null())?;
        match value.get("type").and_then(Value::as_str) {
            Some("text") => return None,
            Some("json_schema") => {}
            _ => {
                self.error("output.type", "it is neither `text` nor `json_schema`");
                return None;
            }
        }
        // InitRunner also knows the key by the name of its field.
        let schema = value.get("schema").or_else(|| value.get("schema_"));
        match (schema, value.get("schema_file").and_then(Value::as_str)) {
            (Some(schema @ Value::Object(_)), None) => Some(schema.clone()),
            // The file is read where the role's directory is known.
            (None | Some(Value::Null), Some(file)) => Some(Value::String(file.to_owned())),
            _ => {
                self.error("output", "it needs one of `schema` and `schema_file`");
                None
            }
        }
    }

    pub(super) fn max_auto_skills(&mut self, value: Option<&Value>) -> usize {
        const USUAL: usize = 50;
        let fields = match value {
            None | Some(Value::Null) => return USUAL,
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                self.error("auto_skills", "it is not a mapping");
                return 0;
            }
        };
        for key in fields.keys().filter(|key| !["enabled", "max_skills"].contains(&key.as_str())) {
            self.warning(&format!("auto_skills.{key}"), "it is not known and is ignored");
        }
        let most = self.count(fields, "auto_skills.max_skills", (1, 200));
        match fields.get("enabled") {
            Some(Value::Bool(false)) => 0,
            None | Some(Value::Null | Value::Bool(true)) => {
                most.and_then(|most| usize::try_from(most).ok()).unwrap_or(USUAL)
            }
            Some(_) => {
                self.error("auto_skills.enabled", "it is neither true nor false");
                0
            }
        }
    }

    pub(super) fn answer_retries(&mut self, value: Option<&Value>) -> u32 {
        const USUAL: u64 = 1;
        let fields = match value {
            None | Some(Value::Null) => return 1,
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                self.error("execution", "it is not a mapping");
                return 1;
            }
        };
        let counted = ["retries", "output_retries", "tool_timeout_seconds"];
        for (key, value) in fields.iter().filter(|(key, _)| !counted.contains(&key.as_str())) {
            let written = value.to_string();
            let words = match IDLE_EXECUTION.iter().find(|(name, _)| name == key) {
                Some((_, usual)) if written == *usual => continue,
                Some(_) => "it is not supported and does nothing here",
                None => "it is not known and is ignored",
            };
            self.warning(&format!("execution.{key}"), words);
        }
        let mut count = |key: &str| self.count(fields, &format!("execution.{key}"), (0, 100));
        let (all, own) = (count("retries"), count("output_retries"));
        u32::try_from(own.or(all).unwrap_or(USUAL)).unwrap_or(u32::MAX)
    }

    pub(super) fn tool_time(&mut self, execution: Option<&Value>) -> Option<Duration> {
        let fields = execution?.as_object()?;
        let seconds = self.number(fields, "execution.tool_timeout_seconds", (0.001, 1e9))?;
        Some(Duration::from_secs_f64(seconds))
    }

    pub(crate) fn number(
        &mut self,
        from: &Map<String, Value>,
        path: &str,
        (least, most): (f64, f64),
    ) -> Option<f64> {
        let value = from.get(last(path)).filter(|value| !value.is_null())?;
        let number = value.as_f64().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.error(path, format!("it is not a number from {least} to {most}"));
        }
        number
    }

    pub(crate) fn count(
        &mut self,
        from: &Map<String, Value>,
        path: &str,
        (least, most): (u64, u64),
    ) -> Option<u64> {
        let value = from.get(last(path)).filter(|value| !value.is_null())?;
        let number = value.as_u64().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let range = match most {
                u64::MAX => format!("of at least {least}"),
                most => format!("from {least} to {most}"),
            };
            self.error(path, format!("it is not a whole number {range}"));
        }
        number
    }
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
