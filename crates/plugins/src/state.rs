//! `plugins.yaml`: which plugins the user has switched off, and which of those that are off by
//! themselves on. Nothing else is kept there, and what others wrote there stays.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use ::files::foreign::{self, Boundary, Refusal};
use formats::yaml::{self, YES_NO};
use serde_json::{Map, Value};

use crate::problem::{Problem, TEXT_LIMIT};

/// The systems whose plugins can be switched; `mcp:git` means the one of that system alone.
pub const SYSTEMS: [&str; 7] = ["brynhild", "api", "chibi", "claude", "initrunner", "lmao", "mcp"];

/// The plugins that the user has switched off or on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The names of what is off, alone or after a system and a colon.
    pub disabled: BTreeSet<String>,
    pub enabled: BTreeSet<String>,
    others: Map<String, Value>,
}

/// A name as it is typed: with the system that it belongs to, or for all systems.
pub fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once(':') {
        Some((system, rest)) if SYSTEMS.contains(&system) => (Some(system), rest),
        _ => (None, name),
    }
}

fn holds(names: &BTreeSet<String>, system: &str, name: &str) -> bool {
    !names.is_empty() && (names.contains(name) || names.contains(&format!("{system}:{name}")))
}

impl State {
    /// Returns true if a plugin of a system is off.
    pub fn is_off(&self, system: &str, name: &str) -> bool {
        holds(&self.disabled, system, name)
    }

    /// Returns true if a plugin of a system is on although it is off by itself.
    pub fn is_on(&self, system: &str, name: &str) -> bool {
        holds(&self.enabled, system, name) && !self.is_off(system, name)
    }

    /// Switches off what `name` means. Returns whether that changes anything.
    pub fn disable(&mut self, name: &str) -> bool {
        let was_on = self.forget_enabled(name);
        self.disabled.insert(name.to_owned()) || was_on
    }

    /// Lets what `name` means be on. Returns whether that changes anything.
    pub fn enable(&mut self, name: &str) -> bool {
        let before = self.disabled.len();
        self.disabled.retain(|other| !means(name, other));
        self.disabled.len() != before
    }

    fn forget_enabled(&mut self, name: &str) -> bool {
        let before = self.enabled.len();
        self.enabled.retain(|other| !means(name, other));
        self.enabled.len() != before
    }

    /// Reads the file; nothing is switched where there is none.
    pub fn read(file: &Path) -> Result<Self, Problem> {
        match foreign::read_whole(file, Boundary::Anywhere, TEXT_LIMIT) {
            Ok(text) => Self::parse(&text, file),
            Err(Refusal::Missing) => Ok(Self::default()),
            Err(refusal) => Err(Problem::unreadable(file, refusal)),
        }
    }

    fn parse(text: &str, file: &Path) -> Result<Self, Problem> {
        let hint = "write `disabled:` and a list of names, or delete the file";
        let tree = yaml::parse(text, YES_NO).map_err(|error| {
            Problem::new(file, format!("line {}: {}", error.line, error.message), hint)
        })?;
        let mut others = match tree.to_value() {
            Value::Null => return Ok(Self::default()),
            Value::Object(keys) => keys,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(Problem::new(file, "line 1: this is not a mapping of keys", hint));
            }
        };
        let mut names = |key: &str| {
            let names = match others.shift_remove(key) {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::String(name)) => vec![Value::String(name)],
                Some(Value::Array(names)) => names,
                Some(_) => {
                    let what = format!("`{key}` is not a list of names");
                    return Err(Problem::new(file, what, hint));
                }
            };
            let text = |name: Value| match name {
                Value::String(name) => Ok(name),
                Value::Number(name) => Ok(name.to_string()),
                _ => {
                    let what = format!("`{key}` has entries that are not names");
                    Err(Problem::new(file, what, hint))
                }
            };
            names.into_iter().map(text).collect::<Result<BTreeSet<String>, Problem>>()
        };
        let (disabled, enabled) = (names("disabled")?, names("enabled")?);
        Ok(Self { disabled, enabled, others })
    }

    pub fn to_yaml(&self) -> String {
        let mut text = String::from("# Written by `brynhild plugin enable` and `disable`.\n");
        if self.disabled.is_empty() {
            text.push_str("disabled: []\n");
        }
        for (key, names) in [("disabled", &self.disabled), ("enabled", &self.enabled)] {
            if !names.is_empty() {
                let _ = writeln!(text, "{key}:");
            }
            for name in names {
                let _ = writeln!(text, "  - {}", Value::String(name.clone()));
            }
        }
        for (key, value) in &self.others {
            // JSON is YAML, whatever stands in it.
            let _ = writeln!(text, "{}: {value}", Value::String(key.clone()));
        }
        text
    }
}

/// Returns true if a typed name means a written one: the same, or that of any system.
fn means(typed: &str, written: &str) -> bool {
    typed == written || split(written).1 == typed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<State, Problem> {
        State::parse(text, Path::new("plugins.yaml"))
    }

    #[test]
    fn names_are_sorted_and_other_keys_stay() {
        let mut state = parsed("disabled: [b, a]\nenabled: [c]\nnote: {x: [1]}\n").unwrap();
        state.disabled.insert("it's: odd".into());
        let text = state.to_yaml();
        assert!(text.contains("  - \"a\"\n  - \"b\"\n"), "{text}");
        assert_eq!(parsed(&text).unwrap(), state);
    }

    #[test]
    fn plain_name_applies_to_all_dialects() {
        let mut state = parsed("disabled: [git, 'mcp:time']\nenabled: [quiet]\n").unwrap();
        assert!(state.is_off("mcp", "git") && state.is_off("chibi", "git"));
        assert!(state.is_off("mcp", "time") && !state.is_off("chibi", "time"));
        assert!(state.is_on("claude", "quiet") && !state.is_on("claude", "git"));
        assert!(state.enable("time") && !state.enable("time"), "the name alone means all");
        assert!(!state.enable("mcp:git"), "it is off for all");
        assert!(state.disable("quiet") && !state.is_on("claude", "quiet"));
        assert_eq!(split("plugin:a:b"), (None, "plugin:a:b"));
        assert_eq!(split("mcp:plugin:a:b"), (Some("mcp"), "plugin:a:b"));
    }

    #[test]
    fn empty_or_missing_file_disables_nothing() {
        for text in ["", "# nothing\n", "disabled:\n", "disabled: []\n"] {
            assert!(parsed(text).unwrap().disabled.is_empty());
        }
        assert_eq!(State::read(Path::new("/nowhere/plugins.yaml")).unwrap(), State::default());
    }

    #[test]
    fn broken_state_file_is_an_error() {
        for text in ["disabled: {a: b}", "- a", "disabled: [[a]]", "disabled: ["] {
            let problem = parsed(text).unwrap_err();
            assert!(problem.hint.contains("disabled"), "{problem}");
        }
    }
}
