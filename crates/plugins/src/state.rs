//! `plugins.yaml`: which plugins the person has switched off. Nothing else is kept there, and what
//! others wrote there stays.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use crate::files::{self, Boundary, Refusal};
use crate::problem::Problem;
use crate::yaml;

/// Bytes the file may have.
const FILE_LIMIT: usize = 1 << 20;

/// What is switched off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The names.
    pub disabled: BTreeSet<String>,
    others: Map<String, Value>,
}

impl State {
    /// Reads the file; nothing is switched off where there is none.
    pub fn read(file: &Path) -> Result<Self, Problem> {
        let text = match files::read(file, Boundary::Anywhere, FILE_LIMIT) {
            Ok(text) if text.truncated => {
                return Err(Problem::new(file, "the file is larger than 1 MiB", "shorten it"));
            }
            Ok(text) => text.text,
            Err(Refusal::Missing) => return Ok(Self::default()),
            Err(refusal) => return Err(refusal.problem(file)),
        };
        Self::parse(&text, file)
    }

    fn parse(text: &str, file: &Path) -> Result<Self, Problem> {
        let hint = "write `disabled:` and a list of names, or delete the file";
        let value: Value = yaml::read(text).map_err(|error| {
            Problem::new(file, format!("line {}: {}", error.line, error.what), hint)
        })?;
        let mut others = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(keys) => keys,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(Problem::new(file, "line 1: this is no mapping of keys", hint));
            }
        };
        let names = match others.shift_remove("disabled") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(name)) => vec![Value::String(name)],
            Some(Value::Array(names)) => names,
            Some(_) => return Err(Problem::new(file, "`disabled` is no list of names", hint)),
        };
        let text = |name: Value| match name {
            Value::String(name) => Ok(name),
            Value::Number(name) => Ok(name.to_string()),
            _ => Err(Problem::new(file, "`disabled` has entries that are no names", hint)),
        };
        let disabled = names.into_iter().map(text).collect::<Result<_, _>>()?;
        Ok(Self { disabled, others })
    }

    /// The text of the file that says this.
    pub fn to_yaml(&self) -> String {
        let mut text = String::from("# Written by `brynhild plugin enable` and `disable`.\n");
        if self.disabled.is_empty() {
            text.push_str("disabled: []\n");
        } else {
            text.push_str("disabled:\n");
            for name in &self.disabled {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<State, Problem> {
        State::parse(text, Path::new("plugins.yaml"))
    }

    #[test]
    fn names_are_kept_sorted_and_other_keys_stay() {
        let mut state = parsed("disabled: [b, a]\nnote: {x: [1]}\n").unwrap();
        state.disabled.insert("it's: odd".into());
        let text = state.to_yaml();
        assert!(text.contains("  - \"a\"\n  - \"b\"\n"), "{text}");
        assert_eq!(parsed(&text).unwrap(), state);
    }

    #[test]
    fn nothing_is_off_in_an_empty_or_absent_file() {
        for text in ["", "# nothing\n", "disabled:\n", "disabled: []\n"] {
            assert!(parsed(text).unwrap().disabled.is_empty());
        }
        assert_eq!(State::read(Path::new("/nowhere/plugins.yaml")).unwrap(), State::default());
    }

    #[test]
    fn a_broken_file_is_told_and_not_guessed_at() {
        for text in ["disabled: {a: b}", "- a", "disabled: [[a]]", "disabled: ["] {
            let problem = parsed(text).unwrap_err();
            assert!(problem.hint.contains("disabled"), "{problem}");
        }
    }
}
