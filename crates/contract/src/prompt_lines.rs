//! Shell lines and images in a prompt: their output takes their place before the model reads it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::id::SessionId;

/// A shell line or an image in the text of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptLine {
    /// The text that its output replaces.
    pub marker: String,
    pub command: String,
    /// True if `command` is the path of an image.
    pub is_image: bool,
    /// Environment variables of its own.
    pub env: BTreeMap<String, String>,
    pub read: Vec<PathBuf>,
}

/// Knows the shell lines of the prompts that the user's commands stand for.
pub trait PromptLines: Send + Sync {
    /// The lines of a prompt, in order. Each is returned once.
    fn take(&self, prompt: &str, session: &SessionId) -> Vec<PromptLine>;
}
