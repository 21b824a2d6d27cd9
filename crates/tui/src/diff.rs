//! A unified diff in color, with line numbers. Nothing of it is left out.

use crate::highlight::Highlighter;
use crate::slice::{Breaks, Slice, slices};
use crate::text::{Joint, Leads, Piece, Row, columns, fold};
use crate::theme::{Role, Theme};

/// A part of a diff, with what must be known of the lines above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) slice: Slice,
    numbers: Numbers,
    digits: usize,
    /// The role of the line that it begins in the middle of.
    within: Option<Role>,
}

/// A diff in parts that can be laid out one by one, for rows of so many columns behind `lead`.
pub(crate) fn spans(unified: &str, width: usize, lead: &[Piece]) -> Vec<Span> {
    let digits = digits(unified);
    let used: usize = lead.iter().map(|(_, text)| columns(text)).sum();
    let room = width.saturating_sub(used + digits + 1).max(1);
    let mut numbers = Numbers::default();
    let mut role = Role::Soft;
    let mut spans = Vec::new();
    for slice in slices(unified, Breaks::Columns(room)) {
        let within = (slice.joint != Joint::Line).then_some(role);
        spans.push(Span { slice, numbers, digits, within });
        for line in slice.of(unified).lines().skip(usize::from(within.is_some())) {
            (role, _) = numbers.step(line);
        }
    }
    spans
}

/// The rows of a diff of the file `path`, each behind `lead`.
pub(crate) fn rows(
    unified: &str,
    path: &str,
    theme: &Theme,
    width: usize,
    lead: &[Piece],
) -> Vec<Row> {
    let (slice, numbers) = (Slice::whole(unified), Numbers::default());
    let span = Span { slice, numbers, digits: digits(unified), within: None };
    span.rows((unified, path), theme, width, lead)
}

impl Span {
    /// Its rows, each behind `lead`. A comment that a line above has begun is not known here.
    pub(crate) fn rows(
        &self,
        (unified, path): (&str, &str),
        theme: &Theme,
        width: usize,
        lead: &[Piece],
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        let Self { slice, mut numbers, digits, mut within } = *self;
        let mut plain = Highlighter::for_path(path);
        let soft = theme.style(Role::Soft);
        let blank: Vec<Piece> =
            lead.iter().cloned().chain([(soft, " ".repeat(digits + 1))]).collect();
        for line in slice.of(unified).lines() {
            let goes_on = within.take();
            let (role, number) = goes_on.map_or_else(|| numbers.step(line), |role| (role, None));
            let pieces = match role {
                Role::Text => {
                    // The blank stands for what is neither added nor removed.
                    let (mark, code) = line.split_at(usize::from(goes_on.is_none()));
                    let mut pieces = vec![(theme.style(Role::Text), mark.to_owned())];
                    pieces.extend(plain.line(code, theme));
                    pieces
                }
                role => vec![(theme.style(role), line.to_owned())],
            };
            let number = number.map_or_else(String::new, |number| number.to_string());
            let gutter = (soft, format!("{number:>digits$} "));
            let leads = Leads {
                first: lead.iter().cloned().chain([gutter]).collect(),
                rest: blank.clone(),
            };
            let mut folded = fold(&pieces, width, &leads);
            if let (Some(first), true) = (folded.first_mut(), goes_on.is_some()) {
                first.joint = slice.joint;
            }
            rows.extend(folded);
        }
        rows
    }
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
    let mut numbers = Numbers::default();
    let (mut added, mut removed) = (0, 0);
    for line in unified.lines() {
        match numbers.step(line).0 {
            Role::Added => added += 1,
            Role::Removed => removed += 1,
            _ => {}
        }
    }
    (added, removed)
}

fn digits(unified: &str) -> usize {
    let (mut last, mut count) = (0, 0_usize);
    for line in unified.lines() {
        count += 1;
        if line.starts_with("@@") {
            let Numbers { old, new, .. } = Numbers::of(line);
            last = old.max(new).max(last);
        }
    }
    let most = if last == 0 { 1 } else { last.saturating_add(count) };
    most.to_string().len()
}

/// The next line before and after the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Numbers {
    old: usize,
    new: usize,
    /// Lines of this place that are still to come, before and after the change.
    left: (usize, usize),
}

impl Numbers {
    /// Those that `@@ -3,5 +3,6 @@` names.
    fn of(line: &str) -> Self {
        let after = |mark: char| line.find(mark).map_or("", |at| &line[at + 1..]);
        let number = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse().ok()
        };
        let count = |text: &str| {
            let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
            rest.strip_prefix(',').and_then(number).unwrap_or(1)
        };
        let [old, new] = [after('-'), after('+')];
        Self {
            old: number(old).unwrap_or(0),
            new: number(new).unwrap_or(0),
            left: (count(old), count(new)),
        }
    }

    /// Goes beyond a line. Says what that line is, and its number.
    fn step(&mut self, line: &str) -> (Role, Option<usize>) {
        // The names of files, unless a line that begins with two dashes was removed.
        let names_file = match line.get(..4) {
            Some("--- ") => self.left.0 == 0,
            Some("+++ ") => self.left.1 == 0,
            _ => false,
        };
        match line.as_bytes().first() {
            _ if names_file => (Role::Soft, None),
            Some(b'@') => {
                *self = Self::of(line);
                (Role::Place, None)
            }
            Some(b'+') => (Role::Added, Some(self.after())),
            Some(b'-') => (Role::Removed, Some(self.before())),
            Some(b' ') => {
                self.before();
                (Role::Text, Some(self.after()))
            }
            _ => (Role::Soft, None),
        }
    }

    fn before(&mut self) -> usize {
        self.left.0 = self.left.0.saturating_sub(1);
        next(&mut self.old)
    }

    fn after(&mut self) -> usize {
        self.left.1 = self.left.1.saturating_sub(1);
        next(&mut self.new)
    }
}

/// A number, which becomes the one after it.
fn next(number: &mut usize) -> usize {
    let this = *number;
    *number = this.saturating_add(1);
    this
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
    fn lines_that_resemble_file_headers_are_lines() {
        let unified = "--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,3 @@\n--- note\n+++ i;\n a\n b\n";
        assert_eq!(counts(unified), (1, 1));
        let rows = rows(unified, "x.sql", &Theme::unstyled(), 40, &[]);
        let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        assert_eq!(lines[3..], ["1 --- note", "1 +++ i;", "2  a", "3  b"]);
    }

    #[test]
    fn diff_spans_have_the_rows_of_the_whole() {
        let theme = Theme::unstyled();
        let lead = [(theme.style(Role::Border), "│ ".to_owned())];
        let long = "x".repeat(40_000);
        let lines = " kept\n-old\n+new\n+another\n".repeat(2000);
        let unified =
            format!("@@ -9,3 +9,3 @@\n{lines}+{long}\n {long}\n@@ -90000 +90001 @@\n{lines}");
        let all = spans(&unified, 40, &lead);
        assert!(all.len() > 10);
        let parts = all.iter().flat_map(|it| it.rows((&unified, "a"), &theme, 40, &lead));
        assert_eq!(parts.collect::<Vec<_>>(), rows(&unified, "a", &theme, 40, &lead));
    }

    #[test]
    fn non_diff_text_is_shown() {
        let theme = Theme::built_in().swap_remove(0);
        assert_eq!(rows("just text\n", "a", &theme, 30, &[]).len(), 1);
        rows("@@ -99999999999999999999 +@@\n+é\n", "a", &theme, 3, &[]);
    }
}
