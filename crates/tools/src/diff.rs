//! Unified diffs of text files.

use std::borrow::Cow;
use std::time::Duration;

use contract::text;
use similar::TextDiff;

/// The most bytes of removed and unchanged lines; added lines are always shown.
const MAX_BYTES: usize = 200_000;

/// The unified diff of the file `path`; `before` is none for a new file. Line endings are compared
/// only if nothing else differs.
pub(crate) fn unified(path: &str, before: Option<&str>, after: &str) -> String {
    let old = before.unwrap_or_default();
    let (old_lines, new_lines) = (old.replace("\r\n", "\n"), after.replace("\r\n", "\n"));
    if old_lines == new_lines {
        render(path, before.is_some(), old, after)
    } else {
        render(path, before.is_some(), &old_lines, &new_lines)
    }
}

fn render(path: &str, exists: bool, old: &str, new: &str) -> String {
    let path = text::one_line(path);
    let source = if exists { format!("a/{path}") } else { "/dev/null".to_owned() };
    // Without a line there is no hunk, and without a hunk no header.
    if !exists && new.is_empty() {
        return format!("--- /dev/null\n+++ b/{path}\n");
    }
    let unified = between(old, new, 3, Some((&source, &format!("b/{path}"))));
    if unified.len() <= MAX_BYTES { unified } else { shortened(&unified) }
}

/// Shortens a long diff, except for added lines: a user who is asked about it must see them.
fn shortened(unified: &str) -> String {
    let mut shown = String::new();
    let mut left_out = 0;
    for line in unified.split_inclusive('\n') {
        if line.starts_with(['+', '@']) || shown.len() + line.len() <= MAX_BYTES {
            shown.push_str(line);
        } else {
            left_out += line.len();
        }
    }
    match left_out {
        0 => shown,
        _ => format!("{shown}… ({left_out} more bytes of what was there before)\n"),
    }
}

/// The unified diff of two texts, with `context` lines around each change, under the names of both.
#[must_use]
pub fn between(old: &str, new: &str, context: usize, names: Option<(&str, &str)>) -> String {
    let (old, new) = (closed(old), closed(new));
    let (old, new) = (lines(&old), lines(&new));
    let diff = TextDiff::configure()
        .timeout(Duration::from_secs(1))
        .newline_terminated(true)
        .diff_slices(&old, &new);
    let mut unified = diff.unified_diff();
    unified.context_radius(context);
    if let Some((before, after)) = names {
        unified.header(before, after);
    }
    unified.to_string()
}

/// Splits at line feeds only: a carriage return is a character of its line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Adds a line feed after a carriage return at the end of a text.
fn closed(text: &str) -> Cow<'_, str> {
    if text.ends_with('\r') { Cow::Owned(format!("{text}\n")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_as_a_unified_diff() {
        let diff = unified("x.txt", Some("a\r\nb\r\n"), "a\r\nc\r\n");
        assert_eq!(diff, "--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert!(unified("x.txt", None, "a\n").starts_with("--- /dev/null\n+++ b/x.txt\n"));
        assert_eq!(unified("x.txt", Some("a\n"), "a\n"), "");
        assert_eq!(unified("x.txt", Some(""), ""), "");
        assert_eq!(unified("x.txt", None, ""), "--- /dev/null\n+++ b/x.txt\n");
    }

    #[test]
    fn change_of_line_endings_is_shown() {
        assert!(unified("x", Some("a\r\n"), "a\n").contains("-a\r\n+a\n"));
    }

    #[test]
    fn file_name_cannot_add_diff_lines() {
        let diff = unified("x\n+++ b/y\n@@ -1 +1 @@\r\u{202e}", None, "a\n");
        let head = "x\\u{a}+++ b/y\\u{a}@@ -1 +1 @@\\u{d}\\u{202e}";
        assert_eq!(diff, format!("--- /dev/null\n+++ b/{head}\n@@ -0,0 +1 @@\n+a\n"));
        assert_eq!(unified("x\ny", None, ""), "--- /dev/null\n+++ b/x\\u{a}y\n");
    }

    #[test]
    fn a_carriage_return_alone_ends_no_line() {
        let diff = unified("x", Some("a\nb\n"), "a\nc\rd\n");
        assert_eq!(diff, "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\rd\n");
        let diff = unified("x", Some("a\r"), "b\r");
        assert_eq!(diff, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n");
        let diff = unified("x", Some("a\n"), "a");
        assert!(diff.ends_with("-a\n+a\n\\ No newline at end of file\n"), "{diff}");
    }

    #[test]
    fn huge_diff_cuts_removed_lines_only() {
        let lines = "line\n".repeat(100_000);
        let diff = unified("x", None, &format!("{lines}last\n"));
        assert!(diff.ends_with("+line\n+last\n") && diff.len() > 600_000);
        let diff = unified("x", Some(&lines), "new\n");
        assert!(diff.len() < MAX_BYTES + 100 && diff.contains("\n+new\n"));
        assert!(diff.ends_with("more bytes of what was there before)\n"));
    }
}
