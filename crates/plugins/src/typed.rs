//! A prompt as a user typed it, without what stands around it on its way to the model.

/// The text before a prompt on its way to the model.
pub(crate) const OPENING: &str = "<prompt>\n";
pub(crate) const CLOSING: &str = "\n</prompt>";

pub(crate) fn typed(prompt: &str) -> &str {
    let inner = prompt.strip_prefix(OPENING).and_then(|inner| inner.strip_suffix(CLOSING));
    inner.unwrap_or(prompt)
}
