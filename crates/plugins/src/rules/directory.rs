//! Rules in `.claude/rules`: Markdown files at any depth. One whose front matter names `paths` says
//! so to the model, which reads all of them.

use crate::claude::document;

pub(super) const PLACE: &str = ".claude/rules";

pub(super) const DEPTH: usize = 8;

/// A file's text without its front matter, after the files that it is about.
pub(super) fn text(whole: &str) -> String {
    let Ok(document) = document::read(whole) else { return whole.to_owned() };
    let paths = document.names("paths");
    if paths.is_empty() || document.body.trim().is_empty() {
        return document.body;
    }
    format!("These rules are about files that match {}.\n\n{}", paths.join(", "), document.body)
}
