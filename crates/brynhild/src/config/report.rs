//! What is wrong with a configuration: problems that stop the program, and warnings that do not.

use std::fmt;
use std::path::PathBuf;

use contract::text::{head, visible};

use super::node::{Node, Origin};
use super::redact::{REDACTED, is_secret};

/// Everything that stops the program, one message each.
#[derive(Debug, thiserror::Error)]
#[error("{}", problems.join("\n"))]
pub(crate) struct ConfigError {
    /// The messages; at least one.
    pub(crate) problems: Vec<String>,
}

/// Something that was ignored or looks like a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    /// Where it stands.
    pub(crate) place: String,
    /// What it is.
    pub(crate) text: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Collects problems and warnings while the layers are read.
#[derive(Default)]
pub(crate) struct Report {
    /// What stops the program.
    pub(crate) problems: Vec<String>,
    /// What does not.
    pub(crate) warnings: Vec<Warning>,
    /// Settings of the project that trust would let through.
    pub(crate) held_back: Vec<HeldBack>,
    /// Whether a layer with a mistake in it was left out.
    pub(crate) left_out: bool,
}

/// A setting of a project that has no effect for want of trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldBack {
    /// The file that it stands in.
    pub(crate) file: PathBuf,
    /// The setting with its value, safe to print.
    pub(crate) setting: String,
}

impl Report {
    /// Notes that a value is not what its key needs.
    pub(crate) fn wrong(&mut self, node: &Node, path: &[String], expected: &str) {
        let value = shown_value(node, path);
        let path = shown_path(path);
        let blame = node.origin.blame();
        let is_compound = expected.starts_with("a mapping") || expected.starts_with("a list");
        let form = match node.origin.variable {
            Some(_) if is_compound => ", written as JSON",
            _ => "",
        };
        self.problems.push(format!("{blame}{path} is {value}, expected {expected}{form}"));
    }

    /// Notes something that does not stop the program.
    pub(crate) fn warn(&mut self, origin: &Origin, text: String, hint: Option<String>) {
        self.warnings.push(Warning { place: origin.to_string(), text, hint });
    }
}

/// A key's path in words, safe to print.
pub(crate) fn shown_path(path: &[String]) -> String {
    shortened(&path.join("."), 120)
}

/// A key with all of its value, safe to print.
pub(crate) fn whole_setting(node: &Node, path: &[String]) -> String {
    let is_hidden = path.iter().any(|name| is_secret(name));
    let value = if is_hidden { REDACTED.into() } else { node.to_value().to_string() };
    visible(&format!("{}: {value}", path.join("."))).into_owned()
}

/// A value, short and safe to print.
pub(crate) fn shown_value(node: &Node, path: &[String]) -> String {
    if path.iter().any(|name| is_secret(name)) {
        return REDACTED.into();
    }
    shortened(&node.to_value().to_string(), 60)
}

fn shortened(text: &str, limit: usize) -> String {
    let cut = head(text, limit);
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{dots}", visible(cut))
}
