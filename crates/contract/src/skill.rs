//! A skill: knowledge that is loaded in three steps (description, body, references).

use std::path::PathBuf;

use serde::Serialize;

/// A skill as found on disk or in the binary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skill {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// Its purpose and when to use it; all the model sees at first.
    pub description: String,
    /// `builtin`, `global`, `custom`, `plugin:NAME` or `project`.
    pub source: String,
    pub license: Option<String>,
    /// Tools it wants allowed while it is active.
    pub allowed_tools: Vec<String>,
    /// The instructions, without the front matter.
    pub body: String,
    /// Its directory, which holds references and scripts; none for one in the binary.
    pub directory: Option<PathBuf>,
}
