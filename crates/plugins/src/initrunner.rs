//! The Python of InitRunner's roles: custom tools, and tool types of packages and files.

pub mod custom;
pub mod registry;

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

/// An entry of a role's `tools`, with its `type`.
pub type Entry = Map<String, Value>;

pub(crate) fn kind(entry: &Entry) -> &str {
    entry.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The parts of a role that its Python depends on.
#[derive(Clone)]
pub struct RoleFacts<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub prompt: &'a str,
    pub file: &'a Path,
    /// The rules on imports of its modules, as their worker takes them.
    pub imports: &'a Value,
    pub tools: Vec<&'a Entry>,
    pub tool_time: Option<Duration>,
    /// True if it refuses keys that it does not know.
    pub is_strict: bool,
}

impl RoleFacts<'_> {
    pub fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }
}

/// A fault of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryProblem {
    pub place: String,
    pub message: String,
    pub is_error: bool,
}
