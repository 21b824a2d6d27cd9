//! Findings about a configuration: problems that stop the program, and warnings that do not.

use std::fmt;
use std::path::PathBuf;

use contract::text::{head, visible};

use crate::origin::{Node, Origin};
use crate::redact::{REDACTED, is_secret};

/// Everything that stops the program, one message each.
#[derive(Debug, thiserror::Error)]
#[error("{}", problems.join("\n"))]
pub struct ConfigError {
    /// The messages; at least one.
    pub problems: Vec<String>,
}

/// Something that was ignored or looks like a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The place that it is about.
    pub place: String,
    /// The message.
    pub text: String,
    /// The advice.
    pub hint: Option<String>,
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
    /// Messages that stop the program.
    pub(crate) problems: Vec<String>,
    /// Messages that do not.
    pub(crate) warnings: Vec<Warning>,
    /// Settings of the project that take effect only once it is trusted.
    pub(crate) untrusted: Vec<UntrustedSetting>,
    /// True if a layer was skipped because of a mistake in it.
    pub(crate) skipped_layer: bool,
}

/// A setting of a project that takes effect only once the project is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedSetting {
    /// Its file.
    pub file: PathBuf,
    /// The setting with its value, safe to print.
    pub setting: String,
}

impl Report {
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
