//! The names that a plugin's texts can use: its directories and its options.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use formats::template::fill;
use serde_json::Value;

use crate::plugin::Plugin;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) key: String,
    /// Its value as text; none where the user gave none and there is no usual one.
    pub(crate) value: Option<String>,
    pub(crate) is_sensitive: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) root: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) choices: Vec<Choice>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Program,
    /// To the model, which reads nothing sensitive.
    Model,
}

impl Values {
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let mut env = BTreeMap::from([("CLAUDECODE".to_owned(), "1".to_owned())]);
        let mut set = |names: &[&str], path: &Path| {
            if !path.as_os_str().is_empty() {
                let names = names.iter().map(|name| (*name).to_owned());
                env.extend(names.map(|name| (name, path.display().to_string())));
            }
        };
        set(&["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"], &self.root);
        set(&["CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"], &self.data);
        set(&["CLAUDE_PROJECT_DIR"], &self.project);
        for choice in &self.choices {
            if let Some(value) = &choice.value {
                let name = format!("CLAUDE_PLUGIN_OPTION_{}", choice.key.to_uppercase());
                env.insert(name, value.clone());
            }
        }
        env
    }

    pub(crate) fn put_into(&self, text: &str, reader: Reader) -> String {
        fill(text, ("${", "}"), |name| self.value(name, reader))
    }

    pub(crate) fn value(&self, name: &str, reader: Reader) -> Option<String> {
        let path = match name {
            "CLAUDE_PLUGIN_ROOT" | "PLUGIN_ROOT" => &self.root,
            "CLAUDE_PLUGIN_DATA" | "PLUGIN_DATA" => &self.data,
            "CLAUDE_PROJECT_DIR" => &self.project,
            name => {
                let key = name.strip_prefix("user_config.")?;
                let choice = self.choices.iter().find(|choice| choice.key == key)?;
                let is_open = reader == Reader::Program || !choice.is_sensitive;
                return choice.value.clone().filter(|_| is_open);
            }
        };
        Some(path.display().to_string()).filter(|path| !path.is_empty())
    }
}

pub(crate) fn choices(declared: &Value, plugin: &Plugin) -> Vec<Choice> {
    let Value::Object(declared) = declared else { return Vec::new() };
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let choice = |(key, about): (&String, &Value)| {
        let said = plugin.settings.own.get(key).or_else(|| about.get("default"));
        Choice {
            key: key.clone(),
            value: said.and_then(text),
            is_sensitive: about.get("sensitive") == Some(&Value::Bool(true)),
        }
    };
    declared.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_placeholders_are_expanded_once() {
        let secret = Choice { key: "key".into(), value: Some("k".into()), is_sensitive: true };
        let values = Values {
            root: "/p/${CLAUDE_PLUGIN_DATA}".into(),
            data: "/d".into(),
            choices: vec![secret],
            ..Values::default()
        };
        let text = "${CLAUDE_PLUGIN_ROOT}/x ${HOME} ${user_config.key} ${";
        assert_eq!(
            values.put_into(text, Reader::Program),
            "/p/${CLAUDE_PLUGIN_DATA}/x ${HOME} k ${"
        );
        assert!(values.put_into(text, Reader::Model).contains("${user_config.key}"));
        assert_eq!(values.environment()["CLAUDE_PLUGIN_OPTION_KEY"], "k");
        assert!(!values.environment().contains_key("CLAUDE_PROJECT_DIR"));
    }
}
