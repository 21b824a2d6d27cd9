//! The options of an entry, value by value.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Map, Value};

pub(super) struct Options<'a>(&'a Map<String, Value>);

impl<'a> Options<'a> {
    pub(super) fn new(fields: &'a Map<String, Value>) -> Self {
        Self(fields)
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` is not text")),
        }
    }

    pub(super) fn required(&self, key: &str) -> Result<&'a str, String> {
        let text = self.text(key)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| format!("`{key}` is missing"))
    }

    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, String> {
        let wrong = || format!("`{key}` is not a list of texts");
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<Vec<_>>>().map(Some).ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }

    pub(super) fn table(&self, key: &str) -> Result<BTreeMap<String, String>, String> {
        let wrong = || format!("`{key}` is not a mapping of names to texts");
        match self.get(key) {
            None => Ok(BTreeMap::new()),
            Some(Value::Object(fields)) => {
                let pair = |(name, value): (&String, &Value)| {
                    Some((name.clone(), value.as_str()?.to_owned()))
                };
                fields.iter().map(pair).collect::<Option<_>>().ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }

    /// A list of mappings; empty where there is none.
    pub(super) fn mappings(&self, key: &str) -> Result<Vec<&'a Map<String, Value>>, String> {
        let wrong = || format!("`{key}` is not a list of mappings");
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().map(Value::as_object).collect::<Option<_>>().ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }

    pub(super) fn flag(&self, key: &str, usual: bool) -> Result<bool, String> {
        match self.get(key) {
            None => Ok(usual),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(format!("`{key}` is neither true nor false")),
        }
    }

    pub(super) fn count(&self, key: &str, usual: usize) -> Result<usize, String> {
        let Some(value) = self.get(key) else { return Ok(usual) };
        let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
        count
            .filter(|count| *count > 0)
            .ok_or_else(|| format!("`{key}` is not a whole number of at least 1"))
    }

    pub(super) fn count_within(
        &self,
        key: &str,
        usual: usize,
        range: RangeInclusive<usize>,
    ) -> Result<usize, String> {
        let count = self.count(key, usual).ok().filter(|count| range.contains(count));
        let (least, most) = range.into_inner();
        count.ok_or_else(|| format!("`{key}` is not a whole number from {least} to {most}"))
    }

    /// `timeout_seconds`, which was once called `timeout`.
    pub(super) fn timeout(&self, usual: u64) -> Result<Duration, String> {
        Ok(self.own_timeout()?.unwrap_or(Duration::from_secs(usual)))
    }

    /// Like the function above, if the key is set.
    pub(super) fn own_timeout(&self) -> Result<Option<Duration>, String> {
        for key in ["timeout_seconds", "timeout"] {
            let Some(value) = self.get(key) else { continue };
            let seconds = value.as_f64().filter(|seconds| (0.001..=86_400.0).contains(seconds));
            return seconds
                .map(|seconds| Some(Duration::from_secs_f64(seconds)))
                .ok_or_else(|| format!("`{key}` is not a number of seconds from 0.001 to 86400"));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_the_wrong_type_are_reported_by_name() {
        let value = json!({"a": 1, "b": "x", "c": [1], "d": 0, "timeout": 2.5, "n": null});
        let fields = value.as_object().unwrap();
        let options = Options::new(fields);
        assert_eq!(options.text("a").unwrap_err(), "`a` is not text");
        assert_eq!(options.required("n").unwrap_err(), "`n` is missing");
        assert_eq!(options.flag("b", true).unwrap_err(), "`b` is neither true nor false");
        assert_eq!(options.texts("c").unwrap_err(), "`c` is not a list of texts");
        assert!(options.count("d", 1).unwrap_err().starts_with("`d` is not a whole number"));
        assert!(options.table("b").unwrap_err().starts_with("`b` is not a mapping"));
        assert_eq!(options.timeout(1).unwrap(), Duration::from_millis(2500));
        assert_eq!(options.count("n", 7).unwrap(), 7);
    }
}
