//! A change to a text file as people read it.

use std::time::Duration;

use contract::text;
use similar::TextDiff;

const MAX_BYTES: usize = 200_000;

/// The unified diff between two texts of the file `path`; `before` is none for a file that is
/// created. Line endings are compared only where nothing else differs.
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
    let source = if exists { format!("a/{path}") } else { "/dev/null".to_owned() };
    // Without a line there is no hunk, and without a hunk no header.
    if !exists && new.is_empty() {
        return format!("--- /dev/null\n+++ b/{path}\n");
    }
    let unified = TextDiff::configure()
        .timeout(Duration::from_secs(1))
        .diff_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header(&source, &format!("b/{path}"))
        .to_string();
    if unified.len() <= MAX_BYTES {
        return unified;
    }
    let shown = text::head(&unified, MAX_BYTES);
    let left_out = unified.len() - shown.len();
    format!("{shown}\n… ({left_out} more bytes of diff)\n")
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
    fn a_change_of_line_endings_alone_shows_too() {
        assert!(unified("x", Some("a\r\n"), "a\n").contains("-a\r\n+a\n"));
    }

    #[test]
    fn a_huge_diff_is_cut() {
        let diff = unified("x", None, &"line\n".repeat(100_000));
        assert!(diff.len() < MAX_BYTES + 100);
        assert!(diff.ends_with("more bytes of diff)\n"));
    }
}
