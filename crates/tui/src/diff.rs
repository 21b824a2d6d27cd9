//! A unified diff in color, with line numbers. Nothing of it is left out.

use crate::highlight::Highlighter;
use crate::text::{Leads, Piece, Row, fold};
use crate::theme::{Role, Theme};

/// The rows of a diff of the file `path`, each behind `lead`.
pub(crate) fn rows(
    unified: &str,
    path: &str,
    theme: &Theme,
    width: usize,
    lead: &[Piece],
) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut numbers = Numbers::default();
    let mut plain = Highlighter::for_path(path);
    let digits = digits(unified);
    for line in unified.lines() {
        let (role, number, body) = match line.split_at_checked(1) {
            _ if line.starts_with("+++ ") || line.starts_with("--- ") => {
                (Role::Soft, String::new(), line)
            }
            Some(("@", _)) => {
                numbers = Numbers::of(line);
                (Role::Place, String::new(), line)
            }
            Some(("+", _)) => (Role::Added, numbers.after(), line),
            Some(("-", _)) => (Role::Removed, numbers.before(), line),
            Some((" ", _)) => (Role::Text, numbers.both(), line),
            _ => (Role::Soft, String::new(), line),
        };
        let gutter = (theme.style(Role::Soft), format!("{number:>digits$} "));
        let blank = (theme.style(Role::Soft), " ".repeat(digits + 1));
        let pieces = match role {
            Role::Text => {
                let mut pieces = vec![(theme.style(Role::Text), " ".to_owned())];
                pieces.extend(plain.line(&body[1..], theme));
                pieces
            }
            role => vec![(theme.style(role), body.to_owned())],
        };
        let leads = Leads {
            first: lead.iter().cloned().chain([gutter]).collect(),
            rest: lead.iter().cloned().chain([blank]).collect(),
        };
        rows.extend(fold(&pieces, width, &leads));
    }
    rows
}

/// A diff without the lines that name its file.
pub(crate) fn body(unified: &str) -> &str {
    let heads =
        unified.lines().take(2).filter(|line| line.starts_with("--- ") || line.starts_with("+++ "));
    let skipped: usize = heads.map(|line| line.len() + 1).sum();
    unified.get(skipped..).unwrap_or_default()
}

/// Lines that a diff adds and removes.
pub(crate) fn counts(unified: &str) -> (usize, usize) {
    let is = |mark: char, head: &'static str| {
        move |line: &&str| line.starts_with(mark) && !line.starts_with(head)
    };
    let added = unified.lines().filter(is('+', "+++ ")).count();
    let removed = unified.lines().filter(is('-', "--- ")).count();
    (added, removed)
}

/// Columns of the widest line number.
fn digits(unified: &str) -> usize {
    let last = unified.lines().filter(|line| line.starts_with("@@")).map(|line| {
        let numbers = Numbers::of(line);
        numbers.old.max(numbers.new) + unified.lines().count()
    });
    last.max().unwrap_or(1).to_string().len()
}

/// The next line before and after the change.
#[derive(Clone, Copy, Default)]
struct Numbers {
    old: usize,
    new: usize,
}

impl Numbers {
    /// Those that `@@ -3,5 +3,6 @@` names.
    fn of(line: &str) -> Self {
        let number = |mark: char| {
            let from = line.find(mark).map_or("", |at| &line[at + 1..]);
            let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
            from[..end].parse().unwrap_or(0)
        };
        Self { old: number('-'), new: number('+') }
    }

    fn before(&mut self) -> String {
        self.old = self.old.saturating_add(1);
        (self.old - 1).to_string()
    }

    fn after(&mut self) -> String {
        self.new = self.new.saturating_add(1);
        (self.new - 1).to_string()
    }

    fn both(&mut self) -> String {
        self.old = self.old.saturating_add(1);
        self.after()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_none_is_missing() {
        let unified = "--- a/x.rs\n+++ b/x.rs\n@@ -9,3 +9,3 @@\n let a;\n-old\n+new\n let b;\n";
        let theme = Theme::built_in().swap_remove(3);
        let lead = [(theme.style(Role::Border), "│ ".to_owned())];
        let rows = rows(unified, "x.rs", &theme, 40, &lead);
        let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        assert_eq!(
            lines[2..],
            ["│    @@ -9,3 +9,3 @@", "│  9  let a;", "│ 10 -old", "│ 10 +new", "│ 11  let b;"]
        );
        assert_eq!(rows[5].text(), "+new");
        assert_eq!(counts(unified), (1, 1));
    }

    #[test]
    fn what_is_no_diff_is_shown_all_the_same() {
        let theme = Theme::built_in().swap_remove(0);
        assert_eq!(rows("just text\n", "a", &theme, 30, &[]).len(), 1);
        rows("@@ -99999999999999999999 +@@\n+é\n", "a", &theme, 3, &[]);
    }
}
